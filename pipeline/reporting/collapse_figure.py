"""Whether curves of all sizes fall on one when the position is rescaled: both pictures, and how
well they agree.
"""

import math
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pipeline.analysis.collapse import collapse, collapse_exponent
from pipeline.reporting import style
from pipeline.reporting.captions import bars, caption, missing
from pipeline.reporting.cells import Drawing, Mark, columns_of, said, tabulate, varying
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
    from matplotlib.figure import Figure
    from pandas import DataFrame


def size_of(data: xr.Dataset, spec: Collapse | PhaseDiagram) -> xr.DataArray:
    """Product of the axes that make up the size of the problem."""
    size = xr.DataArray(1.0)
    for axis in spec.size:
        size = size * data[axis].astype(float)
    return size


def collapsed(spec: Collapse, data: xr.Dataset) -> Drawing:
    """Two panels with one axis of means: as it is, and with the position multiplied by
    size^exponent.
    """
    columns = columns_of(data, spec.metric)
    size = size_of(data, spec)
    at = data[spec.position].astype(float)
    table = tabulate(columns.assign(rescaled=at * size**spec.exponent), data, spec)
    label = metric_label(data[spec.metric], spec.metric)
    rescaled = f"{symbol(spec.position)}·{power(product(spec.size), spec.exponent)}"
    marks: list[Mark] = []
    figure = _panels(
        spec,
        table,
        label,
        marks,
        {spec.position: axis_label(data[spec.position]), "rescaled": rescaled},
    )
    content = (
        f"Mean of the {label}; left against {symbol(spec.position)}, right against {rescaled}."
    )
    return Drawing(
        spec.kind,
        figure,
        spec.title or f"One curve in {rescaled}?",
        table,
        caption(
            spec,
            data,
            content,
            _agreement(spec, columns, at, size),
            bars(table, data.attrs["confidence"], figure.axes[0]),
            missing(table),
        ),
        tuple(marks),
        spec.along,
    )


def _panels(
    spec: Collapse, table: "DataFrame", label: str, marks: list[Mark], names: dict[str, str]
) -> "Figure":
    """A panel for each column of positions; adds to the marks. names: column -> label of its axis."""
    styles = CurveStyles(table, spec.size)
    figure, grid = style.new_figure(2, height=3.2 + styles.height, sharey=True)
    finite = table["mean"][np.isfinite(table["mean"])]
    cells = varying(table, spec)
    y_log = bool(len(finite)) and bool((finite > 0).all())
    for axes, (column, name) in zip(grid[0], names.items(), strict=True):
        for levels, rows in curves_of(table, spec.size):
            rows = rows[np.isfinite(rows["mean"]) & np.isfinite(rows[column])].sort_values(column)
            error_bars(axes, rows[column].to_numpy(float), rows, **styles[levels])
            marks += map(
                Mark, repeat(axes), rows[column].tolist(), rows["mean"].tolist(), said(rows, cells)
            )
        x = table[column][np.isfinite(table[column])]
        style.scale(axes.xaxis, x, True, 5, x)
        axes.set_xlabel(style.wrapped(name, 2.4))
    style.scale(grid[0, 0].yaxis, extent(table, y_log), y_log)
    grid[0, 0].set_ylabel(style.wrapped(label, 3.2))
    styles.legend(figure)
    return figure


def _agreement(spec: Collapse, columns: xr.Dataset, at: xr.DataArray, size: xr.DataArray) -> str:
    """How well the curves agree, raw and rescaled, and with which exponent they would agree best."""
    mean = columns["mean"]
    mcse = columns["mcse"]
    raw, rescaled = (
        collapse(mean, mcse, at * size**alpha, spec.size) for alpha in (0, spec.exponent)
    )
    if not rescaled.n:
        return "The curves cannot be compared: no two share a position."
    quality = (
        ""
        if math.isnan(rescaled.quality)
        else (
            f" (they differ by {number(math.sqrt(rescaled.quality), 2)} standard errors in the "
            "root mean square, 1 if Monte Carlo error alone parts them)"
        )
    )
    before = f"; unscaled they differ by {percent(raw.spread)}" if raw.n else ""
    bounds = spec.exponent - 0.5, spec.exponent + 0.5
    draws = 200 if mean.size <= 500 else 50  # the cost grows with the square of the cells
    best = collapse_exponent(mean, mcse, at, size, spec.size, bounds, draws)
    drawn = (
        f" Best exponent {interval(best)} (95 %), drawn {number(spec.exponent)}."
        * math.isfinite(best.value)
    )
    agree = f"{percent(rescaled.spread)} [{percent(rescaled.low)}, {percent(rescaled.high)}]"
    return f"Rescaled curves agree to {agree}{quality}{before}.{drawn}"
