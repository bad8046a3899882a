"""At which further levels to look for a boundary: rounds of a refinement, in one axis
or in two.

All rounds are a function of the moments of the cells of those before. Each adds levels
of the first axis to curves whose crossing is not known well enough and, with a second
axis, curves where the boundary bends or ends.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import xarray as xr

from pipeline.analysis.crossings import (
    Crossings,
    Curve,
    Place,
    bounds_of,
    curves_of,
    find,
    positions,
)
from pipeline.study.arrays import Floats
from pipeline.study.grid import Grid, Level
from pipeline.study.refinement import LEVELS, CurveLabels, Refinement, curves, grown

Levels = tuple[Level, ...]
# Level of the second axis, rising -> curve. All other labels of these curves are equal.
Family = Mapping[Level, CurveLabels]


def walked(
    grid: Grid,
    known: Mapping[CurveLabels, Curve],
    bounds: tuple[float, float],
    refinement: Refinement,
) -> Grid:
    """The grid after all rounds that follow from what is known, and the first that does
    not.

    known: curves with their moments. bounds: of the metric's values. O(rounds · cells).
    """
    walk = _Walk(refinement, bounds)
    for number in itertools.count():  # ends, as rounds of a curve and of a family do
        now = curves(grid, refinement.along)
        if not all(_is_known(labels, levels, known) for labels, levels in now.items()):
            break
        walk.read(now, known)
        added = walk.round(number)
        if not added:
            break
        grid = grown(grid, refinement.along, added)
    return grid


def _is_known(
    labels: CurveLabels,
    levels: Levels,
    known: Mapping[CurveLabels, Curve],
) -> bool:
    """Whether all levels of a curve have moments."""
    return labels in known and {*levels} <= {*known[labels].levels}


@dataclass
class _Walk:
    """The rounds of a refinement so far.

    cells: curves with the moments of their levels. crossings: where these cross. born:
    round after which a curve of the second axis was added. turns: rounds of a family.
    """

    refinement: Refinement
    bounds: tuple[float, float]
    cells: dict[CurveLabels, Curve] = field(default_factory=dict)
    crossings: dict[CurveLabels, Crossings] = field(default_factory=dict)
    born: dict[CurveLabels, int] = field(default_factory=dict)
    turns: dict[CurveLabels, int] = field(default_factory=dict)

    def read(
        self,
        now: Mapping[CurveLabels, Levels],
        known: Mapping[CurveLabels, Curve],
    ) -> None:
        """Find where curves cross that are new or have new levels."""
        for labels, levels in now.items():
            if labels in self.cells and self.cells[labels].levels == levels:
                continue
            curve = known[labels].at(levels)
            self.cells[labels] = curve
            self.crossings[labels] = find(curve, self.refinement, self.bounds)

    def round(self, number: int) -> dict[CurveLabels, Levels]:
        """Levels that a round adds to curves, and new curves. number: of the round, from 0."""
        added = {}
        for labels, curve in self.cells.items():
            levels = next_levels(
                curve, self.crossings[labels], self.refinement, self._done(labels, number)
            )
            if levels:
                added[labels] = levels
        for family, members in families(self.crossings, self.refinement).items():
            added |= self._new_curves(family, members, added, number)
        return added

    def _done(self, labels: CurveLabels, number: int) -> int:
        """Rounds of a curve so far. One of the second axis skips the first ones."""
        if labels not in self.born:
            return number
        return number - self.born[labels] + self.refinement.least

    def _new_curves(
        self,
        family: CurveLabels,
        members: Family,
        added: Mapping[CurveLabels, Levels],
        number: int,
    ) -> dict[CurveLabels, Levels]:
        """New curves of a family whose curves need no more levels."""
        turn = self.turns.get(family, 0)
        if turn >= self.refinement.most or added.keys() & {*members.values()}:
            return {}
        whole = turn < self.refinement.least
        gaps = open_gaps(members, self.cells, self.crossings, self.refinement, whole)
        if not gaps:
            return {}
        new = _between(members, gaps, self.cells, self.crossings, self.refinement)
        self.born |= dict.fromkeys(new, number + 1)
        self.turns[family] = turn + 1
        return new


def next_levels(
    curve: Curve,
    crossings: Crossings,
    refinement: Refinement,
    done: int,
) -> Levels:
    """Levels to add to a curve after `done` rounds.

    None where it is known well enough, or can be no better.

    The largest gaps are halved, one after the other: of the whole axis in the first
    rounds; then between the decided levels next to crossings whose intervals are too
    wide, and once these come from a fit, within them: at the centre of its window all
    of a cell's information is on the crossing. Levels are rounded to a hundredth of the
    width, so that all machines compute the same ones.
    """
    if done >= refinement.most:
        return ()
    at = positions(curve.levels)
    width = refinement.width
    if done < refinement.least:
        return _halved([at], curve.levels, width)
    wide = [place for place in crossings.places if place.width > width]
    windows = [_window(place, curve.levels) for place in wide]
    within = _halved(windows, curve.levels, width)
    if within:
        return within
    brackets = [_bracket(place, at) for place in wide]
    return _halved(brackets, curve.levels, width)


def _bracket(place: Place, at: Floats) -> Floats:
    """Positions of the cells from one decided cell next to a crossing to the other.

    at: positions of all cells.
    """
    if place.last is None:
        return at[place.first :]
    return at[place.first : place.last + 1]


def _window(place: Place, levels: Levels) -> Floats:
    """Positions of the ends of a crossing's interval and of the cells between them.

    Those of its bracket where no fit gave the interval. levels: of all cells.
    """
    bracket = _bracket(place, positions(levels))
    low, high = bracket[[0, -1]]
    if place.fitted:
        low, high = positions((place.low, place.high), levels)
    inner = bracket[(low < bracket) & (bracket < high)]
    return np.array([low, *inner, high])


def _halved(pieces: Sequence[Floats], levels: Levels, width: float) -> Levels:
    """Levels in the middle of the largest gaps between rising positions, one after the
    other.

    No level twice.
    """
    gaps: set[tuple[float, float]] = set()
    for piece in pieces:
        gaps.update(itertools.pairwise(piece.tolist()))
    taken = {*levels}
    new: list[Level] = []
    while gaps and len(new) < LEVELS:
        a, b = max(gaps, key=_size_then_lowest)
        gaps.remove((a, b))
        level = _rounded((a + b) / 2, levels, width)
        middle = float(positions((level,), levels)[0])
        if level not in taken and a < middle < b:
            gaps |= {(a, middle), (middle, b)}
            taken.add(level)
            new.append(level)
    return tuple(sorted(new))


def _size_then_lowest(gap: tuple[float, float]) -> tuple[float, float]:
    """Order of gaps: by size, and of equal ones the lowest last."""
    low, high = gap
    return round(high - low, 9), -low


def _rounded(position: float, levels: Sequence[Level], width: float) -> Level:
    """The level at a position, with no more digits than matter."""
    digits = 2 - math.floor(math.log10(width))
    if min(map(float, levels)) > 0:
        level = float(f"{math.exp(position):.{digits - 1}e}")
    else:
        scale = float(np.ptp(np.array(levels, float)))
        level = round(position * scale, digits - math.floor(math.log10(scale)))
    if all(isinstance(other, int) for other in levels):
        return round(level)
    return level


# ---------------------------------------------------------------------------------- the second axis


def families(
    known: Mapping[CurveLabels, object], refinement: Refinement
) -> dict[CurveLabels, Family]:
    """Curves that differ in the second axis only, by their other labels.

    None without a second axis.
    """
    second = refinement.second
    if not second:
        return {}
    members: dict[CurveLabels, dict[Level, CurveLabels]] = {}
    for labels in known:
        others = tuple((axis, level) for axis, level in labels if axis != second)
        members.setdefault(others, {})[dict(labels)[second]] = labels
    return {others: _in_order(family) for others, family in members.items()}


def _in_order(family: Family) -> Family:
    return {level: family[level] for level in sorted(family, key=float)}


class Gap(NamedTuple):
    """Two neighbouring levels of the second axis, and their positions."""

    first: Level
    last: Level
    low: float
    high: float


def open_gaps(
    members: Family,
    cells: Mapping[CurveLabels, Curve],
    crossings: Mapping[CurveLabels, Crossings],
    refinement: Refinement,
    whole: bool = False,
) -> list[Gap]:
    """Gaps between neighbouring curves in which the boundary is not known to the width.

    Those wider than the width whose curves cross differently often, as the boundary
    begins, ends or turns back between them, or where the boundary is no straight line
    in the positions of both axes: where one of the two crossings lies off the line
    through those of its neighbours by more than the width, and than the intervals of
    the three allow. whole: all gaps.
    """
    levels = [*members]
    at = positions(levels).tolist()
    straight = _straightness(members, cells, crossings, refinement.width)
    counts = [crossings[labels].count for labels in members.values()]
    gaps = []
    for k, (low, high) in enumerate(itertools.pairwise(at)):
        known = {straight[k], straight[k + 1]} - {None}
        bends = counts[k] > 0 and known != {True}
        ends = counts[k] != counts[k + 1]
        is_open = high - low > refinement.width and (ends or bends)
        if whole or is_open:
            gaps.append(Gap(levels[k], levels[k + 1], low, high))
    return gaps


def _straightness(
    members: Family,
    cells: Mapping[CurveLabels, Curve],
    crossings: Mapping[CurveLabels, Crossings],
    width: float,
) -> list[bool | None]:
    """Of every curve of a family, whether it is on the line through its neighbours.

    That is about its crossings: see `_straight`. None at the ends, too.
    """
    at = positions([*members]).tolist()
    scale = _levels_of(members.values(), cells)
    of_level = [crossings[labels] for labels in members.values()]
    straight: list[bool | None] = [None for _ in members]
    for k in range(1, len(members) - 1):
        neighbours = slice(k - 1, k + 2)
        straight[k] = _straight(of_level[neighbours], at[neighbours], scale, width)
    return straight


def _levels_of(labels: Iterable[CurveLabels], cells: Mapping[CurveLabels, Curve]) -> list[Level]:
    """Levels of several curves, one curve after the other."""
    levels: list[Level] = []
    for curve in labels:
        levels += cells[curve].levels
    return levels


def _straight(
    three: Sequence[Crossings],
    at: Sequence[float],
    scale: Sequence[Level],
    width: float,
) -> bool | None:
    """Whether crossings of three neighbouring curves lie on a line.

    None where they cross differently often, or never.
    """
    counts = {crossings.count for crossings in three}
    if len(counts) > 1 or counts == {0}:
        return None
    share = (at[1] - at[0]) / (at[2] - at[0])
    weights = np.array([share - 1, 1, -share])
    places_of = [crossings.places for crossings in three]
    for places in zip(*places_of, strict=True):
        ends = [positions((place.low, place.value, place.high), scale) for place in places]
        low, value, high = np.array(ends).T
        off = abs(weights @ value)
        uncertain = float(np.linalg.norm(weights * (high - low) / 2))
        if off > max(width, uncertain):
            return False
    return True


def _between(
    members: Family,
    gaps: Sequence[Gap],
    cells: Mapping[CurveLabels, Curve],
    crossings: Mapping[CurveLabels, Crossings],
    refinement: Refinement,
) -> dict[CurveLabels, Levels]:
    """New curves in the middle of the largest gaps, with their first levels.

    These are the ends of the first axis, and as many as a round adds, evenly spread
    from one to the other end of where the two neighbours are not decided; over the
    whole axis if one of them does not cross.
    """
    pieces = [np.array([gap.low, gap.high]) for gap in gaps]
    levels = [*members]
    new = {}
    for level in _halved(pieces, tuple(levels), refinement.width):
        at = float(positions((level,), levels)[0])
        gap = next(gap for gap in gaps if gap.low < at < gap.high)
        first = members[gap.first]
        neighbours = (first, members[gap.last])
        labels = dict(first) | {refinement.second: level}
        new[tuple(labels.items())] = _first_levels(neighbours, cells, crossings, refinement)
    return new


def _first_levels(
    neighbours: Sequence[CurveLabels],
    cells: Mapping[CurveLabels, Curve],
    crossings: Mapping[CurveLabels, Crossings],
    refinement: Refinement,
) -> Levels:
    """The first levels of a new curve between two others: see `_between`."""
    scale = _levels_of(neighbours, cells)
    near = _near_crossings(neighbours, cells, crossings)
    if not near:
        near = list(map(float, scale))
    low, high = positions([min(near), max(near)], scale)
    evenly = np.linspace(low, high, LEVELS).tolist()
    spread = {_rounded(position, scale, refinement.width) for position in evenly}
    ends = {min(scale, key=float), max(scale, key=float)}
    return tuple(sorted(ends | spread))


def _near_crossings(
    neighbours: Sequence[CurveLabels],
    cells: Mapping[CurveLabels, Curve],
    crossings: Mapping[CurveLabels, Crossings],
) -> list[float]:
    """Decided levels next to the crossings of some curves; none if one of them does not cross."""
    near: list[float] = []
    for labels in neighbours:
        if not crossings[labels].count:
            return []
        levels = cells[labels].levels
        for place in crossings[labels].places:
            decided = [k for k in (place.first, place.last) if k is not None]
            near += [float(levels[k]) for k in decided]
    return near


def unresolved(moments: xr.Dataset, refinement: Refinement) -> list[tuple[str, str]]:
    """Labels of every family of curves, and where its boundary is not known.

    That is between which levels of the second axis.
    """
    second = refinement.second
    if not second:
        return []
    known = curves_of(moments, refinement)
    bounds = bounds_of(moments, refinement.metric)
    crossings = {labels: find(curve, refinement, bounds) for labels, curve in known.items()}
    texts = []
    for family, members in families(known, refinement).items():
        varying = [(axis, level) for axis, level in family if moments.sizes[axis] > 1]
        name = ", ".join(f"{axis} = {level}" for axis, level in varying)
        gaps = open_gaps(members, known, crossings, refinement)
        texts.append((name, _of_gaps(gaps, refinement)))
    return texts


def _of_gaps(gaps: Sequence[Gap], refinement: Refinement) -> str:
    """Where a boundary is not known, in words."""
    second = refinement.second
    width = f"{refinement.width:g}"
    if not gaps:
        return f"the boundary is straight between neighbouring levels of {second}, to {width}"
    where = ", ".join(f"{gap.first:.4g} and {gap.last:.4g}" for gap in gaps)
    return f"the boundary begins, ends or bends by more than {width} between {second} = {where}"
