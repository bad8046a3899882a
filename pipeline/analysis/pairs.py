"""Moments of pairs of cells that share their data: what differences and ratios between
them need.

For two cells that differ in the level of one paired axis, over the replications where both have a
finite value and neither failed: their number n; of the first cell the mean and M_2 = Σ (x − mean)²;
and the cross-product Σ (x − mean_x)(y − mean_y). The mean of the difference x − y has squared
standard error (M_2 of x + M_2 of y − 2 cross) / (n(n − 1)). Moments of the second cell are those of
the reversed pair.
"""

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.status import FAILED

PAIR = ("n", "mean", "m2", "cross")


def pair_moments(values: Floats, status: Array, axis: int) -> Floats:
    """Moments of all pairs of levels of an axis: (metrics, cells…, levels, PAIR).

    values: (metrics, cells…, reps); status: (cells…, reps); axis: among the axes of
    cells. O(values · levels).

    >>> values, status = np.array([[[1.0, 2.0, 6.0], [2.0, 4.0, 9.0]]]), np.ones((2, 3), np.int8)
    >>> dict(zip(PAIR, pair_moments(values, status, axis=0)[0, 0, 1].tolist()))
    {'n': 3.0, 'mean': 3.0, 'm2': 14.0, 'cross': 19.0}
    """
    usable = (status > 0) & (status != FAILED)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.stack([_of_metric(metric, usable, axis) for metric in values])


def _of_metric(values: Floats, usable: Array, axis: int) -> Floats:
    """(cells…, levels, PAIR) of one metric. values, usable: (cells…, reps)."""
    used = np.moveaxis(usable & np.isfinite(values), axis, -2)
    values = np.moveaxis(values, axis, -2)
    origin = np.where(used, values, np.inf).min(-1, keepdims=True, initial=np.inf)
    origin = np.where(np.isfinite(origin), origin, 0.0)
    # from the least value: equal values have M_2 = 0
    deviation = np.where(used, values - origin, 0.0)
    shift = deviation.sum(-1, keepdims=True) / np.maximum(used.sum(-1, keepdims=True), 1)
    deviation = np.where(used, deviation - shift, 0.0)
    weight = used.astype(float)
    n = _products(weight, weight)
    mean = _products(deviation, weight) / np.maximum(n, 1)
    columns = [
        n,
        np.where(n > 0, origin + shift + mean, np.nan),
        _products(deviation**2, weight) - n * mean**2,
        _products(deviation, deviation) - n * mean * np.swapaxes(mean, -1, -2),
    ]
    return np.moveaxis(np.stack(columns, -1), -3, axis)


def _products(x: Floats, y: Floats) -> Floats:
    """(…, i, j): sums of products of two levels. x, y: (…, level, reps)."""
    products: Floats = np.einsum("...ir,...jr->...ij", x, y)
    return products


def merged_pairs(a: Floats, b: Floats, axis: int) -> Floats:
    """Moments of the replications of both, for pairs along an axis of the cells.

    See `moments.merged`.
    """
    n_a = a[..., 0]
    n_b = b[..., 0]
    n = n_a + n_b
    step = np.where((n_a > 0) & (n_b > 0), b[..., 1] - a[..., 1], 0.0)
    other = np.swapaxes(step, axis + 1, -1)
    weight = n_a * n_b / np.maximum(n, 1)
    mean = a[..., 1] + step * n_b / np.maximum(n, 1)
    mean = np.where(n_b == 0, a[..., 1], mean)
    mean = np.where(n_a == 0, b[..., 1], mean)
    squares = a[..., 2] + b[..., 2] + weight * step**2
    cross = a[..., 3] + b[..., 3] + weight * step * other
    return np.stack([n, mean, squares, cross], -1)
