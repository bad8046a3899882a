"""Where a mean crosses a level, how that boundary scales, and whether curves collapse on one another."""

import dataclasses
import math

import numpy as np
import xarray as xr
from scipy.optimize import isotonic_regression

from pipeline.reduce.estimate import Estimate, aligned, quantile_interval, scaled
from pipeline.reduce.rates import Rate, fit_rate

INSIDE, LEFT, RIGHT, UNKNOWN = 0, -1, 1, 2  # where a crossing is, relative to the cells of its curve


def crossing(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    along: str,
    level: float,
    at: xr.DataArray | None = None,
    draws: int = 400,
    seed: int = 0,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Position where the monotone `mean` crosses `level`, for every combination of the other dimensions.

    A curve is the means along `along` against log position, where the position is `at` (default: the
    coordinate `along`; any positive array over dimensions of `mean`). The curve is replaced by the monotone
    one nearest to it (isotonic regression, weights 1/mcse², one direction for all curves) and inverted
    linearly in log position, and in log mean if all means and the level are positive. The interval holds
    the quantiles of the crossings of `draws` curves redrawn from Normal(monotone mean, mcse), widened by
    what the grid does not resolve: if the two cells around the crossing hold a share r of the curve's whole
    rise, the crossing is uncertain by r of its bracket (added in quadrature). A step between two cells thus
    has both cells as its interval.

    Returns, over the other dimensions: `value`, `low`, `high` in the unit of the position;
    `standard_error` of log value; `side`, 0 for a crossing between the cells, −1 or 1 for one to the left
    or right of them (value NaN, interval to 0 or ∞), 2 for fewer than two usable cells or no direction;
    `crossed`, the share of redrawn curves that cross. Where more draws fail to cross than the interval may
    leave out, it is open on that side. Cells that are not finite, or have no finite mcse, are not used.
    The default resolves the ends of a 95 % interval; ask for more draws for a higher confidence.
    Source: Barlow, Bartholomew, Bremner, Brunk, Statistical Inference under Order Restrictions (1972).
    """
    mean, mcse, at = aligned(mean, mcse, mean[along] if at is None else at)
    others = [d for d in mean.dims if d != along]
    y, s, x = (array.transpose(*others, along).values for array in (mean, mcse, at))
    usable = np.isfinite(y) & np.isfinite(s) & np.isfinite(x) & (x > 0)
    x = np.log(np.where(usable, x, 1))
    y, s, positive = scaled(y, s, usable, level)
    level = math.log(level) if positive else level
    curves = {i: np.flatnonzero(usable[i])[np.argsort(x[i][usable[i]], kind="stable")]
              for i in np.ndindex(usable.shape[:-1])}
    direction = np.sign(sum(np.cov(x[i][o], y[i][o])[0, 1] for i, o in curves.items() if o.size > 1))
    unknown = dict(value=np.nan, low=0.0, high=np.inf, standard_error=np.inf, side=np.int8(UNKNOWN),
                   crossed=0.0)
    columns = {name: np.full(usable.shape[:-1], fill) for name, fill in unknown.items()}
    for i, o in curves.items():
        if o.size > 1 and direction:
            curve = x[i][o], direction * y[i][o], s[i][o], direction * level
            for name, number in _cross(*curve, draws, seed, confidence).items():
                columns[name][i] = number
    coordinates = mean.drop_vars([name for name, c in mean.coords.items() if along in c.dims]).coords
    return xr.Dataset({name: (others, column) for name, column in columns.items()}, coordinates)


def _cross(x, y, s, level, draws, seed, confidence):
    """Crossing of one curve that rises with x; every curve has the seed, so that no other changes it."""
    weights = 1 / s**2 if (s > 0).all() else np.ones_like(s)
    fitted = isotonic_regression(y, weights=weights).x
    noise = np.random.default_rng(seed).standard_normal((draws, y.size)) * s
    redrawn = [isotonic_regression(row, weights=weights).x for row in fitted + noise]
    (value,), (right,) = _invert(x, fitted[None], level)
    drawn, _ = _invert(x, np.array(redrawn), level)
    crossed = float(np.isfinite(drawn).mean())
    low, high, spread = quantile_interval(drawn, confidence)
    if np.isinf(value):
        ends = (0.0, np.exp(max(high, x[0]))) if value < 0 else (np.exp(min(low, x[-1])), np.inf)
        return dict(low=ends[0], high=ends[1], side=LEFT if value < 0 else RIGHT, crossed=crossed)
    rise = fitted[-1] - fitted[0]
    share = (fitted[right] - fitted[right - 1]) / rise if rise > 0 else 1.0
    below = math.hypot(max(value - low, 0), share * (value - x[right - 1]))
    above = math.hypot(max(high - value, 0), share * (x[right] - value))
    # share · bracket / √12: the standard deviation of a uniform law on the unresolved part
    error = math.hypot(spread, share * (x[right] - x[right - 1]) / math.sqrt(12))
    return dict(value=np.exp(value), low=np.exp(value - below), high=np.exp(value + above),
                standard_error=error, side=INSIDE, crossed=crossed)


def _invert(x, fitted, level):
    """Positions where the rows of `fitted`, which rise with x, reach `level` (∓∞ outside), and that cell."""
    row = np.arange(len(fitted))
    right = np.clip((fitted < level).sum(1), 1, x.size - 1)
    y0, y1 = fitted[row, right - 1], fitted[row, right]
    step = np.where(y1 > y0, y1 - y0, 1)
    position = x[right - 1] + (level - y0) / step * (x[right] - x[right - 1])
    return np.where(fitted[:, 0] > level, -np.inf, np.where(fitted[:, -1] < level, np.inf, position)), right


def boundary_exponent(
    boundary: xr.Dataset, groups: tuple[str, ...] = (), confidence: float = 0.95, **predictors: xr.DataArray
) -> Rate:
    """Power law of a boundary found by `crossing` in the positive `predictors`: see `fit_rate`.

    Crossings outside their cells, or without a finite standard error, are dropped and counted.
    """
    value = boundary["value"].where(boundary["side"] == INSIDE)
    error = boundary["standard_error"] * value
    return fit_rate(value, error, groups=groups, confidence=confidence, **predictors)


@dataclasses.dataclass(frozen=True)
class Collapse:
    """How well curves fall on one another: 1 is a perfect `quality`, 0 a perfect `spread`.

    `quality`: mean squared deviation of a point from the other curves, in standard errors (NaN without any
    Monte Carlo error); `spread`: root mean square relative deviation beyond the Monte Carlo error; `n`:
    points that lie in the range of another curve.
    """

    quality: float
    spread: float
    n: int


def collapse(
    mean: xr.DataArray, mcse: xr.DataArray | float, position: xr.DataArray, curves: tuple[str, ...]
) -> Collapse:
    """Whether the curves of `mean`, one for each label of the dimensions `curves`, agree in `position`.

    Every point is compared with the other curves at the same log position: each is interpolated by the
    cubic through its four nearest cells (the chord of the source would read curvature as disagreement), and
    the interpolations are averaged with weights 1/variance. Deviations are of log mean if all means are
    positive, else of the mean in units of the range of all means; `spread` is in the same scale, 0.02 for
    curves that agree to 2 %. Not finite or not positive positions are not used. NaN for n = 0. Raises
    ValueError if a curve has two cells at one position: one of their dimensions is missing in `curves`.
    Source: Houdayer, Hartmann, Physical Review B 70 (2004) 014418, Appendix.
    """
    y, s, x, curve = _points(mean, mcse, curves, position)
    deviate, variance = _leave_one_out(np.log(x), s**2, curve)
    if not len(deviate):
        return Collapse(math.nan, math.nan, 0)
    squares = (deviate @ y) ** 2
    quality = float((squares / variance).mean()) if (s > 0).any() else math.nan
    return Collapse(quality, math.sqrt(max(0.0, (squares - variance * (s > 0).any()).mean())), len(squares))


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

    Minimises the quality of `collapse` over the α where at least half as many points can be compared as at
    best (curves pushed apart agree for want of comparison). The interval holds the quantiles of the
    minimisers for `draws` redrawn sets of means, with their distance to the estimate multiplied by
    √max(1, quality): curves that never collapse within the Monte Carlo error get a wider interval. It is
    open on the side where a minimiser is on the bounds. Arguments as in `collapse`; NaN without any point
    to compare.
    """
    y, s, a, b, curve = _points(mean, mcse, curves, at, size)
    noise = np.random.default_rng(seed).standard_normal((draws, y.size)) * s
    rows = np.concatenate([y[None], y + noise]).T
    grid = np.linspace(*bounds, 61)
    for _ in range(2):  # the second pass resolves the minimisers of the first
        quality = _qualities(grid, rows, s, np.log(a), np.log(b), curve)
        if not np.isfinite(quality).any():
            return Estimate(math.nan, -math.inf, math.inf, math.inf)
        best = quality.argmin(0)
        edges = grid[[max(best.min() - 1, 0), min(best.max() + 1, grid.size - 1)]]
        final, grid = grid, np.linspace(*edges, 61)
    inflation = math.sqrt(max(1.0, quality[best[0], 0])) if (s > 0).any() else 1.0
    alpha = _vertex(final, quality, best)
    alpha = np.where(alpha <= bounds[0], -np.inf, np.where(alpha >= bounds[1], np.inf, alpha))
    value = float(np.clip(alpha[0], *bounds))
    low, high, spread = quantile_interval(alpha[1:], confidence)
    if math.isinf(alpha[0]):
        low, high = min(low, alpha[0]), max(high, alpha[0])
    return Estimate(value, float(value - inflation * max(value - low, 0)),
                    float(value + inflation * max(high - value, 0)), float(inflation * spread))


def _points(mean, mcse, curves, *positions):
    """Usable cells as flat arrays: value and error in the scale of `collapse`, positions, number of curve."""
    mean, mcse, *positions = aligned(mean, mcse, *positions)
    order = [*curves, *(d for d in mean.dims if d not in curves)]
    y, s, *x = (array.transpose(*order).values.ravel() for array in (mean, mcse, *positions))
    labels = np.arange(math.prod(mean.sizes[d] for d in curves))
    curve = np.repeat(labels, y.size // max(labels.size, 1))
    usable = np.isfinite(y) & np.isfinite(s) & np.all([np.isfinite(p) & (p > 0) for p in x], axis=0)
    y, s, positive = scaled(y, s, usable)
    y, s = y[usable], s[usable]
    unit = 1.0 if positive or not y.size or np.ptp(y) == 0 else np.ptp(y)
    return [y / unit, s / unit, *(p[usable] for p in x), curve[usable]]


def _leave_one_out(x, variance, curve):
    """Rows that map values to deviations from the other curves, and the variances of the deviations."""
    x = x.round(12)  # equal positions that differ in the last digits must not fall out of range
    if not (variance > 0).all():
        variance = np.ones_like(x)  # exact values: all count alike
    predict, weight = np.zeros((x.size, x.size)), np.zeros(x.size)
    for label in np.unique(curve):
        own = np.flatnonzero(curve == label)
        own = own[np.argsort(x[own])]
        knots = x[own]
        if (np.diff(knots) == 0).any():
            raise ValueError("two cells of one curve are at one position: name their dimension in `curves`")
        targets = np.flatnonzero((curve != label) & (x >= knots[0]) & (x <= knots[-1]))
        width = min(4, own.size)
        start = np.clip(np.searchsorted(knots, x[targets], "right") - width // 2, 0, own.size - width)
        nodes = start[:, None] + np.arange(width)
        t, same = knots[nodes], np.eye(width, dtype=bool)
        gaps = np.where(same, 1, t[:, :, None] - t[:, None, :])
        lagrange = np.where(same, 1, (x[targets, None] - t)[:, None, :] / gaps).prod(2)
        precision = 1 / (lagrange**2 * variance[own][nodes]).sum(1)
        predict[targets[:, None], own[nodes]] += precision[:, None] * lagrange
        weight[targets] += precision
    seen = weight > 0
    deviate = np.eye(x.size)[seen] - predict[seen] / weight[seen, None]
    return deviate, variance[seen] + 1 / weight[seen]


def _qualities(grid, rows, s, at, size, curve):
    """Quality for every α of the grid and every column of `rows`; ∞ where too few points can be compared."""
    quality, n = np.full((grid.size, rows.shape[1]), np.inf), np.zeros(grid.size)
    for k, alpha in enumerate(grid):
        deviate, variance = _leave_one_out(at + alpha * size, s**2, curve)
        n[k] = len(deviate)
        if n[k]:
            quality[k] = ((deviate @ rows) ** 2 / variance[:, None]).mean(0)
    quality[n < n.max() / 2] = np.inf
    return quality


def _vertex(grid, quality, best):
    """Minimisers, refined by the parabola through the best point of the grid and its neighbours."""
    k, column = np.clip(best, 1, grid.size - 2), np.arange(best.size)
    left, middle, right = (quality[k + j, column] for j in (-1, 0, 1))
    inside = np.isfinite(left) & np.isfinite(right) & (best == k) & (left - 2 * middle + right > 0)
    left, middle, right = (np.where(inside, q, fill) for q, fill in ((left, 1), (middle, 0), (right, 1)))
    shift = np.where(inside, (left - right) / (left - 2 * middle + right) / 2, 0)
    return grid[best] + shift * (grid[1] - grid[0])
