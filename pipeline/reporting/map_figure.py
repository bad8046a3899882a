"""A map: the mean, or its ratio to a prediction, in every cell over two axes, as colours and as
numbers.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from pipeline.reporting import style, tiles
from pipeline.reporting.captions import caption, missing, replications
from pipeline.reporting.cells import (
    Drawing,
    Mark,
    Sheet,
    columns_of,
    is_numeric,
    name_in_words,
    ordered,
    ratios_of,
    tabulate,
    values_in_words,
    varying,
)
from pipeline.reporting.curve_styles import Levels, distinct
from pipeline.reporting.formatting import (
    axis_label,
    capitalised,
    levels,
    metric_label,
    number,
    percent,
    symbol,
    three,
)
from pipeline.reporting.lettering import LETTERS_OF_AN_INCH, width
from pipeline.reporting.specs import Map
from pipeline.study.arrays import Booleans, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from pandas import DataFrame

MOST_NUMBERS = 100  # tiles of a panel that are also written as numbers
SMALLEST = {"wide": 5.0, "narrow": 9.0}  # points of numbers in tiles
MOST_NAMES = 40  # of rows, of which more have a name at every second row, third, and so on
LINE = 0.165  # inches of a line of a name, with what parts it from the next
BESIDE = {"wide": 2.2, "narrow": 1.5}  # inches beside the tiles: names, and the bar of colours
BAR = 1.6  # inches for the bar of colours and for labels
DIGIT = 0.64  # of the size of letters
POINT = 0.32


@dataclass(frozen=True)
class MapLayout:
    """Levels of `across` from the bottom, positions of the columns (None if they differ between
    rows), panels.
    """

    rows: list[Any]
    positions: list[Any] | None
    panels: list[Levels]
    wide: int  # tiles in a row, at most

    @classmethod
    def of(cls, table: "DataFrame", data: xr.Dataset, spec: Map) -> "MapLayout":
        """From the cells: numbers ascend, names stand in the order of the grid, the first row on
        top.
        """
        rows = ordered(table, data, spec.across)
        if not is_numeric(table, spec.across):
            rows.reverse()
        panels: list[Levels] = [()]
        if spec.panels:
            panels = distinct(table, (spec.panels,))
        by_level = table.groupby(spec.along)[spec.position]
        if table[spec.position].notna().all() and (by_level.nunique() == 1).all():
            positions = ordered(table, data, spec.position)
            return cls(rows, positions, panels, len(positions))
        return cls(rows, None, panels, len(ordered(table, data, spec.along)))

    @property
    def tiles(self) -> int:
        """Places for tiles in all panels."""
        return len(self.rows) * self.wide * len(self.panels)


def drawn(spec: Map, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """The map of means, or of their ratios to a yardstick.

    The ratio is that of `risk_ratio`, with power 2 if none is given.
    """
    shown = _shown(spec, results, summary)
    table = tabulate(shown.columns, summary, spec)
    layout = MapLayout.of(table, summary, spec)
    map_figure = _MapFigure(spec, summary, table, layout)
    figure = map_figure.figure(shown.label)
    places = f"{symbol(spec.position)} and {symbol(spec.across)}"
    title = spec.title or f"{capitalised(shown.title)} against {places}"
    seen = "Colour and number" if map_figure.font_size else "Colour"
    text = caption(
        spec,
        summary,
        f"{seen}: {shown.meaning}.",
        _range(table, summary.attrs["confidence"], shown.of),
        "Empty tiles were not run." if len(table) < layout.tiles else "",
        missing(table, "a cross"),
    )
    again = partial(_MapFigure(spec, summary, table, layout).sheet, shown.label)
    if spec.yardstick:
        table = table.rename(columns={"mean": "ratio"})
    marks = tuple(map_figure.marks)
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.along, again)


class _Shown(NamedTuple):
    """What the tiles show. of: mean or ratio; label: of the bar; meaning, title: in words."""

    columns: xr.Dataset
    of: str
    label: str
    meaning: str
    title: str


def _shown(spec: Map, results: xr.Dataset, summary: xr.Dataset) -> _Shown:
    """Means, or their ratios to the yardstick."""
    if spec.yardstick is None:
        columns = columns_of(summary, spec.metric)
        label = metric_label(summary[spec.metric], spec.metric)
        title = name_in_words(summary, spec.metric)
        if "statistic" in summary[spec.metric].attrs:  # a median, say
            return _Shown(columns, "value", label, label, title)
        return _Shown(columns, "mean", label, f"mean of the {label}", title)
    power = 2.0 if spec.power is None else spec.power
    ratios = ratios_of(results, summary, spec, power)
    label = f"measured / {ratios.predicted}"
    title = f"measured error over the {ratios.predicted}"
    return _Shown(ratios.columns, "ratio", label, ratios.meaning, title)


def _range(table: "DataFrame", confidence: float, of: str) -> str:
    """Least and greatest value, and how far the widest interval reaches."""
    finite = table[np.isfinite(table["mean"])]
    if not len(finite):
        return "No cell has a value."
    least = three(finite["mean"].min())
    greatest = three(finite["mean"].max())
    ends = f"{of.capitalize()}s: {least} to {greatest}."
    half = (finite["high"] - finite["low"]) / 2
    half = half[np.isfinite(half)]
    if not len(half):
        return f"{ends} One replication per cell: no intervals."
    return (
        f"{ends} Monte Carlo error: the {percent(confidence)} intervals over "
        f"{replications(finite)} replications reach at most "
        f"{number(half.max(), 2)} to either side, corrected for skewness."
    )


@dataclass
class _MapFigure:
    """Panels of tiles of one table. marks, ends: once drawn; ends: of the tiles on the abscissa."""

    spec: Map
    data: xr.Dataset
    table: "DataFrame"
    layout: MapLayout
    marks: list[Mark] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    @cached_property
    def columns(self) -> int:
        """Panels in a row."""
        return max(min(len(self.layout.panels), style.layout().columns), 1)

    @cached_property
    def rows(self) -> int:
        """Rows of panels."""
        return max(math.ceil(len(self.layout.panels) / self.columns), 1)

    @cached_property
    def panel_height(self) -> float:
        """Inches."""
        rows = len(self.layout.rows)
        high = min(max(0.42 * rows + 0.9, 1.9), 5.0)
        return max(high, LINE * min(rows, MOST_NAMES) + 0.9)

    @cached_property
    def height(self) -> float:
        """Of the figure, in inches."""
        below = 0.5 if self.columns > 1 else 0.0
        if style.layout() == style.NARROW:
            below = tiles.BELOW
        return self.panel_height * self.rows + below

    @cached_property
    def tile(self) -> tuple[float, float]:
        """Width and height of a tile in inches, about."""
        beside = BESIDE[style.layout().name]
        wide = (style.layout().width - beside) / self.columns / max(self.layout.wide, 1)
        high = (self.panel_height - 0.7) / max(len(self.layout.rows), 1)
        return wide, high

    @cached_property
    def font_size(self) -> float | None:
        """Size in points of the numbers in the tiles.

        None where they would be too small or too many.
        """
        if self.layout.wide * len(self.layout.rows) > MOST_NUMBERS:
            return None
        numbers = [three(value) for value in self.table["mean"]]
        wide, high = self.tile
        layout = style.layout()
        if layout == style.WIDE:
            longest = 0.68 * max(map(len, numbers), default=1)
        else:
            longest = 0.2 + max(map(_width, numbers), default=1)
        size = min(layout.small, 72 * wide / longest, 72 * high / 1.5)
        return size if size >= SMALLEST[layout.name] else None

    def figure(self, label: str) -> "Figure":
        """The whole figure. label: of its colours."""
        figure, grid = style.new_figure(
            self.columns, self.rows, height=self.height, sharex=True, sharey=True
        )
        panels = list(grid.flat[: len(self.layout.panels)])
        scale = tiles.norm(self.table["mean"])
        mesh: QuadMesh | None = None
        for axes, panel in zip(panels, self.layout.panels, strict=False):
            mesh = self._panel(axes, panel, scale) or mesh
        style.hide_empty(grid, len(panels))
        self._name_axes(figure, grid[0, 0], panels[-1])
        self._mark(panels)
        if mesh is not None:
            level = 1.0 if self.spec.yardstick else None
            tiles.colour_bar(figure, panels, mesh, label, self.height, level)
        return figure

    def sheet(self, label: str) -> Sheet:
        """The whole figure with its marks, in the layout of the moment."""
        figure = self.figure(label)
        return Sheet(figure, tuple(self.marks))

    def _panel(self, axes: "Axes", panel: Levels, scale: "Normalize") -> "QuadMesh | None":
        """The tiles of one panel."""
        shown = self.table
        if self.spec.panels:
            shown = shown[shown[self.spec.panels] == panel[0]]
        axes.grid(False)
        mesh = None
        for block in _blocks(shown, self.spec, self.layout):
            self.ends += [float(block.x[0]), float(block.x[-1])]
            mesh = tiles.paint(axes, block.x, block.y, block.values, scale)
            self._write(axes, block, scale)
        texts = values_in_words(shown, varying(self.table, self.spec))
        self.marks += map(Mark, repeat(axes), self._columns_of(shown), self._rows_of(shown), texts)
        if self.spec.panels:
            title = levels({self.spec.panels: panel[0]})
            title = style.wrapped(title, self._room_of_title, most=3)
            axes.set_title(title, pad=15 if self.spec.marks else None)
        return mesh

    def _columns_of(self, cells: "DataFrame") -> list[float]:
        """Middles of the tiles of some cells, along the abscissa."""
        at: list[float] = cells[self.spec.position].tolist()
        if not self.layout.positions:
            return at
        return [float(self.layout.positions.index(position)) for position in at]

    def _rows_of(self, cells: "DataFrame") -> list[float]:
        """Middles of the tiles of some cells, along the ordinate."""
        return [float(self.layout.rows.index(row)) for row in cells[self.spec.across]]

    def _write(self, axes: "Axes", block: "_Block", scale: "Normalize") -> None:
        """The number in every tile, or a cross where a cell was run and has no value."""
        x = block.x
        if self.layout.positions:
            middles = (x[1:] + x[:-1]) / 2
        else:
            middles = np.sqrt(x[1:] * x[:-1])
        for row, column in np.argwhere(np.isfinite(block.values) | block.missed):
            at = (middles[column], block.y[row] + 0.5)
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
        """Thin lines; tiles without a scale have them at the border of the levels below."""
        marks = dict(self.spec.marks)
        if self.layout.positions is not None:
            for name, at in marks.items():
                marks[name] = float(np.searchsorted(self.layout.positions, at)) - 0.5
        for axes in panels:
            style.mark(axes, marks)

    def _name_axes(self, figure: "Figure", axes: "Axes", last: "Axes") -> None:
        """Scales, ticks and labels, shared by all panels. axes, last: of the first and last."""
        rows = self.layout.rows
        self._name_rows(axes, rows)
        axes.set_ylim(-0.5, max(len(rows), 1) - 0.5)
        if self.layout.positions is None:
            style.scale(axes.xaxis, self.ends, True)
            axes.set_xlim(min(self.ends, default=1), max(self.ends, default=2))
        else:
            self._name_columns(axes, self.layout.positions)
        x = style.below(axis_label(self.data[self.spec.position]))
        y = axis_label(self.data[self.spec.across])
        height = figure.get_size_inches()[1]
        if len(self.layout.panels) > 1:
            if self.columns > 1:
                figure.supxlabel(x, fontsize=9)
            else:  # above the bar of the colours
                last.set_xlabel(x)
            figure.supylabel(style.wrapped(y, height), fontsize=9)
        else:
            axes.set_xlabel(x)
            axes.set_ylabel(style.wrapped(y, height - 0.6))

    def _name_rows(self, axes: "Axes", rows: list[Any]) -> None:
        """Names beside their rows, in as many lines as a row has room for; not all of them if they
        are very many.
        """
        step = math.ceil(len(rows) / MOST_NAMES)
        _, high = self.tile
        lines = max(int(step * high / LINE), 1)
        names = [self._name_of_row(row, lines) for row in rows[::step]]
        axes.set_yticks(range(0, len(rows), step), names)

    @staticmethod
    def _name_of_row(row: object, lines: int) -> str:
        return style.wrapped(number(row), style.layout().width / 4, most=lines)

    @cached_property
    def _room_of_title(self) -> float:
        """Inches above a panel, which is narrower where the names of rows are long."""
        wide, _ = self.tile
        lines = [self._name_of_row(row, 1) for row in self.layout.rows]
        names = max(map(width, lines), default=0) / LETTERS_OF_AN_INCH
        beside = (style.layout().width - BAR - names) / self.columns
        return min(wide * self.layout.wide, beside)

    def _name_columns(self, axes: "Axes", at: list[Any]) -> None:
        """Positions below their tiles, not all of them if they are many numbers."""
        wide, _ = self.tile
        step = 1
        if all(isinstance(position, (int, float)) for position in at):
            step = max(round(0.45 / wide), 1)
        names = [number(position, 4) for position in at[::step]]
        places = range(0, self.layout.wide, step)
        style.PlaceNames.of(names, wide * step).write(axes, places)
        axes.set_xlim(-0.5, max(self.layout.wide, 1) - 0.5)


def _width(digits: str) -> float:
    """Width of a number, in units of the size of its letters."""
    points = sum(map(digits.count, ".,"))
    return DIGIT * (len(digits) - points) + POINT * points


class _Block(NamedTuple):
    """Tiles painted at once: borders (columns + 1,) and (rows + 1,), values (rows, columns), NaN
    without one, and (rows, columns) where a cell was run and has no value.
    """

    x: Floats
    y: Floats
    values: Floats
    missed: Booleans


def _blocks(shown: "DataFrame", spec: Map, layout: MapLayout) -> Iterator[_Block]:
    """All rows at once where they share their positions, else one by one."""
    mean = shown["mean"].to_numpy(float)
    y = np.arange(-0.5, len(layout.rows))
    if layout.positions:
        rows = [layout.rows.index(level) for level in shown[spec.across]]
        columns = [layout.positions.index(at) for at in shown[spec.position]]
        values = np.full((len(layout.rows), layout.wide), np.nan)
        missed = np.zeros(values.shape, bool)
        values[rows, columns] = mean
        missed[rows, columns] = ~np.isfinite(mean)
        yield _Block(np.arange(-0.5, layout.wide), y, values, missed)
        return
    at = shown[spec.position].to_numpy(float)
    for i, level in enumerate(layout.rows):
        row = np.flatnonzero((shown[spec.across] == level) & np.isfinite(at) & (at > 0))
        row = row[np.argsort(at[row], kind="stable")]
        if row.size:
            values = mean[None, row]
            yield _Block(tiles.edges(at[row]), y[i : i + 2], values, ~np.isfinite(values))
