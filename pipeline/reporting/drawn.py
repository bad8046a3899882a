"""Figures as files: what a worker draws and sends back, and what the page shows."""

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

from pipeline.reporting.specs import Spec


@dataclass(frozen=True)
class Drawn:
    """A figure without Matplotlib. description: for those who cannot see it. files: ending -> content, svg and csv at
    least.
    """

    kind: str
    title: str
    caption: str
    description: str
    files: Mapping[str, bytes]


def render(spec: Spec, results: xr.Dataset, summary: xr.Dataset, formats: tuple[str, ...] = ("svg",)) -> Drawn:
    """Draw a figure. results: the sealed dataset; summary: of it, as `summarise` gives; formats: of FORMATS."""
    from pipeline.reporting import figures, style

    drawing = figures.draw(spec, results, summary)
    with style.applied():
        files = style.images(drawing.figure, formats)
    files["csv"] = drawing.table.to_csv(index=False).encode()
    return Drawn(drawing.kind, drawing.title, drawing.caption, drawing.description, files)
