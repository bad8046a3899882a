"""One figure of several studies: loss against effective sample size, both on scales that they
share.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.analysis.boundaries import INSIDE, crossing
from pipeline.reporting import style
from pipeline.reporting.captions import replications
from pipeline.reporting.cells import Drawing, Mark, columns_of, said, shown_part, tabulate, varying
from pipeline.reporting.common_spec import Common, Series
from pipeline.reporting.curve_styles import curves_of, error_bars
from pipeline.reporting.formatting import number, percent, with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

BROKEN = 0.5  # loss, relative to that without information, at which learning has broken down


def draw(common: Common, summaries: Mapping[str, xr.Dataset]) -> Drawing:
    """Draw the figure. summaries: of the studies by name, as `summarise` gives them."""
    import pandas

    tables = []
    sentences = []
    crossed = []
    for one in common.series:
        table, where = _measured(one, summaries[one.experiment])
        tables.append(table.assign(curve=one.name))
        crossed.append(where)
        sentences.append(
            f"{one.name[:1].upper()}{one.name[1:]}: {one.loss}, against {one.size}; {where}."
        )
    marks: list[Mark] = []
    with style.applied():
        figure = _figure(common, tables, crossed, marks)
    confidence = percent(next(iter(summaries.values())).attrs["confidence"])
    whole = pandas.concat(
        [table.astype({axis: object for axis in table}) for table in tables], ignore_index=True
    )
    whole = whole.astype({name: float for name in ("effective", "mean", "mcse", "low", "high")})
    caption = " ".join(
        filter(
            None,
            (
                common.caption,
                *sentences,
                (
                    "Loss: 1 is that of a guess without data, 0 that of full knowledge; dashed at "
                    f"{BROKEN:g}, where learning has broken down. Bars: {confidence} confidence "
                    f"interval of the mean over {replications(whole)} replications (corrected for "
                    f"skewness). Intervals of crossings: {confidence}, from redrawn curves."
                ),
            ),
        )
    )
    return Drawing("common", figure, common.title, whole, caption, tuple(marks), "effective")


def _measured(one: Series, summary: xr.Dataset) -> "tuple[DataFrame, str]":
    """The cells with their effective sample size and relative loss.

    Where the curves cross the line.
    """
    data = shown_part(summary, one.curves)
    columns = columns_of(data, one.curves.metric)
    scale = one.without - one.best
    mean, low, high = ((columns[name] - one.best) / scale for name in ("mean", "low", "high"))
    mcse = columns["mcse"] / abs(scale)
    columns = columns.assign(
        mean=mean, mcse=mcse, low=low if scale > 0 else high, high=high if scale > 0 else low
    )
    effective = xr.DataArray(one.times)
    for factor, power in one.effective.items():
        effective = (
            effective
            * summary[factor]
            .sel(
                {
                    axis: level
                    for axis, level in one.curves.select.items()
                    if axis in summary[factor].dims
                }
            )
            .astype(float)
            ** power
        )
    effective = effective.reset_coords(drop=True).drop_vars(
        [name for name in effective.coords if name not in data.dims], errors="ignore"
    )
    at = (effective + 0 * columns["mean"]).isel(
        {d: 0 for d in effective.dims if d not in columns["mean"].dims}
    )
    broken = crossing(
        mean, mcse, one.curves.along, BROKEN, at, confidence=summary.attrs["confidence"]
    )
    table = tabulate(columns.assign(effective=at), data, one.curves)
    table = table[np.isfinite(table["mean"]) & np.isfinite(table["effective"])].reset_index(
        drop=True
    )
    return table, _where(broken)


def _where(broken: xr.Dataset) -> str:
    """Where the curves of a study cross the line, each with its interval."""
    inside = (broken["side"] == INSIDE).values.ravel()
    ends = [
        tuple(float(broken[name].values.ravel()[k]) for name in ("value", "low", "high"))
        for k in np.flatnonzero(inside)
    ]
    if not ends:
        return "no curve crosses the line"
    shown = [with_interval(*one) for one in (min(ends), max(ends))]
    return (
        "crosses the line at "
        + " to ".join(dict.fromkeys(shown))
        + (f" ({len(ends)} of {inside.size} curves)" if inside.size > 1 else "")
    )


def _figure(
    common: Common, tables: "list[DataFrame]", crossed: list[str], marks: list[Mark]
) -> "Figure":
    from matplotlib.lines import Line2D

    figure, grid = style.new_figure(height=3.6 + 0.36 * len(tables))
    axes = grid[0, 0]
    entries = []
    axes.axhline(BROKEN, **style.GUIDE, zorder=1)
    for k, (one, table, where) in enumerate(zip(common.series, tables, crossed, strict=True)):
        options: dict[str, Any] = {
            "color": style.NAMED[k % len(style.NAMED)],
            "linewidth": 1.1,
            "marker": style.MARKERS[k % len(style.MARKERS)],
            "linestyle": style.LINES[k % len(style.LINES)],
        }
        entries.append(Line2D([], [], label=f"{one.name}\n{where}", **options))
        names = varying(table, one.curves)
        for _, rows in curves_of(table, one.curves.by):
            rows = rows.sort_values("effective")
            x = rows["effective"].to_numpy(float)
            error_bars(axes, x, rows, **options)
            texts = (
                f"{one.name}, effective {number(at, 3)}, {text}"
                for at, text in zip(x, said(rows, names), strict=True)
            )
            marks += [
                Mark(axes, at, height, text)
                for at, height, text in zip(x.tolist(), rows["mean"].tolist(), texts, strict=True)
            ]
    style.scale(axes.xaxis, [x for table in tables for x in table["effective"]], True, 8)
    style.scale(axes.yaxis, [0.0, 1.0, *(y for table in tables for y in table["mean"])], False)
    axes.set_xlabel("effective sample size: answers per unknown, as far as privacy lets them count")
    axes.set_ylabel("loss, relative to that without information")
    figure.legend(handles=entries, loc="outside upper center", handlelength=3.2, ncols=1)
    return figure
