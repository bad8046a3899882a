"""Moments over replications that can be merged.

So no process has to hold all replications of a study.

For values v of replications that did not fail, finite ones only, with mean μ: their
number n, μ, the central sums M_k = Σ (v − μ)^k for k = 2, 3, 4, the least and the
greatest; and, of those that also converged, number and mean ("trusted"). For the
status: how many replications have each. For pairs of cells that share data: see
`pairs`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.analysis.pairs import merged_pairs, pair_moments
from pipeline.study.arrays import Array, Floats
from pipeline.study.status import FAILED, OK

STATISTICS = ("n", "mean", "m2", "m3", "m4", "least", "greatest", "trusted_n", "trusted_mean")
COUNTS = ("run", "ok", "not_converged", "failed", "not_finite")
SLICE = 2**15  # values processed at a time, about what the L2 cache holds


class Moments(NamedTuple):
    """Moments of some metrics in some cells, and counts of the status.

    values: (…, statistics), float64, in the order of STATISTICS. counts: (cells…,
    counts), int64, as COUNTS. pairs: axis of the cells -> (metrics, cells…, levels,
    PAIR), see `pairs`.
    """

    values: Floats
    counts: Array
    pairs: Mapping[int, Floats]


def block_moments(
    values: Floats,
    status: Array,
    paired: Sequence[int] = (),
) -> Moments:
    """Moments of a block of replications. values: (metrics, cells…, reps).

    status: (cells…, reps) int8.

    paired: axes of the cells whose levels share their data. The least value is
    subtracted before summing, so that equal values have exactly their mean and M_k = 0.
    Processes about `SLICE` values at a time. O(values).
    """
    pairs = {axis: pair_moments(values, status, axis) for axis in paired}
    metrics, *cells, reps = values.shape
    values = values.reshape(metrics, -1, reps)
    status = status.reshape(-1, reps)
    result = np.empty((metrics, len(status), len(STATISTICS)))
    counts = np.empty((len(status), len(COUNTS)), np.int64)
    step = max(1, SLICE // max(reps, 1))
    for start in range(0, len(status), step):
        rows = slice(start, start + step)
        counts[rows] = _counts(values[:, rows], status[rows])
        for metric in range(metrics):
            result[metric, rows] = _statistics(values[metric, rows], status[rows])
    return Moments(result.reshape(metrics, *cells, -1), counts.reshape(*cells, -1), pairs)


def _counts(values: Floats, status: Array) -> Array:
    """(cells, counts) of some cells. values: (metrics, cells, reps); status: (cells, reps)."""
    ran = status > 0
    not_finite = ran & (status != FAILED) & ~np.isfinite(values).all(0)
    of_status = [status == code for code in (1, 2, 3)]
    columns = [which.sum(-1) for which in (ran, *of_status, not_finite)]
    return np.stack(columns, -1)


def _statistics(values: Floats, status: Array) -> Floats:
    """(cells, statistics) of one metric in some cells. values, status: (cells, reps)."""
    used = np.isfinite(values) & (status > 0) & (status != FAILED)
    trusted = used & (status == OK)
    n = used.sum(-1)
    trusted_n = trusted.sum(-1)
    least = np.where(used, values, np.inf).min(-1, initial=np.inf)
    greatest = np.where(used, values, -np.inf).max(-1, initial=-np.inf)
    origin = np.where(n > 0, least, 0.0)
    deviation = np.where(used, values - origin[:, None], 0.0)
    shift = deviation.sum(-1) / np.maximum(n, 1)
    deviation = np.where(used, deviation - shift[:, None], 0.0)
    squares = deviation**2
    sums = np.where(trusted, values, 0.0).sum(-1)
    trusted_mean = sums / np.where(trusted_n > 0, trusted_n, np.nan)
    columns = (
        n,
        np.where(n > 0, origin + shift, np.nan),
        squares.sum(-1),
        (squares * deviation).sum(-1),
        (squares**2).sum(-1),
        least,
        greatest,
        trusted_n,
        trusted_mean,
    )
    return np.stack([np.asarray(column, float) for column in columns], -1)


def merged(a: Moments, b: Moments) -> Moments:
    """Moments of the replications of both.

    Not exactly symmetric in floating point, so merge in a fixed order.

    Source: Pébay, Sandia report SAND2008-6212 (2008), eqs. 2.1 to 2.7.
    """
    x = _by_statistic(a)
    y = _by_statistic(b)
    n = x["n"] + y["n"]
    total = np.where(n > 0, n, 1)
    mean_x = np.where(x["n"] > 0, x["mean"], 0.0)
    mean_y = np.where(y["n"] > 0, y["mean"], 0.0)
    d = np.where((x["n"] > 0) & (y["n"] > 0), mean_y - mean_x, 0.0)
    p = x["n"] / total
    q = y["n"] / total
    m2 = x["m2"] + y["m2"] + d**2 * x["n"] * q
    apart = d**3 * x["n"] * q * (p - q)
    m3 = x["m3"] + y["m3"] + apart + 3 * d * (p * y["m2"] - q * x["m2"])
    m4 = (
        x["m4"]
        + y["m4"]
        + d**4 * x["n"] * q * (p**2 - p * q + q**2)
        + 6 * d**2 * (p**2 * y["m2"] + q**2 * x["m2"])
        + 4 * d * (p * y["m3"] - q * x["m3"])
    )
    mean = np.where(y["n"] == 0, x["mean"], mean_x + d * q)
    mean = np.where(x["n"] == 0, y["mean"], mean)
    trusted = x["trusted_n"] + y["trusted_n"]
    sums = _sum_of_trusted(x) + _sum_of_trusted(y)
    trusted_mean = np.where(trusted > 0, sums / np.where(trusted > 0, trusted, 1), np.nan)
    columns = (
        n,
        mean,
        m2,
        m3,
        m4,
        np.minimum(x["least"], y["least"]),
        np.maximum(x["greatest"], y["greatest"]),
        trusted,
        trusted_mean,
    )
    pairs = {axis: merged_pairs(of_a, b.pairs[axis], axis) for axis, of_a in a.pairs.items()}
    return Moments(np.stack(columns, -1), a.counts + b.counts, pairs)


def _by_statistic(moments: Moments) -> dict[str, Floats]:
    """Name of a statistic -> (metrics, cells…)."""
    return dict(zip(STATISTICS, np.moveaxis(moments.values, -1, 0), strict=True))


def _sum_of_trusted(statistics: Mapping[str, Floats]) -> Floats:
    """Sum of the trusted values; 0 without any."""
    n = statistics["trusted_n"]
    return np.where(n > 0, n * statistics["trusted_mean"], 0.0)
