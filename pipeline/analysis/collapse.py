"""Whether curves collapse on one another, and the exponent with which they do."""

import dataclasses
import math

import numpy as np
import xarray as xr
from scipy import special

from pipeline.analysis.estimate import Estimate, aligned, logarithms_if_positive, quantile_interval
from pipeline.study.arrays import Floats, Integers


@dataclasses.dataclass(frozen=True)
class Collapse:
    """How well curves fall on one another: 1 is a perfect `quality`, 0 a perfect `spread`.

    `quality`: mean squared deviation of a point from the other curves, in standard errors (NaN
    without any Monte Carlo error); `spread`: root mean square relative deviation beyond the Monte
    Carlo error, with its interval `low`, `high`; `n`: points that lie in the range of another
    curve.
    """

    quality: float
    spread: float
    n: int
    low: float = math.nan
    high: float = math.nan


def collapse(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    position: xr.DataArray,
    curves: tuple[str, ...],
    error: xr.DataArray | float = 0.0,
    confidence: float = 0.95,
) -> Collapse:
    """Whether the curves of `mean`, one for each label of the dimensions `curves`, agree in
    `position`.

    Every point is compared with the other curves at the same log position: each is interpolated by
    the cubic through its four nearest cells (the chord of the source would read curvature as
    disagreement), and the interpolations are averaged with weights 1/variance. Deviations are of
    log mean if all means are positive, else of the mean in units of the range of all means;
    `spread` is in the same scale, 0.02 for curves that agree to 2 %. Not finite or not positive
    positions are not used. NaN for n = 0. Raises ValueError if a curve has two cells at one
    position: one of their dimensions is missing in `curves`.

    error: standard error of a curve's log position, one for all of its cells, as where positions
    are in units of an estimated boundary: `collapse(mean, mcse, at / boundary.value, curves,
    boundary.standard_error)`. To first order it moves the values of a curve by its slope, all
    together, so quality, spread and interval carry it; if the means are those of which the boundary
    was found, errors partly cancel, and the interval is rather too wide. Source: Houdayer,
    Hartmann, Physical Review B 70 (2004) 014418, Appendix.
    """
    y, s, (x,), curve, shift = _points(mean, mcse, curves, position, error=error)
    deviate, variance = _leave_one_out(np.log(x), s**2, curve)
    n = len(deviate)
    if not n:
        return Collapse(math.nan, math.nan, 0)
    moves = (_slopes(np.log(x), y, curve) * shift)[:, None] * (curve[:, None] == np.unique(curve))
    errors = np.concatenate([deviate * s, deviate @ moves], axis=1)
    off, covariance = deviate @ y, errors @ errors.T
    variance = np.diag(covariance)
    quality = float((off**2 / variance).mean()) if (variance > 0).all() else math.nan
    square = float((off**2 - variance).mean())
    low, high = _interval(float(off @ off), covariance, confidence)
    return Collapse(quality, math.sqrt(max(0.0, square)), n, low, high)


def _interval(squares: float, covariance: Floats, confidence: float) -> tuple[float, float]:
    """Interval of √(δᵀδ/n) from dᵀd with d ~ Normal(δ, C): dᵀd/a is about χ'² with tr C/a degrees
    and δᵀδ/a.

    a = tr C²/tr C, so that mean and variance are right for δ = 0. Source: Patnaik, Biometrika 36
    (1949) 202.
    """
    n, trace = len(covariance), float(np.trace(covariance))
    if trace == 0:
        return math.sqrt(squares / n), math.sqrt(squares / n)
    a = float((covariance**2).sum()) / trace
    tails = (1 + confidence) / 2, (1 - confidence) / 2
    ends = (
        float(special.chndtrinc(squares / a, trace / a, tail))
        if special.chndtr(squares / a, trace / a, 0) > tail
        else 0.0
        for tail in tails
    )
    low, high = (math.sqrt(a * end / n) for end in ends)
    return low, high


def _slopes(x: Floats, y: Floats, curve: Integers) -> Floats:
    """dy/dx of every point along its own curve; 0 for a curve of one point."""
    slopes = np.zeros_like(y)
    for label in np.unique(curve):
        own = np.flatnonzero(curve == label)
        own = own[np.argsort(x[own])]
        if own.size > 1:
            slopes[own] = np.gradient(y[own], x[own])
    return slopes


def collapse_exponent(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    at: xr.DataArray,
    size: xr.DataArray,
    curves: tuple[str, ...],
    bounds: tuple[float, float],
    draws: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """Exponent α in `bounds` for which the curves agree best in the position at · size^α.

    Minimises the quality of `collapse` over the α where at least half as many points can be
    compared as at best (curves without a common range have nothing to disagree about). The interval
    holds the quantiles of the minimisers for `draws` redrawn sets of means, with their distance to
    the estimate multiplied by √max(1, quality): curves that never collapse within the Monte Carlo
    error get a wider interval. It is open on the side where a minimiser is on the bounds. Arguments
    as in `collapse`; NaN without any point to compare.
    """
    y, s, (a, b), curve, _ = _points(mean, mcse, curves, at, size)
    noise = np.random.default_rng(seed).standard_normal((draws, y.size)) * s
    columns = np.concatenate([y[None], y + noise]).T
    grid = np.linspace(*bounds, 61)
    for _ in range(2):  # the second pass resolves the minimisers of the first
        quality = _qualities(grid, columns, s, np.log(a), np.log(b), curve)
        if not np.isfinite(quality).any():
            return Estimate(math.nan, -math.inf, math.inf, math.inf)
        best = quality.argmin(0)
        left, right = grid[max(best.min() - 1, 0)], grid[min(best.max() + 1, grid.size - 1)]
        final, grid = grid, np.linspace(left, right, 61)
    inflation = math.sqrt(max(1.0, quality[best[0], 0])) if (s > 0).any() else 1.0
    return _estimate(_vertex(final, quality, best), bounds, inflation, confidence)


def _estimate(
    alpha: Floats, bounds: tuple[float, float], inflation: float, confidence: float
) -> Estimate:
    """The first minimiser, with the interval of the others; those on the bounds are infinite."""
    alpha = np.where(alpha <= bounds[0], -np.inf, np.where(alpha >= bounds[1], np.inf, alpha))
    value = float(np.clip(alpha[0], *bounds))
    low, high, spread = quantile_interval(alpha[1:], confidence)
    if math.isinf(alpha[0]):
        low, high = min(low, alpha[0]), max(high, alpha[0])
    return Estimate(
        value,
        float(value - inflation * max(value - low, 0)),
        float(value + inflation * max(high - value, 0)),
        float(inflation * spread),
    )


def _points(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    curves: tuple[str, ...],
    *positions: xr.DataArray,
    error: xr.DataArray | float = 0.0,
) -> tuple[Floats, Floats, list[Floats], Integers, Floats]:
    """Usable cells as flat arrays: value and error in the scale of `collapse`, positions, number of
    the curve, and error of the log positions.
    """
    mean, mcse, moved, *positions_aligned = aligned(mean, mcse, error, *positions)
    order = [*curves, *(axis for axis in mean.dims if axis not in curves)]
    y, s, e, *x = (
        array.transpose(*order).values.ravel() for array in (mean, mcse, moved, *positions_aligned)
    )
    labels = np.arange(math.prod(mean.sizes[axis] for axis in curves))
    curve = np.repeat(labels, y.size // max(labels.size, 1))
    usable = (
        np.isfinite(y)
        & np.isfinite(s)
        & np.isfinite(e)
        & np.all([np.isfinite(p) & (p > 0) for p in x], axis=0)
    )
    y, s, positive = logarithms_if_positive(y, s, usable)
    y, s = y[usable], s[usable]
    unit = 1.0 if positive or not y.size or np.ptp(y) == 0 else np.ptp(y)
    return y / unit, s / unit, [p[usable] for p in x], curve[usable], e[usable]


def _leave_one_out(x: Floats, variance: Floats, curve: Integers) -> tuple[Floats, Floats]:
    """Rows that map values to deviations from the other curves, (points compared, points), and
    their variances.

    x, variance, curve: (points,). Time and memory of order points².
    """
    x = x.round(12)  # equal positions that differ in the last digits must not fall out of range
    if not (variance > 0).all():
        variance = np.ones_like(x)  # exact values: all count alike
    predict, weight = np.zeros((x.size, x.size)), np.zeros(x.size)
    for label in np.unique(curve):
        own = np.flatnonzero(curve == label)
        own = own[np.argsort(x[own])]
        if (np.diff(x[own]) == 0).any():
            raise ValueError(
                "two cells of one curve are at one position: name their dimension in `curves`"
            )
        targets = np.flatnonzero((curve != label) & (x >= x[own][0]) & (x <= x[own][-1]))
        nodes, lagrange = _cubics(x[own], x[targets])
        precision = 1 / (lagrange**2 * variance[own][nodes]).sum(1)
        predict[targets[:, None], own[nodes]] += precision[:, None] * lagrange
        weight[targets] += precision
    seen = weight > 0
    deviate = np.eye(x.size)[seen] - predict[seen] / weight[seen, None]
    return deviate, variance[seen] + 1 / weight[seen]


def _cubics(knots: Floats, x: Floats) -> tuple[Integers, Floats]:
    """The four knots nearest to each x, or all if fewer, and their weights in Lagrange's
    interpolation: (x, 4) each.
    """
    width = min(4, knots.size)
    start = np.clip(np.searchsorted(knots, x, "right") - width // 2, 0, knots.size - width)
    nodes = start[:, None] + np.arange(width)
    t, same = knots[nodes], np.eye(width, dtype=bool)
    gaps = np.where(same, 1, t[:, :, None] - t[:, None, :])
    return nodes, np.where(same, 1, (x[:, None] - t)[:, None, :] / gaps).prod(2)


def _qualities(
    grid: Floats, values: Floats, s: Floats, at: Floats, size: Floats, curve: Integers
) -> Floats:
    """Quality for every α of the grid and every column of `values`.

    ∞ where too few points can be compared.

    values: (points, columns). s, at, size (logarithms), curve: (points,). Returns (grid, columns).
    """
    quality, n = np.full((grid.size, values.shape[1]), np.inf), np.zeros(grid.size)
    for k, alpha in enumerate(grid):
        deviate, variance = _leave_one_out(at + alpha * size, s**2, curve)
        n[k] = len(deviate)
        if n[k]:
            quality[k] = ((deviate @ values) ** 2 / variance[:, None]).mean(0)
    quality[n < n.max() / 2] = np.inf
    return quality


def _vertex(grid: Floats, quality: Floats, best: Integers) -> Floats:
    """Minimisers, refined by the parabola through the best point of the grid and its neighbours."""
    k, column = np.clip(best, 1, grid.size - 2), np.arange(best.size)
    left, middle, right = (quality[k + j, column] for j in (-1, 0, 1))
    inside = np.isfinite(left) & np.isfinite(right) & (best == k) & (left - 2 * middle + right > 0)
    left, middle, right = (
        np.where(inside, q, fill) for q, fill in ((left, 1), (middle, 0), (right, 1))
    )
    shift = np.where(inside, (left - right) / (left - 2 * middle + right) / 2, 0)
    minimisers: Floats = grid[best] + shift * (grid[1] - grid[0])
    return minimisers
