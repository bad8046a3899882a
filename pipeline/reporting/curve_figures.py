"""Figures of curves: means, or ratios of a mean to its prediction, in one panel or several."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pipeline.reporting import style
from pipeline.reporting.captions import bars, bars_of, caption, missing, shown
from pipeline.reporting.cells import (
    Drawing,
    Mark,
    Sheet,
    columns_of,
    is_numeric,
    name_in_words,
    ordered,
    positions,
    ratios_of,
    tabulate,
    values_in_words,
    varying,
)
from pipeline.reporting.curve_styles import (
    CurveStyles,
    Levels,
    Style,
    curves_of,
    distinct,
    error_bars,
    extent,
)
from pipeline.reporting.formatting import (
    axis_label,
    capitalised,
    fraction,
    levels,
    metric_label,
    number,
    symbol,
)
from pipeline.reporting.specs import Curves, Ratio, Spec
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


def curves(spec: Curves, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """Means of a summary, with the reference, if any, beside each curve."""
    table = tabulate(columns_of(summary, spec.metric), summary, spec)
    label = metric_label(summary[spec.metric], spec.metric)
    panels = _Panels(spec, summary, table, label)
    figure = panels.figure()
    sentences = [f"{shown(summary, spec.metric, label)} against {symbol(spec.position)}."]
    if spec.theory is not None and panels.has_guide:
        source = f", {spec.source}" if spec.source else ""
        sentences.append(f"Line without marks: slope {fraction(spec.theory)}{source}.")
    if spec.reference:
        reference = metric_label(summary[spec.reference], spec.reference)
        sentences.append(f"Dashed, without marks: {reference}.")
    text = caption(
        spec,
        summary,
        *sentences,
        bars_of(summary, spec.metric, table, figure.axes[0]),
        _gaps(spec, table),
        missing(table),
    )
    title = spec.title or _title(spec, summary)
    marks = tuple(panels.marks)
    again = _Panels(spec, summary, table, label).sheet
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.along, again)


def ratio(spec: Ratio, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """Mean of metric^power over the mean of its yardstick; a line at 1, where they are equal."""
    ratios = ratios_of(results, summary, spec, spec.power)
    table = tabulate(ratios.columns, results, spec)
    label = f"measured / {ratios.predicted}"
    panels = _Panels(spec, results, table, label, level=1.0)
    figure = panels.figure()
    text = caption(
        spec,
        results,
        f"{capitalised(ratios.meaning)}. Dashed: 1, where they are equal.",
        _ends(table),
        bars(table, summary.attrs["confidence"], figure.axes[0], "the ratio"),
        _gaps(spec, table),
        missing(table),
    )
    title = spec.title or f"Measured error over the {ratios.predicted}"
    again = _Panels(spec, results, table, label, level=1.0).sheet
    table = table.rename(columns={"mean": "ratio"})
    marks = tuple(panels.marks)
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.along, again)


def _ends(table: "DataFrame") -> str:
    """Least and greatest ratio; empty without any."""
    finite = table["mean"][np.isfinite(table["mean"])]
    if not len(finite):
        return ""
    return f"Ratios: {number(finite.min(), 3)} to {number(finite.max(), 3)}."


def _gaps(spec: Curves | Ratio, table: "DataFrame") -> str:
    """That some combinations are missing; empty if none is."""
    if CurveStyles(table, spec.by, spec.split).has_gaps:
        return "Not all combinations were run."
    return ""


def _title(spec: Spec, data: xr.Dataset) -> str:
    meaning = name_in_words(data, spec.metric)
    return f"{capitalised(meaning)} against {symbol(spec.position)}"


@dataclass
class _Panels:
    """Panels of curves of one table. level: where a horizontal line is drawn, as at a ratio of 1.

    shown: rows with a finite mean and position; x: their positions. marks, has_guide: once drawn.
    """

    spec: Curves | Ratio
    data: xr.Dataset
    table: "DataFrame"
    label: str
    level: float | None = None
    shown: "DataFrame" = field(init=False)
    x: Floats = field(init=False)
    marks: list[Mark] = field(default_factory=list)
    has_guide: bool = False

    def __post_init__(self) -> None:
        at = positions(self.table, self.data, self.spec.position)
        can_be_drawn = np.isfinite(self.table["mean"]) & np.isfinite(at)
        self.shown = self.table[can_be_drawn].reset_index(drop=True)
        self.x = positions(self.shown, self.data, self.spec.position)

    @property
    def reference(self) -> str | None:
        """What is drawn beside every curve."""
        if isinstance(self.spec, Curves):
            return self.spec.reference
        return None

    @property
    def theory(self) -> float | None:
        """Slope of the guide line."""
        if isinstance(self.spec, Curves):
            return self.spec.theory
        return None

    @cached_property
    def panels(self) -> list[Levels]:
        """The level of every panel; one without a level where there is only one panel."""
        if self.spec.panels is None:
            return [()]
        return distinct(self.shown, (self.spec.panels,))

    @cached_property
    def columns(self) -> int:
        """Panels in a row."""
        return max(min(len(self.panels), style.layout().columns), 1)

    @cached_property
    def rows(self) -> int:
        """Rows of panels."""
        return max(math.ceil(len(self.panels) / self.columns), 1)

    @cached_property
    def height(self) -> float:
        """Height of the figure in inches, without the legend."""
        names = self._names_of_places.inches if self._names_of_places else 0.0
        if len(self.panels) <= 1:
            return style.HEIGHT + names
        return 2.3 * self.rows + 0.6 + names

    @cached_property
    def x_log(self) -> bool:
        """Whether positions are on a logarithmic scale."""
        if self.spec.linear or not is_numeric(self.shown, self.spec.position):
            return False
        return bool(self.x.size) and bool((self.x > 0).all())

    @cached_property
    def y_log(self) -> bool:
        """Whether means are on a logarithmic scale; ratios near 1 are read on a linear one."""
        mean = self.shown["mean"].to_numpy(float)
        if not mean.size or not (mean > 0).all():
            return False
        return self.level is None or bool(mean.max() / mean.min() > 4)

    @cached_property
    def names(self) -> list[str]:
        """What tells the cells apart."""
        return varying(self.table, self.spec)

    @cached_property
    def styles(self) -> CurveStyles:
        """The style of every curve."""
        return CurveStyles(self.shown, self.spec.by, self.spec.split)

    def figure(self) -> "Figure":
        """The whole figure."""
        height = self.height + self.styles.height
        figure, grid = style.new_figure(
            self.columns, self.rows, height=height, sharex=True, sharey=True
        )
        self._scale(grid[0, 0])
        guide = self._guide()
        self.has_guide = guide is not None
        for axes, panel in zip(grid.flat, self.panels, strict=False):
            self._panel(axes, panel, guide)
        style.hide_empty(grid, len(self.panels))
        self._name_axes(figure, grid[0, 0])
        self.styles.legend(figure, self._other_lines())
        return figure

    def sheet(self) -> Sheet:
        """The whole figure with its marks, in the layout of the moment."""
        figure = self.figure()
        return Sheet(figure, tuple(self.marks))

    def _other_lines(self) -> dict[str, Style]:
        """Entries of the legend besides the curves."""
        lines = {}
        if self.has_guide and self.theory is not None:
            lines[f"slope {fraction(self.theory)}"] = style.GUIDE
        if self.reference:
            label = metric_label(self.data[self.reference], self.reference)
            lines[style.wrapped(label, 1.8)] = style.REFERENCE
        return lines

    def _scale(self, axes: "Axes") -> None:
        """Scales and limits, shared by all panels."""
        marks = self.spec.marks.values()
        style.scale(axes.xaxis, [*self.x, *marks], self.x_log, self._room(), self.x)
        values = [*extent(self.shown, self.y_log)]
        if self.reference:
            values += self.shown[self.reference].tolist()
        if self.level is not None:
            values.append(self.level)
        style.scale(axes.yaxis, values, self.y_log)

    def _room(self) -> int:
        """How many labels fit below a panel."""
        if self.columns == 1:
            return 9
        has_long_labels = self.x.size and np.nanmax(np.abs(self.x)) >= 10_000
        return 3 if has_long_labels else 5

    def _panel(self, axes: "Axes", panel: Levels, guide: "tuple[Floats, Floats] | None") -> None:
        """The curves of one panel, with the line at `level`, the guide, the references and the
        marks.
        """
        spec = self.spec
        shown = self.shown
        if spec.panels:
            shown = shown[shown[spec.panels] == panel[0]]
        if self.level is not None:
            axes.axhline(self.level, color="0.25", linewidth=1.0, linestyle=(0, (6, 2)), zorder=1)
        if guide:
            axes.plot(*guide, **style.GUIDE, scalex=False, scaley=False, zorder=3)
        for key, rows in curves_of(shown, (*spec.by, *self.styles.split)):
            self._curve(axes, key, rows)
        style.mark(axes, spec.marks)
        if spec.panels:
            room = (style.layout().width - 0.8) / self.columns
            title = style.wrapped(levels({spec.panels: panel[0]}), room, most=3)
            axes.set_title(title, pad=15 if spec.marks else None)

    def _curve(self, axes: "Axes", key: Levels, rows: "DataFrame") -> None:
        """One curve with its bars, its marks, and the reference beside it."""
        at = self.x[rows.index]
        order = np.argsort(at, kind="stable")
        x = at[order]
        curve = rows.iloc[order]
        options = self.styles[key]
        error_bars(axes, x, curve, **options)
        texts = values_in_words(curve, self.names)
        self.marks += map(Mark, repeat(axes), x.tolist(), curve["mean"].tolist(), texts)
        if not self.reference:
            return
        line = dict(style.REFERENCE)
        if self.spec.by:
            line["color"] = options["color"]
        axes.plot(x, curve[self.reference], **line, zorder=1.5)

    def _name_axes(self, figure: "Figure", axes: "Axes") -> None:
        """Labels of the axes, once for all panels; names of positions stand at their ticks."""
        at = style.below(axis_label(self.data[self.spec.position]))
        names = self._names_of_places
        label = style.wrapped(self.label, self.height - (names.inches if names else 0.0))
        if names:
            names.write(axes, range(len(names.labels)))
        if len(self.panels) > 1:
            figure.supxlabel(at, fontsize=9)
            figure.supylabel(label, fontsize=9)
        else:
            axes.set_xlabel(at)
            axes.set_ylabel(label)

    @cached_property
    def _names_of_places(self) -> style.PlaceNames | None:
        """Names at the ticks; None where these are numbers, or none."""
        if is_numeric(self.shown, self.spec.position):
            return None
        names = ordered(self.shown, self.data, self.spec.position)
        if not names:
            return None
        room = (style.layout().width - 0.8) / self.columns / len(names)
        return style.PlaceNames.of([number(name) for name in names], room)

    def _guide(self) -> tuple[Floats, Floats] | None:
        """Ends of a line of slope `theory` through the geometric mean of the first curve.

        None if none is drawn.
        """
        if self.theory is None or not (self.x_log and self.y_log):
            return None
        panels = (self.spec.panels,) if self.spec.panels else ()
        names = (*panels, *self.spec.by, *self.styles.split)
        _, rows = next(iter(curves_of(self.shown, names)))
        at = np.log(self.x[rows.index])
        height = np.log(rows["mean"].to_numpy(float))
        ends = np.log([self.x.min(), self.x.max()])
        return np.exp(ends), np.exp(height.mean() + self.theory * (ends - at.mean()))
