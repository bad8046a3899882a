"""The picture of a phase diagram: strips of tiles, one for each curve, and lines over them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.analysis.boundaries import INSIDE, LEFT, RIGHT
from pipeline.reporting import style, tiles
from pipeline.reporting.cells import Mark, Sheet, values_in_words, varying
from pipeline.reporting.curve_styles import LINE_AND_GAP
from pipeline.reporting.formatting import levels, number, product, symbol, with_interval
from pipeline.reporting.specs import PhaseDiagram
from pipeline.study.arrays import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from pandas import DataFrame, Series

HEIGHT = 4.4  # inches
MOST_ENTRIES = 8  # of the legend, for marks of the boundary


@dataclass
class Diagram:
    """Strips of tiles, one for each curve, with its crossing; then lines over all of them.

    cells: one row a cell. edge: one row a curve. theory: ends of a line. others: name -> steps over
    the curves. slope: of the boundary, with its interval. marks: once drawn.
    """

    spec: PhaseDiagram
    cells: "DataFrame"
    edge: "DataFrame"
    theory: "DataFrame"
    others: Mapping[str, "DataFrame"]
    slope: str = ""
    marks: list[Mark] = field(default_factory=list)

    @cached_property
    def strips(self) -> tuple[Floats, float]:
        """Log position of every curve and half the width of its strip.

        Curves of one size stand side by side.
        """
        logs = np.log(self.edge["product"].to_numpy(float)).round(9)
        distinct, number_of = np.unique(logs, return_counts=True)
        gap = math.log(2)
        if distinct.size > 1:
            gap = max(np.diff(distinct).min(), np.ptp(distinct) / 40)
        step = 0.9 * gap / number_of.max()
        before: dict[float, int] = {}
        places = []
        for log in logs.tolist():
            places.append(before.get(log, 0))
            before[log] = places[-1] + 1
        beside = np.array([before[log] for log in logs.tolist()])
        middle = np.array(places) - (beside - 1) / 2
        return logs + step * middle, float(0.47 * step)

    @property
    def borders(self) -> tuple[Floats, Floats]:
        """Left and right border of the strip of every curve."""
        middles, half = self.strips
        return np.exp(middles - half), np.exp(middles + half)

    @cached_property
    def marked_levels(self) -> list[Any]:
        """Levels of the first axis of the size, which have a mark each."""
        return sorted(set(self.edge[self.spec.size[0]]))

    def figure(self, label: str, at_label: str) -> "Figure":
        """The whole figure; the labels of its colours and of its ordinate."""
        height = HEIGHT
        if style.layout() == style.NARROW:  # legend and bar stand above and below, not beside
            height += tiles.BELOW + 0.5
        figure, grid = style.new_figure(height=height)
        axes = grid[0, 0]
        axes.grid(False)
        mesh, ends = self._paint(axes)
        left, right = self.borders
        style.scale(axes.xaxis, [*left, *right], True)
        low, high = axes.get_xlim()
        style.plain(axes.xaxis, style.ticks(self.edge["product"], low, high, 7))
        style.scale(axes.yaxis, [*ends, *self.spec.marks.values()], True)
        style.mark(axes, self.spec.marks, upright=False)
        entries = [*self._boundary_entries(), *self._draw_theory(axes), *self._draw_others(axes)]
        axes.set_xlabel(style.below(f"size {product(self.spec.size)}"))
        axes.set_ylabel(style.wrapped(at_label, 3.2))
        if mesh is not None:
            tiles.colour_bar(figure, axes, mesh, label, HEIGHT, self.spec.level)
        if entries:
            wide = _columns_of(entries)
            figure.legend(handles=entries, loc="outside upper left", ncols=wide)
        return figure

    def sheet(self, label: str, at_label: str) -> Sheet:
        """The whole figure with its marks, in the layout of the moment."""
        figure = self.figure(label, at_label)
        return Sheet(figure, tuple(self.marks))

    def _paint(self, axes: "Axes") -> "tuple[QuadMesh | None, list[float]]":
        """All strips with their crossings; the tiles, and the ends of the ordinate."""
        values = self.cells["mean"].to_numpy(float)
        at = self.cells[self.spec.position].to_numpy(float)
        norm = tiles.norm(values)
        mesh = None
        ends = []
        for k, (_, row) in enumerate(self.edge.iterrows()):
            order = self._cells_of(row, at)
            if not order.size:
                continue
            edges = tiles.edges(at[order])
            ends += [float(edges[0]), float(edges[-1])]
            left, right = self.borders
            strip = np.array([left[k], right[k]])
            mesh = tiles.paint(axes, strip, edges, values[order, None], norm)
            x = float(np.exp(self.strips[0][k]))
            self._mark_cells(axes, x, at[order], order)
            missing = at[order][~np.isfinite(values[order])]
            axes.plot(np.full(missing.size, x), missing, "x", color="0.5", markersize=4)
            self._draw_crossing(axes, x, row, edges)
        return mesh, ends

    def _cells_of(self, row: "Series", at: Floats) -> Integers:
        """Indices of the cells of one curve that have a place, in the order of their positions."""
        has_place = np.isfinite(at) & (at > 0)
        of_curve = [self.cells[axis] == row[axis] for axis in self.spec.size]
        cells = np.flatnonzero(np.logical_and.reduce([*of_curve, has_place]))
        return cells[np.argsort(at[cells])]

    def _mark_cells(self, axes: "Axes", x: float, at: Floats, order: Integers) -> None:
        """Places of the cells of one curve, with their values in words."""
        texts = values_in_words(self.cells.iloc[order], varying(self.cells, self.spec))
        self.marks += map(Mark, repeat(axes), repeat(x), at.tolist(), texts)

    def _draw_crossing(self, axes: "Axes", x: float, row: "Series", edges: Floats) -> None:
        """One crossing with its interval, cut at the strip.

        An arrow where it is below or above the strip.
        """
        if row["side"] == INSIDE:
            self.marks.append(Mark(axes, x, row["boundary"], _crossed(row, self.spec)))
            _draw_bar(axes, x, row, edges, self._marker(row[self.spec.size[0]]))
        elif row["side"] == LEFT:
            _draw_arrow(axes, "↓", (x, edges[0]), "bottom")
        elif row["side"] == RIGHT:
            _draw_arrow(axes, "↑", (x, edges[-1]), "top")

    def _marker(self, level: object) -> str:
        return style.MARKERS[self.marked_levels.index(level) % len(style.MARKERS)]

    def _boundary_entries(self) -> "Iterator[Line2D]":
        """Entries of the legend for the marks of the boundary."""
        from matplotlib.lines import Line2D

        axis = self.spec.size[0]
        inside = set(self.edge[axis][self.edge["side"] == INSIDE])
        for level in self.marked_levels[:MOST_ENTRIES]:
            if level in inside:
                yield Line2D(
                    [],
                    [],
                    color="k",
                    linestyle="none",
                    marker=self._marker(level),
                    markerfacecolor="w",
                    label=f"boundary, {symbol(axis)} = {number(level)}",
                )

    def _draw_theory(self, axes: "Axes") -> "Iterator[Line2D]":
        """The line of the theory.

        The slope that was measured and its outermost crossings, as entries of the legend.
        """
        from matplotlib.lines import Line2D

        if len(self.theory):
            (line,) = axes.plot(
                self.theory["product"],
                self.theory["boundary"],
                color="k",
                linewidth=1.4,
                linestyle=(0, (5, 2)),
                label=f"theory: slope {number(self.spec.theory)}",
                zorder=3,
            )
            line.set_path_effects(style.outline("w", 3.2))
            yield line
        if self.slope:
            yield Line2D([], [], linestyle="none", label=f"measured: slope {self.slope}")
        for crossed in outermost(self.edge, self.spec):
            yield Line2D([], [], linestyle="none", label=crossed.replace(": ", ":\n", 1))

    def _draw_others(self, axes: "Axes") -> "Iterator[Line2D]":
        """Steps at which other quantities cross their levels."""
        from matplotlib.lines import Line2D

        left, right = self.borders
        lines = cycle(style.LINES[2:])
        for (name, other), line in zip(self.others.items(), lines, strict=False):
            options: dict[str, Any] = {
                "color": "k",
                "linewidth": 1.6,
                "linestyle": line,
                "zorder": 3,
            }
            steps = axes.hlines(other["boundary"], left, right, **options)
            steps.set_path_effects(style.outline("w", 3.2))
            yield Line2D([], [], **options, label=style.wrapped(name, 2.6))


def _columns_of(entries: "list[Line2D]") -> int:
    """How many columns a legend has: two, where a page is wide or all entries are short."""
    if style.layout().columns > 1:
        return style.layout().columns
    lines = [line for entry in entries for line in str(entry.get_label()).split("\n")]
    longest = LINE_AND_GAP + max(map(len, lines))
    return 2 if 2 * longest <= style.layout().letters else 1


def outermost(edge: "DataFrame", spec: PhaseDiagram) -> list[str]:
    """Where the curves of the smallest and of the largest size cross the level, with their
    intervals.
    """
    inside = edge[edge["side"] == INSIDE].sort_values("product", kind="stable")
    ends = inside.iloc[[0, -1]] if len(inside) > 1 else inside
    return [_place(row, spec) for _, row in ends.iterrows()]


def _crossed(row: object, spec: PhaseDiagram) -> str:
    """Where one curve crosses the level: `boundary at m = 10, L = 100: ε = 0.35 [0.33, 0.37]`."""
    return f"boundary at {_place(row, spec)}"


def _place(row: "Series", spec: PhaseDiagram) -> str:
    """A curve, and where it crosses the level: `m = 10, L = 100: ε = 0.35 [0.33, 0.37]`."""
    at = with_interval(row["boundary"], row["boundary_low"], row["boundary_high"])
    cell = levels({axis: row[axis] for axis in spec.size})
    return f"{cell}: {symbol(spec.position)} = {at}"


def _draw_bar(axes: "Axes", x: float, row: "Series", edges: Floats, marker: str) -> None:
    """A crossing in a strip, with its interval."""
    y = row["boundary"]
    below = y - max(row["boundary_low"], edges[0])
    above = min(row["boundary_high"], edges[-1]) - y
    axes.errorbar(
        [x],
        [y],
        np.maximum([[below], [above]], 0),
        marker=marker,
        markersize=5.5,
        markerfacecolor="w",
        markeredgecolor="k",
        ecolor="k",
        elinewidth=1.1,
        capsize=2.5,
        zorder=4,
    )


def _draw_arrow(axes: "Axes", arrow: str, at: tuple[float, float], side: str) -> None:
    """An arrow at the end of a strip. side: of the arrow that is at that end."""
    axes.annotate(
        arrow,
        at,
        ha="center",
        color="w",
        fontsize=10,
        va=side,
        zorder=4,
        path_effects=style.outline("k", 2),
    )
