"""Draw the figures of a report: `draw` turns a spec and a sealed dataset into a Drawing.

Matplotlib is loaded when something is drawn, not before.
"""

from dataclasses import replace

import xarray as xr

from pipeline.analysis.summary import summarise
from pipeline.reporting import style
from pipeline.reporting.cells import Drawing, shown_part
from pipeline.reporting.specs import Collapse, Curves, Map, PhaseDiagram, Ratio, Spec

NO_VALUE = "No cell has a value."


def draw(spec: Spec, results: xr.Dataset, summary: xr.Dataset | None = None) -> Drawing:
    """Draw one figure, or say that no cell has a value.

    `summary` is `summarise(results)`, made here if not given.
    """
    summary = shown_part(summarise(results) if summary is None else summary, spec)
    with style.applied():
        drawing = _drawn(spec, shown_part(results, spec), summary)
        return (
            drawing
            if len(drawing.values)
            else replace(drawing, figure=style.only_text(NO_VALUE), marks=())
        )


def _drawn(spec: Spec, results: xr.Dataset, summary: xr.Dataset) -> Drawing:
    from pipeline.reporting import collapse_figure, curve_figures, map_figure, phase_diagram

    match spec:
        case Curves():
            return curve_figures.curves(spec, summary)
        case Ratio():
            return curve_figures.ratio(spec, results, summary)
        case Map():
            return map_figure.drawn(spec, results, summary)
        case PhaseDiagram():
            return phase_diagram.phase_diagram(spec, summary)
        case Collapse():
            return collapse_figure.collapsed(spec, summary)
    raise TypeError(f"{type(spec).__name__} is no kind of figure")
