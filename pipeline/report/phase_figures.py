"""Figures of a phase transition: where the mean crosses a level, and whether curves fall on one."""

import math
from typing import Any

import numpy as np
import xarray as xr

from pipeline.reduce import phase
from pipeline.reduce.phase import INSIDE, LEFT, RIGHT
from pipeline.report import style, tiles
from pipeline.report.cells import Drawing, bars, caption, columns_of, missing, tabulate
from pipeline.report.looks import Looks, curves_of, error_bars, extent
from pipeline.report.specs import Collapse, PhaseDiagram
from pipeline.report.words import (
    axis_label,
    count,
    interval,
    metric_label,
    number,
    percent,
    power,
    product,
    symbol,
)


def size_of(data: xr.Dataset, spec: Any) -> xr.DataArray:
    """Product of the axes that make up the size of the problem."""
    return math.prod(data[axis].astype(float) for axis in spec.size)


def phase_diagram(spec: PhaseDiagram, data: xr.Dataset) -> Drawing:
    """Tiles with the mean of every cell, the boundary with its intervals, and the line of the theory."""
    import pandas

    confidence, size = data.attrs["confidence"], size_of(data, spec)
    columns = columns_of(data, spec.metric)
    cells = tabulate(columns.assign(product=size), data, spec)
    boundary = phase.crossing(columns["mean"], columns["mcse"], spec.along, spec.level, data[spec.position],
                              confidence=confidence)
    edge = boundary.drop_vars("crossed").assign(product=size).reset_coords(drop=True)
    edge = edge.to_dataframe(dim_order=list(spec.size)).reset_index().rename(columns={
        "value": "boundary", "standard_error": "log_error", "low": "boundary_low", "high": "boundary_high"})
    edge = edge[_run(edge, cells, spec)].reset_index(drop=True)
    theory = _theory(spec, edge)
    at = data[spec.position]
    label = metric_label(data[spec.metric], spec.metric)
    others = {f"{metric_label(data[name], name)} = {number(one)}": _crossing(spec, data, edge, name, one)
              for name, one in spec.crossings.items()}
    figure = _diagram(spec, cells, edge, theory, others, label, axis_label(at), product(spec.size))
    layers = [cells.assign(layer="cell"), edge.assign(layer="boundary"), theory.assign(layer="theory"),
              *(found.assign(layer=name) for name, found in others.items())]
    table = pandas.concat([layer for layer in layers if len(layer)], ignore_index=True)
    table.insert(0, "layer", table.pop("layer"))
    unit = data[spec.metric].attrs.get("units", "1")
    level = number(spec.level) + ("" if unit == "1" else f" {unit}")
    words = (f"Colour: mean of the {label} in every cell. Marks: {symbol(spec.position)} where it crosses "
             f"{level}. Bars and brackets: {percent(confidence)} intervals, Monte Carlo error and spacing of "
             "the grid together; a bar that is not seen is shorter than its mark.")
    if len(theory):
        words += " Line: the slope of the theory, its height fitted."
    if others:
        words += f" Steps: {'; '.join(others)}, between cells by interpolation."
    if edge["product"].duplicated().any():
        words += f" Curves of one {product(spec.size)} stand side by side, {symbol(spec.size[0])} growing to the right."
    meaning = data[spec.metric].attrs.get("long_name", symbol(spec.metric))
    title = spec.title or f"Where the {meaning} crosses {level}"
    return Drawing(spec.kind, figure, title, table, caption(
        spec, data, words, _exponent(spec, boundary, size, confidence), _outside(edge), missing(cells)))


def _run(edge: Any, cells: Any, spec: PhaseDiagram) -> np.ndarray:
    """Rows of the boundary whose curve was run at all (grids need not be rectangular)."""
    there = set(zip(*(cells[axis] for axis in spec.size), strict=True))
    return np.array([key in there for key in zip(*(edge[axis] for axis in spec.size), strict=True)], bool)


def _exponent(spec: PhaseDiagram, boundary: xr.Dataset, size: xr.DataArray, confidence: float) -> str:
    predicted = f", theory {number(spec.theory)}" if spec.theory is not None else ""
    rate = phase.boundary_exponent(boundary, confidence=confidence, size=size)
    found = rate.exponents["size"]
    name = f"Boundary exponent in {product(spec.size)}"
    if not math.isfinite(found.high - found.low):
        return f"{name}: not determined (too few crossings){predicted}."
    scatter = f"; crossings scatter by {percent(rate.scatter)} around it" if rate.scatter > 5e-4 else ""
    return f"{name} {interval(found)}{predicted}{scatter}."


def _outside(edge: Any) -> str:
    lost = int((edge["side"] != INSIDE).sum())
    return f"{count(lost, 'curve')} of {len(edge)} without a crossing in the grid (arrows)." if lost else ""


def _theory(spec: PhaseDiagram, edge: Any) -> Any:
    """Ends of the line with the predicted slope through the weighted mean of the boundary."""
    import pandas

    inside = edge[(edge["side"] == INSIDE) & np.isfinite(edge["log_error"])]
    if spec.theory is None or not len(inside):
        return pandas.DataFrame({"product": [], "boundary": []})
    error = inside["log_error"].to_numpy()
    weight = 1 / np.where(error > 0, error, error[error > 0].min() if (error > 0).any() else 1.0) ** 2
    constant = np.average(np.log(inside["boundary"]) - spec.theory * np.log(inside["product"]), weights=weight)
    ends = np.array([edge["product"].min(), edge["product"].max()])
    return pandas.DataFrame({"product": ends, "boundary": np.exp(constant) * ends**spec.theory})


def _crossing(spec: PhaseDiagram, data: xr.Dataset, edge: Any, name: str, level: float) -> Any:
    """Where the mean of another metric, or a derived parameter, crosses a level, in the order of the boundary."""
    values = data[name] + 0 * data[spec.metric]
    found = phase.crossing(values, 0 * values, spec.along, level, data[spec.position])["value"].rename("boundary")
    found = found.reset_coords(drop=True).to_dataframe().reset_index()
    return edge[[*spec.size, "product"]].merge(found, how="left", on=list(spec.size))


def _strips(edge: Any, spec: PhaseDiagram) -> tuple[np.ndarray, float]:
    """Log position of every curve and half the width of its strip; curves of one size stand side by side."""
    logs = np.log(edge["product"].to_numpy(float)).round(9)
    distinct, number_of = np.unique(logs, return_counts=True)
    gap = max(np.diff(distinct).min(), np.ptp(distinct) / 40) if distinct.size > 1 else math.log(2)
    step = 0.9 * gap / number_of.max()
    middle = np.array([(logs[:i] == own).sum() - ((logs == own).sum() - 1) / 2 for i, own in enumerate(logs)])
    return logs + step * middle, 0.47 * step


def _diagram(spec, cells, edge, theory, others, label, at_label, size_name) -> Any:
    from matplotlib.lines import Line2D

    figure, grid = style.new_figure(width=style.WIDTH, height=4.6)
    axes = grid[0, 0]
    axes.grid(False)
    values, at = cells["mean"].to_numpy(float), cells[spec.position].to_numpy(float)
    norm = tiles.norm(values)
    places, half = _strips(edge, spec)
    mesh, ends, marks = None, [], sorted(set(edge[spec.size[0]]))
    inside = set(edge[spec.size[0]][edge["side"] == INSIDE])
    for (_, row), x in zip(edge.iterrows(), places, strict=True):
        own = np.logical_and.reduce([cells[axis] == row[axis] for axis in spec.size])
        own &= np.isfinite(at) & (at > 0)
        order = np.flatnonzero(own)[np.argsort(at[own])]
        if not order.size:
            continue
        edges = tiles.edges(at[order])
        ends += [edges[0], edges[-1]]
        mesh = tiles.paint(axes, np.exp([x - half, x + half]), edges, values[order, None], norm)
        empty = at[order][~np.isfinite(values[order])]
        axes.plot(np.full(empty.size, np.exp(x)), empty, "x", color="0.5", markersize=4)
        mark = style.MARKERS[marks.index(row[spec.size[0]]) % len(style.MARKERS)]
        _mark(axes, np.exp(x), row, edges, mark)
    style.scale(axes.xaxis, [*np.exp(places - half), *np.exp(places + half)], True)
    style.plain(axes.xaxis, style.ticks(edge["product"], *axes.get_xlim(), 9))
    style.scale(axes.yaxis, [*ends, *spec.marks.values()], True)
    style.mark(axes, spec.marks, upright=False)
    legend = [Line2D([], [], color="k", linestyle="none", marker=style.MARKERS[i % len(style.MARKERS)],
                     markerfacecolor="w", label=f"boundary, {symbol(spec.size[0])} = {number(level)}")
              for i, level in enumerate(marks[:8]) if level in inside]
    if len(theory):
        line, = axes.plot(theory["product"], theory["boundary"], color="k", linewidth=1.4, linestyle=(0, (5, 2)),
                          label=f"theory: slope {number(spec.theory)}", zorder=3)
        line.set_path_effects(style.outline("w", 3.2))
        legend.append(line)
    for (name, found), line in zip(others.items(), style.LINES[2:] * len(others), strict=False):
        look = dict(color="k", linewidth=1.6, linestyle=line, zorder=3)
        steps = axes.hlines(found["boundary"], np.exp(places - half), np.exp(places + half), **look)
        steps.set_path_effects(style.outline("w", 3.2))
        legend.append(Line2D([], [], **look, label=style.wrapped(name, 2.6)))
    axes.set_xlabel(f"size {size_name}")
    axes.set_ylabel(at_label)
    if mesh is not None:
        tiles.colour_bar(figure, axes, mesh, label, 4.6, spec.level)
    if legend:
        figure.legend(handles=legend, loc="outside upper left", ncols=min(len(legend), 3 if others else 4))
    return figure


def _mark(axes, x, row, edges, marker) -> None:
    """One crossing with its interval, cut at the strip; an arrow where it is below or above the strip."""
    look = dict(markerfacecolor="w", markeredgecolor="k", ecolor="k", elinewidth=1.1, capsize=2.5, zorder=4)
    if row["side"] == INSIDE:
        y = row["boundary"]
        bar = [[y - max(row["boundary_low"], edges[0])], [min(row["boundary_high"], edges[-1]) - y]]
        axes.errorbar([x], [y], np.maximum(bar, 0), marker=marker, markersize=5.5, **look)
    elif row["side"] in (LEFT, RIGHT):
        below = row["side"] == LEFT
        axes.annotate("↓" if below else "↑", (x, edges[0 if below else -1]), ha="center", color="w", fontsize=10,
                      va="bottom" if below else "top", zorder=4, path_effects=style.outline("k", 2))


def collapsed(spec: Collapse, data: xr.Dataset) -> Drawing:
    """Two panels with one axis of means: as it is, and with the position multiplied by size^exponent."""
    columns, size, at = columns_of(data, spec.metric), size_of(data, spec), data[spec.position].astype(float)
    rescaled = at * size**spec.exponent
    table = tabulate(columns.assign(rescaled=rescaled), data, spec)
    figure, grid = style.new_figure(2, width=style.WIDTH + 1.2, height=3.7, sharey=True)
    looks = Looks(table, spec.size)
    name = power(product(spec.size), spec.exponent)
    names = {spec.position: axis_label(data[spec.position]), "rescaled": f"{symbol(spec.position)}·{name}"}
    finite = table["mean"][np.isfinite(table["mean"])]
    y_log = bool(len(finite)) and bool((finite > 0).all())
    for axes, (column, label) in zip(grid[0], names.items(), strict=True):
        for key, line in curves_of(table, spec.size):
            line = line[np.isfinite(line["mean"]) & np.isfinite(line[column])].sort_values(column)
            error_bars(axes, line[column].to_numpy(float), line, **looks[key])
        x = table[column][np.isfinite(table[column])]
        style.scale(axes.xaxis, x, True, 8, x)
        axes.set_xlabel(label)
    style.scale(grid[0, 0].yaxis, extent(table, y_log), y_log)
    label = metric_label(data[spec.metric], spec.metric)
    grid[0, 0].set_ylabel(style.wrapped(label, 3.7))
    looks.legend(figure)
    words = f"Mean of the {label}; left against {symbol(spec.position)}, right against {names['rescaled']}."
    title = spec.title or f"One curve in {names['rescaled']}?"
    return Drawing(spec.kind, figure, title, table, caption(
        spec, data, words, _agreement(spec, columns, at, size), bars(table, data.attrs["confidence"],
        figure.axes[0]), missing(table)))


def _agreement(spec: Collapse, columns: xr.Dataset, at: xr.DataArray, size: xr.DataArray) -> str:
    """How well the curves agree, raw and rescaled, and with which exponent they would agree best."""
    mean, mcse = columns["mean"], columns["mcse"]
    raw, found = (phase.collapse(mean, mcse, at * size**alpha, spec.size) for alpha in (0, spec.exponent))
    if not found.n:
        return "The curves cannot be compared: no two share a position."
    quality = "" if math.isnan(found.quality) else \
        f" (quality {number(found.quality, 2)}; 1 is perfect within Monte Carlo error)"
    before = f"; unscaled they differ by {percent(raw.spread)}" if raw.n else ""
    bounds = spec.exponent - 0.5, spec.exponent + 0.5
    draws = 200 if mean.size <= 500 else 50  # the cost grows with the square of the cells
    best = phase.collapse_exponent(mean, mcse, at, size, spec.size, bounds, draws)
    drawn = f" Best exponent {interval(best)} (95 %), drawn {number(spec.exponent)}." * math.isfinite(best.value)
    return f"Rescaled curves agree to {percent(found.spread)}{quality}{before}.{drawn}"
