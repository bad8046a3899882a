"""Draw the figures of a report: `draw` turns a spec and a sealed dataset into a Drawing.

Matplotlib is loaded when something is drawn, not before.
"""

from dataclasses import replace
from importlib import import_module

import xarray as xr

from pipeline.analysis.summary import summarise
from pipeline.reporting import style
from pipeline.reporting.cells import Drawing, Sheet, shown_part
from pipeline.reporting.specs import Spec

NO_VALUE = "No cell has a value."


def draw(spec: Spec, results: xr.Dataset, summary: xr.Dataset | None = None) -> Drawing:
    """Draw one figure, or say that no cell has a value.

    `summary` is `summarise(results)`, computed here if it is None.
    """
    if summary is None:
        summary = summarise(results)
    with style.applied():
        drawing = _drawing(spec, shown_part(results, spec), shown_part(summary, spec))
        if len(drawing.values):
            return drawing
        return replace(drawing, figure=style.only_text(NO_VALUE), marks=(), again=_nothing)


def _nothing() -> Sheet:
    """The figure of no values."""
    return Sheet(style.only_text(NO_VALUE))


def _drawing(spec: Spec, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    """What the function of the figure's kind draws."""
    module, _, function = spec.drawn_by.partition(":")
    draws = getattr(import_module(f"pipeline.reporting.{module}"), function)
    drawing: Drawing = draws(spec, results, summary)
    return drawing
