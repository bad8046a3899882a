"""Figures as files: what a worker draws and sends back, and what the page shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from pipeline.reporting.cells import Sheet
from pipeline.reporting.specs import Spec
from pipeline.reporting.tables import csv_of

if TYPE_CHECKING:
    from pipeline.reporting.cells import Drawing


NARROW = "narrow.svg"  # ending of the file with the layout for a telephone


@dataclass(frozen=True)
class Narrow:
    """The layout for a telephone. places: of `Drawn.points`, one for each. aspect: width over
    height.
    """

    places: tuple[tuple[float, float], ...]
    aspect: float


@dataclass(frozen=True)
class Drawn:
    """A figure without Matplotlib. description: for those who cannot see it. files: ending ->
    content, svg and csv at least. points: places from the left and from the top, as shares of the
    figure's width and height, with their values in words. aspect: width over height. narrow: the
    same for a telephone, where the figure has such a layout; its SVG is `narrow.svg` of the files.
    """

    kind: str
    title: str
    caption: str
    description: str
    files: Mapping[str, bytes]
    points: tuple[tuple[float, float, str], ...] = ()
    aspect: float = 1.5
    narrow: Narrow | None = None


def render(
    spec: Spec, results: xr.Dataset, summary: xr.Dataset, formats: tuple[str, ...] = ("svg",)
) -> Drawn:
    """Draw a figure. results: the sealed dataset; summary: of it, as `summarise` gives.

    formats: of FORMATS.
    """
    from pipeline.reporting import figures

    return files_of(figures.draw(spec, results, summary), formats)


def files_of(drawing: "Drawing", formats: tuple[str, ...] = ("svg",)) -> Drawn:
    """What was drawn, as files, with a second layout for a telephone where there is one."""
    from pipeline.reporting import style

    sheet = Sheet(drawing.figure, drawing.marks)
    files = _images(sheet, formats)
    places = _places(sheet)
    shown = [k for k, place in enumerate(places) if _is_in_sight(place)]
    points = tuple((*places[k], drawing.marks[k].text) for k in shown)
    narrow = None
    if drawing.again is not None:
        with style.laid_out(style.NARROW):
            with style.applied():
                second = drawing.again()
            files[NARROW] = _images(second, ("svg",))["svg"]
            narrow_places = _places(second)
        narrow = Narrow(tuple(narrow_places[k] for k in shown), _aspect(second))
    files["csv"] = csv_of(drawing.table)
    return Drawn(
        drawing.kind,
        drawing.title,
        drawing.caption,
        drawing.description,
        files,
        points,
        _aspect(sheet),
        narrow,
    )


def _images(sheet: Sheet, formats: Sequence[str]) -> dict[str, bytes]:
    """A figure in some formats."""
    from pipeline.reporting import style
    from pipeline.reporting.inline import keep_on_tiles

    with style.applied():
        keep_on_tiles(sheet.figure)
        return style.images(sheet.figure, formats)


def _aspect(sheet: Sheet) -> float:
    """Width over height."""
    width, height = sheet.figure.get_size_inches()
    return float(width / height)


def _places(sheet: Sheet) -> list[tuple[float, float]]:
    """The marks of a figure that was drawn, as shares of its width and height; NaN without one."""
    whole = sheet.figure.transFigure.inverted()
    places = []
    for mark in sheet.marks:
        x, y = whole.transform(mark.axes.transData.transform((mark.x, mark.y)))
        places.append((round(float(x), 4), round(1 - float(y), 4)))
    return places


def _is_in_sight(place: tuple[float, float]) -> bool:
    """Whether a place lies in the figure; one that is NaN does not."""
    return all(0 <= share <= 1 for share in place)
