"""Counts of users who fall on all pairs of items alike: drawn, and put into matrices of items.

Compiled.
"""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Integers

_throw_balls = function(
    __file__,
    "throw_balls",
    """
    bits: generator
    balls: size
    boxes: size; boxes < 2**32
    counts: out i8[boxes]
""",
)
_throw_many = function(
    __file__,
    "throw_many",
    """
    bits: generator
    balls: size; 4 <= balls < 2**53
    boxes: size; 1 <= boxes < 2**32
    counts: out i8[boxes]
""",
)
_put_pairs = function(
    __file__,
    "put_pairs",
    """
    n: size
    height: size
    rows: i8[height] below n
    width: size
    columns: i8[width] below n
    same: size; same <= (height == width)
    counts: i8[height * (width - 1) // 2 if same else height * width]
    matrix: out i8[n, n]
""",
)

FEW = 3  # balls a box, up to which they are thrown one by one
MANY = 8  # times the squared number of boxes: balls above which NumPy takes less time


def throw(rng: np.random.Generator, balls: int, boxes: int) -> Integers:
    """(boxes,): balls in each box when each ball is thrown into one of them, uniformly.

    O(boxes). Up to three balls a box are those of NumPy's
    rng.integers(boxes, size=balls), counted at once. Of more, most are
    drawn as independent Poisson numbers, one for each box: given their sum,
    these have the law of counts of as many balls. The rest is thrown.
    Chances are exact to 13 digits.
    """
    boxes = int(boxes)
    if balls > MANY * boxes**2 or boxes >= 2**32:
        return rng.multinomial(balls, np.full(boxes, 1 / boxes))
    total = np.zeros(boxes, np.int64)
    if balls <= FEW * boxes:
        _throw_balls(rng.bit_generator, balls, boxes, total)
    else:
        _throw_many(rng.bit_generator, balls, boxes, total)
    return total


def put_pairs(matrix: Integers, rows: Integers, columns: Integers | None, counts: Integers) -> None:
    """Set the counts of all pairs of an item of `rows` and one of `columns` in a matrix.

    counts: (pairs,). matrix: (N, N), symmetric. Pairs are in this order;
    columns: None are all pairs of different items of `rows`, each once.
    O(pairs).
    """
    others = rows if columns is None else columns
    _put_pairs(len(matrix), rows.size, rows, others.size, others, columns is None, counts, matrix)
