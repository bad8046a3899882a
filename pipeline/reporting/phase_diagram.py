"""A phase diagram: the mean in every cell as a colour, and the boundary where it crosses a level.

What it shows as tables and sentences; `phase_figure` draws it.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pipeline.analysis.boundaries import INSIDE, boundary_exponent, crossing
from pipeline.analysis.estimate import Estimate
from pipeline.reporting.captions import caption, missing
from pipeline.reporting.cells import Drawing, columns_of, name_in_words, tabulate
from pipeline.reporting.collapse_figure import size_of
from pipeline.reporting.formatting import (
    axis_label,
    count,
    interval,
    metric_label,
    number,
    percent,
    product,
    symbol,
)
from pipeline.reporting.phase_figure import Diagram, outermost
from pipeline.reporting.specs import PhaseDiagram

if TYPE_CHECKING:
    from pandas import DataFrame

RENAMED = {
    "value": "boundary",
    "standard_error": "log_error",
    "low": "boundary_low",
    "high": "boundary_high",
}
NOT_SHOWN = ["crossed", "redrawn", "unresolved", "least_unresolved", "least_bracket"]


def phase_diagram(spec: PhaseDiagram, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """Tiles with the mean of every cell, the boundary with its intervals, and the line of the
    theory.
    """
    confidence = summary.attrs["confidence"]
    size = size_of(summary, spec)
    columns = columns_of(summary, spec.metric)
    cells = tabulate(columns.assign(product=size), summary, spec)
    boundary = crossing(
        columns["mean"],
        columns["mcse"],
        spec.along,
        spec.level,
        summary[spec.position],
        confidence=confidence,
    )
    edge = _boundary_table(boundary, size, cells, spec)
    theory = _theory(spec, edge)
    others = _others(spec, summary, edge)
    rate = boundary_exponent(boundary, confidence=confidence, size=size)
    slope = rate.exponents["size"]
    parts = (spec, cells, edge, theory, others, _slope_in_words(slope))
    diagram = Diagram(*parts)
    labels = (metric_label(summary[spec.metric], spec.metric), axis_label(summary[spec.position]))
    figure = diagram.figure(*labels)
    meaning = name_in_words(summary, spec.metric)
    title = spec.title or f"Where the {meaning} crosses {_level(spec, summary)}"
    text = caption(
        spec,
        summary,
        *_words(spec, summary, diagram),
        _exponent(spec, slope, rate.scatter),
        _outside(edge),
        missing(cells),
    )
    table = _layers(diagram)
    marks = tuple(diagram.marks)
    again = partial(Diagram(*parts).sheet, *labels)
    return Drawing(spec.kind, spec.picture, figure, title, table, text, marks, spec.along, again)


def _layers(diagram: Diagram) -> "DataFrame":
    """All that is drawn as one table, whose first column says what a row is."""
    import pandas

    layers = [
        diagram.cells.assign(layer="cell"),
        diagram.edge.assign(layer="boundary"),
        diagram.theory.assign(layer="theory"),
    ]
    for name, other in diagram.others.items():
        layers.append(other.assign(layer=name))
    table = pandas.concat([layer for layer in layers if len(layer)], ignore_index=True)
    table.insert(0, "layer", table.pop("layer"))
    return table


def _boundary_table(
    boundary: xr.Dataset, size: xr.DataArray, cells: "DataFrame", spec: PhaseDiagram
) -> "DataFrame":
    """One row for each curve that was run at all: grids need not be rectangular."""
    shown = boundary.drop_vars(NOT_SHOWN).assign(product=size).reset_coords(drop=True)
    table = shown.to_dataframe(dim_order=list(spec.size)).reset_index().rename(columns=RENAMED)
    run = set(zip(*(cells[axis] for axis in spec.size), strict=True))
    curves = zip(*(table[axis] for axis in spec.size), strict=True)
    was_run = np.array([curve in run for curve in curves], bool)
    return table[was_run].reset_index(drop=True)


def _theory(spec: PhaseDiagram, edge: "DataFrame") -> "DataFrame":
    """Ends of the line with the predicted slope through the weighted mean of the boundary."""
    import pandas

    inside = edge[(edge["side"] == INSIDE) & np.isfinite(edge["log_error"])]
    if spec.theory is None or not len(inside):
        return pandas.DataFrame({"product": [], "boundary": []})
    error = inside["log_error"].to_numpy()
    positive = error[error > 0]
    least = positive.min() if positive.size else 1.0
    weight = 1 / np.where(error > 0, error, least) ** 2
    constants = np.log(inside["boundary"]) - spec.theory * np.log(inside["product"])
    constant = np.average(constants, weights=weight)
    ends = np.array([edge["product"].min(), edge["product"].max()])
    return pandas.DataFrame({"product": ends, "boundary": np.exp(constant) * ends**spec.theory})


def _others(spec: PhaseDiagram, summary: xr.Dataset, edge: "DataFrame") -> "dict[str, DataFrame]":
    """Where other quantities cross their levels, by what that is in words."""
    others = {}
    for name, level in spec.crossings.items():
        label = metric_label(summary[name], name)
        others[f"{label} = {number(level)}"] = _crossing(spec, summary, edge, name, level)
    return others


def _crossing(
    spec: PhaseDiagram, data: xr.Dataset, edge: "DataFrame", name: str, level: float
) -> "DataFrame":
    """Where the mean of another metric, or a derived parameter, crosses a level, in the order of
    the boundary.
    """
    values = data[name] + 0 * data[spec.metric]
    crossed = crossing(values, 0 * values, spec.along, level, data[spec.position])
    column = crossed["value"].rename("boundary").reset_coords(drop=True)
    table = column.to_dataframe().reset_index()
    return edge[[*spec.size, "product"]].merge(table, how="left", on=list(spec.size))


def _level(spec: PhaseDiagram, data: xr.Dataset) -> str:
    unit = data[spec.metric].attrs.get("units", "1")
    if unit == "1":
        return number(spec.level)
    return f"{number(spec.level)} {unit}"


def _words(spec: PhaseDiagram, data: xr.Dataset, diagram: Diagram) -> Iterator[str]:
    """What colours, marks and lines are."""
    yield (
        f"Colour: mean of the {metric_label(data[spec.metric], spec.metric)} in every cell. Marks: "
        f"{symbol(spec.position)} where it crosses {_level(spec, data)}. Bars and brackets: "
        f"{percent(data.attrs['confidence'])} intervals, which cover Monte Carlo error and the "
        "spacing of the grid; where no bar is seen, it is shorter than its mark."
    )
    if len(diagram.theory):
        source = f" ({spec.source})" if spec.source else ""
        yield f"Line: the slope is that of the theory{source}, the height is fitted."
    crossings = outermost(diagram.edge, spec)
    if crossings:
        yield f"Crossings: {'; '.join(crossings)}."
    if diagram.others:
        yield f"Steps: {'; '.join(diagram.others)}, interpolated between cells."
    if diagram.edge["product"].duplicated().any():
        yield (
            f"Curves with the same {product(spec.size)} stand side by side, with "
            f"{symbol(spec.size[0])} growing to the right."
        )


def _exponent(spec: PhaseDiagram, slope: Estimate, scatter: float) -> str:
    """The fitted exponent of the boundary in the size, beside that of the theory."""
    fitted = _slope_in_words(slope) or "not determined (too few crossings)"
    sentence = f"Exponent of the boundary in {product(spec.size)}: {fitted}"
    if spec.theory is not None:
        sentence += f", theory {number(spec.theory)}"
    is_fitted = math.isfinite(slope.high - slope.low)
    if is_fitted and scatter > 5e-4:
        sentence += f"; the crossings scatter by {percent(scatter)} around the fitted line"
    return f"{sentence}."


def _slope_in_words(slope: Estimate) -> str:
    """The fitted exponent with its interval; empty where the crossings do not determine it."""
    if not math.isfinite(slope.high - slope.low):
        return ""
    return interval(slope)


def _outside(edge: "DataFrame") -> str:
    """How many curves have no crossing; empty if all have one."""
    lost = int((edge["side"] != INSIDE).sum())
    if not lost:
        return ""
    verb = "does" if lost == 1 else "do"
    return f"{count(lost, 'curve')} of {len(edge)} {verb} not cross the level in the grid (arrows)."
