"""Counts of users who fall on all pairs of items alike: drawn, and put into matrices of items. Compiled."""

import numpy as np

from pipeline.study.arrays import Integers
from pipeline.study.kernels import function

_throw_balls = function(__file__, "throw_balls", "i8 i8 i8 i8[]")
_throw_many = function(__file__, "throw_many", "i8 i8 i8 i8[]")
_put_pairs = function(__file__, "put_pairs", "i8 i8 i8[] i8 i8[] i8 i8[] i8[]")

FEW = 3  # balls a box, up to which they are thrown one by one
MANY = 8  # times the squared number of boxes: balls above which NumPy takes less time


def throw(rng: np.random.Generator, balls: int, boxes: int) -> Integers:
    """(boxes,): balls in each box when each ball is thrown into one of them, uniformly.

    O(boxes). Up to three balls a box are those of NumPy's rng.integers(boxes, size=balls), counted at once. Of more,
    most are drawn as independent Poisson numbers, one for each box: given their sum, these have the law of counts of as
    many balls. The rest is thrown. Chances are exact to 13 digits.
    """
    boxes = int(boxes)
    if balls > MANY * boxes**2 or boxes >= 2**32:
        return rng.multinomial(balls, np.full(boxes, 1 / boxes))
    total, bits = np.zeros(boxes, np.int64), rng.bit_generator
    draw = _throw_balls if balls <= FEW * boxes else _throw_many
    with bits.lock:
        draw(bits.ctypes.bit_generator.value, balls, boxes, total)
    return total


def put_pairs(matrix: Integers, rows: Integers, columns: Integers | None, counts: Integers) -> None:
    """Set counts, (pairs,), of each pair of an item of `rows` and one of `columns` in a symmetric matrix, (N, N).

    Pairs are in this order; columns: None are all pairs of different items of `rows`, each once. O(pairs).
    """
    others = rows if columns is None else columns
    _put_pairs(len(matrix), rows.size, rows, others.size, others, columns is None, counts, matrix)
