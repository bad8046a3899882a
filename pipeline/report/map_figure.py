"""A map: the mean, or its ratio to a prediction, in every cell over two axes, as colours and as numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from pipeline.report import style, tiles
from pipeline.report.cells import Drawing, caption, columns_of, missing, ordered, ratios_of, replications, tabulate
from pipeline.report.looks import distinct
from pipeline.report.specs import Map
from pipeline.report.words import axis_label, levels, metric_label, number, percent, symbol, three

MOST_NUMBERS = 100  # tiles of a panel that are also written as numbers
SMALLEST = 5.0  # points


@dataclass(frozen=True)
class Layout:
    """Levels of `across` from the bottom, positions of the columns (None if they differ between rows), panels."""

    rows: list
    places: list | None
    panels: list[tuple]
    wide: int  # tiles in a row, at most

    @classmethod
    def of(cls, table: Any, data: xr.Dataset, spec: Map) -> "Layout":
        """From the cells: numbers ascend, names stand in the order of the grid, the first row on top."""
        shared = table[spec.position].notna().all() and (table.groupby(spec.along)[spec.position].nunique() == 1).all()
        columns = ordered(table, data, spec.position if shared else spec.along)
        rows = ordered(table, data, spec.across)
        if table[spec.across].dtype.kind not in "iuf":
            rows = rows[::-1]
        return cls(rows, columns if shared else None, distinct(table, (spec.panels,)) if spec.panels else [()],
                   len(columns))


def drawn(spec: Map, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """The map of `held` results and their summary; the ratio is that of `risk_ratio`, power 2 if not given."""
    confidence = summary.attrs["confidence"]
    if spec.yardstick is None:
        columns, label, of = columns_of(summary, spec.metric), metric_label(summary[spec.metric], spec.metric), "mean"
        words, title = f"mean of the {label}", summary[spec.metric].attrs.get("long_name", symbol(spec.metric))
    else:
        power = 2.0 if spec.power is None else spec.power
        columns, words, predicted = ratios_of(results, summary, spec, power, confidence)
        label, of, title = f"measured / {predicted}", "ratio", f"measured error over the {predicted}"
    table = tabulate(columns, summary, spec)
    layout = Layout.of(table, summary, spec)
    figure, written = _figure(spec, summary, table, layout, label)
    title = spec.title or f"{title[:1].upper()}{title[1:]} against {symbol(spec.position)} and {symbol(spec.across)}"
    whole = len(layout.rows) * layout.wide * len(layout.panels)
    said = (f"Colour{' and number' if written else ''}: {words}.", _range(table, confidence, of),
            "Empty tiles were not run." if len(table) < whole else "", missing(table, "a cross"))
    table = table.rename(columns={"mean": "ratio"}) if spec.yardstick else table
    return Drawing(spec.kind, figure, title, table, caption(spec, summary, *said))


def _range(table: Any, confidence: float, of: str) -> str:
    """Least and greatest value, and how far the widest interval reaches."""
    finite = table[np.isfinite(table["mean"])]
    if not len(finite):
        return "No cell has a value."
    least, most = (three(end) for end in (finite["mean"].min(), finite["mean"].max()))
    found = f"{of.capitalize()}s: {least} to {most}."
    half = (finite["high"] - finite["low"]) / 2
    if not np.isfinite(half).any():
        return f"{found} One replication per cell: no intervals."
    return (f"{found} Monte Carlo error: the {percent(confidence)} intervals over {replications(finite)} replications "
            f"reach at most {number(half[np.isfinite(half)].max(), 2)} to either side (t).")


def _figure(spec: Map, data: xr.Dataset, table: Any, layout: Layout, label: str) -> tuple[Any, bool]:
    """The figure, and whether the numbers are written in it."""
    most = 3 if layout.wide <= 5 else 2
    across = max(min(len(layout.panels), most), 1)
    down = max(-(-len(layout.panels) // across), 1)
    tall = min(max(0.42 * len(layout.rows) + 0.9, 1.9), 5.0)
    width, height = style.WIDTH + 1.4 * (across > 1), tall * down + 0.5 * (across > 1)
    figure, grid = style.new_figure(across, down, width, height, sharex=True, sharey=True)
    scale, mesh, ends = tiles.norm(table["mean"]), None, []
    tile = (width - 2.2) / across / max(layout.wide, 1), (tall - 0.7) / max(len(layout.rows), 1)  # inches, about
    longest = max((len(three(value)) for value in table["mean"]), default=1)
    size = min(8.5, 72 * tile[0] / (0.68 * longest), 72 * tile[1] / 1.5)
    written = layout.wide * len(layout.rows) <= MOST_NUMBERS and size >= SMALLEST
    for axes, panel in zip(grid.flat, layout.panels, strict=False):
        axes.grid(False)
        part = table[table[spec.panels] == panel[0]] if spec.panels else table
        for x, y, values, missed in _blocks(part, spec, layout):
            ends += [x[0], x[-1]]
            mesh = tiles.paint(axes, x, y, values, scale)
            middles = (x[1:] + x[:-1]) / 2 if layout.places else np.sqrt(x[1:] * x[:-1])
            for row, column in np.argwhere(np.isfinite(values) | missed):
                place, value = (middles[column], y[row] + 0.5), values[row, column]
                if missed[row, column]:
                    axes.plot(*place, "x", color="0.5", markersize=4)
                elif written:
                    axes.text(*place, three(value), ha="center", va="center", fontsize=size,
                              color=tiles.ink(value, scale))
        if spec.panels:
            axes.set_title(levels({spec.panels: panel[0]}), pad=15 if spec.marks else None)
    for axes in grid.flat[len(layout.panels):]:
        axes.set_visible(False)
    _axes(figure, grid[0, 0], axis_label(data[spec.position]), axis_label(data[spec.across]), layout, ends, tile)
    at = spec.marks
    if layout.places is not None:  # tiles have no scale: at the border of the levels below
        at = {name: np.searchsorted(layout.places, one) - 0.5 for name, one in at.items()}
    for axes in grid.flat[: len(layout.panels)]:
        style.mark(axes, at)
    if mesh is not None:
        level = 1.0 if spec.yardstick else None
        tiles.colour_bar(figure, list(grid.flat[: len(layout.panels)]), mesh, label, height, level)
    return figure, written


def _blocks(part: Any, spec: Map, layout: Layout) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Borders in x and y, values (y, x) and where cells were run without one: all rows at once, or one by one."""
    y = np.arange(len(layout.rows) + 1) - 0.5
    mean = part["mean"].to_numpy(float)
    if layout.places:
        values = np.full((len(layout.rows), layout.wide), np.nan)
        missed = np.zeros(values.shape, bool)
        cells = tuple([order.index(level) for level in part[name]]
                      for order, name in ((layout.rows, spec.across), (layout.places, spec.position)))
        values[cells], missed[cells] = mean, ~np.isfinite(mean)
        yield np.arange(layout.wide + 1) - 0.5, y, values, missed
        return
    at = part[spec.position].to_numpy(float)
    for i, row in enumerate(layout.rows):
        own = np.flatnonzero((part[spec.across] == row) & np.isfinite(at) & (at > 0))
        own = own[np.argsort(at[own], kind="stable")]
        if own.size:
            yield tiles.edges(at[own]), y[i : i + 2], mean[None, own], ~np.isfinite(mean[None, own])


def _axes(figure: Any, axes: Any, x: str, y: str, layout: Layout, ends: list, tile: tuple[float, float]) -> None:
    """Scales, ticks and labels, shared by all panels."""
    axes.set_yticks(range(len(layout.rows)), [style.wrapped(number(row), 1.4) for row in layout.rows])
    axes.set_ylim(-0.5, max(len(layout.rows), 1) - 0.5)
    if layout.places is None:
        style.scale(axes.xaxis, ends, True)
        axes.set_xlim(min(ends, default=1), max(ends, default=2))
    else:
        step = max(round(0.45 / tile[0]), 1) if all(isinstance(v, (int, float)) for v in layout.places) else 1
        axes.set_xticks(range(0, layout.wide, step),
                        [style.wrapped(number(at, 4), tile[0]) for at in layout.places[::step]])
        axes.set_xlim(-0.5, max(layout.wide, 1) - 0.5)
    if len(layout.panels) > 1:
        figure.supxlabel(x, fontsize=9)
        figure.supylabel(style.wrapped(y, figure.get_size_inches()[1]), fontsize=9)
    else:
        axes.set_xlabel(x)
        axes.set_ylabel(style.wrapped(y, figure.get_size_inches()[1] - 0.6))
