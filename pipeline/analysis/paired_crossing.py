"""Where mean curves of replications that share their random numbers fall to 0, with intervals."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from pipeline.study.arrays import Booleans, Floats

POINTS = 2001  # of a window, at which the parabola is read
# Replications that count as different where all values of a bounded metric are equal.
UNSEEN = 1.5


class Crossing(NamedTuple):
    """The last position at which a mean curve is above 0, and the ends of its interval.

    -inf, or inf: it lies, or may lie, before or after the window. error: standard error
    of the curve's mean at `value`; slope: of the curve over the window.
    """

    value: float
    low: float
    high: float
    error: float
    slope: float


def paired_crossings(
    at: Floats,
    excess: Sequence[Floats],
    confidence: float,
    ranges: Sequence[float] | None = None,
) -> list[Crossing]:
    """Where several falling mean curves cross 0.

    Their intervals hold together. at: (levels,), ascending, 3 or more; of 2 levels the parabola is a straight line.

    excess: for each curve (reps, levels), values of replications, whose levels may
    share random numbers; ranges: width of the values' range, or inf. A parabola is
    fitted to the means of each curve, by least squares with equal weights. So it is a
    weighted sum of every replication's own values, whose standard error follows from
    the covariance of the levels, whatever they share. The interval of a curve's
    crossing is where |parabola| ≤ t · standard error (Fieller's set), from the first
    such position to the last; of K curves at confidence 1 − (1 − confidence)/K each, so
    that the greatest low and the greatest high are the ends for the last crossing.
    Covers if the curves are parabolas within the window; levels may depend on other
    replications only. O(curves · (reps · levels² + points · levels²)). Source: Fieller,
    Journal of the Royal Statistical Society B 16 (1954).

    >>> rng, at = np.random.default_rng(1), np.linspace(-1, 1, 5)
    >>> shared = rng.standard_normal((400, 1))
    >>> (found,) = paired_crossings(at, [0.3 - at + 0.2 * shared], 0.95)
    >>> bool(found.low < 0.3 < found.high), round(found.high - found.low, 2)
    (True, 0.04)
    """
    part = 1 - (1 - confidence) / len(excess)
    widths = ranges or [math.inf for _ in excess]
    curves = zip(excess, widths, strict=True)
    return [_crossing(at, values, part, width) for values, width in curves]


def _crossing(
    at: Floats,
    values: Floats,
    confidence: float,
    width: float,
) -> Crossing:
    """`paired_crossings` of one curve. values: (reps, levels). width: of their range."""
    reps = len(values)
    x = np.linspace(at[0], at[-1], POINTS)
    fit = _fit(at, x)
    spread = np.cov(values, rowvar=False) / reps
    if math.isfinite(width):  # equal values say little of others
        variances = np.einsum("ii->i", spread)  # a view of the diagonal
        variances[variances == 0] = UNSEEN * (width / reps) ** 2
    mean = fit @ values.mean(axis=0)
    error = np.sqrt(np.maximum(np.einsum("xi,ij,xj->x", fit, spread, fit), 0.0))
    reach = special.stdtrit(reps - 1, 0.5 + confidence / 2) * error
    where = 0
    if (mean > 0).any():
        where = int(np.flatnonzero(mean > 0)[-1])
    return Crossing(
        value=_last(x, mean > 0, shift=0),
        low=_first(x, mean <= reach),
        high=_last(x, mean >= -reach, shift=1),
        error=float(error[where]),
        slope=float((mean[-1] - mean[0]) / (x[-1] - x[0])),
    )


def _fit(at: Floats, x: Floats) -> Floats:
    """(positions, levels): maps values at the levels to the heights of their parabola, or line.

    at: (levels,). x: (positions,), from the first to the last level.
    """
    scale = (at[-1] - at[0]) / 2
    count = min(3, len(at))
    powers_of_x = np.vander((x - at[0]) / scale - 1, count)
    powers_of_levels = np.vander((at - at[0]) / scale - 1, count)
    return powers_of_x @ np.linalg.pinv(powers_of_levels)


def _first(x: Floats, where: Booleans) -> float:
    """The position before the first of those where a condition is true.

    −∞ if it is true at the first of all, ∞ if nowhere.
    """
    numbers = np.flatnonzero(where)
    if not numbers.size:
        return math.inf
    if numbers[0] == 0:
        return -math.inf
    return float(x[numbers[0] - 1])


def _last(x: Floats, where: Booleans, shift: int) -> float:
    """The last position where a condition is true, or one of so many further on.

    ∞ if it is true at the last of all, −∞ if nowhere.
    """
    numbers = np.flatnonzero(where)
    if not numbers.size:
        return -math.inf
    if numbers[-1] == x.size - 1:
        return math.inf
    return float(x[numbers[-1] + shift])
