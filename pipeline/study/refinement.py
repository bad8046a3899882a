"""Refinement: new levels of an axis where the mean of a metric crosses a level, and the grids that
grow by them.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from pipeline.study.grid import Grid, Level
from pipeline.study.parameters import Checked, InvalidInput, nearest, parameter

EXAMPLE = "{along: AXIS, metric: METRIC, level: 0.5, width: 0.02}"
LEVELS = 5  # new levels of a curve in a round
CurveLabels: TypeAlias = tuple[tuple[str, Level], ...]  # of all axes but the refined one


@dataclass(frozen=True)
class Refinement(Checked):
    """Where the mean of `metric` crosses `level` along the axis `along`, to be known to `width` for
    every curve.

    A curve is the cells that differ in the level of `along` only. The width of
    its crossing's interval is relative (log high/low) where all levels are
    positive, else a share of the axis' range. With a `second` axis there are
    new curves, too, at further levels of that one: where the boundary, the
    crossings over this axis, bends or ends.

    >>> print(Refinement("epsilon", "error_l2", level=0.5, width=0.02))
    error_l2 = 0.5 along epsilon, to 0.02 at confidence 0.95
    """

    along: str = parameter("axis that gets new levels")
    metric: str = parameter("metric whose mean crosses the level")
    level: float = parameter("value that is crossed, in the metric's unit")
    width: float = parameter(
        "width that the interval of a crossing's position is to have", above=0, below=1
    )
    confidence: float = parameter("confidence of the interval", default=0.95, above=0.5, below=1)
    least: int = parameter(
        "first rounds, whose levels are spread over the whole axis", default=1, low=0, high=20
    )
    most: int = parameter("rounds of new levels at most", default=6, low=1, high=20)
    second: str = parameter(
        "second axis that gets new levels, where the boundary bends or ends", default=""
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.most:
            raise InvalidInput("least", self.least, f"must be at most most={self.most}")

    def __str__(self) -> str:
        axes = self.along
        if self.second:
            axes = f"{self.along} and {self.second}"
        return (
            f"{self.metric} = {self.level:g} along {axes}, to {self.width:g} at confidence "
            f"{self.confidence:g}"
        )


def config_of(refinement: Refinement | None) -> dict[str, Any] | None:
    """The mapping that `read_refinement` reads."""
    if refinement is None:
        return None
    return {field.name: getattr(refinement, field.name) for field in fields(refinement)}


def read_refinement(
    value: object, grid: Grid, ranges: Mapping[str, tuple[float, float]], paired: Iterable[str]
) -> Refinement | None:
    """The refinement of a config's `refine`, checked against its grid; None for null.

    ranges: of every metric of the study, the range of its values; paired: axes
    whose levels share their data. Raises InvalidInput, which names the key.

    >>> grid = Grid.of({"epsilon": [0.5, 4.0]})
    >>> mapping = {"along": "epsilon", "metric": "error", "level": 0.5, "width": 0.02}
    >>> read_refinement(mapping, grid, {"error": (0, math.inf)}, []).level
    0.5
    """
    if value is None:
        return None
    if isinstance(value, Refinement):
        refinement = value
    else:
        refinement = Refinement.read(value, "refine.", example=EXAMPLE)
    metric = refinement.metric
    if metric not in ranges:
        allowed = f"is no metric of this study; {nearest(metric, ranges)}"
        raise InvalidInput("refine.metric", metric, allowed)
    low, high = ranges[metric]
    if not low <= refinement.level <= high:
        allowed = f"{metric} lies between {low:g} and {high:g}"
        raise InvalidInput("refine.level", refinement.level, allowed)
    along = refinement.along
    second = refinement.second
    _check_axis("refine.along", along, grid, paired, along)
    if second:
        _check_axis("refine.second", second, grid, paired, along)
    if second == along:
        allowed = "is the first axis, refine.along; must be another one"
        raise InvalidInput("refine.second", second, allowed)
    return refinement


def _check_axis(key: str, axis: str, grid: Grid, paired: Iterable[str], along: str) -> None:
    if axis not in grid.axes:
        raise InvalidInput(key, axis, f"is no axis of this study; {nearest(axis, grid.axes)}")
    for level in grid.axes[axis]:
        if isinstance(level, (bool, str)) or not math.isfinite(level):
            raise InvalidInput(
                key, axis, f"has the level {level}; must be an axis of finite numbers"
            )
    if axis in {*paired}:
        raise InvalidInput(
            key,
            axis,
            "is paired: its levels share their data, but errors of the cells of a curve must "
            "be independent; take it out of paired",
        )
    for labels, levels in curves(grid, axis, along).items():
        if len(levels) < 2:
            allowed = "must have two levels at least, between which refine adds others"
            if labels:
                where = ", ".join(f"{name}={level}" for name, level in labels)
                allowed = f"{allowed} [at {where}]"
            raise InvalidInput(f"grid.{axis}", list(levels), allowed)


def curves(grid: Grid, along: str, *and_any: str) -> dict[CurveLabels, tuple[Level, ...]]:
    """The levels of `along`, in rising order, of every curve: of each combination of the other
    axes.

    and_any: further axes of which the levels do not matter.
    """
    ignored = {along, *and_any}
    levels_of: dict[CurveLabels, set[Level]] = {}
    for labels in grid:
        curve = tuple((axis, level) for axis, level in labels.items() if axis not in ignored)
        levels_of.setdefault(curve, set()).add(labels[along])
    return {curve: tuple(sorted(levels)) for curve, levels in levels_of.items()}


def grown(grid: Grid, along: str, added: Mapping[CurveLabels, tuple[Level, ...]]) -> Grid:
    """The grid with further levels of curves, a product each; its cells keep their numbers."""
    products = [*grid.products]
    for labels, levels in added.items():
        levels_of: dict[str, tuple[Level, ...]] = {axis: (level,) for axis, level in labels}
        levels_of[along] = levels
        products.append(tuple((axis, levels_of[axis]) for axis in grid.axes))
    return Grid(tuple(products))
