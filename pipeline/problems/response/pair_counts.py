"""Counts over persons for every pair of items: who has one right and the other wrong, who answered both."""

from collections.abc import Callable, Iterator

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats, Integers

SLICE_CELLS = 1 << 17  # responses processed at a time: about what the L2 cache holds, and enough to amortise calls


def differences_of(answers: Booleans, observed: Booleans | None) -> Floats:
    """Pairwise differential measurements Y_ij = Σ_l A_li A_lj X_li (1 − X_lj), whole numbers; (reps, m, m).

    answers X, observed A: (reps, n, m); None is all observed, which gives Σ_l X_li − Σ_l X_li X_lj at half the cost.
    O(reps · n · m²) in float32, exact. Source: Nguyen and Zhang, eq. (2).
    """
    if observed is None:
        both = _total(answers.shape, lambda part: _product(answers[part]))
        right = np.einsum("rii->ri", both).copy()
        np.subtract(right[:, :, None], both, out=both)
        return both
    return _total(answers.shape, lambda part: _product(answers[part] & observed[part], observed[part] & ~answers[part]))


def pairs_of(answers: Booleans, observed: Booleans | None) -> Floats:
    """Persons who answered both items, B_ij = Σ_l A_li A_lj, whole numbers; (reps, m, m). As `differences_of`."""
    reps, n, m = answers.shape
    if observed is None:
        return np.full((reps, m, m), float(n))
    return _total(answers.shape, lambda part: _product(observed[part]))


def _total(shape: tuple[int, ...], product: Callable[[tuple[slice, slice]], Array]) -> Floats:
    """Sum over persons, (reps, m, m), of the products of slices of replications and persons."""
    reps, n, m = shape
    total = np.zeros((reps, m, m))
    for rows, people in slices(reps, n, m):
        if people.start == 0:
            total[rows] = product((rows, people))
        else:
            total[rows] += product((rows, people))
    return total


def _product(first: Booleans, second: Booleans | None = None) -> Array:
    """Σ_l x_li y_lj, y = x if None; below 2²⁴ within a slice of persons, so exact in float32."""
    x = first.astype(np.float32)  # of a product with itself NumPy computes half
    product: Array = x.swapaxes(1, 2) @ (x if second is None else second.astype(np.float32))
    return product


def slices(reps: int, n: int, m: int) -> Iterator[tuple[slice, slice]]:
    """Slices of replications and of persons with at most `SLICE_CELLS` responses, or one person's."""
    length, width = max(1, SLICE_CELLS // max(1, n * m)), max(1, SLICE_CELLS // m)
    for row in range(0, reps, length):
        for person in range(0, n, width):
            yield slice(row, row + length), slice(person, person + width)


def weighted_differences(answers: Booleans, observed: Booleans | None, persons: Integers | None) -> Integers:
    """Y of rows that stand for several persons each, (m, m); exact for fewer than 2⁵³ persons. O(rows · m²).

    answers, observed: (rows, m); None is all observed. persons: (rows,), numbers of persons; None is one each.
    """
    total = np.zeros((answers.shape[1],) * 2)
    for _, rows in slices(1, *answers.shape):
        seen = np.True_ if observed is None else observed[rows]
        right, wrong = (answers[rows] & seen).astype(float), (~answers[rows] & seen).astype(float)
        total += right.T @ (wrong if persons is None else wrong * persons[rows, None])
    return total.astype(np.int64)
