"""Figures as files: what a worker draws and sends back, and what the page shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from pipeline.reporting.specs import Spec
from pipeline.reporting.tables import csv_of

if TYPE_CHECKING:
    from pipeline.reporting.cells import Drawing


@dataclass(frozen=True)
class Drawn:
    """A figure without Matplotlib. description: for those who cannot see it. files: ending ->
    content, svg and csv at least. points: places from the left and from the top, as shares of the
    figure's width and height, with their values in words. aspect: width over height.
    """

    kind: str
    title: str
    caption: str
    description: str
    files: Mapping[str, bytes]
    points: tuple[tuple[float, float, str], ...] = ()
    aspect: float = 1.5


def render(
    spec: Spec, results: xr.Dataset, summary: xr.Dataset, formats: tuple[str, ...] = ("svg",)
) -> Drawn:
    """Draw a figure. results: the sealed dataset; summary: of it, as `summarise` gives.

    formats: of FORMATS.
    """
    from pipeline.reporting import figures

    return files_of(figures.draw(spec, results, summary), formats)


def files_of(drawing: "Drawing", formats: tuple[str, ...] = ("svg",)) -> Drawn:
    """What was drawn, as files."""
    from pipeline.reporting import style
    from pipeline.reporting.inline import keep_on_tiles

    with style.applied():
        keep_on_tiles(drawing.figure)
        files = style.images(drawing.figure, formats)
        points = tuple(_places(drawing))
    files["csv"] = csv_of(drawing.table)
    width, height = drawing.figure.get_size_inches()
    return Drawn(
        drawing.kind,
        drawing.title,
        drawing.caption,
        drawing.description,
        files,
        points,
        width / height,
    )


def _places(drawing: "Drawing") -> Iterator[tuple[float, float, str]]:
    """The marks of a figure that was drawn, as `Drawn.points`; those out of sight are left out."""
    whole = drawing.figure.transFigure.inverted()
    for mark in drawing.marks:
        x, y = whole.transform(mark.axes.transData.transform((mark.x, mark.y)))
        in_sight = 0 <= x <= 1 and 0 <= y <= 1  # NaN is out of sight too
        if in_sight:
            yield round(float(x), 4), round(1 - float(y), 4), mark.text
