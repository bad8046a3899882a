"""Draw the figures of a report: `draw` turns a spec and a sealed dataset into a Drawing.

Matplotlib is loaded when something is drawn, not before.
"""

from typing import Any

import numpy as np
import xarray as xr

from pipeline.reduce.summary import summarise
from pipeline.report import style
from pipeline.report.cells import (
    Drawing,
    bars,
    caption,
    columns_of,
    held,
    missing,
    ordered,
    places,
    ratios_of,
    tabulate,
)
from pipeline.report.looks import Looks, curves_of, distinct, error_bars, extent
from pipeline.report.specs import Curves, Map, PhaseDiagram, Ratio, Spec
from pipeline.report.words import axis_label, fraction, levels, metric_label, number, symbol


def draw(spec: Spec, results: xr.Dataset, summary: xr.Dataset | None = None) -> Drawing:
    """Draw one figure; `summary` is `summarise(results)`, made here if not given."""
    from pipeline.report import map_figure, phase_figures

    summary = summarise(results) if summary is None else summary
    with style.applied():
        if isinstance(spec, Ratio):
            return _ratio(spec, held(results, spec), held(summary, spec), summary.attrs["confidence"])
        part = held(summary, spec)
        if isinstance(spec, Map):
            return map_figure.drawn(spec, held(results, spec), part)
        if isinstance(spec, Curves):
            return _curves(spec, part)
        if isinstance(spec, PhaseDiagram):
            return phase_figures.phase_diagram(spec, part)
        return phase_figures.collapsed(spec, part)


def _curves(spec: Curves, data: xr.Dataset) -> Drawing:
    table = tabulate(columns_of(data, spec.metric), data, spec)
    label = metric_label(data[spec.metric], spec.metric)
    figure = _lines(spec, data, table, label)
    words = f"Mean of the {label} against {symbol(spec.position)}."
    if spec.reference:
        words += f" Dashed, without marks: {metric_label(data[spec.reference], spec.reference)}."
    seen = bars(table, data.attrs["confidence"], figure.axes[0])
    return Drawing(spec.kind, figure, spec.title or _title(data, spec), table,
                   caption(spec, data, words, seen, _gaps(spec, table), missing(table)))


def _ratio(spec: Ratio, results: xr.Dataset, summary: xr.Dataset, confidence: float) -> Drawing:
    columns, words, predicted = ratios_of(results, summary, spec, spec.power, confidence)
    table = tabulate(columns, results, spec)
    figure = _lines(spec, results, table, f"measured / {predicted}", level=1.0)
    finite = table["mean"][np.isfinite(table["mean"])]
    words = f"{words[:1].upper()}{words[1:]}. Dashed: 1, where they are equal."
    found = f"Ratios: {number(finite.min(), 3)} to {number(finite.max(), 3)}." if len(finite) else ""
    title = spec.title or f"Measured error over the {predicted}"
    seen = bars(table, confidence, figure.axes[0], "the ratio")
    return Drawing(spec.kind, figure, title, table.rename(columns={"mean": "ratio"}),
                   caption(spec, results, words, found, seen, _gaps(spec, table), missing(table)))


def _gaps(spec: Curves | Ratio, table: Any) -> str:
    return "Not all combinations were run." if Looks(table, spec.by, spec.split).gaps else ""


def _title(data: xr.Dataset, spec: Spec) -> str:
    meaning = data[spec.metric].attrs.get("long_name", symbol(spec.metric))
    return f"{meaning[:1].upper()}{meaning[1:]} against {symbol(spec.position)}"


def _lines(spec: Curves | Ratio, data: xr.Dataset, table: Any, label: str, level: float | None = None) -> Any:
    good = np.isfinite(table["mean"]) & np.isfinite(places(table, data, spec.position))
    shown = table[good].reset_index(drop=True)
    panels = distinct(shown, (spec.panels,)) if spec.panels else [()]
    columns = 2 if len(panels) == 4 else max(min(len(panels), 3), 1)
    rows = max(-(-len(panels) // columns), 1)
    size = (style.WIDTH, style.HEIGHT) if len(panels) <= 1 else (style.WIDTH + 1.4, 2.5 * rows + 0.7)
    figure, grid = style.new_figure(columns, rows, *size, sharex=True, sharey=True)
    x, mean = places(shown, data, spec.position), shown["mean"].to_numpy(float)
    y_log = bool(mean.size) and (mean > 0).all()
    if level is not None:  # a ratio near 1 is best read on a linear axis
        y_log = y_log and mean.max() / mean.min() > 4
    names = None if shown[spec.position].dtype.kind in "iuf" else ordered(shown, data, spec.position)
    x_log = names is None and not spec.linear and bool(x.size) and (x > 0).all()
    keys = (*spec.by, *((spec.split,) if spec.split else ()))
    looks = Looks(shown, spec.by, spec.split)
    axes = grid[0, 0]
    wide = len(x) and np.nanmax(np.abs(x)) >= 10_000  # labels that need more room
    style.scale(axes.xaxis, [*x, *spec.marks.values()], x_log, 12 if columns == 1 else 4 if wide else 6, x)
    reference = getattr(spec, "reference", None)
    beside = shown[reference].to_numpy(float) if reference else ()
    style.scale(axes.yaxis, [*extent(shown, y_log), *beside, *([] if level is None else [level])], y_log)
    guide = _guide(spec, shown, x, keys) if x_log and y_log else None
    for axes, panel in zip(grid.flat, panels, strict=False):
        part = shown[shown[spec.panels] == panel[0]] if spec.panels else shown
        if level is not None:
            axes.axhline(level, color="0.25", linewidth=1.0, linestyle=(0, (6, 2)), zorder=1)
        if guide:
            axes.plot(*guide, **style.GUIDE, scalex=False, scaley=False, zorder=3)
        for key, line in curves_of(part, keys):
            order = np.argsort(x[line.index], kind="stable")
            error_bars(axes, x[line.index][order], line.iloc[order], **looks[key])
            if reference:
                colour = {"color": looks[key]["color"]} if spec.by else {}
                axes.plot(x[line.index][order], line[reference].iloc[order], **style.REFERENCE | colour, zorder=1.5)
        style.mark(axes, spec.marks)
        if spec.panels:
            title = style.wrapped(levels({spec.panels: panel[0]}), 4.8 / columns)
            axes.set_title(title, pad=15 if spec.marks else None)
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    axes = grid[0, 0]
    if names:
        room = (size[0] - 2.4) / columns / len(names)
        axes.set_xticks(range(len(names)), [style.wrapped(number(name), room) for name in names])
    if len(panels) > 1:
        figure.supxlabel(axis_label(data[spec.position]), fontsize=9)
        figure.supylabel(style.wrapped(label, size[1]), fontsize=9)
    else:
        axes.set_xlabel(axis_label(data[spec.position]))
        axes.set_ylabel(style.wrapped(label, size[1]))
    beside = style.wrapped(metric_label(data[reference], reference), 1.8) if reference else ""
    looks.legend(figure, {f"slope {fraction(spec.theory)}": style.GUIDE} if guide else {},
                 {beside: style.REFERENCE} if reference else {})
    return figure


def _guide(spec: Curves | Ratio, shown: Any, x: np.ndarray, keys: tuple[str, ...]) -> tuple[Any, Any] | None:
    """Ends of a line of slope `theory` through the geometric mean of the first curve; None if none is asked for."""
    theory = getattr(spec, "theory", None)
    if theory is None:
        return None
    _, line = next(iter(curves_of(shown, (*((spec.panels,) if spec.panels else ()), *keys))))
    at, height = np.log(x[line.index]), np.log(line["mean"].to_numpy(float))
    ends = np.log([x.min(), x.max()])
    return np.exp(ends), np.exp(height.mean() + theory * (ends - at.mean()))
