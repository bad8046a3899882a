"""Several boundaries in one phase diagram: where a mean crosses a level, by mechanism or survey."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.analysis.boundaries import INSIDE, crossing
from pipeline.reporting import style
from pipeline.reporting.captions import caption
from pipeline.reporting.cells import Drawing, Mark, Sheet, columns_of, values_in_words, varying
from pipeline.reporting.curve_styles import CurveStyles, Levels, curves_of, distinct
from pipeline.reporting.formatting import (
    axis_label,
    count,
    levels,
    metric_label,
    number,
    percent,
    symbol,
)
from pipeline.reporting.specs import Boundaries
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

THEORY: dict[str, Any] = {"color": "k", "linewidth": 1.0, "linestyle": (0, (1, 1.6)), "marker": ""}


def boundaries(spec: Boundaries, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """The boundary of every curve with its intervals, and where theory puts it."""
    confidence = summary.attrs["confidence"]
    columns = columns_of(summary, spec.metric)
    at = summary[spec.position]
    crossed = crossing(
        columns["mean"], columns["mcse"], spec.along, spec.level, at, confidence=confidence
    )
    table = _table(crossed, columns["n_run"], _predicted(at, spec), spec)
    panels = _Panels(spec, table)
    labels = (axis_label(summary[spec.across]), axis_label(at))
    figure = panels.figure(*labels)
    title = spec.title or f"Where the {metric_label(summary[spec.metric], spec.metric)} crosses"
    text = caption(spec, summary, *_words(spec, summary, table))
    marks = tuple(panels.marks)
    again = partial(_Panels(spec, table).sheet, *labels)
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.across, again)


def _predicted(at: xr.DataArray, spec: Boundaries) -> xr.DataArray:
    """The position at which theory puts the boundary; NaN where it says nothing.

    Positions are interpolated on logarithmic scales, on which they are straight or nearly so.
    """
    if spec.theory is None:
        return at.isel({spec.along: 0}, drop=True) * math.nan
    steps = np.log(np.asarray(at[spec.along].values, float))
    wanted = math.log(spec.theory)

    def between(positions: Floats) -> Floats:
        position: Floats = np.exp(np.interp(wanted, steps, np.log(positions)))
        return position

    predicted: xr.DataArray = xr.apply_ufunc(
        between, at, input_core_dims=[[spec.along]], vectorize=True
    )
    return predicted


def _table(
    crossed: xr.Dataset, run: xr.DataArray, predicted: xr.DataArray, spec: Boundaries
) -> "DataFrame":
    """One row for each boundary that was looked for: its axes, `mean` (the position of the
    boundary), its interval, its side, and `predicted`.
    """
    named = crossed[["value", "low", "high", "side"]].rename(value="mean")
    was_run = (run > 0).any(spec.along)
    whole = named.assign(predicted=predicted, was_run=was_run).reset_coords(drop=True)
    order = [*spec.drawn[1:]]
    table = whole.to_dataframe(dim_order=order).reset_index()
    return table[table.pop("was_run")].reset_index(drop=True)


@dataclass
class _Panels:
    """Panels of boundaries. marks: once drawn."""

    spec: Boundaries
    table: "DataFrame"
    marks: list[Mark] = field(default_factory=list)

    @property
    def panels(self) -> list[Levels]:
        """The level of every panel; one without a level where there is only one panel."""
        if self.spec.panels is None:
            return [()]
        return distinct(self.table, (self.spec.panels,))

    def figure(self, across: str, at: str) -> "Figure":
        """The whole figure; across, at: labels of its axes."""
        panels = self.panels
        columns = max(1, min(style.layout().columns, len(panels)))
        rows = max(1, math.ceil(len(panels) / columns))
        styles = CurveStyles(self.table, self.spec.by, self.spec.split)
        height = 3.4 * rows + 0.4 + styles.height
        figure, grid = style.new_figure(columns, rows, height=height, sharex=True, sharey=True)
        self._scale(grid[0, 0], columns)
        for axes, panel in zip(grid.flat, panels, strict=False):
            self._panel(axes, panel, styles)
        style.hide_empty(grid, len(panels))
        others = {}
        if self.spec.theory is not None:
            others[f"theory: {symbol(self.spec.along)} = {number(self.spec.theory)}"] = THEORY
        styles.legend(figure, others)
        figure.supxlabel(style.below(across), fontsize=9)
        figure.supylabel(style.wrapped(at, height - styles.height), fontsize=9)
        return figure

    def sheet(self, across: str, at: str) -> Sheet:
        """The whole figure with its marks, in the layout of the moment."""
        figure = self.figure(across, at)
        return Sheet(figure, tuple(self.marks))

    def _scale(self, axes: "Axes", columns: int) -> None:
        """Scales and limits, shared by all panels."""
        x = self.table[self.spec.across].to_numpy(float)
        heights = np.concatenate([self.table["mean"], self.table["predicted"]])
        style.scale(axes.xaxis, x, True, 9 // columns, x)
        style.scale(axes.yaxis, heights[np.isfinite(heights)], True)

    def _panel(self, axes: "Axes", panel: Levels, styles: CurveStyles) -> None:
        """The boundaries of one panel, each with the line of the theory."""
        shown = self.table
        if self.spec.panels:
            shown = shown[shown[self.spec.panels] == panel[0]]
            axes.set_title(style.wrapped(levels({self.spec.panels: panel[0]}), 2.4, most=3))
        for key, rows in curves_of(shown, (*self.spec.by, *styles.split)):
            ordered = rows.sort_values(self.spec.across)
            x = ordered[self.spec.across].to_numpy(float)
            axes.plot(x, ordered["predicted"], **THEORY, zorder=2)
            inside = ordered[ordered["side"] == INSIDE]
            self._boundary(axes, inside, styles, key)

    def _boundary(
        self, axes: "Axes", inside: "DataFrame", styles: CurveStyles, key: Levels
    ) -> None:
        """One boundary with its intervals."""
        x = inside[self.spec.across].to_numpy(float)
        y = inside["mean"].to_numpy(float)
        below = np.maximum(y - inside["low"].to_numpy(float), 0)
        above = np.maximum(inside["high"].to_numpy(float) - y, 0)
        axes.errorbar(x, y, np.stack([below, above]), capsize=2.5, zorder=3, **styles[key])
        texts = values_in_words(inside, varying(self.table, self.spec))
        self.marks += map(Mark, repeat(axes), x.tolist(), y.tolist(), texts)


def _words(spec: Boundaries, summary: xr.Dataset, table: "DataFrame") -> Iterator[str]:
    """What marks and lines are."""
    label = metric_label(summary[spec.metric], spec.metric)
    yield (
        f"Marks: {symbol(spec.position)} at which the mean of the {label} is "
        f"{number(spec.level)}, with {percent(summary.attrs['confidence'])} intervals, which cover "
        "Monte Carlo error and the spacing of the grid; where no bar is seen, it is shorter than "
        "its mark. Above a boundary the mean is on the better side."
    )
    if spec.theory is not None:
        source = f" ({spec.source})" if spec.source else ""
        yield f"Dotted: where theory puts each of them{source}, without a fitted height."
    lost = int((table["side"] != INSIDE).sum())
    if lost:
        yield f"{count(lost, 'crossing')} of {len(table)} lie outside of the grid."
