"""Where a mean crosses a level, and how that boundary scales."""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import isotonic_regression

from pipeline.analysis.estimate import aligned, logarithms_if_positive, quantile_interval
from pipeline.analysis.rates import Rate, fit_rate
from pipeline.study.arrays import Array, Floats, Integers

# Where a crossing is, relative to the cells of its curve.
INSIDE = 0
LEFT = -1
RIGHT = 1
UNKNOWN = 2
SEED = 0  # of redrawn curves: the same in every call


def crossing(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    along: str,
    level: float,
    at: xr.DataArray | None = None,
    draws: int = 400,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Position where the monotone `mean` crosses `level`.

    There is one for every combination of the other dimensions.

    A curve is the means along `along` against log position, where the position is `at`
    (default: the coordinate `along`; any positive array over dimensions of `mean`). The
    curve is replaced by the monotone one nearest to it (isotonic regression, weights
    1/mcse², one direction for all curves) and inverted linearly in log position, and in
    log mean if all means and the level are positive. The interval holds the quantiles
    of the crossings of `draws` curves redrawn from Normal(monotone mean, mcse), widened
    by what the grid does not resolve: if the two cells around the crossing hold a share
    r of the curve's whole rise, the crossing is uncertain by r of its bracket (added in
    quadrature). A step between two cells thus has both cells as its interval.

    Returns, over the other dimensions: `value`, `low`, `high` in the unit of the
    position; `standard_error` of log value, with what the grid does not resolve as a
    uniform law; its parts: `redrawn`, of the log crossings of redrawn curves, and
    `unresolved`, how far from log value the crossing may be in its bracket, times r,
    which more replications do not change; `least_unresolved` and `least_bracket`, the
    least of that, and of r times the bracket, in the curve and the redrawn ones;
    `side`, 0 for a crossing between the cells, −1 or 1 for one to the left or right of
    them (value NaN, interval to 0 or ∞), 2 for fewer than two usable cells or no
    direction; `crossed`, the share of redrawn curves that cross. Where more draws fail
    to cross than the interval may leave out, it is open on that side. Cells that are
    not finite, or have no finite mcse, are not used. The default resolves the ends of a
    95 % interval; ask for more draws for a higher confidence. Source: Barlow,
    Bartholomew, Bremner, Brunk, Statistical Inference under Order Restrictions (1972).
    """
    if at is None:
        at = mean[along]
    mean, mcse, at = aligned(mean, mcse, at)
    others = [axis for axis in mean.dims if axis != along]
    y, s, x = (array.transpose(*others, along).values for array in (mean, mcse, at))
    curves = _curves(y, s, x, level)
    redraw = _Redraw(draws, confidence)
    columns = _columns(curves, redraw)
    with_along = [name for name, values in mean.coords.items() if along in values.dims]
    coordinates = mean.drop_vars(with_along).coords
    variables = {name: (others, column) for name, column in columns.items()}
    return xr.Dataset(variables, coordinates)


class _Curve(NamedTuple):
    """Usable cells of a curve in rising order of their log positions: arrays (cells,)."""

    position: Floats
    value: Floats
    error: Floats


class _Curves(NamedTuple):
    """Curves of two usable cells or more, by their index over the other dimensions.

    shape: of all curves. level: in the scale of the values.
    """

    shape: tuple[int, ...]
    curves: dict[tuple[int, ...], _Curve]
    level: float

    @property
    def direction(self) -> float:
        """1 for curves that rise, −1 for those that fall; 0 if neither."""
        covariance = 0.0
        for curve in self.curves.values():
            covariance += np.cov(curve.position, curve.value)[0, 1]
        return float(np.sign(covariance))


class _Redraw(NamedTuple):
    """How often curves are redrawn, and the confidence of intervals."""

    draws: int
    confidence: float


def _curves(mean: Floats, mcse: Floats, at: Floats, level: float) -> _Curves:
    """Curves from cells, (curves…, cells) each."""
    usable = np.isfinite(mean) & np.isfinite(mcse) & np.isfinite(at) & (at > 0)
    position = np.log(np.where(usable, at, 1))
    value, error, positive = logarithms_if_positive(mean, mcse, usable, level)
    if positive:
        level = math.log(level)
    shape = usable.shape[:-1]
    curves = {}
    for i in np.ndindex(shape):
        cells = np.flatnonzero(usable[i])
        rising = np.argsort(position[i][cells], kind="stable")
        cells = cells[rising]
        if cells.size > 1:
            curves[i] = _Curve(position[i][cells], value[i][cells], error[i][cells])
    return _Curves(shape, curves, level)


def _columns(curves: _Curves, redraw: _Redraw) -> dict[str, Array]:
    """The columns of `crossing`, (curves…) each."""
    columns = {}
    for name, unknown in _Crossing()._asdict().items():
        columns[name] = np.full(curves.shape, unknown)
    direction = curves.direction
    if not direction:
        return columns
    level = direction * curves.level
    for i, curve in curves.curves.items():
        rising = curve._replace(value=direction * curve.value)
        crossing_of_curve = _cross(rising, level, redraw)
        for name, number in crossing_of_curve._asdict().items():
            columns[name][i] = number
    return columns


class _Crossing(NamedTuple):
    """Columns of `crossing` for one curve; by default nothing is known."""

    value: float = np.nan
    low: float = 0.0
    high: float = np.inf
    standard_error: float = np.inf
    redrawn: float = np.inf
    unresolved: float = np.inf
    least_unresolved: float = 0.0
    least_bracket: float = 0.0
    side: np.int8 = np.int8(UNKNOWN)
    crossed: float = 0.0


def _cross(curve: _Curve, level: float, redraw: _Redraw) -> _Crossing:
    """Crossing of one curve that rises with its position."""
    x = curve.position
    monotone = _monotone(curve, redraw)
    positions, rights = _invert(x, monotone, level)
    value = positions[0]
    drawn = positions[1:]
    crossed = float(np.isfinite(drawn).mean())
    low, high, redrawn = quantile_interval(drawn, redraw.confidence)
    if value == -np.inf:
        return _Crossing(high=np.exp(max(high, x[0])), side=np.int8(LEFT), crossed=crossed)
    if value == np.inf:
        return _Crossing(low=np.exp(min(low, x[-1])), side=np.int8(RIGHT), crossed=crossed)
    crosses = np.isfinite(positions)
    crosses[0] = True  # the curve itself
    to_left, to_right = _unresolved(x, monotone[crosses], positions[crosses], rights[crosses])
    below = math.hypot(max(value - low, 0), float(to_left[0]))
    above = math.hypot(max(high - value, 0), float(to_right[0]))
    # share · bracket / √12: the standard deviation of a uniform law on the unresolved part
    unresolved = float(to_left[0] + to_right[0]) / math.sqrt(12)
    return _Crossing(
        value=np.exp(value),
        low=np.exp(value - below),
        high=np.exp(value + above),
        standard_error=math.hypot(redrawn, unresolved),
        redrawn=redrawn,
        unresolved=float(max(to_left[0], to_right[0])),
        least_unresolved=float(np.maximum(to_left, to_right).min()),
        least_bracket=float((to_left + to_right).min()),
        side=np.int8(INSIDE),
        crossed=crossed,
    )


def _monotone(curve: _Curve, redraw: _Redraw) -> Floats:
    """(1 + draws, cells): the monotone curve nearest to a curve, and the redrawn ones.

    Every curve has the seed, so that no other changes it.
    """
    error = curve.error
    weights = np.ones_like(error)
    if (error > 0).all():
        weights = 1 / error**2
    fitted = isotonic_regression(curve.value, weights=weights).x
    rng = np.random.default_rng(SEED)
    noise = rng.standard_normal((redraw.draws, error.size)) * error
    redrawn = [isotonic_regression(row, weights=weights).x for row in fitted + noise]
    return np.array([fitted, *redrawn])


def _invert(x: Floats, fitted: Floats, level: float) -> tuple[Floats, Integers]:
    """Positions where curves that rise reach `level`, and the cell to the right.

    Positions outside the cells are ∓∞. x: (cells,). fitted: (curves, cells). Returns
    two arrays (curves,).
    """
    row = np.arange(len(fitted))
    right = np.clip((fitted < level).sum(1), 1, x.size - 1)
    y0 = fitted[row, right - 1]
    y1 = fitted[row, right]
    step = np.where(y1 > y0, y1 - y0, 1)
    position = x[right - 1] + (level - y0) / step * (x[right] - x[right - 1])
    position = np.where(fitted[:, -1] < level, np.inf, position)
    position = np.where(fitted[:, 0] > level, -np.inf, position)
    return position, right


def _unresolved(
    x: Floats,
    fitted: Floats,
    value: Floats,
    right: Integers,
) -> tuple[Floats, Floats]:
    """How far a crossing is from both ends of its bracket, times a share.

    The share is that of the curve's rise in the bracket. x: (cells,). fitted: (curves,
    cells), rising. value, right: (curves,), from `_invert`. Returns two arrays
    (curves,).
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
    """Power law of a boundary found by `crossing` in the positive `predictors`: see
    `fit_rate`.

    Crossings outside their cells, or without a finite standard error, are dropped and
    counted.
    """
    value = boundary["value"].where(boundary["side"] == INSIDE)
    error = boundary["standard_error"] * value
    return fit_rate(value, error, groups=groups, confidence=confidence, **predictors)
