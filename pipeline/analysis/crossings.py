"""Where curves cross a level, from the moments of their cells.

Each cell is simulated independently of the others. So where later levels are placed
(`analysis.refined_levels`) may depend on earlier results without a bias of what is
simulated there.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import special

from pipeline.analysis.boundaries import INSIDE, UNKNOWN
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.intervals import mean_interval, rule_of_three
from pipeline.analysis.moments import STATISTICS
from pipeline.study.arrays import Array, Floats
from pipeline.study.grid import Level
from pipeline.study.refinement import LEVELS, CurveLabels, Refinement

# Share of the error probability for the sides of all cells of a curve, the rest is for the fit.
SIDES = 0.02
FITTED = 5  # undecided cells from which on a parabola is fitted
POINTS = 5001  # of a bracket, at which the parabola is compared with the level


class Curve(NamedTuple):
    """Cells of a curve in rising order of their levels. moments: (statistic, levels)."""

    levels: tuple[Level, ...]
    moments: Floats

    def at(self, levels: Sequence[Level]) -> "Curve":
        """The cells of some of the levels."""
        index = {level: k for k, level in enumerate(self.levels)}
        return Curve(tuple(levels), self.moments[:, [index[level] for level in levels]])

    @property
    def statistics(self) -> dict[str, Floats]:
        """Name of a statistic -> (levels,)."""
        return dict(zip(STATISTICS, self.moments, strict=True))


class Place(NamedTuple):
    """A crossing, or where one may be: its position and the ends of its interval.

    All are in the unit of the axis. first, last: numbers of the cells next to it that
    are decided; None beyond an end of the curve, where the interval is open. value: NaN
    where it is not known that there is a crossing. fitted: whether a parabola gave the
    interval.
    """

    low: float
    value: float
    high: float
    width: float
    first: int | None
    last: int | None
    fitted: bool = False


@dataclass(frozen=True)
class Crossings:
    """What is known of a curve.

    count: how often it certainly crosses. With none, `places` are where it may.
    distance: of the mean from the level at the cell where it is least, at least,
    signed; 0 unless all cells are on one side.
    """

    count: int
    places: tuple[Place, ...]
    distance: float


def find(
    curve: Curve,
    refinement: Refinement,
    bounds: tuple[float, float],
) -> Crossings:
    """Where a curve crosses a level, from the moments of its cells.

    A cell is decided where its interval leaves out the level. Intervals hold for all
    cells together (Bonferroni), at a fiftieth of the error probability. Between
    neighbours that are decided for different sides lies a crossing, if the mean is
    continuous. If the curve crosses once, their levels are an interval of its position.

    With five undecided cells or more between them a parabola is fitted to these, by
    least squares, and the interval is where |parabola − level| is at most z standard
    errors of it. Weights are 1 − u², u = ±1 at the decided cells: not of the cells' own
    spread, with which errors correlate, and small where a cell's error decides whether
    it takes part. Without any crossing, `places` are where undecided cells leave room
    for one.

    bounds: of the metric's values. O(levels). Source: Fan and Gijbels, Local Polynomial
    Modelling (1996), chapter 3 (local fit, Epanechnikov's weights).
    """
    level = refinement.level
    low, high = _sides(curve, refinement, bounds)
    sides = np.where(low > level, 1, np.where(high < level, -1, 0))
    decided = np.flatnonzero(sides).tolist()
    if not decided:
        anywhere = _place(curve, None, None, refinement)
        return Crossings(0, (anywhere,), 0.0)
    pairs = itertools.pairwise(decided)
    crossed = [(i, j) for i, j in pairs if sides[i] != sides[j]]
    if crossed:
        places = tuple(_place(curve, i, j, refinement) for i, j in crossed)
        return Crossings(len(crossed), places, 0.0)
    undecided = _undecided(decided, len(curve.levels))
    if undecided:
        places = tuple(_place(curve, i, j, refinement) for i, j in undecided)
        return Crossings(0, places, 0.0)
    if sides[decided[0]] > 0:
        return Crossings(0, (), float((low - level).min()))
    return Crossings(0, (), float((high - level).max()))


def positions(levels: Sequence[Level], scale: Sequence[Level] | None = None) -> Floats:
    """log of the levels, or their share of the range where some levels are not
    positive.

    scale: the levels that decide which, and that have the range; `levels` if None.
    """
    x = np.array(levels, float)
    of_scale = x
    if scale is not None:
        of_scale = np.array(scale, float)
    if of_scale.min() > 0:
        logarithms: Floats = np.log(x)
        return logarithms
    shares: Floats = x / np.ptp(of_scale)
    return shares


def curves_of(moments: xr.Dataset, refinement: Refinement) -> dict[CurveLabels, Curve]:
    """All curves of a summary of moments, with the cells that were simulated."""
    along = refinement.along
    axes = [str(name) for name in moments["status"].dims if name != "count"]
    others = [name for name in axes if name != along]
    metric = moments[refinement.metric].transpose(*others, along, "statistic")
    values = metric.sel(statistic=[*STATISTICS]).values
    runs = moments["status"].sel(count="run").transpose(*others, along).values
    levels = moments[along].values.tolist()
    levels_of = {axis: moments[axis].values.tolist() for axis in others}
    curves = {}
    for i in np.ndindex(runs.shape[:-1]):
        simulated = np.flatnonzero(runs[i] > 0).tolist()
        if not simulated:
            continue
        cells = sorted(simulated, key=levels.__getitem__)
        labels = tuple((axis, levels_of[axis][k]) for axis, k in zip(others, i, strict=True))
        curves[labels] = Curve(tuple(levels[k] for k in cells), values[i][cells].T)
    return curves


def bounds_of(moments: xr.Dataset, metric: str) -> tuple[float, float]:
    """Range of a metric's values, as a summary of moments states it."""
    attributes = moments[metric].attrs
    least = float(attributes.get("least", -math.inf))
    most = float(attributes.get("most", math.inf))
    return least, most


def boundary(moments: xr.Dataset, refinement: Refinement) -> xr.Dataset:
    """Where every curve crosses the level, over the other axes, from a summary of
    moments.

    Returns `crossings`, how often a curve certainly crosses; `value`, `low`, `high`:
    the position and the ends of its interval, in the unit of the axis, of several
    crossings (value NaN) the least and greatest end; without any, where one may be
    (NaN: nowhere within the axis); `distance`: of the mean from the level, at least;
    `says`, the same in words; and `side` and `standard_error`, of log value, as
    `boundaries.crossing` has them.
    """
    bounds = bounds_of(moments, refinement.metric)
    not_axes = ("count", refinement.along)
    dims = moments["status"].dims
    axes = {str(axis): moments[axis] for axis in dims if axis not in not_axes}
    levels_of = {axis: levels.values.tolist() for axis, levels in axes.items()}
    columns = _empty_columns(tuple(map(len, axes.values())))
    z = 2 * special.ndtri(0.5 + refinement.confidence / 2)
    for labels, curve in curves_of(moments, refinement).items():
        cell = tuple(levels_of[axis].index(level) for axis, level in labels)
        crossings = find(curve, refinement, bounds)
        _write(columns, cell, crossings, z)
        columns["says"][cell] = says(crossings, refinement)
    return xr.Dataset({name: ([*axes], column) for name, column in columns.items()}, axes)


def _empty_columns(shape: tuple[int, ...]) -> dict[str, Array]:
    """The columns of `boundary`, for curves of which nothing is known."""
    return {
        "crossings": np.zeros(shape, int),
        "value": np.full(shape, math.nan),
        "low": np.full(shape, math.nan),
        "high": np.full(shape, math.nan),
        "distance": np.zeros(shape),
        "side": np.full(shape, UNKNOWN, np.int8),
        "standard_error": np.full(shape, math.inf),
        "says": np.full(shape, "", object),
    }


def _write(
    columns: Mapping[str, Array],
    cell: tuple[int, ...],
    crossings: Crossings,
    z: float,
) -> None:
    """Write what is known of a curve. z: widths of its interval in a standard error."""
    columns["crossings"][cell] = crossings.count
    columns["distance"][cell] = crossings.distance
    if crossings.places:
        columns["low"][cell] = min(place.low for place in crossings.places)
        columns["high"][cell] = max(place.high for place in crossings.places)
    if crossings.count == 1:
        (place,) = crossings.places
        columns["value"][cell] = place.value
        columns["side"][cell] = INSIDE
        columns["standard_error"][cell] = place.width / z


def says(crossings: Crossings, refinement: Refinement) -> str:
    """What is known of a curve, in words.

    >>> refinement = Refinement("epsilon", "error_l2", level=0.5, width=0.02)
    >>> says(Crossings(1, (Place(1.99, 2.0, 2.01, 0.01, 3, 4),), 0.0), refinement)
    'crosses at epsilon = 2.000 [1.990, 2.010]'
    >>> says(Crossings(0, (), -0.125), refinement)
    'does not cross within epsilon: the mean stays below, by 0.125 or more at every level'
    """
    axis = refinement.along
    places = crossings.places
    if not places:
        return _says_never(crossings.distance, axis)
    if not crossings.count:
        where = " or ".join(f"[{place.low:.4g}, {place.high:.4g}]" for place in places)
        return (
            f"not decided: may cross at {axis} in {where}; more replications, or more "
            "levels, would tell"
        )
    times = ""
    if crossings.count > 1:
        times = f" {crossings.count} times,"
    texts = [str(Estimate(place.value, place.low, place.high)) for place in places]
    sentence = f"crosses{times} at {axis} = {' and '.join(texts)}"
    if any(place.width > refinement.width for place in places):
        return f"{sentence}; wider than asked"
    return sentence


def _says_never(distance: float, axis: str) -> str:
    """Of a curve that does not cross, in words. distance: see `Crossings`."""
    side = "below"
    if distance > 0:
        side = "above"
    return (
        f"does not cross within {axis}: the mean stays {side}, by {abs(distance):.3g} or "
        "more at every level"
    )


def statements(moments: xr.Dataset, refinement: Refinement) -> list[tuple[str, str]]:
    """Labels of every curve, of the axes that vary, and what is known of it."""
    bounds = bounds_of(moments, refinement.metric)
    texts = []
    for labels, curve in curves_of(moments, refinement).items():
        varying = [(axis, level) for axis, level in labels if moments.sizes[axis] > 1]
        name = ", ".join(f"{axis} = {level}" for axis, level in varying)
        texts.append((name, says(find(curve, refinement, bounds), refinement)))
    return texts


def _undecided(decided: Sequence[int], cells: int) -> list[tuple[int | None, int | None]]:
    """Pairs of decided cells, or ends of the curve, between which cells are not decided."""
    stretches: list[tuple[int | None, int | None]] = []
    if decided[0] > 0:
        stretches.append((None, decided[0]))
    if decided[-1] < cells - 1:
        stretches.append((decided[-1], None))
    stretches += [(i, j) for i, j in itertools.pairwise(decided) if j > i + 1]
    return stretches


def _sides(
    curve: Curve, refinement: Refinement, bounds: tuple[float, float]
) -> tuple[Array, Array]:
    """Ends of the intervals of all means.

    They hold together for as many cells as the curve may ever have.
    """
    cells = len(curve.levels) + LEVELS * refinement.most
    confidence = 1 - SIDES * (1 - refinement.confidence) / cells
    statistics = curve.statistics
    low, high = mean_interval(statistics, confidence, bounds == (0, 1))
    least, most = bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        unseen = (most - least) * rule_of_three(np.maximum(statistics["n"], 1), confidence)
        varies = high > low
        low = np.where(varies, low, statistics["mean"] - unseen)
        high = np.where(varies, high, statistics["mean"] + unseen)
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _place(
    curve: Curve,
    first: int | None,
    last: int | None,
    refinement: Refinement,
) -> Place:
    """Crossing between two decided cells; beyond an end of the curve nothing is known."""
    if first is None or last is None:
        return _open_place(curve, first, last)
    at = positions(curve.levels)
    low = at[first]
    high = at[last]
    mean = curve.statistics["mean"]
    above_first = mean[first] - refinement.level
    above_last = mean[last] - refinement.level
    cells = slice(first, last + 1)
    if above_first * above_last > 0:
        return _closed_place(curve, cells, _Interval(low, math.nan, high))
    if last - first - 1 >= FITTED:
        fit = _fitted(curve, at, cells, refinement)
        if fit is not None:
            return _closed_place(curve, cells, fit)._replace(fitted=True)
    value = low + (high - low) * above_first / (above_first - above_last)
    return _closed_place(curve, cells, _Interval(low, value, high))


class _Interval(NamedTuple):
    """Positions of a crossing and of the ends of its interval."""

    low: float
    value: float
    high: float


def _closed_place(curve: Curve, cells: slice, interval: _Interval) -> Place:
    """A crossing between two decided cells. cells: from one to the other."""
    return Place(
        low=_level_at(interval.low, curve.levels),
        value=_level_at(interval.value, curve.levels),
        high=_level_at(interval.high, curve.levels),
        width=float(interval.high - interval.low),
        first=cells.start,
        last=cells.stop - 1,
    )


def _open_place(curve: Curve, first: int | None, last: int | None) -> Place:
    """From or to an end of the curve, or both."""
    low = -math.inf
    high = math.inf
    if _positive(curve.levels):
        low = 0.0
    if first is not None:
        low = float(curve.levels[first])
    if last is not None:
        high = float(curve.levels[last])
    return Place(low, math.nan, high, math.inf, first, last)


def _fitted(
    curve: Curve,
    at: Floats,
    bracket: slice,
    refinement: Refinement,
) -> _Interval | None:
    """Interval of a crossing, by a parabola fitted to the cells of a bracket.

    bracket: cells from one decided cell to the next. at: positions of all cells. None
    where no point of the parabola is near the level.
    """
    heights, errors = _parabola(curve, at, bracket)
    distance = np.abs(heights - refinement.level)
    z = special.ndtri(1 - (1 - SIDES) * (1 - refinement.confidence) / 2)
    near = np.flatnonzero(distance <= z * errors)
    if not near.size:  # no parabola fits, and the bracket remains
        return None
    x = np.linspace(at[bracket.start], at[bracket.stop - 1], POINTS)
    nearest = near[distance[near].argmin()]
    first = max(near[0] - 1, 0)
    last = min(near[-1] + 1, POINTS - 1)
    return _Interval(x[first], x[nearest], x[last])


def _parabola(curve: Curve, at: Floats, bracket: slice) -> tuple[Floats, Floats]:
    """Heights of the parabola of `find` at `POINTS` positions, and their standard
    errors.

    The positions are evenly spread over the bracket. Arguments as in `_fitted`.
    """
    low = at[bracket][0]
    high = at[bracket][-1]
    inside = slice(bracket.start + 1, bracket.stop - 1)
    n = curve.statistics["n"][inside]
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = curve.statistics["m2"][inside] / (n * (n - 1))
    u = 2 * (at[inside] - low) / (high - low) - 1
    root = np.sqrt(1 - u**2)
    parabolas = np.vander(np.linspace(-1, 1, POINTS), 3)
    fit = np.linalg.pinv(root[:, None] * np.vander(u, 3)) * root  # (coefficients, cells)
    heights = parabolas @ (fit @ curve.statistics["mean"][inside])
    covariance = fit * variance @ fit.T
    errors = np.sqrt(np.vecdot(parabolas @ covariance, parabolas))
    return heights, errors


def _level_at(position: float, levels: Sequence[Level]) -> float:
    """The level at a position, in the unit of the axis."""
    if _positive(levels):
        return float(np.exp(position))
    return float(position * np.ptp(np.array(levels, float)))


def _positive(levels: Sequence[Level]) -> bool:
    return min(map(float, levels)) > 0
