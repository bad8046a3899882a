"""Where a mean crosses a level, and how that boundary scales."""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import isotonic_regression

from pipeline.analysis.estimate import aligned, logarithms_if_positive, quantile_interval
from pipeline.analysis.rates import Rate, fit_rate
from pipeline.study.arrays import Floats, Integers

# Where a crossing is, relative to the cells of its curve.
INSIDE = 0
LEFT = -1
RIGHT = 1
UNKNOWN = 2


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
    """Position where the monotone `mean` crosses `level`, for every combination of the other
    dimensions.

    A curve is the means along `along` against log position, where the position is `at` (default:
    the coordinate `along`; any positive array over dimensions of `mean`). The curve is replaced by
    the monotone one nearest to it (isotonic regression, weights 1/mcse², one direction for all
    curves) and inverted linearly in log position, and in log mean if all means and the level are
    positive. The interval holds the quantiles of the crossings of `draws` curves redrawn from
    Normal(monotone mean, mcse), widened by what the grid does not resolve: if the two cells around
    the crossing hold a share r of the curve's whole rise, the crossing is uncertain by r of its
    bracket (added in quadrature). A step between two cells thus has both cells as its interval.

    Returns, over the other dimensions: `value`, `low`, `high` in the unit of the position;
    `standard_error` of log value, with what the grid does not resolve as a uniform law; its parts:
    `spread` of the log crossings of redrawn curves, and `unresolved`, how far from log value the
    crossing may be in its bracket, times r, which more replications do not change;
    `least_unresolved` and `least_bracket`, the least of that, and of r times the bracket, in the
    curve and the redrawn ones; `side`, 0 for a crossing between the cells, −1 or 1 for one to the
    left or right of them (value NaN, interval to 0 or ∞), 2 for fewer than two usable cells or no
    direction; `crossed`, the share of redrawn curves that cross. Where more draws fail to cross
    than the interval may leave out, it is open on that side. Cells that are not finite, or have no
    finite mcse, are not used. The default resolves the ends of a 95 % interval; ask for more draws
    for a higher confidence. Source: Barlow, Bartholomew, Bremner, Brunk, Statistical Inference
    under Order Restrictions (1972).
    """
    mean, mcse, at = aligned(mean, mcse, mean[along] if at is None else at)
    others = [axis for axis in mean.dims if axis != along]
    y, s, x = (array.transpose(*others, along).values for array in (mean, mcse, at))
    usable = np.isfinite(y) & np.isfinite(s) & np.isfinite(x) & (x > 0)
    x = np.log(np.where(usable, x, 1))
    y, s, positive = logarithms_if_positive(y, s, usable, level)
    level = math.log(level) if positive else level
    order = {
        i: np.flatnonzero(usable[i])[np.argsort(x[i][usable[i]], kind="stable")]
        for i in np.ndindex(usable.shape[:-1])
    }
    curves = {
        i: (x[i][cells], y[i][cells], s[i][cells]) for i, cells in order.items() if cells.size > 1
    }
    direction = np.sign(
        sum(np.cov(position, value)[0, 1] for position, value, _ in curves.values())
    )
    crossings = {
        i: _cross(position, direction * value, error, direction * level, draws, seed, confidence)
        for i, (position, value, error) in curves.items()
        if direction
    }
    columns = {
        name: np.full(usable.shape[:-1], unknown) for name, unknown in _Crossing()._asdict().items()
    }
    for i, curve in crossings.items():
        for name, number in curve._asdict().items():
            columns[name][i] = number
    coordinates = mean.drop_vars(
        [name for name, c in mean.coords.items() if along in c.dims]
    ).coords
    return xr.Dataset({name: (others, column) for name, column in columns.items()}, coordinates)


class _Crossing(NamedTuple):
    """Columns of `crossing` for one curve; by default nothing is known."""

    value: float = np.nan
    low: float = 0.0
    high: float = np.inf
    standard_error: float = np.inf
    spread: float = np.inf
    unresolved: float = np.inf
    least_unresolved: float = 0.0
    least_bracket: float = 0.0
    side: np.int8 = np.int8(UNKNOWN)
    crossed: float = 0.0


def _cross(
    x: Floats, y: Floats, s: Floats, level: float, draws: int, seed: int, confidence: float
) -> _Crossing:
    """Crossing of one curve that rises with x.

    Every curve has the seed, so that no other changes it.
    """
    weights = 1 / s**2 if (s > 0).all() else np.ones_like(s)
    fitted = isotonic_regression(y, weights=weights).x
    noise = np.random.default_rng(seed).standard_normal((draws, y.size)) * s
    redrawn = np.array([isotonic_regression(row, weights=weights).x for row in fitted + noise])
    (value,), (right,) = _invert(x, fitted[None], level)
    drawn, drawn_right = _invert(x, redrawn, level)
    crossed = float(np.isfinite(drawn).mean())
    low, high, spread = quantile_interval(drawn, confidence)
    if value == -np.inf:
        return _Crossing(high=np.exp(max(high, x[0])), side=np.int8(LEFT), crossed=crossed)
    if value == np.inf:
        return _Crossing(low=np.exp(min(low, x[-1])), side=np.int8(RIGHT), crossed=crossed)
    inside = np.isfinite(drawn)
    lefts, rights = _unresolved(
        x,
        np.vstack([fitted, redrawn[inside]]),
        np.array([value, *drawn[inside]]),
        np.array([right, *drawn_right[inside]]),
    )
    to_left = float(lefts[0])
    to_right = float(rights[0])
    below = math.hypot(max(value - low, 0), to_left)
    above = math.hypot(max(high - value, 0), to_right)
    # share · bracket / √12: the standard deviation of a uniform law on the unresolved part
    error = math.hypot(spread, (to_left + to_right) / math.sqrt(12))
    return _Crossing(
        np.exp(value),
        np.exp(value - below),
        np.exp(value + above),
        error,
        spread,
        max(to_left, to_right),
        float(np.maximum(lefts, rights).min()),
        float((lefts + rights).min()),
        np.int8(INSIDE),
        crossed,
    )


def _invert(x: Floats, fitted: Floats, level: float) -> tuple[Floats, Integers]:
    """Positions where the rows of `fitted`, which rise with x, reach `level` (∓∞ outside), and the
    cell to the right.

    x: (cells,). fitted: (curves, cells). Returns two arrays (curves,).
    """
    row = np.arange(len(fitted))
    right = np.clip((fitted < level).sum(1), 1, x.size - 1)
    y0 = fitted[row, right - 1]
    y1 = fitted[row, right]
    step = np.where(y1 > y0, y1 - y0, 1)
    position = x[right - 1] + (level - y0) / step * (x[right] - x[right - 1])
    return np.where(
        fitted[:, 0] > level, -np.inf, np.where(fitted[:, -1] < level, np.inf, position)
    ), right


def _unresolved(x: Floats, fitted: Floats, value: Floats, right: Integers) -> tuple[Floats, Floats]:
    """Way from a crossing to the left and to the right end of its bracket, times the share of the
    rise in that.

    x: (cells,). fitted: (curves, cells), rising. value, right: (curves,), from `_invert`. Returns
    two arrays (curves,).
    """
    row = np.arange(len(fitted))
    rise = fitted[:, -1] - fitted[:, 0]
    step = fitted[row, right] - fitted[row, right - 1]
    share = np.where(rise > 0, step / np.where(rise > 0, rise, 1), 1.0)
    return share * (value - x[right - 1]), share * (x[right] - value)


def boundary_exponent(
    boundary: xr.Dataset,
    groups: tuple[str, ...] = (),
    confidence: float = 0.95,
    **predictors: xr.DataArray,
) -> Rate:
    """Power law of a boundary found by `crossing` in the positive `predictors`: see `fit_rate`.

    Crossings outside their cells, or without a finite standard error, are dropped and counted.
    """
    value = boundary["value"].where(boundary["side"] == INSIDE)
    error = boundary["standard_error"] * value
    return fit_rate(value, error, groups=groups, confidence=confidence, **predictors)
