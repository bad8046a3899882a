"""Whether curves collapse on one another, and the exponent with which they do."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import special

from pipeline.analysis.estimate import Estimate, aligned, logarithms_if_positive, quantile_interval
from pipeline.study.arrays import Floats, Integers

GRID = 61  # exponents that are compared at a time
SEED = 0  # of redrawn means: the same in every call
CONFIDENCE = 0.95  # of the interval of an exponent


@dataclasses.dataclass(frozen=True)
class Collapse:
    """How well curves fall on one another: 1 is a perfect `quality`, 0 a perfect
    `spread`.

    `quality`: mean squared deviation of a point from the other curves, in standard
    errors (NaN without any Monte Carlo error); `spread`: root mean square relative
    deviation beyond the Monte Carlo error, with its interval `low`, `high`; `n`: points
    that lie in the range of another curve.
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
    """Whether curves agree in `position`.

    There is a curve of `mean` for each label of the axes `curves`. Every point is
    compared with the other curves at the same log position: each is interpolated by the
    cubic through its four nearest cells (the chord of the source would read curvature
    as disagreement), and the interpolations are averaged with weights 1/variance.
    Deviations are of log mean if all means are positive, else of the mean in units of
    the range of all means; `spread` is in the same scale, 0.02 for curves that agree to
    2 %. Not finite or not positive positions are not used. NaN for n = 0. Raises
    ValueError if a curve has two cells at one position: one of their dimensions is
    missing in `curves`.

    error: standard error of a curve's log position, one for all of its cells, as where
    positions are in units of an estimated boundary: `collapse(mean, mcse, at /
    boundary.value, curves, boundary.standard_error)`. To first order it moves the
    values of a curve by its slope, all together, so quality, spread and interval carry
    it; if the means are those of which the boundary was found, errors partly cancel,
    and the interval is rather too wide. Source: Houdayer, Hartmann, Physical Review B
    70 (2004) 014418, Appendix.
    """
    points = _points(mean, mcse, curves, position, error=error)
    y = points.value
    curve = points.curve
    x = np.log(points.positions[0])
    deviate, _ = _leave_one_out(x, points.error**2, curve)
    n = len(deviate)
    if not n:
        return Collapse(math.nan, math.nan, 0)
    move = _slopes(x, y, curve) * points.position_error
    moves = move[:, None] * (curve[:, None] == np.unique(curve))
    errors = np.concatenate([deviate * points.error, deviate @ moves], axis=1)
    covariance = errors @ errors.T
    deviations = deviate @ y
    variance = np.diag(covariance)
    quality = math.nan
    if (variance > 0).all():
        quality = float((deviations**2 / variance).mean())
    beyond_error = float((deviations**2 - variance).mean())
    low, high = _interval(float(deviations @ deviations), covariance, confidence)
    return Collapse(quality, math.sqrt(max(0.0, beyond_error)), n, low, high)


def _interval(
    squares: float,
    covariance: Floats,
    confidence: float,
) -> tuple[float, float]:
    """Interval of √(δᵀδ/n) from dᵀd with d ~ Normal(δ, C).

    dᵀd/a is about χ'² with tr C/a degrees and noncentrality δᵀδ/a, a = tr C²/tr C, so
    that mean and variance are right for δ = 0. Source: Patnaik, Biometrika 36 (1949)
    202.
    """
    n = len(covariance)
    trace = float(np.trace(covariance))
    if trace == 0:
        exact = math.sqrt(squares / n)
        return exact, exact
    a = float((covariance**2).sum()) / trace
    low = _noncentrality(squares / a, trace / a, (1 + confidence) / 2)
    high = _noncentrality(squares / a, trace / a, (1 - confidence) / 2)
    return math.sqrt(a * low / n), math.sqrt(a * high / n)


def _noncentrality(value: float, degrees: float, probability: float) -> float:
    """That with which χ'² is at most the value with this probability; 0 where none is."""
    if special.chndtr(value, degrees, 0) <= probability:
        return 0.0
    return float(special.chndtrinc(value, degrees, probability))


def _slopes(x: Floats, y: Floats, curve: Integers) -> Floats:
    """dy/dx of every point along its own curve; 0 for a curve of one point."""
    slopes = np.zeros_like(y)
    for label in np.unique(curve):
        members = _rising(x, curve, label)
        if members.size > 1:
            slopes[members] = np.gradient(y[members], x[members])
    return slopes


def _rising(x: Floats, curve: Integers, label: int) -> Integers:
    """Numbers of the points of a curve, in rising order of their positions."""
    members = np.flatnonzero(curve == label)
    return members[np.argsort(x[members])]


def collapse_exponent(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    at: xr.DataArray,
    size: xr.DataArray,
    curves: tuple[str, ...],
    bounds: tuple[float, float],
    draws: int = 200,
) -> Estimate:
    """Exponent α in `bounds` for which the curves agree best in the position
    at · size^α.

    Minimises the quality of `collapse` over the α where at least half as many points
    can be compared as at best (curves without a common range have nothing to disagree
    about). The interval, of 95 %, holds the quantiles of the minimisers for `draws` redrawn sets
    of means, with their distance to the estimate multiplied by √max(1, quality): curves
    that never collapse within the Monte Carlo error get a wider interval. It is open on
    the side where a minimiser is on the bounds. Arguments as in `collapse`; NaN without
    any point to compare.
    """
    points = _points(mean, mcse, curves, at, size)
    rng = np.random.default_rng(SEED)
    noise = rng.standard_normal((draws, points.value.size)) * points.error
    columns = np.concatenate([points.value[None], points.value + noise]).T
    grid = np.linspace(*bounds, GRID)
    quality = _qualities(grid, columns, points)
    if not np.isfinite(quality).any():
        return Estimate(math.nan, -math.inf, math.inf, math.inf)
    best = quality.argmin(0)
    left = grid[max(best.min() - 1, 0)]
    right = grid[min(best.max() + 1, grid.size - 1)]
    grid = np.linspace(left, right, GRID)  # resolves the minimisers of the first
    quality = _qualities(grid, columns, points)
    if not np.isfinite(quality).any():
        return Estimate(math.nan, -math.inf, math.inf, math.inf)
    best = quality.argmin(0)
    inflation = 1.0
    if (points.error > 0).any():
        inflation = math.sqrt(max(1.0, quality[best[0], 0]))
    return _estimate(_vertex(grid, quality, best), bounds, inflation)


def _estimate(alpha: Floats, bounds: tuple[float, float], inflation: float) -> Estimate:
    """The first minimiser, with the interval of the others; those on the bounds are infinite."""
    alpha = np.where(alpha >= bounds[1], np.inf, alpha)
    alpha = np.where(alpha <= bounds[0], -np.inf, alpha)
    value = float(np.clip(alpha[0], *bounds))
    low, high, spread = quantile_interval(alpha[1:], CONFIDENCE)
    if math.isinf(alpha[0]):
        low = min(low, alpha[0])
        high = max(high, alpha[0])
    return Estimate(
        value,
        float(value - inflation * max(value - low, 0)),
        float(value + inflation * max(high - value, 0)),
        float(inflation * spread),
    )


class _Points(NamedTuple):
    """Cells as points, all arrays (points,). value, error: in the scale of `collapse`.

    positions: one array for each axis. curve: number of the curve. position_error: of
    the log positions.
    """

    value: Floats
    error: Floats
    positions: list[Floats]
    curve: Integers
    position_error: Floats


def _points(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    curves: tuple[str, ...],
    *positions: xr.DataArray,
    error: xr.DataArray | float = 0.0,
) -> _Points:
    """The usable cells."""
    arrays = aligned(mean, mcse, error, *positions)
    axes = arrays[0].dims
    order = [*curves, *(axis for axis in axes if axis not in curves)]
    y, s, e, *x = [array.transpose(*order).values.ravel() for array in arrays]
    labels = np.arange(math.prod(arrays[0].sizes[axis] for axis in curves))
    curve = np.repeat(labels, y.size // max(labels.size, 1))
    usable = np.isfinite(y) & np.isfinite(s) & np.isfinite(e)
    for position in x:
        usable &= np.isfinite(position) & (position > 0)
    y, s, positive = logarithms_if_positive(y, s, usable)
    y = y[usable]
    unit = 1.0
    if not positive and y.size and np.ptp(y) > 0:
        unit = np.ptp(y)
    return _Points(
        value=y / unit,
        error=s[usable] / unit,
        positions=[position[usable] for position in x],
        curve=curve[usable],
        position_error=e[usable],
    )


def _leave_one_out(
    x: Floats,
    variance: Floats,
    curve: Integers,
) -> tuple[Floats, Floats]:
    """Rows that map values to deviations from the other curves, and their variances.

    Rows are (points compared, points). x, variance, curve: (points,). Time and memory
    of order points².
    """
    # Equal positions that differ in the last digits must not fall out of range.
    x = x.round(12)
    if not (variance > 0).all():
        variance = np.ones_like(x)  # exact values: all count alike
    predict = np.zeros((x.size, x.size))
    weight = np.zeros(x.size)
    for label in np.unique(curve):
        members = _rising(x, curve, label)
        knots = x[members]
        if (np.diff(knots) == 0).any():
            raise ValueError(
                "two cells of one curve are at one position: name their dimension in `curves`"
            )
        targets = np.flatnonzero((curve != label) & (x >= knots[0]) & (x <= knots[-1]))
        nodes, lagrange = _cubics(knots, x[targets])
        precision = 1 / (lagrange**2 * variance[members][nodes]).sum(1)
        predict[targets[:, None], members[nodes]] += precision[:, None] * lagrange
        weight[targets] += precision
    seen = weight > 0
    deviate = np.eye(x.size)[seen] - predict[seen] / weight[seen, None]
    return deviate, variance[seen] + 1 / weight[seen]


def _cubics(knots: Floats, x: Floats) -> tuple[Integers, Floats]:
    """The four knots nearest to each x, and their weights, (x, 4) each.

    The weights are those of Lagrange's interpolation. All knots if there are fewer than
    four.
    """
    width = min(4, knots.size)
    start = np.clip(np.searchsorted(knots, x, "right") - width // 2, 0, knots.size - width)
    nodes = start[:, None] + np.arange(width)
    t = knots[nodes]
    same = np.eye(width, dtype=bool)
    gaps = np.where(same, 1, t[:, :, None] - t[:, None, :])
    return nodes, np.where(same, 1, (x[:, None] - t)[:, None, :] / gaps).prod(2)


def _qualities(grid: Floats, values: Floats, points: _Points) -> Floats:
    """Quality for every α of the grid and every column of `values`.

    ∞ where too few points can be compared. values: (points, columns). positions of the
    points: those of `collapse_exponent`, `at` and `size`. Returns (grid, columns).
    """
    at, size = map(np.log, points.positions)
    quality = np.full((grid.size, values.shape[1]), np.inf)
    n = np.zeros(grid.size)
    for k, alpha in enumerate(grid):
        deviate, variance = _leave_one_out(at + alpha * size, points.error**2, points.curve)
        n[k] = len(deviate)
        if n[k]:
            quality[k] = ((deviate @ values) ** 2 / variance[:, None]).mean(0)
    quality[n < n.max() / 2] = np.inf
    return quality


def _vertex(grid: Floats, quality: Floats, best: Integers) -> Floats:
    """Minimisers, refined by the parabola through the best point of the grid and its neighbours."""
    k = np.clip(best, 1, grid.size - 2)
    column = np.arange(best.size)
    left = quality[k - 1, column]
    middle = quality[k, column]
    right = quality[k + 1, column]
    is_finite = np.isfinite(left) & np.isfinite(right)
    is_curved = left - 2 * middle + right > 0
    inside = is_finite & (best == k) & is_curved
    left = np.where(inside, left, 1)
    middle = np.where(inside, middle, 0)
    right = np.where(inside, right, 1)
    shift = np.where(inside, (left - right) / (left - 2 * middle + right) / 2, 0)
    minimisers: Floats = grid[best] + shift * (grid[1] - grid[0])
    return minimisers
