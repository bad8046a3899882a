"""A zip plot: the intervals of all replications, the worst at the top, as a zip that opens.

Source: Morris, White and Crowther (2019), Using simulation studies to evaluate statistical methods,
Statistics in Medicine 38, Figure 6.
"""

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.analysis.intervals import wilson
from pipeline.analysis.summary import REPLICATION
from pipeline.reporting import style
from pipeline.reporting.captions import caption, missing
from pipeline.reporting.cells import Drawing, Mark, Sheet, ordered, tabulate
from pipeline.reporting.formatting import levels, percent, symbol, three, with_interval
from pipeline.reporting.specs import ZipPlot
from pipeline.study.arrays import Floats
from pipeline.study.intervals import normal_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MOST = 400  # intervals of a panel
MOST_COLUMNS = {"wide": 3, "narrow": 2}  # of panels
REACH = 6.0  # standard errors that a panel shows to either side
COVERS = "0.72"  # grey of intervals that cover
MISSES = "#8c1a1a"  # as dark in grey as it is


def zipped(spec: ZipPlot, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """A panel for each level of `along`: (error ± z standard errors) over centiles of |error|."""
    errors = results[spec.metric]
    reach = normal_quantile(spec.confidence)
    table = tabulate(_coverage(errors, summary, spec, reach), summary, spec)
    panels = ordered(table, summary, spec.along)
    again = partial(_sheet, spec, errors, table, panels, reach)
    figure, marks = again()
    text = caption(
        spec,
        summary,
        f"{percent(spec.confidence)} intervals of replications, up to {MOST} in each panel, from "
        "the smallest error in units of its standard error, at the bottom, to the greatest. Dark "
        "intervals miss the truth, the vertical line. Where inference is right the dark part begins "
        "at the broken line.",
        missing(table),
    )
    title = spec.title or f"Intervals by {symbol(spec.along)}: which cover?"
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.along, again)


def _sheet(
    spec: ZipPlot, errors: xr.DataArray, table: "DataFrame", panels: list[Any], reach: float
) -> Sheet:
    """The whole figure, a panel for each level, in the layout of the moment."""
    columns = min(len(panels), MOST_COLUMNS[style.layout().name]) or 1
    rows = math.ceil(len(panels) / columns) or 1
    figure, grid = style.new_figure(columns, rows, height=2.6 * rows, sharex=True, sharey=True)
    room = (style.layout().width - 0.4) / columns
    marks = []
    for axes, level in zip(grid.flat, panels, strict=False):
        row = table[table[spec.along] == level].iloc[0]
        values = errors.sel({spec.along: level}).values.ravel()
        _draw(axes, values[np.isfinite(values)], reach)
        text = f"{levels({spec.along: level})}: {three(row['mean'])} cover"
        axes.set_title(style.wrapped(text, room, most=3), fontsize=style.layout().small)
        share = with_interval(row["mean"], row["low"], row["high"])
        marks.append(Mark(axes, 0.0, 0.5, f"{levels({spec.along: level})}: {share} cover"))
    style.hide_empty(grid, len(panels))
    figure.supxlabel("interval less the truth, in standard errors", fontsize=9)
    figure.supylabel("share of replications with a smaller error", fontsize=9)
    return Sheet(figure, tuple(marks))


def _coverage(errors: xr.DataArray, summary: xr.Dataset, spec: ZipPlot, reach: float) -> xr.Dataset:
    """Share of replications that cover, its Wilson interval, and their number, by cell."""
    is_known = errors.notnull()
    number = is_known.sum(REPLICATION)
    covered = ((abs(errors) <= reach) & is_known).sum(REPLICATION)
    share = covered / number.where(number > 0)
    low, high = wilson(share.values, number.values, summary.attrs["confidence"])
    mcse = np.sqrt(share * (1 - share) / number.where(number > 0))
    n_run = summary["n_run"]
    columns = {"mean": share, "mcse": mcse}
    columns["low"] = (share.dims, low)
    columns["high"] = (share.dims, high)
    columns["replications"] = number
    columns["n_run"] = n_run
    return xr.Dataset(columns)


def _draw(axes: "Axes", errors: Floats, reach: float) -> None:
    """Intervals of one panel, thinned to as many as can be seen."""
    from matplotlib.collections import LineCollection

    order = np.argsort(np.abs(errors), kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(MOST, len(order))).astype(int)]
    height = np.searchsorted(np.sort(np.abs(errors)), np.abs(errors[chosen])) / max(len(errors), 1)
    ends = np.stack([errors[chosen] - reach, errors[chosen] + reach], axis=1)
    segments = [[(low, y), (high, y)] for (low, high), y in zip(ends, height, strict=True)]
    misses = np.abs(errors[chosen]) > reach
    shades = np.where(misses, MISSES, COVERS).tolist()
    axes.add_collection(LineCollection(segments, colors=shades, linewidths=0.9))
    axes.axvline(0.0, color="k", linewidth=0.9)
    axes.axhline(2 * _normal_share(reach) - 1, **style.GUIDE)
    axes.set_xlim(-REACH, REACH)
    axes.set_ylim(0, 1)


def _normal_share(reach: float) -> float:
    """P(N(0, 1) ≤ reach)."""
    return (1 + math.erf(reach / math.sqrt(2))) / 2
