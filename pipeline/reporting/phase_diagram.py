"""A phase diagram: the mean in every cell as a colour, and the boundary where it crosses a level."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.analysis.boundaries import INSIDE, LEFT, RIGHT, boundary_exponent, crossing
from pipeline.reporting import style, tiles
from pipeline.reporting.captions import caption, missing
from pipeline.reporting.cells import Drawing, Mark, columns_of, said, tabulate, varying
from pipeline.reporting.collapse_figure import size_of
from pipeline.reporting.formatting import (
    axis_label,
    count,
    interval,
    levels,
    metric_label,
    number,
    percent,
    product,
    symbol,
    with_interval,
)
from pipeline.reporting.specs import PhaseDiagram
from pipeline.study.arrays import Booleans, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from pandas import DataFrame

HEIGHT = 4.4  # inches


def phase_diagram(spec: PhaseDiagram, data: xr.Dataset) -> Drawing:
    """Tiles with the mean of every cell, the boundary with its intervals, and the line of the
    theory.
    """
    import pandas

    size = size_of(data, spec)
    columns = columns_of(data, spec.metric)
    cells = tabulate(columns.assign(product=size), data, spec)
    boundary = crossing(
        columns["mean"],
        columns["mcse"],
        spec.along,
        spec.level,
        data[spec.position],
        confidence=data.attrs["confidence"],
    )
    edge = _boundary_table(boundary, size, cells, spec)
    theory = _theory(spec, edge)
    others = {
        f"{metric_label(data[name], name)} = {number(level)}": _crossing(
            spec, data, edge, name, level
        )
        for name, level in spec.crossings.items()
    }
    label = metric_label(data[spec.metric], spec.metric)
    exponent = _exponent(spec, boundary, size, data.attrs["confidence"])
    drawn = _Diagram(
        spec, cells, edge, theory, others, _fitted(boundary, size, data.attrs["confidence"])
    )
    figure = drawn.figure(label, axis_label(data[spec.position]))
    layers = [
        cells.assign(layer="cell"),
        edge.assign(layer="boundary"),
        theory.assign(layer="theory"),
        *(other.assign(layer=name) for name, other in others.items()),
    ]
    table = pandas.concat([layer for layer in layers if len(layer)], ignore_index=True)
    table.insert(0, "layer", table.pop("layer"))
    meaning = data[spec.metric].attrs.get("long_name", symbol(spec.metric))
    title = spec.title or f"Where the {meaning} crosses {_level(spec, data)}"
    text = caption(
        spec,
        data,
        *_words(spec, data, edge, theory, others),
        exponent,
        _outside(edge),
        missing(cells),
    )
    return Drawing(spec.kind, figure, title, table, text, tuple(drawn.marks), spec.along)


def _boundary_table(
    boundary: xr.Dataset, size: xr.DataArray, cells: "DataFrame", spec: PhaseDiagram
) -> "DataFrame":
    """One row for each curve that was run at all: grids need not be rectangular."""
    parts = ["crossed", "spread", "unresolved", "least_unresolved", "least_bracket"]
    table = boundary.drop_vars(parts).assign(product=size).reset_coords(drop=True)
    table = (
        table.to_dataframe(dim_order=list(spec.size))
        .reset_index()
        .rename(
            columns={
                "value": "boundary",
                "standard_error": "log_error",
                "low": "boundary_low",
                "high": "boundary_high",
            }
        )
    )
    run = set(zip(*(cells[axis] for axis in spec.size), strict=True))
    curves = zip(*(table[axis] for axis in spec.size), strict=True)
    return table[np.array([curve in run for curve in curves], bool)].reset_index(drop=True)


def _theory(spec: PhaseDiagram, edge: "DataFrame") -> "DataFrame":
    """Ends of the line with the predicted slope through the weighted mean of the boundary."""
    import pandas

    inside = edge[(edge["side"] == INSIDE) & np.isfinite(edge["log_error"])]
    if spec.theory is None or not len(inside):
        return pandas.DataFrame({"product": [], "boundary": []})
    error = inside["log_error"].to_numpy()
    weight = (
        1 / np.where(error > 0, error, error[error > 0].min() if (error > 0).any() else 1.0) ** 2
    )
    constant = np.average(
        np.log(inside["boundary"]) - spec.theory * np.log(inside["product"]), weights=weight
    )
    ends = np.array([edge["product"].min(), edge["product"].max()])
    return pandas.DataFrame({"product": ends, "boundary": np.exp(constant) * ends**spec.theory})


def _crossing(
    spec: PhaseDiagram, data: xr.Dataset, edge: "DataFrame", name: str, level: float
) -> "DataFrame":
    """Where the mean of another metric, or a derived parameter, crosses a level, in the order of
    the boundary.
    """
    values = data[name] + 0 * data[spec.metric]
    crossed = crossing(values, 0 * values, spec.along, level, data[spec.position])["value"].rename(
        "boundary"
    )
    table = crossed.reset_coords(drop=True).to_dataframe().reset_index()
    return edge[[*spec.size, "product"]].merge(table, how="left", on=list(spec.size))


def _level(spec: PhaseDiagram, data: xr.Dataset) -> str:
    unit = data[spec.metric].attrs.get("units", "1")
    return number(spec.level) + ("" if unit == "1" else f" {unit}")


def _words(
    spec: PhaseDiagram,
    data: xr.Dataset,
    edge: "DataFrame",
    theory: "DataFrame",
    others: Mapping[str, Any],
) -> Iterator[str]:
    """What colours, marks and lines are."""
    yield (
        f"Colour: mean of the {metric_label(data[spec.metric], spec.metric)} in every cell. Marks: "
        f"{symbol(spec.position)} where it crosses {_level(spec, data)}. Bars and brackets: "
        f"{percent(data.attrs['confidence'])} intervals, Monte Carlo error and spacing of "
        "the grid together; a bar that is not seen is shorter than its mark."
    )
    if len(theory):
        yield (
            f"Line: the slope of the theory{f' ({spec.source})' if spec.source else ''}, its "
            "height fitted."
        )
    if crossings := _crossings(edge, spec):
        yield f"Crossings: {'; '.join(crossings)}."
    if others:
        yield f"Steps: {'; '.join(others)}, between cells by interpolation."
    if edge["product"].duplicated().any():
        yield (
            f"Curves of one {product(spec.size)} stand side by side, {symbol(spec.size[0])} "
            "growing to the right."
        )


def _exponent(
    spec: PhaseDiagram, boundary: xr.Dataset, size: xr.DataArray, confidence: float
) -> str:
    """The fitted exponent of the boundary in the size, beside that of the theory."""
    predicted = f", theory {number(spec.theory)}" if spec.theory is not None else ""
    rate = boundary_exponent(boundary, confidence=confidence, size=size)
    fitted = rate.exponents["size"]
    name = f"Boundary exponent in {product(spec.size)}"
    if not math.isfinite(fitted.high - fitted.low):
        return f"{name}: not determined (too few crossings){predicted}."
    scatter = (
        f"; crossings scatter by {percent(rate.scatter)} around it" if rate.scatter > 5e-4 else ""
    )
    return f"{name} {interval(fitted)}{predicted}{scatter}."


def _fitted(boundary: xr.Dataset, size: xr.DataArray, confidence: float) -> str:
    """The fitted exponent with its interval; empty where the crossings do not determine it."""
    fitted = boundary_exponent(boundary, confidence=confidence, size=size).exponents["size"]
    return interval(fitted) if math.isfinite(fitted.high - fitted.low) else ""


def _crossings(edge: "DataFrame", spec: PhaseDiagram) -> list[str]:
    """Where the curves of the smallest and of the largest size cross the level, with their
    intervals.
    """
    inside = edge[edge["side"] == INSIDE].sort_values("product", kind="stable")
    ends = inside.iloc[[0, -1]] if len(inside) > 1 else inside
    return [_crossed(row, spec).removeprefix("boundary at ") for _, row in ends.iterrows()]


def _outside(edge: "DataFrame") -> str:
    lost = int((edge["side"] != INSIDE).sum())
    return (
        f"{count(lost, 'curve')} of {len(edge)} without a crossing in the grid (arrows)."
        if lost
        else ""
    )


@dataclass
class _Diagram:
    """Strips of tiles, one for each curve, with its crossing; then lines over all of them.

    cells: one row a cell. edge: one row a curve. theory: ends of a line. others: name -> steps over
    the curves. fitted: slope of the boundary, with its interval. marks: once drawn.
    """

    spec: PhaseDiagram
    cells: "DataFrame"
    edge: "DataFrame"
    theory: "DataFrame"
    others: Mapping[str, "DataFrame"]
    fitted: str = ""
    marks: list[Mark] = field(default_factory=list)

    @cached_property
    def strips(self) -> tuple[Floats, float]:
        """Log position of every curve and half the width of its strip.

        Curves of one size stand side by side.
        """
        logs = np.log(self.edge["product"].to_numpy(float)).round(9)
        distinct, number_of = np.unique(logs, return_counts=True)
        gap = (
            max(np.diff(distinct).min(), np.ptp(distinct) / 40)
            if distinct.size > 1
            else math.log(2)
        )
        step = 0.9 * gap / number_of.max()
        middle = np.array(
            [(logs[:i] == own).sum() - ((logs == own).sum() - 1) / 2 for i, own in enumerate(logs)]
        )
        return logs + step * middle, float(0.47 * step)

    @cached_property
    def marked_levels(self) -> list[Any]:
        """Levels of the first axis of the size, which have a mark each."""
        return sorted(set(self.edge[self.spec.size[0]]))

    def figure(self, label: str, at_label: str) -> "Figure":
        """The whole figure; the labels of its colours and of its ordinate."""
        figure, grid = style.new_figure(width=style.WIDTH, height=HEIGHT)
        axes = grid[0, 0]
        axes.grid(False)
        mesh, ends = self._paint(axes)
        middles, half = self.strips
        style.scale(axes.xaxis, [*np.exp(middles - half), *np.exp(middles + half)], True)
        low, high = axes.get_xlim()
        style.plain(axes.xaxis, style.ticks(self.edge["product"], low, high, 7))
        style.scale(axes.yaxis, [*ends, *self.spec.marks.values()], True)
        style.mark(axes, self.spec.marks, upright=False)
        entries = [*self._boundary_entries(), *self._draw_theory(axes), *self._draw_others(axes)]
        axes.set_xlabel(f"size {product(self.spec.size)}")
        axes.set_ylabel(style.wrapped(at_label, 3.2))
        if mesh is not None:
            tiles.colour_bar(figure, axes, mesh, label, HEIGHT, self.spec.level)
        if entries:
            figure.legend(handles=entries, loc="outside upper left", ncols=2)
        return figure

    def _paint(self, axes: "Axes") -> "tuple[QuadMesh | None, list[float]]":
        """All strips with their crossings; the tiles, and the ends of the ordinate."""
        values = self.cells["mean"].to_numpy(float)
        at = self.cells[self.spec.position].to_numpy(float)
        norm, middles, half = tiles.norm(values), *self.strips
        mesh = None
        ends = []
        names = varying(self.cells, self.spec)
        for (_, row), x in zip(self.edge.iterrows(), middles, strict=True):
            own = self._cells_of(row) & np.isfinite(at) & (at > 0)
            order = np.flatnonzero(own)[np.argsort(at[own])]
            if not order.size:
                continue
            edges = tiles.edges(at[order])
            ends += [float(edges[0]), float(edges[-1])]
            mesh = tiles.paint(axes, np.exp([x - half, x + half]), edges, values[order, None], norm)
            rows = self.cells.iloc[order]
            self.marks += map(
                Mark, repeat(axes), repeat(float(np.exp(x))), at[order].tolist(), said(rows, names)
            )
            if row["side"] == INSIDE:
                self.marks.append(
                    Mark(axes, float(np.exp(x)), row["boundary"], _crossed(row, self.spec))
                )
            empty = at[order][~np.isfinite(values[order])]
            axes.plot(np.full(empty.size, np.exp(x)), empty, "x", color="0.5", markersize=4)
            _draw_crossing(axes, float(np.exp(x)), row, edges, self._marker(row[self.spec.size[0]]))
        return mesh, ends

    def _cells_of(self, row: Any) -> Booleans:
        """(cells,) those of one curve."""
        own: Booleans = np.logical_and.reduce(
            [self.cells[axis] == row[axis] for axis in self.spec.size]
        )
        return own

    def _marker(self, level: Any) -> str:
        return style.MARKERS[self.marked_levels.index(level) % len(style.MARKERS)]

    def _boundary_entries(self) -> "Iterator[Line2D]":
        """Entries of the legend for the marks of the boundary, eight at most."""
        from matplotlib.lines import Line2D

        axis = self.spec.size[0]
        inside = set(self.edge[axis][self.edge["side"] == INSIDE])
        for level in self.marked_levels[:8]:
            if level in inside:
                yield Line2D(
                    [],
                    [],
                    color="k",
                    linestyle="none",
                    marker=self._marker(level),
                    markerfacecolor="w",
                    label=f"boundary, {symbol(axis)} = {number(level)}",
                )

    def _draw_theory(self, axes: "Axes") -> "Iterator[Line2D]":
        """The line of the theory.

        The slope that was measured and its outermost crossings, as entries of the legend.
        """
        from matplotlib.lines import Line2D

        if len(self.theory):
            (line,) = axes.plot(
                self.theory["product"],
                self.theory["boundary"],
                color="k",
                linewidth=1.4,
                linestyle=(0, (5, 2)),
                label=f"theory: slope {number(self.spec.theory)}",
                zorder=3,
            )
            line.set_path_effects(style.outline("w", 3.2))
            yield line
        if self.fitted:
            yield Line2D([], [], linestyle="none", label=f"measured: slope {self.fitted}")
        for crossed in _crossings(self.edge, self.spec):
            yield Line2D([], [], linestyle="none", label=crossed.replace(": ", ":\n", 1))

    def _draw_others(self, axes: "Axes") -> "Iterator[Line2D]":
        """Steps at which other quantities cross their levels."""
        from matplotlib.lines import Line2D

        middles, half = self.strips
        for (name, other), line in zip(
            self.others.items(), style.LINES[2:] * len(self.others), strict=False
        ):
            options: dict[str, Any] = dict(color="k", linewidth=1.6, linestyle=line, zorder=3)
            steps = axes.hlines(
                other["boundary"], np.exp(middles - half), np.exp(middles + half), **options
            )
            steps.set_path_effects(style.outline("w", 3.2))
            yield Line2D([], [], **options, label=style.wrapped(name, 2.6))


def _crossed(row: Any, spec: PhaseDiagram) -> str:
    """Where one curve crosses the level: `boundary at m = 10, L = 100: ε = 0.35 [0.33, 0.37]`."""
    at = with_interval(row["boundary"], row["boundary_low"], row["boundary_high"])
    cell = levels({axis: row[axis] for axis in spec.size})
    return f"boundary at {cell}: {symbol(spec.position)} = {at}"


def _draw_crossing(axes: "Axes", x: float, row: Any, edges: Floats, marker: str) -> None:
    """One crossing with its interval, cut at the strip.

    An arrow where it is below or above the strip.
    """
    options: dict[str, Any] = dict(
        markerfacecolor="w", markeredgecolor="k", ecolor="k", elinewidth=1.1, capsize=2.5, zorder=4
    )
    if row["side"] == INSIDE:
        y = row["boundary"]
        bar = [[y - max(row["boundary_low"], edges[0])], [min(row["boundary_high"], edges[-1]) - y]]
        axes.errorbar([x], [y], np.maximum(bar, 0), marker=marker, markersize=5.5, **options)
    elif row["side"] in (LEFT, RIGHT):
        below = row["side"] == LEFT
        axes.annotate(
            "↓" if below else "↑",
            (x, edges[0 if below else -1]),
            ha="center",
            color="w",
            fontsize=10,
            va="bottom" if below else "top",
            zorder=4,
            path_effects=style.outline("k", 2),
        )
