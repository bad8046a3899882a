"""Counts over persons for every pair of items: who has one right and the other wrong.

And who answered both.
"""

from collections.abc import Iterator

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Booleans, Floats, Integers

_ANSWERS = """
    reps: size
    n: size
    m: size; m >= 1
    answers: b1[reps, n, m]
"""
_COUNTS = """
    counts: out f8[reps, m, m]
"""
_differences = function(__file__, "differences", _ANSWERS + _COUNTS)
_observed_differences = function(
    __file__,
    "observed_differences",
    _ANSWERS
    + """
    observed: b1[reps, n, m]
"""
    + _COUNTS,
)
_pairs = function(__file__, "pairs", _ANSWERS + _COUNTS)

# Responses drawn at a time: about what the L2 cache holds, and enough to amortise
# calls.
SLICE_CELLS = 1 << 17


def differences_of(answers: Booleans, observed: Booleans | None) -> Floats:
    """Pairwise differential measurements Y_ij = Σ_l A_li A_lj X_li (1 − X_lj), (reps, m, m).

    Whole numbers. answers X, observed A: (reps, n, m); None is all
    observed, which takes half of the time. O(reps · n · m²), of 64 persons
    at a time. Source: Nguyen and Zhang, eq. (2).
    """
    reps, n, m = answers.shape
    counts = np.empty((reps, m, m))
    if observed is None:
        _differences(reps, n, m, np.ascontiguousarray(answers), counts)
    else:
        _observed_differences(
            reps, n, m, np.ascontiguousarray(answers), np.ascontiguousarray(observed), counts
        )
    return counts


def pairs_of(answers: Booleans, observed: Booleans | None) -> Floats:
    """Persons who answered both items, B_ij = Σ_l A_li A_lj, whole numbers; (reps, m, m).

    As `differences_of`.
    """
    reps, n, m = answers.shape
    counts = np.full((reps, m, m), float(n))
    if observed is not None:
        _pairs(reps, n, m, np.ascontiguousarray(observed), counts)
    return counts


def slices(reps: int, n: int, m: int) -> Iterator[tuple[slice, slice]]:
    """Slices of replications and persons with at most `SLICE_CELLS` responses, or one person."""
    length = max(1, SLICE_CELLS // max(1, n * m))
    width = max(1, SLICE_CELLS // m)
    for row in range(0, reps, length):
        for person in range(0, n, width):
            yield slice(row, row + length), slice(person, person + width)


def weighted_differences(
    answers: Booleans, observed: Booleans | None, persons: Integers | None
) -> Integers:
    """Y of rows that stand for several persons each, (m, m); exact for fewer than 2⁵³ persons.

    O(rows · m²). answers, observed: (rows, m); None is all observed.
    persons: (rows,), numbers of persons; None is one each.
    """
    total = np.zeros((answers.shape[1],) * 2)
    for _, rows in slices(1, *answers.shape):
        right = answers[rows]
        wrong = ~answers[rows]
        if observed is not None:
            right = right & observed[rows]
            wrong = wrong & observed[rows]
        weight = wrong.astype(float)
        if persons is not None:
            weight = weight * persons[rows, None]
        total += right.astype(float).T @ weight
    return total.astype(np.int64)
