"""At which further levels to look for a boundary: rounds of a refinement, in one axis or in two.

All rounds are a function of the moments of the cells of those before. Each adds levels of the first
axis to curves whose crossing is not known well enough and, with a second axis, curves where the
boundary bends or ends.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from pipeline.analysis.refinement import Curve, Found, bounds_of, curves_of, find, positions
from pipeline.study.arrays import Floats
from pipeline.study.grid import Grid, Level
from pipeline.study.refinement import LEVELS, CurveLabels, Refinement, curves, grown

Levels = tuple[Level, ...]


def walked(
    grid: Grid, known: Mapping[CurveLabels, Curve], bounds: tuple[float, float], asked: Refinement
) -> Grid:
    """The grid after all rounds that follow from what is known, and that of the first round that is
    not.

    known: curves with their moments. bounds: of the metric's values. O(rounds · cells).
    """
    born, turns = dict.fromkeys(curves(grid, asked.along), 0), dict[CurveLabels, int]()
    cells, found = dict[CurveLabels, Curve](), dict[CurveLabels, Found]()
    for done in itertools.count():  # ends, as rounds of a curve and of a family do
        now = curves(grid, asked.along)
        if any(
            labels not in known or not {*levels} <= {*known[labels].levels}
            for labels, levels in now.items()
        ):
            break
        new_cells = {
            labels: known[labels].at(levels)
            for labels, levels in now.items()
            if labels not in cells or cells[labels].levels != levels
        }
        cells |= new_cells
        found |= {labels: find(curve, asked, bounds) for labels, curve in new_cells.items()}
        added = {
            labels: new
            for labels, curve in cells.items()
            if (
                new := next_levels(
                    curve,
                    found[labels],
                    asked,
                    done - born[labels] + bool(born[labels]) * asked.least,
                )
            )
        }
        for family, members in families(found, asked).items():
            turn = turns.get(family, 0)
            if (
                turn < asked.most
                and not added.keys() & {*members.values()}
                and (gaps := open_gaps(members, cells, found, asked, whole=turn < asked.least))
            ):
                new_curves = _between(members, gaps, cells, found, asked)
                born |= dict.fromkeys(new_curves, done + 1)
                added, turns[family] = added | new_curves, turn + 1
        if not added:
            break
        grid = grown(grid, asked.along, added)
    return grid


def next_levels(curve: Curve, found: Found, asked: Refinement, done: int) -> Levels:
    """Levels to add to a curve after `done` rounds.

    None where it is known well enough, or can be no better.

    The largest gaps are halved, one after the other: of the whole axis in the first rounds; then
    between the decided levels next to crossings whose intervals are too wide, and once these come
    from a fit, within them: at the centre of its window all of a cell's information is on the
    crossing. Levels are rounded to a hundredth of the width, so that all machines compute the same
    ones.
    """
    if done >= asked.most:
        return ()
    at = positions(curve.levels)
    if done < asked.least:
        return _halved([at], curve.levels, asked.width)
    wide = [
        (one, at[one.first : None if one.last is None else one.last + 1])
        for one in found.places
        if not one.width <= asked.width
    ]
    within = []
    for one, inside in wide:
        low, high = positions((one.low, one.high), curve.levels) if one.fitted else inside[[0, -1]]
        within.append(np.array([low, *inside[(low < inside) & (inside < high)], high]))
    return _halved(within, curve.levels, asked.width) or _halved(
        [inside for _, inside in wide], curve.levels, asked.width
    )


def _halved(pieces: Sequence[Floats], levels: Levels, width: float) -> Levels:
    """Levels in the middle of the largest gaps between rising positions, one after the other.

    No level twice.
    """
    gaps = {(a, b) for piece in pieces for a, b in itertools.pairwise(piece.tolist())}
    taken, new = {*levels}, list[Level]()
    while gaps and len(new) < LEVELS:
        a, b = max(gaps, key=lambda gap: (round(gap[1] - gap[0], 9), -gap[0]))
        gaps.remove((a, b))
        level = _rounded((a + b) / 2, levels, width)
        middle = float(positions((level,), levels)[0])
        if level not in taken and a < middle < b:
            gaps |= {(a, middle), (middle, b)}
            taken.add(level)
            new.append(level)
    return tuple(sorted(new))


def _rounded(position: float, levels: Sequence[Level], width: float) -> Level:
    """The level at a position, with no more digits than matter."""
    digits = 2 - math.floor(math.log10(width))
    if min(map(float, levels)) > 0:
        level = float(f"{math.exp(position):.{digits - 1}e}")
    else:
        scale = float(np.ptp(np.array(levels, float)))
        level = round(position * scale, digits - math.floor(math.log10(scale)))
    return round(level) if all(isinstance(one, int) for one in levels) else level


# ---------------------------------------------------------------------------------- the second axis

Family = Mapping[
    Level, CurveLabels
]  # level of the second axis, rising -> curve; all other labels are equal


def families(known: Mapping[CurveLabels, object], asked: Refinement) -> dict[CurveLabels, Family]:
    """Curves that differ in the second axis only, by their other labels.

    None without a second axis.
    """
    found: dict[CurveLabels, dict[Level, CurveLabels]] = {}
    for labels in known if asked.second else ():
        others = tuple(one for one in labels if one[0] != asked.second)
        found.setdefault(others, {})[dict(labels)[asked.second]] = labels
    return {
        others: {level: members[level] for level in sorted(members, key=float)}
        for others, members in found.items()
    }


class Gap(NamedTuple):
    """Two neighbouring levels of the second axis, and their positions."""

    first: Level
    last: Level
    low: float
    high: float


def open_gaps(
    members: Family,
    cells: Mapping[CurveLabels, Curve],
    found: Mapping[CurveLabels, Found],
    asked: Refinement,
    whole: bool = False,
) -> list[Gap]:
    """Gaps between neighbouring curves in which the boundary is not known to the width.

    Those wider than the width whose curves cross differently often, as the boundary begins, ends or
    turns back between them, or where the boundary is no straight line in the positions of both
    axes: where one of the two crossings lies off the line through those of its neighbours by more
    than the width, and than the intervals of the three allow. whole: all gaps.
    """
    levels, at = [*members], positions((*members,)).tolist()
    here = [found[labels] for labels in members.values()]
    scale = tuple(level for labels in members.values() for level in cells[labels].levels)
    straight = {
        k: _straight(here[k - 1 : k + 2], at[k - 1 : k + 2], scale, asked.width)
        for k in range(1, len(levels) - 1)
    }
    gaps = []
    for k, (low, high) in enumerate(itertools.pairwise(at)):
        first, last = here[k].crossings, here[k + 1].crossings
        said = [straight[j] for j in (k, k + 1) if straight.get(j) is not None]
        if (
            whole
            or high - low > asked.width
            and (first != last or first > 0 and not (said and all(said)))
        ):
            gaps.append(Gap(levels[k], levels[k + 1], low, high))
    return gaps


def _straight(
    three: Sequence[Found], at: Sequence[float], scale: Sequence[Level], width: float
) -> bool | None:
    """Whether crossings of three neighbouring curves lie on a line.

    None where they cross differently often, or never.
    """
    if len({one.crossings for one in three}) > 1 or not three[0].crossings:
        return None
    share = (at[1] - at[0]) / (at[2] - at[0])
    weights = np.array([share - 1, 1, -share])
    for places in zip(*(one.places for one in three), strict=True):
        low, value, high = np.array([positions(one[:3], scale) for one in places]).T
        if abs(weights @ value) > max(width, float(np.linalg.norm(weights * (high - low) / 2))):
            return False
    return True


def _between(
    members: Family,
    gaps: Sequence[Gap],
    cells: Mapping[CurveLabels, Curve],
    found: Mapping[CurveLabels, Found],
    asked: Refinement,
) -> dict[CurveLabels, Levels]:
    """New curves in the middle of the largest gaps, with their first levels.

    These are the ends of the first axis, and as many as a round adds, evenly spread from one to the
    other end of where the two neighbours are not decided; over the whole axis if one of them does
    not cross.
    """
    pieces = [np.array([gap.low, gap.high]) for gap in gaps]
    new = dict[CurveLabels, Levels]()
    for level in _halved(pieces, (*members,), asked.width):
        at = float(positions((level,), (*members,))[0])
        gap = next(one for one in gaps if one.low < at < one.high)
        sides = [
            (cells[labels], found[labels]) for labels in (members[gap.first], members[gap.last])
        ]
        ends = [float(curve.levels[k]) for curve, _ in sides for k in (0, -1)]
        near = (
            [
                float(curve.levels[k])
                for curve, one in sides
                for place in one.places
                for k in (place.first, place.last)
                if k is not None
            ]
            if all(one.crossings for _, one in sides)
            else ends
        )
        scale = [*sides[0][0].levels, *sides[1][0].levels]
        low, high = positions([min(near), max(near)], scale)
        spread = {_rounded(x, scale, asked.width) for x in np.linspace(low, high, LEVELS).tolist()}
        bounds = {min(scale, key=float), max(scale, key=float)}
        labels = tuple(
            (axis, level if axis == asked.second else other) for axis, other in members[gap.first]
        )
        new[labels] = tuple(sorted(bounds | spread))
    return new


def unresolved(moments: xr.Dataset, asked: Refinement) -> list[tuple[str, str]]:
    """Labels of every family of curves, and between which levels of the second axis its boundary is
    not known.
    """
    if not asked.second:
        return []
    known, bounds = curves_of(moments, asked), bounds_of(moments, asked.metric)
    found = {labels: find(curve, asked, bounds) for labels, curve in known.items()}
    said = []
    for family, members in families(known, asked).items():
        gaps = open_gaps(members, known, found, asked)
        where = ", ".join(f"{axis} = {level}" for axis, level in family if moments.sizes[axis] > 1)
        text = ", ".join(f"{gap.first:.4g} and {gap.last:.4g}" for gap in gaps)
        said.append(
            (
                where,
                f"the boundary begins, ends or bends by more than {asked.width:g} between "
                f"{asked.second} = {text}"
                if gaps
                else f"the boundary is straight between neighbouring levels of {asked.second}, to "
                f"{asked.width:g}",
            )
        )
    return said
