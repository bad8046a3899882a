"""Coloured tiles: their borders, their colours, and the bar that explains these."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pipeline.reporting import style
from pipeline.reporting.dark_colours import luminance
from pipeline.reporting.formatting import number
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

BELOW = 0.8  # inches of a bar below its tiles
COLOURS = "cividis"  # dark to light, also in grey and for the colour-blind
EQUAL_CONTRAST = 0.179  # luminance on which black and white are read equally well


def norm(values: Iterable[float]) -> "Normalize":
    """Scale of the colours: logarithmic if values are positive and span more than a factor 5."""
    from matplotlib.colors import LogNorm, Normalize

    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return Normalize(0.0, 1.0)
    low = min(finite)
    high = max(finite)
    if low > 0 and high / low > 5:
        return LogNorm(low, high)
    if high == low:
        return Normalize(low, low + 1)
    return Normalize(low, high)


def edges(at: Floats) -> Floats:
    """(tiles + 1,) borders halfway, in logarithms, between the (tiles,) ascending positions."""
    logs: Floats = np.log(at)
    if logs.size == 1:
        return np.asarray(np.exp(logs[0] + np.array([-0.2, 0.2])))
    middle = (logs[1:] + logs[:-1]) / 2
    first = 2 * logs[0] - middle[0]
    last = 2 * logs[-1] - middle[-1]
    return np.asarray(np.exp(np.concatenate([[first], middle, [last]])))


def paint(axes: "Axes", x: Floats, y: Floats, values: Floats, scale: "Normalize") -> "QuadMesh":
    """Tiles between the borders x and y; those without a value stay empty."""
    return axes.pcolormesh(x, y, np.ma.masked_invalid(values), cmap=COLOURS, norm=scale)


def ink(value: float, scale: "Normalize") -> str:
    """Black or white, whichever is read better on the colour of a value, as WCAG 2 defines
    contrast.
    """
    import matplotlib

    colour = matplotlib.colormaps[COLOURS](float(scale(value)))
    return "w" if luminance(colour[:3]) < EQUAL_CONTRAST else "k"


def colour_bar(
    figure: "Figure",
    axes: "Axes | list[Axes]",
    mesh: "QuadMesh",
    label: str,
    inches: float,
    level: float | None = None,
    pad: float = 0.06,
) -> None:
    """The bar, as high as `axes`, in plain numbers, with a line at `level` where that is on it."""
    if style.layout() == style.NARROW:
        _bar_below(figure, axes, mesh, label, level)
        return
    bar = figure.colorbar(mesh, ax=axes, pad=pad, aspect=26)
    bar.set_label(style.wrapped(label, inches))
    _number_bar(bar.ax.yaxis, mesh, 8)
    bar.outline.set_linewidth(0.6)
    low, high = mesh.get_clim()
    if level is not None and low <= level <= high:
        bar.ax.axhline(level, color="w", linewidth=3)
        bar.ax.axhline(level, color="k", linewidth=1.4)
        bar.ax.annotate(
            f"{number(level)} ▸",
            (0, level),
            (-2, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=style.layout().small,
        )


def _bar_below(
    figure: "Figure",
    axes: "Axes | list[Axes]",
    mesh: "QuadMesh",
    label: str,
    level: float | None,
) -> None:
    """The bar below all tiles, which then have the whole width of a telephone."""
    bar = figure.colorbar(mesh, ax=axes, location="bottom", aspect=26, pad=0.04, shrink=0.94)
    low, high = mesh.get_clim()
    text = style.wrapped(label, style.layout().width - 0.8)
    if level is not None and low <= level <= high:
        text += f"; line: {number(level)}"
        bar.ax.axvline(level, color="w", linewidth=3)
        bar.ax.axvline(level, color="k", linewidth=1.4)
    bar.set_label(text)
    _number_bar(bar.ax.xaxis, mesh, 5)
    bar.outline.set_linewidth(0.6)


def _number_bar(axis: "Axis", mesh: "QuadMesh", room: int) -> None:
    """Plain numbers along the bar, about so many."""
    low, high = mesh.get_clim()
    if type(mesh.norm).__name__ == "LogNorm":
        style.plain(axis, style.ticks((), low, high, room))
        return
    if style.layout() == style.NARROW:
        from matplotlib.ticker import MaxNLocator

        axis.set_major_locator(MaxNLocator(room - 1))
    axis.set_major_formatter(lambda value, _: number(value))
