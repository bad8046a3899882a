"""Counts of users who fall on all pairs of items alike: drawn, and put into matrices of items. Compiled."""

import numpy as np

from pipeline.study.arrays import Integers
from pipeline.study.kernels import function

_throw_balls = function(__file__, "throw_balls", "i8 i8 i8 i8[]")
_put_pairs = function(__file__, "put_pairs", "i8 i8 i8[] i8 i8[] i8 i8[] i8[]")


def throw(rng: np.random.Generator, balls: int, boxes: int) -> Integers:
    """(boxes,): balls in each box when each ball is thrown into one of them, uniformly; boxes < 2³².

    O(min(balls, 10 · boxes)), memory O(boxes). The balls of NumPy's rng.integers(boxes, size=balls), counted at once.
    """
    if balls > 10 * boxes:
        return rng.multinomial(balls, np.full(boxes, 1 / boxes))
    total, bits = np.zeros(boxes, np.int64), rng.bit_generator
    with bits.lock:
        _throw_balls(bits.ctypes.bit_generator.value, balls, boxes, total)
    return total


def put_pairs(matrix: Integers, rows: Integers, columns: Integers | None, counts: Integers) -> None:
    """Set counts, (pairs,), of each pair of an item of `rows` and one of `columns` in a symmetric matrix, (N, N).

    Pairs are in this order; columns: None are all pairs of different items of `rows`, each once. O(pairs).
    """
    others = rows if columns is None else columns
    _put_pairs(len(matrix), rows.size, rows, others.size, others, columns is None, counts, matrix)
