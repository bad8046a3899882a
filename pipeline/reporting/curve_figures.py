"""Figures of curves: means, or ratios of a mean to its prediction, in one panel or several."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.reporting import style
from pipeline.reporting.captions import bars, caption, missing
from pipeline.reporting.cells import (
    Drawing,
    Mark,
    columns_of,
    is_numeric,
    ordered,
    positions,
    ratios_of,
    said,
    tabulate,
    varying,
)
from pipeline.reporting.curve_styles import (
    CurveStyles,
    Levels,
    curves_of,
    distinct,
    error_bars,
    extent,
)
from pipeline.reporting.formatting import axis_label, fraction, levels, metric_label, number, symbol
from pipeline.reporting.specs import Curves, Ratio, Spec
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


def curves(spec: Curves, data: xr.Dataset) -> Drawing:
    """Means of a summary, with the reference, if any, beside each curve."""
    table = tabulate(columns_of(data, spec.metric), data, spec)
    label = metric_label(data[spec.metric], spec.metric)
    drawn = _Curves(spec, data, table, label)
    figure = drawn.figure()
    content = f"Mean of the {label} against {symbol(spec.position)}."
    if spec.theory is not None and drawn.guided:
        content += (
            " Line without marks: slope "
            f"{fraction(spec.theory)}{f', {spec.source}' if spec.source else ''}."
        )
    if spec.reference:
        content += f" Dashed, without marks: {metric_label(data[spec.reference], spec.reference)}."
    return Drawing(
        spec.kind,
        figure,
        spec.title or _title(data, spec),
        table,
        caption(
            spec,
            data,
            content,
            bars(table, data.attrs["confidence"], figure.axes[0]),
            _gaps(spec, table),
            missing(table),
        ),
        tuple(drawn.marks),
        spec.along,
    )


def ratio(spec: Ratio, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """Mean of metric^power over the mean of its yardstick; a line at 1, where they are equal."""
    confidence = summary.attrs["confidence"]
    columns, content, predicted = ratios_of(results, summary, spec, spec.power, confidence)
    table = tabulate(columns, results, spec)
    drawn = _Curves(spec, results, table, f"measured / {predicted}", level=1.0)
    figure = drawn.figure()
    finite = table["mean"][np.isfinite(table["mean"])]
    content = f"{content[:1].upper()}{content[1:]}. Dashed: 1, where they are equal."
    ends = f"Ratios: {number(finite.min(), 3)} to {number(finite.max(), 3)}." if len(finite) else ""
    text = caption(
        spec,
        results,
        content,
        ends,
        bars(table, confidence, figure.axes[0], "the ratio"),
        _gaps(spec, table),
        missing(table),
    )
    title = spec.title or f"Measured error over the {predicted}"
    return Drawing(
        spec.kind,
        figure,
        title,
        table.rename(columns={"mean": "ratio"}),
        text,
        tuple(drawn.marks),
        spec.along,
    )


def _gaps(spec: Curves | Ratio, table: "DataFrame") -> str:
    return "Not all combinations were run." if CurveStyles(table, spec.by, spec.split).gaps else ""


def _title(data: xr.Dataset, spec: Spec) -> str:
    meaning = data[spec.metric].attrs.get("long_name", symbol(spec.metric))
    return f"{meaning[:1].upper()}{meaning[1:]} against {symbol(spec.position)}"


@dataclass
class _Curves:
    """Panels of curves of one table. level: where a horizontal line is drawn, as at a ratio of 1.
    marks: once drawn.
    """

    spec: Curves | Ratio
    data: xr.Dataset
    table: "DataFrame"
    label: str
    level: float | None = None
    shown: "DataFrame" = field(init=False)  # rows with a finite mean and position
    x: Floats = field(init=False)
    marks: list[Mark] = field(default_factory=list)
    guided: bool = False  # once drawn: whether there is a line of the theory

    def __post_init__(self) -> None:
        at = positions(self.table, self.data, self.spec.position)
        self.shown = self.table[np.isfinite(self.table["mean"]) & np.isfinite(at)].reset_index(
            drop=True
        )
        self.x = positions(self.shown, self.data, self.spec.position)

    @property
    def reference(self) -> str | None:
        """What is drawn beside every curve."""
        return self.spec.reference if isinstance(self.spec, Curves) else None

    @cached_property
    def panels(self) -> list[Levels]:
        """The level of every panel; one without a level where there is only one panel."""
        return distinct(self.shown, (self.spec.panels,)) if self.spec.panels else [()]

    @cached_property
    def columns(self) -> int:
        """Panels in a row."""
        return max(min(len(self.panels), 2), 1)

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        if len(self.panels) <= 1:
            return style.WIDTH, style.HEIGHT + self.styles.height
        return style.WIDTH, 2.3 * -(-len(self.panels) // self.columns) + 0.6 + self.styles.height

    @cached_property
    def x_log(self) -> bool:
        """Whether positions are on a logarithmic scale."""
        numeric = is_numeric(self.shown, self.spec.position)
        return numeric and not self.spec.linear and bool(self.x.size) and bool((self.x > 0).all())

    @cached_property
    def y_log(self) -> bool:
        """Whether means are on a logarithmic scale; ratios near 1 are read better on a linear one."""
        mean = self.shown["mean"].to_numpy(float)
        positive = bool(mean.size) and bool((mean > 0).all())
        return positive and (self.level is None or bool(mean.max() / mean.min() > 4))

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
        rows = max(-(-len(self.panels) // self.columns), 1)
        figure, grid = style.new_figure(self.columns, rows, *self.size, sharex=True, sharey=True)
        self._scale(grid[0, 0])
        guide = self._guide()
        self.guided = guide is not None
        for axes, panel in zip(grid.flat, self.panels, strict=False):
            self._panel(axes, panel, guide)
        style.hide_empty(grid, len(self.panels))
        self._name_axes(figure, grid[0, 0])
        guides = (
            {f"slope {fraction(self.spec.theory)}": style.GUIDE}
            if guide and isinstance(self.spec, Curves) and self.spec.theory is not None
            else {}
        )
        beside = (
            {
                style.wrapped(
                    metric_label(self.data[self.reference], self.reference), 1.8
                ): style.REFERENCE
            }
            if self.reference
            else {}
        )
        self.styles.legend(figure, guides, beside)
        return figure

    def _scale(self, axes: "Axes") -> None:
        """Scales and limits, shared by all panels."""
        long_labels = self.x.size and np.nanmax(np.abs(self.x)) >= 10_000
        room = 9 if self.columns == 1 else 3 if long_labels else 5
        style.scale(axes.xaxis, [*self.x, *self.spec.marks.values()], self.x_log, room, self.x)
        beside = self.shown[self.reference].to_numpy(float) if self.reference else ()
        level = () if self.level is None else (self.level,)
        style.scale(axes.yaxis, [*extent(self.shown, self.y_log), *beside, *level], self.y_log)

    def _panel(self, axes: "Axes", panel: Levels, guide: "tuple[Floats, Floats] | None") -> None:
        """The curves of one panel, with the line at `level`, the guide, the references and the
        marks.
        """
        spec = self.spec
        shown = self.shown[self.shown[spec.panels] == panel[0]] if spec.panels else self.shown
        if self.level is not None:
            axes.axhline(self.level, color="0.25", linewidth=1.0, linestyle=(0, (6, 2)), zorder=1)
        if guide:
            axes.plot(*guide, **style.GUIDE, scalex=False, scaley=False, zorder=3)
        for key, rows in curves_of(shown, (*spec.by, *self.styles.split)):
            order = np.argsort(self.x[rows.index], kind="stable")
            x = self.x[rows.index][order]
            options = self.styles[key]
            rows = rows.iloc[order]
            error_bars(axes, x, rows, **options)
            self.marks += map(
                Mark, repeat(axes), x.tolist(), rows["mean"].tolist(), said(rows, self.names)
            )
            if self.reference:
                colour: dict[str, Any] = {"color": options["color"]} if spec.by else {}
                axes.plot(x, rows[self.reference], **style.REFERENCE | colour, zorder=1.5)
        style.mark(axes, spec.marks)
        if spec.panels:
            title = style.wrapped(levels({spec.panels: panel[0]}), 4.8 / self.columns)
            axes.set_title(title, pad=15 if spec.marks else None)

    def _name_axes(self, figure: "Figure", axes: "Axes") -> None:
        """Labels of the axes, once for all panels; positions that are names stand at their ticks."""
        at = axis_label(self.data[self.spec.position])
        height = self.size[1] - self.styles.height
        label = style.wrapped(self.label, height)
        if not is_numeric(self.shown, self.spec.position):
            names: Sequence[Any] = ordered(self.shown, self.data, self.spec.position)
            room = (self.size[0] - 0.8) / self.columns / max(len(names), 1)
            if names:
                axes.set_xticks(
                    range(len(names)), [style.wrapped(number(name), room) for name in names]
                )
        if len(self.panels) > 1:
            figure.supxlabel(at, fontsize=9)
            figure.supylabel(label, fontsize=9)
        else:
            axes.set_xlabel(at)
            axes.set_ylabel(label)

    def _guide(self) -> tuple[Floats, Floats] | None:
        """Ends of a line of slope `theory` through the geometric mean of the first curve.

        None if none is drawn.
        """
        theory = self.spec.theory if isinstance(self.spec, Curves) else None
        if theory is None or not (self.x_log and self.y_log):
            return None
        panels = (self.spec.panels,) if self.spec.panels else ()
        _, rows = next(iter(curves_of(self.shown, (*panels, *self.spec.by, *self.styles.split))))
        at = np.log(self.x[rows.index])
        height = np.log(rows["mean"].to_numpy(float))
        ends = np.log([self.x.min(), self.x.max()])
        return np.exp(ends), np.exp(height.mean() + theory * (ends - at.mean()))
