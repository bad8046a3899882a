"""Sets of questions, drawn or dealt, of single people or counted at once: compiled.

A place below a size is the size times a random word, over 2⁶⁴; what is left over
is the word for the next size, as long as the product of the sizes is small. So a
word is enough for ten sizes of twenty. All are equally likely, exactly, as words
whose last rest is below 2⁶⁴ modulo that product are drawn again.
Source: Brackett-Rozinsky and Lemire, Batched ranged random integer generation (2024).
"""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Booleans, Integers

_MARKS = """
    bits: generator
    reps: size
    people: size; people < 2**31
    kinds: size; 1 <= kinds < 2**31
    k: size; k <= kinds
    is_asked: size; is_asked <= 1
    gets: out b1[reps, people, kinds]
"""
_draw_sets = function(__file__, "draw_sets", _MARKS)
_deal_packs = function(__file__, "deal_packs", _MARKS)
_count_sets = function(
    __file__,
    "count_sets",
    """
    bits: generator
    rows: size
    kinds: size; 1 <= kinds < 2**31
    k: size; k <= kinds
    people: i8[rows] below 2**31
    times: out i8[rows, kinds]
""",
)


def drawn_sets(
    rng: np.random.Generator, shape: tuple[int, int, int], questions: int, is_asked: bool
) -> Booleans:
    """Independent sets of so many questions, marked by `is_asked`; (reps, people, kinds)."""
    gets = np.empty(shape, bool)
    _draw_sets(rng.bit_generator, *shape, questions, int(is_asked), gets)
    return gets


def dealt_sets(
    rng: np.random.Generator, shape: tuple[int, int, int], questions: int, is_asked: bool
) -> Booleans:
    """The same of packs that are dealt out to people in random order, nobody gets one twice."""
    gets = np.empty(shape, bool)
    _deal_packs(rng.bit_generator, *shape, questions, int(is_asked), gets)
    return gets


def counted_sets(
    rng: np.random.Generator, people: Integers, questions: int, kinds: int
) -> Integers:
    """How many people have each question in independent sets of theirs, (rows, kinds).

    people: (rows,). O(people · questions), a few nanoseconds each.

    >>> int(counted_sets(np.random.default_rng(0), np.array([7]), 2, 5).sum())
    14
    """
    times = np.empty((len(people), kinds), np.int64)
    counted = np.ascontiguousarray(people, np.int64)
    _count_sets(rng.bit_generator, len(people), kinds, questions, counted, times)
    return times
