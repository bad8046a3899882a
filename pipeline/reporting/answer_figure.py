"""The figure of a certified answer: means around the advised value, the target, and where it begins
to be met.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.reporting import style
from pipeline.reporting.formatting import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 3.0  # inches of a panel
CURVE = style.NAMED[1]
ADVISED = style.NAMED[2]
BAND = style.NAMED[1]


@dataclass(frozen=True)
class Panel:
    """A target. mean, low, high: of the metric at the figure's levels.

    at_value: mean at the advised value. share: whether the metric lies between 0 and 1.
    """

    label: str
    target: float
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    at_value: float
    share: bool


@dataclass(frozen=True)
class Curves:
    """All that the figure shows. levels: of the unknown; value: advised.

    begins: interval of where the targets begin to be met. along: label of the unknown's axis.
    log: whether that axis is logarithmic.
    """

    levels: Sequence[float]
    value: float
    begins: tuple[float, float]
    along: str
    log: bool
    panels: Sequence[Panel]


def draw(curves: Curves) -> bytes:
    """The figure as SVG: a panel for each target, one below the other."""
    rows = len(curves.panels)
    with style.laid_out(style.NARROW), style.applied():
        figure, grid = style.new_figure(rows=rows, height=HEIGHT * rows, sharex=True)
        for axes, panel in zip(grid.flat, curves.panels, strict=True):
            _panel(axes, curves, panel)
        grid.flat[0].legend(loc="best", handlelength=1.4)
        last = grid.flat[rows - 1]
        style.scale(last.xaxis, curves.levels, curves.log)
        last.set_xlabel(style.below(curves.along))
        return style.images(figure, ("svg",))["svg"]


def describe(curves: Curves) -> str:
    """What the figure shows, for those who cannot see it."""
    panels = "; ".join(
        f"{panel.label}: {number(panel.mean[0], 3)} at {number(curves.levels[0], 3)}, "
        f"{number(panel.mean[-1], 3)} at {number(curves.levels[-1], 3)}, target "
        f"{number(panel.target, 3)}"
        for panel in curves.panels
    )
    return f"Means against {curves.along}. {panels}. Advised: {number(curves.value, 4)}."


def _panel(axes: "Axes", curves: Curves, panel: Panel) -> None:
    """Draw one target's means."""
    below = [mean - low for mean, low in zip(panel.mean, panel.low, strict=True)]
    above = [high - mean for high, mean in zip(panel.high, panel.mean, strict=True)]
    axes.axvspan(*curves.begins, color=BAND, alpha=0.16, linewidth=0, label="target just met, 95 %")
    axes.errorbar(
        curves.levels,
        panel.mean,
        yerr=[below, above],
        color=CURVE,
        marker=style.MARKERS[0],
        label="mean, 95 % interval",
    )
    axes.plot(
        [curves.value],
        [panel.at_value],
        color=ADVISED,
        marker=style.MARKERS[3],
        markersize=8,
        linestyle="none",
        label=f"advised: {number(curves.value, 4)}",
        zorder=4,
    )
    style.draw_target(axes, panel.target, f"target {number(panel.target)}")
    if panel.share:
        axes.set_ylim(bottom=0)
    else:
        style.scale(axes.yaxis, [*panel.low, *panel.high, panel.target], min(panel.low) > 0)
    axes.set_ylabel(style.wrapped(panel.label, 0.8 * HEIGHT))
