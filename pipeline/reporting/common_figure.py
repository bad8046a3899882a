"""One figure of several studies: loss against effective sample size, both on scales that they
share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.analysis.boundaries import INSIDE, crossing
from pipeline.reporting import style
from pipeline.reporting.captions import replications
from pipeline.reporting.cells import (
    Drawing,
    Mark,
    Sheet,
    columns_of,
    shown_part,
    tabulate,
    values_in_words,
    varying,
)
from pipeline.reporting.common_spec import Common, Series
from pipeline.reporting.curve_styles import curves_of, error_bars
from pipeline.reporting.formatting import capitalised, number, percent, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from pandas import DataFrame

BROKEN = 0.5  # loss, relative to that without information, at which learning has broken down
EFFECTIVE = "effective sample size: answers per unknown, as far as privacy lets them count"
PICTURE = "Curves of several studies"
NUMBERS = ("effective", "mean", "mcse", "low", "high")


@dataclass(frozen=True)
class _Measured:
    """Cells of one study. table: effective sample size and relative loss; where: in words, where
    its curves cross the line.
    """

    series: Series
    table: "DataFrame"
    where: str


def draw(common: Common, summaries: Mapping[str, xr.Dataset]) -> Drawing:
    """Draw the figure. summaries: of the studies by name, as `summarise` gives them."""
    studies = [_measured(series, summaries[series.experiment]) for series in common.series]
    figure = _Figure(studies)
    with style.applied():
        picture = figure.figure()
    confidence = percent(next(iter(summaries.values())).attrs["confidence"])
    table = _table(studies)
    sentences = [_sentence(study) for study in studies]
    how = (
        "Loss: 1 for a guess without data, 0 for full knowledge; the dashed line is at "
        f"{BROKEN:g}, where learning has broken down. Bars: {confidence} confidence "
        f"interval of the mean over {replications(table)} replications (corrected for "
        f"skewness). Intervals of crossings: {confidence}, from redrawn curves."
    )
    caption = " ".join(filter(None, (common.caption, *sentences, how)))
    marks = tuple(figure.marks)
    again = _Figure(studies).sheet
    return Drawing(
        "common", PICTURE, picture, common.title, table, caption, marks, "effective", again
    )


def _sentence(study: _Measured) -> str:
    """What the loss of a study is, and where it crosses the line."""
    series = study.series
    return f"{capitalised(series.name)}: {series.loss}, against {series.size}; {study.where}."


def _table(studies: Sequence[_Measured]) -> "DataFrame":
    """The cells of all studies, one below the other."""
    import pandas

    tables = []
    for study in studies:
        table = study.table.assign(curve=study.series.name)
        tables.append(table.astype(dict.fromkeys(table, object)))
    whole = pandas.concat(tables, ignore_index=True)
    return whole.astype(dict.fromkeys(NUMBERS, float))


def _measured(series: Series, summary: xr.Dataset) -> _Measured:
    """The cells of one study, and where its curves cross the line."""
    data = shown_part(summary, series.curves)
    columns = _relative(columns_of(data, series.curves.metric), series)
    effective = _effective(series, summary)
    elsewhere = [name for name in effective.coords if name not in data.dims]
    effective = effective.reset_coords(drop=True).drop_vars(elsewhere, errors="ignore")
    at = effective + 0 * columns["mean"]
    fixed = [name for name in effective.dims if name not in columns["mean"].dims]
    at = at.isel(dict.fromkeys(fixed, 0))
    broken = crossing(
        columns["mean"],
        columns["mcse"],
        series.curves.along,
        BROKEN,
        at,
        confidence=summary.attrs["confidence"],
    )
    table = tabulate(columns.assign(effective=at), data, series.curves)
    has_place = np.isfinite(table["mean"]) & np.isfinite(table["effective"])
    return _Measured(series, table[has_place].reset_index(drop=True), _where(broken))


def _relative(columns: xr.Dataset, series: Series) -> xr.Dataset:
    """Means as losses: 0 where the metric is `best`, 1 where it is `without`."""
    scale = series.without - series.best
    losses = (columns[["mean", "low", "high"]] - series.best) / scale
    mcse = columns["mcse"] / abs(scale)
    if scale < 0:
        losses = losses.rename(low="high", high="low")
    return columns.assign(losses).assign(mcse=mcse)


def _effective(series: Series, summary: xr.Dataset) -> xr.DataArray:
    """The effective sample size: a constant times powers of axes and derived parameters."""
    effective = xr.DataArray(series.times)
    for name, power in series.effective.items():
        factor = summary[name]
        fixed = {axis: level for axis, level in series.curves.select.items() if axis in factor.dims}
        effective = effective * factor.sel(fixed).astype(float) ** power
    return effective


def _where(broken: xr.Dataset) -> str:
    """Where the curves of a study cross the line, each with its interval."""
    inside = (broken["side"] == INSIDE).values.ravel()
    columns = [broken[name].values.ravel()[inside] for name in ("value", "low", "high")]
    crossings = sorted(zip(*map(np.ndarray.tolist, columns), strict=True))
    if not crossings:
        return "no curve crosses the line"
    least = with_interval(*crossings[0])
    greatest = with_interval(*crossings[-1])
    where = f"crosses the line at {least}"
    if greatest != least:
        where += f" to {greatest}"
    if inside.size > 1:
        where += f" ({len(crossings)} of {inside.size} curves)"
    return where


@dataclass
class _Figure:
    """One panel with the curves of all studies. marks: once drawn."""

    studies: Sequence[_Measured]
    marks: list[Mark] = field(default_factory=list)

    def figure(self) -> "Figure":
        """The whole figure."""
        figure, grid = style.new_figure(height=3.6 + 0.36 * len(self.studies))
        axes = grid[0, 0]
        axes.axhline(BROKEN, **style.GUIDE, zorder=1)
        entries = [self._draw(axes, study, k) for k, study in enumerate(self.studies)]
        sizes: list[float] = []
        losses = [0.0, 1.0]
        for study in self.studies:
            sizes += study.table["effective"].tolist()
            losses += study.table["mean"].tolist()
        style.scale(axes.xaxis, sizes, True, 8)
        style.scale(axes.yaxis, losses, False)
        axes.set_xlabel(style.below(EFFECTIVE))
        axes.set_ylabel("loss, relative to that without information")
        figure.legend(handles=entries, loc="outside upper center", handlelength=3.2, ncols=1)
        return figure

    def sheet(self) -> Sheet:
        """The whole figure with its marks, in the layout of the moment."""
        figure = self.figure()
        return Sheet(figure, tuple(self.marks))

    def _draw(self, axes: "Axes", study: _Measured, k: int) -> "Line2D":
        """Draw the curves of the k-th study; its entry of the legend."""
        from matplotlib.lines import Line2D

        options: dict[str, Any] = {
            "color": style.NAMED[k % len(style.NAMED)],
            "linewidth": 1.1,
            "marker": style.MARKERS[k % len(style.MARKERS)],
            "linestyle": style.LINES[k % len(style.LINES)],
        }
        series = study.series
        names = varying(study.table, series.curves)
        for _, rows in curves_of(study.table, series.curves.by):
            curve = rows.sort_values("effective")
            x = curve["effective"].to_numpy(float)
            error_bars(axes, x, curve, **options)
            texts = values_in_words(curve, names)
            for at, height, text in zip(x.tolist(), curve["mean"].tolist(), texts, strict=True):
                words = f"{series.name}, effective {number(at, 3)}, {text}"
                self.marks.append(Mark(axes, at, height, words))
        label = f"{style.filled(series.name)}\n{style.filled(study.where)}"
        return Line2D([], [], label=label, **options)
