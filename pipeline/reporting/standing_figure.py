"""The figure of a standing comparison: in every cell, by how much a part differs from others."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.reporting import style
from pipeline.reporting.formatting import levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.34  # inches: a cell's labels, and its interval below them
EDGE = 1.2
MOST = 40  # cells that are drawn of an opponent: those that differ most


class Cell(Protocol):
    """What is drawn of a cell: the difference with its interval, and who wins."""

    @property
    def labels(self) -> Mapping[str, Any]:
        """Axis -> level."""

    @property
    def mean(self) -> float:
        """The difference."""

    @property
    def low(self) -> float:
        """The lower end of its interval."""

    @property
    def high(self) -> float:
        """The upper end."""

    @property
    def other_mean(self) -> float:
        """The mean of the other part."""

    @property
    def wins(self) -> int:
        """1: surely better, −1: surely worse, 0: undecided."""


class Opponent(Protocol):
    """What a part is compared with."""

    @property
    def opponent(self) -> str:
        """Its name."""

    @property
    def cells(self) -> Sequence[Cell]:
        """Differences."""


COLOURS = {1: style.NAMED[0], 0: "0.55", -1: style.NAMED[1]}


def draw(name: str, label: str, opponents: Sequence[Opponent]) -> bytes:
    """The figure, as SVG. name: of the part; label: of the metric."""
    rows = max((min(len(opponent.cells), MOST) for opponent in opponents), default=1)
    height = len(opponents) * (EDGE + ROW * rows)
    with style.laid_out(style.NARROW), style.applied():
        figure, grid = style.new_figure(rows=len(opponents), height=height)
        for axes, opponent in zip(grid.flat, opponents, strict=True):
            _draw(axes, opponent)
            axes.set_title(style.filled(f"{name} less {opponent.opponent}"), loc="left")
            axes.set_xlabel(style.below(f"{label}: difference in % of the other's mean"))
        return style.images(figure, ("svg",))["svg"]


def _draw(axes: "Axes", opponent: Opponent) -> None:
    """One opponent: a line for every cell, the largest differences first."""
    cells = [cell for cell in opponent.cells if cell.other_mean]
    cells.sort(key=lambda cell: -abs(cell.mean / cell.other_mean))
    shown = cells[:MOST]
    shown.sort(key=lambda cell: cell.mean / cell.other_mean)
    for row, cell in enumerate(shown):
        scale = 100 / cell.other_mean
        ends = [scale * cell.low, scale * cell.high]
        colour = COLOURS[cell.wins]
        axes.plot(ends, [row, row], color=colour, linewidth=1.4)
        axes.plot([scale * cell.mean], [row], marker="o", markersize=3.5, color=colour)
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.set_yticks([])
    axes.set_ylim(-0.5, len(shown) - 0.1)
    for row, cell in enumerate(shown):
        axes.text(
            0,
            row + 0.12,
            style.wrapped(levels(cell.labels), style.layout().width - 0.3, most=1),
            transform=axes.get_yaxis_transform(),
            fontsize=style.layout().small,
            path_effects=style.outline("w", 2.2),
        )
