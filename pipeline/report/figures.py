"""Draw the figures of a report: `draw` turns a spec and a sealed dataset into a Drawing.

Matplotlib is loaded when something is drawn, not before.
"""

from typing import Any

import numpy as np
import xarray as xr

from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import summarise
from pipeline.report import style
from pipeline.report.cells import COLUMNS, Drawing, bars, caption, columns_of, held, missing, places, tabulate
from pipeline.report.looks import Looks, curves_of, distinct, error_bars, extent
from pipeline.report.specs import Curves, PhaseDiagram, Ratio, Spec
from pipeline.report.words import axis_label, levels, metric_label, number, symbol


def draw(spec: Spec, results: xr.Dataset, summary: xr.Dataset | None = None) -> Drawing:
    """Draw one figure; `summary` is `summarise(results)`, made here if not given."""
    from pipeline.report import phase_figures

    summary = summarise(results) if summary is None else summary
    with style.applied():
        if isinstance(spec, Ratio):
            return _ratio(spec, held(results, spec), held(summary, spec), summary.attrs["confidence"])
        part = held(summary, spec)
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
    seen = bars(table, data.attrs["confidence"], figure.axes[0])
    return Drawing(spec.kind, figure, spec.title or _title(data, spec), table,
                   caption(spec, data, words, seen, missing(table)))


def _ratio(spec: Ratio, results: xr.Dataset, summary: xr.Dataset, confidence: float) -> Drawing:
    ratio = risk_ratio(results, spec.metric, spec.yardstick, spec.power, confidence)
    columns = ratio.rename(ratio="mean", pairs="replications").assign(n_run=summary["n_run"])
    table = tabulate(columns[[*COLUMNS, "replications", "n_run"]], results, spec)
    meaning = results[spec.yardstick].attrs.get("long_name", symbol(spec.yardstick))
    figure = _lines(spec, results, table, f"measured / {meaning}", level=1.0)
    finite = table["mean"][np.isfinite(table["mean"])]
    measured = results[spec.metric].attrs.get("long_name", symbol(spec.metric))
    raised = {1: "", 2: "square of the "}.get(spec.power, f"power {spec.power:g} of the ") + measured
    words = f"Mean of the {raised} over the mean of the {meaning}. Dashed: 1, where they are equal."
    found = f"Ratios: {number(finite.min(), 3)} to {number(finite.max(), 3)}." if len(finite) else ""
    title = spec.title or f"Measured error over the {meaning}"
    seen = bars(table, confidence, figure.axes[0], "the ratio")
    return Drawing(spec.kind, figure, title, table.rename(columns={"mean": "ratio"}),
                   caption(spec, results, words, found, seen, missing(table)))


def _title(data: xr.Dataset, spec: Spec) -> str:
    meaning = data[spec.metric].attrs.get("long_name", symbol(spec.metric))
    return f"{meaning[:1].upper()}{meaning[1:]} against {symbol(spec.position)}"


def _lines(spec: Curves | Ratio, data: xr.Dataset, table: Any, label: str, level: float | None = None) -> Any:
    panels = distinct(table, (spec.panels,)) if spec.panels else [()]
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns) if panels else 1
    size = (style.WIDTH, style.HEIGHT) if len(panels) == 1 else (style.WIDTH + 1.4, 2.5 * rows + 0.7)
    figure, grid = style.new_figure(max(columns, 1), rows, *size, sharex=True, sharey=True)
    x, mean = places(table, spec.position), table["mean"].to_numpy(float)
    finite = mean[np.isfinite(mean)]
    y_log = bool(finite.size) and (finite > 0).all()
    if level is not None:  # a ratio near 1 is best read on a linear axis
        y_log = y_log and finite.max() / finite.min() > 4
    named = table[spec.position].dtype.kind not in "iuf"
    shown = np.isfinite(x)
    x_log = not named and bool(shown.any()) and (x[shown] > 0).all()
    looks = Looks(table, spec.by, spec.split)
    keys = (*spec.by, *((spec.split,) if spec.split else ()))
    for axes, panel in zip(grid.flat, panels, strict=False):
        part = table[table[spec.panels] == panel[0]] if spec.panels else table
        if level is not None:
            axes.axhline(level, color="0.25", linewidth=1.0, linestyle=(0, (6, 2)), zorder=1)
        for key, line in curves_of(part, keys):
            line = line[np.isfinite(line["mean"]) & np.isfinite(x[line.index])]
            order = np.argsort(x[line.index], kind="stable")
            error_bars(axes, x[line.index][order], line.iloc[order], **looks[key])
        if spec.panels:
            axes.set_title(levels({spec.panels: panel[0]}))
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    axes = grid[0, 0]
    style.scale(axes.xaxis, x[shown], x_log, 12 if columns == 1 else 6, values_as_ticks=True)
    y = extent(table, y_log)
    style.scale(axes.yaxis, y if level is None else [*y, level], y_log)
    if named:
        axes.set_xticks(range(len(set(x))), list(dict.fromkeys(map(str, table[spec.position]))))
    if len(panels) > 1:
        figure.supxlabel(axis_label(data[spec.position]), fontsize=9)
        figure.supylabel(style.wrapped(label, size[1]), fontsize=9)
    else:
        axes.set_xlabel(axis_label(data[spec.position]))
        axes.set_ylabel(style.wrapped(label, size[1]))
    looks.legend(figure)
    return figure
