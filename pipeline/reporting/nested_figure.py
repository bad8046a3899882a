"""A nested-loop plot: all cells of a grid in one row, and below it what their levels are.

Source: Rücker and Schwarzer (2014), Presenting simulation results in a nested loop plot, BMC Medical
Research Methodology 14, 129.
"""

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.reporting import style
from pipeline.reporting.captions import bars_of, caption, missing, shown
from pipeline.reporting.cells import (
    Drawing,
    Mark,
    Sheet,
    columns_of,
    ordered,
    tabulate,
    values_in_words,
    varying,
)
from pipeline.reporting.curve_styles import CurveStyles, curves_of, extent
from pipeline.reporting.formatting import metric_label, number, symbol
from pipeline.reporting.specs import NestedLoop

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

STRIP = 0.32  # inches of each row of steps


def nested(spec: NestedLoop, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """Means as steps over all combinations of `loops` and `along`, which changes fastest."""
    table = tabulate(columns_of(summary, spec.metric), summary, spec)
    axes_of_loop = (*spec.loops, spec.along)
    by_axis = {name: ordered(table, summary, name) for name in axes_of_loop}
    label = metric_label(summary[spec.metric], spec.metric)
    again = partial(_sheet, spec, table, by_axis, label)
    figure, marks = again()
    order = ", then ".join(symbol(name) for name in reversed(axes_of_loop))
    text = caption(
        spec,
        summary,
        f"{shown(summary, spec.metric, label)} in every cell; from left to right {order} changes, the first fastest. "
        "Below: the level of each, higher for a later one.",
        bars_of(summary, spec.metric, table, figure.axes[0]),
        missing(table),
    )
    title = spec.title or f"{label} in all cells"
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.along, again)


def _sheet(
    spec: NestedLoop, table: "DataFrame", by_axis: dict[str, list[Any]], label: str
) -> Sheet:
    """The whole figure: steps, and below them the levels, in the layout of the moment."""
    scenarios = list(product(*by_axis.values()))
    styles = CurveStyles(table, spec.by)
    strips = STRIP * len(by_axis) + 0.35
    height = 2.7 + strips + styles.height
    figure, grid = style.new_figure(1, 2, height=height, sharex=True)
    grid[0, 0].get_gridspec().set_height_ratios([2.7, strips])
    marks: list[Mark] = []
    places = {scenario: place for place, scenario in enumerate(scenarios)}
    names = varying(table, spec)
    for curve_levels, rows in curves_of(table, spec.by):
        marks += _steps(grid[0, 0], rows, places, tuple(by_axis), styles[curve_levels], names)
    grid[0, 0].set_ylabel(style.wrapped(label, 2.4))
    style.scale(grid[0, 0].yaxis, extent(table, False), False)
    _levels(grid[1, 0], by_axis, scenarios)
    styles.legend(figure)
    return Sheet(figure, tuple(marks))


def _steps(
    axes: "Axes",
    rows: "DataFrame",
    places: dict[tuple[Any, ...], int],
    loop: tuple[str, ...],
    options: dict[str, Any],
    names: list[str],
) -> list[Mark]:
    """One curve of steps, with its intervals."""
    where = [places[levels] for levels in zip(*(rows[name] for name in loop), strict=True)]
    at = np.array(where, float)
    order = np.argsort(at)
    mean = rows["mean"].to_numpy(float)
    line = options | {"marker": ""}
    axes.step(at[order], mean[order], where="mid", **line)
    low = rows["low"].to_numpy(float)
    high = rows["high"].to_numpy(float)
    axes.vlines(at, low, high, color=options["color"], linewidth=0.8)
    axes.plot(
        at, mean, linestyle="", color=options["color"], marker=options["marker"], markersize=3
    )
    texts = values_in_words(rows, names)
    return [Mark(axes, *place) for place in zip(at.tolist(), mean.tolist(), texts, strict=True)]


def _levels(axes: "Axes", by_axis: dict[str, list[Any]], scenarios: list[tuple[Any, ...]]) -> None:
    """A row of steps for each axis of the loop: the level of every cell."""
    axes.grid(False)
    at = np.arange(len(scenarios))
    ticks = []
    labels = []
    for row, (name, axis_levels) in enumerate(by_axis.items()):
        base = len(by_axis) - 1 - row
        last = max(len(axis_levels) - 1, 1)
        height = [base + 0.7 * axis_levels.index(scenario[row]) / last for scenario in scenarios]
        axes.step(at, height, where="mid", color="k", linewidth=1.0)
        ticks.append(base + 0.35)
        shown = ", ".join(number(level, 3) for level in axis_levels)
        labels.append(f"{symbol(name)}: {shown}")
    axes.set_yticks(
        ticks,
        [style.wrapped(label, style.layout().width / 3.5, most=2) for label in labels],
        fontsize=style.layout().tiny,
    )
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", bottom=False, labelbottom=False)
    axes.set_ylim(-0.2, len(by_axis) - 0.1)
    axes.set_xlim(-0.5, len(scenarios) - 0.5)
