"""Where curves cross a level, from the moments of their cells.

Each cell is simulated independently of the others. So where later levels are placed
(`analysis.levels`) may depend on earlier results without a bias of what is simulated there.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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


class Place(NamedTuple):
    """A crossing, or where one may be: its position and the ends of its interval, in the unit of
    the axis.

    first, last: numbers of the cells next to it that are decided; None beyond an end of the curve,
    where the interval is open. value: NaN where it is not known that there is a crossing. fitted:
    whether a parabola gave the interval.
    """

    low: float
    value: float
    high: float
    width: float
    first: int | None
    last: int | None
    fitted: bool = False


class Found(NamedTuple):
    """What is known of a curve. crossings: how often it certainly crosses.

    With none, `places` are where it may.

    distance: of the mean from the level at the cell where it is least, at least, signed; 0 unless
    all cells are on one side.
    """

    crossings: int
    places: tuple[Place, ...]
    distance: float


def find(curve: Curve, asked: Refinement, bounds: tuple[float, float]) -> Found:
    """Where a curve crosses a level, from the moments of its cells; bounds: of the metric's values.

    A cell is decided where its interval leaves out the level; intervals hold for all cells together
    (Bonferroni), at a fiftieth of the error probability. Between neighbours that are decided for
    different sides lies a crossing, if the mean is continuous; if the curve crosses once, their
    levels are an interval of its position. With five undecided cells or more between them a
    parabola is fitted to these, by least squares, and the interval is where
    |parabola − level| is at most z standard errors of it. Weights are 1 − u², u = ±1 at the decided cells: not of the
    cells' own spread, with which errors correlate, and small where a cell's error decides whether it takes part.
    Without any crossing found, `places` are where undecided cells leave room for one. O(levels).
    Source: Fan and Gijbels, Local Polynomial Modelling (1996), chapter 3 (local fit, Epanechnikov's weights).
    """
    low, high = _sides(curve, asked, bounds)
    sides = np.where(low > asked.level, 1, np.where(high < asked.level, -1, 0))
    decided = np.flatnonzero(sides).tolist()
    if not decided:
        return Found(0, (_place(curve, None, None, asked),), 0.0)
    pairs = [*itertools.pairwise(decided)]
    if crossed := [(i, j) for i, j in pairs if sides[i] != sides[j]]:
        return Found(len(crossed), tuple(_place(curve, i, j, asked) for i, j in crossed), 0.0)
    last = len(curve.levels) - 1
    ends = [*[(None, decided[0])][: decided[0] > 0], *[(decided[-1], None)][: decided[-1] < last]]
    places = tuple(
        _place(curve, i, j, asked) for i, j in [*ends, *((i, j) for i, j in pairs if j > i + 1)]
    )
    distance = float(
        (low - asked.level).min() if sides[decided[0]] > 0 else (high - asked.level).max()
    )
    return Found(0, places, 0.0 if places else distance)


def positions(levels: Sequence[Level], of: Sequence[Level] | None = None) -> Floats:
    """log of the levels, or their share of the range where some of the levels `of` (those given)
    are not positive.
    """
    x, scale = np.array(levels, float), np.array(levels if of is None else of, float)
    at: Floats = np.log(x) if scale.min() > 0 else x / np.ptp(scale)
    return at


def curves_of(moments: xr.Dataset, asked: Refinement) -> dict[CurveLabels, Curve]:
    """All curves of a summary of moments, with the cells that were simulated."""
    axes = [str(name) for name in moments["status"].dims if name != "count"]
    others = [name for name in axes if name != asked.along]
    values = (
        moments[asked.metric]
        .transpose(*others, asked.along, "statistic")
        .sel(statistic=[*STATISTICS])
    )
    run = moments["status"].sel(count="run").transpose(*others, asked.along).values > 0
    levels, found = moments[asked.along].values.tolist(), {}
    for i in np.ndindex(run.shape[:-1]):
        cells = sorted(np.flatnonzero(run[i]).tolist(), key=levels.__getitem__)
        if cells:
            labels = {
                axis: moments[axis].values.tolist()[k] for axis, k in zip(others, i, strict=True)
            }
            found[tuple(labels.items())] = Curve(
                tuple(levels[k] for k in cells), values.values[i][cells].T
            )
    return found


def bounds_of(moments: xr.Dataset, metric: str) -> tuple[float, float]:
    """Range of a metric's values, as a summary of moments states it."""
    attributes = moments[metric].attrs
    return float(attributes.get("least", -math.inf)), float(attributes.get("most", math.inf))


def boundary(moments: xr.Dataset, asked: Refinement) -> xr.Dataset:
    """Where every curve crosses the level, over the other axes, from a summary of moments.

    Returns `crossings`, how often a curve certainly crosses; `value`, `low`, `high`: the position
    and the ends of its interval, in the unit of the axis, of several crossings (value NaN) the
    least and greatest end; without any, where one may be (NaN: nowhere within the axis);
    `distance`: of the mean from the level, at least; `says`, the same in words; and `side` and
    `standard_error`, of log value, as `boundaries.crossing` has them.
    """
    found = {
        labels: find(curve, asked, bounds_of(moments, asked.metric))
        for labels, curve in curves_of(moments, asked).items()
    }
    axes = {
        str(axis): moments[axis]
        for axis in moments["status"].dims
        if axis not in ("count", asked.along)
    }
    z = 2 * special.ndtri(0.5 + asked.confidence / 2)
    rows = [
        dict(zip(axes, (level for _, level in labels), strict=True)) | _row(one, asked, z)
        for labels, one in found.items()
    ]
    shape = tuple(map(len, axes.values()))
    index = [tuple(axes[axis].values.tolist().index(row[axis]) for axis in axes) for row in rows]
    columns = {}
    for name, empty in _row(Found(0, (), 0.0), asked, z).items():
        column = np.full(
            shape,
            "" if isinstance(empty, str) else empty,
            object if isinstance(empty, str) else None,
        )
        for at, row in zip(index, rows, strict=True):
            column[at] = row[name]
        columns[name] = ([*axes], column)
    return xr.Dataset(columns, axes)


def _row(found: Found, asked: Refinement, z: float) -> dict[str, Any]:
    places, one = found.places, found.crossings == 1
    low, high = (
        (min(p.low for p in places), max(p.high for p in places))
        if places
        else (math.nan, math.nan)
    )
    return {
        "crossings": found.crossings,
        "value": places[0].value if one else math.nan,
        "low": low,
        "high": high,
        "distance": found.distance,
        "side": np.int8(INSIDE if one else UNKNOWN),
        "standard_error": places[0].width / z if one else math.inf,
        "says": says(found, asked),
    }


def says(found: Found, asked: Refinement) -> str:
    """What is known of a curve, in words.

    >>> asked = Refinement("epsilon", "error_l2", level=0.5, width=0.02)
    >>> says(Found(1, (Place(1.99, 2.0, 2.01, 0.01, 3, 4),), 0.0), asked)
    'crosses at epsilon = 2.000 [1.990, 2.010]'
    >>> says(Found(0, (), -0.125), asked)
    'does not cross within epsilon: the mean stays below, by 0.125 or more at every level'
    """
    if not found.places:
        return (
            f"does not cross within {asked.along}: the mean stays "
            f"{'above' if found.distance > 0 else 'below'}, by {abs(found.distance):.3g} or more "
            "at every level"
        )
    texts = [str(Estimate(one.value, one.low, one.high)) for one in found.places]
    if not found.crossings:
        where = " or ".join(f"[{one.low:.4g}, {one.high:.4g}]" for one in found.places)
        return (
            f"not decided: may cross at {asked.along} in {where}; more replications, or more "
            "levels, would tell"
        )
    times = "" if found.crossings == 1 else f" {found.crossings} times,"
    wide = "; wider than asked" if any(one.width > asked.width for one in found.places) else ""
    return f"crosses{times} at {asked.along} = {' and '.join(texts)}{wide}"


def statements(moments: xr.Dataset, asked: Refinement) -> list[tuple[str, str]]:
    """Labels of every curve, of the axes that vary, and what is known of it."""
    bounds, known = bounds_of(moments, asked.metric), curves_of(moments, asked)
    vary = {axis for axis, _ in next(iter(known), ()) if moments.sizes[axis] > 1}
    return [
        (
            ", ".join(f"{axis} = {level}" for axis, level in labels if axis in vary),
            says(find(curve, asked, bounds), asked),
        )
        for labels, curve in known.items()
    ]


def _sides(curve: Curve, asked: Refinement, bounds: tuple[float, float]) -> tuple[Array, Array]:
    """Ends of the intervals of all means, which hold together for as many cells as the curve may
    ever have.
    """
    cells = len(curve.levels) + LEVELS * asked.most
    confidence = 1 - SIDES * (1 - asked.confidence) / cells
    part: Mapping[str, Array] = dict(zip(STATISTICS, curve.moments, strict=True))
    low, high = mean_interval(part, confidence, bounds == (0, 1))
    least, most = bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        unseen = (most - least) * rule_of_three(np.maximum(part["n"], 1), confidence)
        low, high = (
            np.where(high > low, low, part["mean"] - unseen),
            np.where(high > low, high, part["mean"] + unseen),
        )
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _place(curve: Curve, first: int | None, last: int | None, asked: Refinement) -> Place:
    """Crossing between two decided cells; beyond an end of the curve nothing is known."""
    if first is None or last is None:
        lowest, highest = (0.0 if min(curve.levels, key=float) > 0 else -math.inf), math.inf  # type: ignore[operator]
        return Place(
            lowest if first is None else float(curve.levels[first]),
            math.nan,
            highest if last is None else float(curve.levels[last]),
            math.inf,
            first,
            last,
        )
    at = positions(curve.levels)
    part = dict(zip(STATISTICS, curve.moments, strict=True))
    low, high, ends = (
        at[first],
        at[last],
        (part["mean"][first] - asked.level, part["mean"][last] - asked.level),
    )
    same = ends[0] * ends[1] > 0
    value = math.nan if same else low + (high - low) * ends[0] / (ends[0] - ends[1])
    inside, fitted = slice(first + 1, last), False
    if last - first - 1 >= FITTED and not same:
        n, m2 = part["n"][inside], part["m2"][inside]
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = m2 / (n * (n - 1))
        u, x = 2 * (at[inside] - low) / (high - low) - 1, np.linspace(low, high, POINTS)
        root, parabolas = np.sqrt(1 - u**2), np.vander(np.linspace(-1, 1, POINTS), 3)
        fit = np.linalg.pinv(root[:, None] * np.vander(u, 3)) * root  # (coefficients, cells)
        distance = np.abs(parabolas @ (fit @ part["mean"][inside]) - asked.level)
        z = special.ndtri(1 - (1 - SIDES) * (1 - asked.confidence) / 2)
        near = np.flatnonzero(
            distance <= z * np.sqrt(np.vecdot(parabolas @ (fit * variance @ fit.T), parabolas))
        )
        if fitted := near.size > 0:  # else no parabola fits, and the bracket remains
            low, high = x[max(near[0] - 1, 0)], x[min(near[-1] + 1, POINTS - 1)]
            value = x[near[distance[near].argmin()]]
    width = float(high - low)
    low, value, high = (
        float(np.exp(u)) if min(map(float, curve.levels)) > 0 else float(u * _range(curve.levels))
        for u in (low, value, high)
    )
    return Place(low, value, high, width, first, last, fitted)


def _range(levels: Sequence[Level]) -> float:
    return float(np.ptp(np.array(levels, float)))
