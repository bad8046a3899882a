"""Whether curves of all sizes fall on one when the position is rescaled: both pictures, and how
well they agree.
"""

import math
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pipeline.analysis.collapse import collapse, collapse_exponent
from pipeline.reporting import style
from pipeline.reporting.captions import bars, caption, missing
from pipeline.reporting.cells import (
    Drawing,
    Mark,
    Sheet,
    columns_of,
    tabulate,
    values_in_words,
    varying,
)
from pipeline.reporting.curve_styles import CurveStyles, curves_of, error_bars, extent
from pipeline.reporting.formatting import (
    axis_label,
    interval,
    metric_label,
    number,
    percent,
    power,
    product,
    symbol,
)
from pipeline.reporting.specs import Collapse, PhaseDiagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


def size_of(data: xr.Dataset, spec: Collapse | PhaseDiagram) -> xr.DataArray:
    """Product of the axes that make up the size of the problem."""
    size = xr.DataArray(1.0)
    for axis in spec.size:
        size = size * data[axis].astype(float)
    return size


def collapsed(spec: Collapse, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """Two panels with one axis of means: as it is, and with the position multiplied by
    size^exponent.
    """
    columns = columns_of(summary, spec.metric)
    size = size_of(summary, spec)
    at = summary[spec.position].astype(float)
    table = tabulate(columns.assign(rescaled=at * size**spec.exponent), summary, spec)
    label = metric_label(summary[spec.metric], spec.metric)
    rescaled = f"{symbol(spec.position)}·{power(product(spec.size), spec.exponent)}"
    raw = axis_label(summary[spec.position])
    panels = _Panels(spec, table, label, raw, rescaled)
    figure = panels.figure()
    content = (
        f"Mean of the {label}; left against {symbol(spec.position)}, right against {rescaled}."
    )
    text = caption(
        spec,
        summary,
        content,
        _agreement(spec, columns, at, size),
        bars(table, summary.attrs["confidence"], figure.axes[0]),
        missing(table),
    )
    title = spec.title or f"One curve in {rescaled}?"
    marks = tuple(panels.marks)
    again = _Panels(spec, table, label, raw, rescaled).sheet
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.along, again)


@dataclass
class _Panels:
    """A panel for the positions as they are, and one for the rescaled ones. marks: once drawn.

    label, raw, rescaled: of the axes.
    """

    spec: Collapse
    table: "DataFrame"
    label: str
    raw: str
    rescaled: str
    marks: list[Mark] = field(default_factory=list)

    def figure(self) -> "Figure":
        """The whole figure."""
        table = self.table
        styles = CurveStyles(table, self.spec.size)
        columns = style.layout().columns
        rows = 2 // columns
        height = 3.2 * rows + styles.height
        figure, grid = style.new_figure(columns, rows, height=height, sharey=True)
        self._panel(grid.flat[0], self.spec.position, self.raw, styles)
        self._panel(grid.flat[1], "rescaled", self.rescaled, styles)
        finite = table["mean"][np.isfinite(table["mean"])]
        y_log = bool(len(finite)) and bool((finite > 0).all())
        style.scale(grid[0, 0].yaxis, extent(table, y_log), y_log)
        grid[0, 0].set_ylabel(style.wrapped(self.label, 3.2))
        styles.legend(figure)
        return figure

    def sheet(self) -> Sheet:
        """The whole figure with its marks, in the layout of the moment."""
        figure = self.figure()
        return Sheet(figure, tuple(self.marks))

    def _panel(self, axes: "Axes", column: str, name: str, styles: CurveStyles) -> None:
        """The curves against one column of positions."""
        table = self.table
        cells = varying(table, self.spec)
        for levels, rows in curves_of(table, self.spec.size):
            shown = np.isfinite(rows["mean"]) & np.isfinite(rows[column])
            curve = rows[shown].sort_values(column)
            error_bars(axes, curve[column].to_numpy(float), curve, **styles[levels])
            self.marks += map(
                Mark,
                repeat(axes),
                curve[column].tolist(),
                curve["mean"].tolist(),
                values_in_words(curve, cells),
            )
        x = table[column][np.isfinite(table[column])]
        style.scale(axes.xaxis, x, True, 5, x)
        axes.set_xlabel(style.wrapped(name, 2.4))


def _agreement(spec: Collapse, columns: xr.Dataset, at: xr.DataArray, size: xr.DataArray) -> str:
    """How well the curves agree, raw and rescaled, and the exponent with which they agree best."""
    mean = columns["mean"]
    mcse = columns["mcse"]
    rescaled = collapse(mean, mcse, at * size**spec.exponent, spec.size)
    if not rescaled.n:
        return "The curves cannot be compared: no two share a position."
    raw = collapse(mean, mcse, at * size**0, spec.size)  # a position for every cell
    agree = f"{percent(rescaled.spread)} [{percent(rescaled.low)}, {percent(rescaled.high)}]"
    sentence = f"Rescaled curves agree to {agree}{_quality(rescaled.quality)}"
    if raw.n:
        sentence += f"; unscaled they differ by {percent(raw.spread)}"
    bounds = (spec.exponent - 0.5, spec.exponent + 0.5)
    draws = 200 if mean.size <= 500 else 50  # the cost grows with the square of the cells
    best = collapse_exponent(mean, mcse, at, size, spec.size, bounds, draws)
    if not math.isfinite(best.value):
        return f"{sentence}."
    drawn = number(spec.exponent)
    return f"{sentence}. Best exponent: {interval(best)} (95 %), drawn with {drawn}."


def _quality(quality: float) -> str:
    """How far the curves lie apart in standard errors, in brackets."""
    if math.isnan(quality):
        return ""
    apart = number(math.sqrt(quality), 2)
    return (
        f" (root mean square difference: {apart} standard errors; it is about 1 where only Monte "
        "Carlo error sets them apart)"
    )
