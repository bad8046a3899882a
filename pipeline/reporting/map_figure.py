"""A map: the mean, or its ratio to a prediction, in every cell over two axes, as colours and as
numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from pipeline.reporting import style, tiles
from pipeline.reporting.captions import caption, missing, replications
from pipeline.reporting.cells import (
    Drawing,
    Mark,
    columns_of,
    is_numeric,
    ordered,
    ratios_of,
    said,
    tabulate,
    varying,
)
from pipeline.reporting.curve_styles import Levels, distinct
from pipeline.reporting.formatting import (
    axis_label,
    levels,
    metric_label,
    number,
    percent,
    symbol,
    three,
)
from pipeline.reporting.specs import Map
from pipeline.study.arrays import Booleans, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from pandas import DataFrame

MOST_NUMBERS = 100  # tiles of a panel that are also written as numbers
SMALLEST = 5.0  # points


@dataclass(frozen=True)
class Layout:
    """Levels of `across` from the bottom, positions of the columns (None if they differ between
    rows), panels.
    """

    rows: list[Any]
    positions: list[Any] | None
    panels: list[Levels]
    wide: int  # tiles in a row, at most

    @classmethod
    def of(cls, table: "DataFrame", data: xr.Dataset, spec: Map) -> "Layout":
        """From the cells: numbers ascend, names stand in the order of the grid, the first row on
        top.
        """
        shared = (
            table[spec.position].notna().all()
            and (table.groupby(spec.along)[spec.position].nunique() == 1).all()
        )
        columns = ordered(table, data, spec.position if shared else spec.along)
        rows = ordered(table, data, spec.across)
        if not is_numeric(table, spec.across):
            rows = rows[::-1]
        return cls(
            rows,
            columns if shared else None,
            distinct(table, (spec.panels,)) if spec.panels else [()],
            len(columns),
        )


def drawn(spec: Map, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """The map of results and their summary.

    The ratio is that of `risk_ratio`, with power 2 if none is given.
    """
    confidence = summary.attrs["confidence"]
    if spec.yardstick is None:
        columns = columns_of(summary, spec.metric)
        label = metric_label(summary[spec.metric], spec.metric)
        of = "mean"
        content = f"mean of the {label}"
        title = summary[spec.metric].attrs.get("long_name", symbol(spec.metric))
    else:
        power = 2.0 if spec.power is None else spec.power
        columns, content, predicted = ratios_of(results, summary, spec, power, confidence)
        label = f"measured / {predicted}"
        of = "ratio"
        title = f"measured error over the {predicted}"
    table = tabulate(columns, summary, spec)
    layout = Layout.of(table, summary, spec)
    of_map = _MapFigure(spec, summary, table, layout)
    figure = of_map.figure(label)
    title = spec.title or (
        f"{title[:1].upper()}{title[1:]} against {symbol(spec.position)} and {symbol(spec.across)}"
    )
    whole = len(layout.rows) * layout.wide * len(layout.panels)
    text = caption(
        spec,
        summary,
        f"Colour{' and number' if of_map.font_size else ''}: {content}.",
        _range(table, confidence, of),
        "Empty tiles were not run." if len(table) < whole else "",
        missing(table, "a cross"),
    )
    table = table.rename(columns={"mean": "ratio"}) if spec.yardstick else table
    return Drawing(spec.kind, figure, title, table, text, tuple(of_map.marks), spec.along)


def _range(table: "DataFrame", confidence: float, of: str) -> str:
    """Least and greatest value, and how far the widest interval reaches."""
    finite = table[np.isfinite(table["mean"])]
    if not len(finite):
        return "No cell has a value."
    least, most = (three(end) for end in (finite["mean"].min(), finite["mean"].max()))
    ends = f"{of.capitalize()}s: {least} to {most}."
    half = (finite["high"] - finite["low"]) / 2
    if not np.isfinite(half).any():
        return f"{ends} One replication per cell: no intervals."
    return (
        f"{ends} Monte Carlo error: the {percent(confidence)} intervals over "
        f"{replications(finite)} replications reach at most "
        f"{number(half[np.isfinite(half)].max(), 2)} to either side, corrected for skewness."
    )


@dataclass
class _MapFigure:
    """Panels of tiles of one table. marks: once drawn."""

    spec: Map
    data: xr.Dataset
    table: "DataFrame"
    layout: Layout
    marks: list[Mark] = field(default_factory=list)

    @cached_property
    def columns(self) -> int:
        """Panels in a row."""
        return max(min(len(self.layout.panels), 2), 1)

    @cached_property
    def panel_height(self) -> float:
        """Inches."""
        return min(max(0.42 * len(self.layout.rows) + 0.9, 1.9), 5.0)

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height of the figure in inches."""
        several = self.columns > 1
        rows = max(-(-len(self.layout.panels) // self.columns), 1)
        return style.WIDTH, self.panel_height * rows + 0.5 * several

    @cached_property
    def tile(self) -> tuple[float, float]:
        """Width and height of a tile in inches, about."""
        return (
            (self.size[0] - 2.2) / self.columns / max(self.layout.wide, 1),
            (self.panel_height - 0.7) / max(len(self.layout.rows), 1),
        )

    @cached_property
    def font_size(self) -> float | None:
        """Size in points of the numbers in the tiles.

        None where they would be too small or too many.
        """
        longest = max((len(three(value)) for value in self.table["mean"]), default=1)
        size = min(8.5, 72 * self.tile[0] / (0.68 * longest), 72 * self.tile[1] / 1.5)
        few = self.layout.wide * len(self.layout.rows) <= MOST_NUMBERS
        return size if few and size >= SMALLEST else None

    def figure(self, label: str) -> "Figure":
        """The whole figure; the label of its colours."""
        rows = max(-(-len(self.layout.panels) // self.columns), 1)
        figure, grid = style.new_figure(self.columns, rows, *self.size, sharex=True, sharey=True)
        panels = list(grid.flat[: len(self.layout.panels)])
        scale = tiles.norm(self.table["mean"])
        mesh: QuadMesh | None = None
        ends: list[float] = []
        for axes, panel in zip(panels, self.layout.panels, strict=False):
            shown = (
                self.table[self.table[self.spec.panels] == panel[0]]
                if self.spec.panels
                else self.table
            )
            axes.grid(False)
            for block in _blocks(shown, self.spec, self.layout):
                ends += [float(block.x[0]), float(block.x[-1])]
                mesh = tiles.paint(axes, block.x, block.y, block.values, scale)
                self._write(axes, block, scale)
            self.marks += map(
                Mark,
                repeat(axes),
                *self._middles(shown),
                said(shown, varying(self.table, self.spec)),
            )
            if self.spec.panels:
                axes.set_title(
                    levels({self.spec.panels: panel[0]}), pad=15 if self.spec.marks else None
                )
        style.hide_empty(grid, len(panels))
        self._name_axes(figure, grid[0, 0], ends)
        self._mark(panels)
        if mesh is not None:
            tiles.colour_bar(
                figure, panels, mesh, label, self.size[1], 1.0 if self.spec.yardstick else None
            )
        return figure

    def _middles(self, part: "DataFrame") -> tuple[list[float], list[float]]:
        """Middles of the tiles of some cells."""
        at = part[self.spec.position].tolist()
        shared = self.layout.positions
        return (
            [float(shared.index(one)) for one in at] if shared else at,
            [float(self.layout.rows.index(row)) for row in part[self.spec.across]],
        )

    def _write(self, axes: "Axes", block: "_Block", scale: "Normalize") -> None:
        """The number in every tile, or a cross where a cell was run and has no value."""
        x = block.x
        y = block.y
        middles = (x[1:] + x[:-1]) / 2 if self.layout.positions else np.sqrt(x[1:] * x[:-1])
        for row, column in np.argwhere(np.isfinite(block.values) | block.missed):
            at = (middles[column], y[row] + 0.5)
            value = block.values[row, column]
            if block.missed[row, column]:
                axes.plot(*at, "x", color="0.5", markersize=4)
            elif self.font_size is not None:
                axes.text(
                    *at,
                    three(value),
                    ha="center",
                    va="center",
                    fontsize=self.font_size,
                    color=tiles.ink(value, scale),
                )

    def _mark(self, panels: "list[Axes]") -> None:
        at = self.spec.marks
        if (
            self.layout.positions is not None
        ):  # tiles have no scale: at the border of the levels below
            at = {
                name: float(np.searchsorted(self.layout.positions, one)) - 0.5
                for name, one in at.items()
            }
        for axes in panels:
            style.mark(axes, at)

    def _name_axes(self, figure: "Figure", axes: "Axes", ends: list[float]) -> None:
        """Scales, ticks and labels, shared by all panels."""
        layout = self.layout
        x = axis_label(self.data[self.spec.position])
        y = axis_label(self.data[self.spec.across])
        axes.set_yticks(
            range(len(layout.rows)), [style.wrapped(number(row), 1.4) for row in layout.rows]
        )
        axes.set_ylim(-0.5, max(len(layout.rows), 1) - 0.5)
        if layout.positions is None:
            style.scale(axes.xaxis, ends, True)
            axes.set_xlim(min(ends, default=1), max(ends, default=2))
        else:
            numeric = all(isinstance(level, (int, float)) for level in layout.positions)
            step = max(round(0.45 / self.tile[0]), 1) if numeric else 1
            axes.set_xticks(
                range(0, layout.wide, step),
                [style.wrapped(number(at, 4), self.tile[0]) for at in layout.positions[::step]],
            )
            axes.set_xlim(-0.5, max(layout.wide, 1) - 0.5)
        height = figure.get_size_inches()[1]
        if len(layout.panels) > 1:
            figure.supxlabel(x, fontsize=9)
            figure.supylabel(style.wrapped(y, height), fontsize=9)
        else:
            axes.set_xlabel(x)
            axes.set_ylabel(style.wrapped(y, height - 0.6))


class _Block(NamedTuple):
    """Tiles painted at once: borders (columns + 1,) and (rows + 1,), values (rows, columns), NaN
    without one,

    and (rows, columns) where a cell was run and has no value."""

    x: Floats
    y: Floats
    values: Floats
    missed: Booleans


def _blocks(shown: "DataFrame", spec: Map, layout: Layout) -> Iterator[_Block]:
    """All rows at once where they share their positions, else one by one."""
    x, y = (np.arange(-0.5, tiles_in) for tiles_in in (layout.wide, len(layout.rows)))
    mean = shown["mean"].to_numpy(float)
    if layout.positions:
        values = np.full((len(layout.rows), layout.wide), np.nan)
        missed = np.zeros(values.shape, bool)
        cells = tuple(
            [order.index(level) for level in shown[name]]
            for order, name in ((layout.rows, spec.across), (layout.positions, spec.position))
        )
        values[cells] = mean
        missed[cells] = ~np.isfinite(mean)
        yield _Block(x, y, values, missed)
        return
    at = shown[spec.position].to_numpy(float)
    for i, row in enumerate(layout.rows):
        own = np.flatnonzero((shown[spec.across] == row) & np.isfinite(at) & (at > 0))
        own = own[np.argsort(at[own], kind="stable")]
        if own.size:
            yield _Block(
                tiles.edges(at[own]), y[i : i + 2], mean[None, own], ~np.isfinite(mean[None, own])
            )
