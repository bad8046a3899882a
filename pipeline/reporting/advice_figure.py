"""Curves of advice as a figure for a paper: means against the unknown, with bands, mechanisms side
by side.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.reporting import style
from pipeline.reporting.advice_page import COLOURS
from pipeline.reporting.formatting import number
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bands = Mapping[str, tuple[Floats, Floats, Floats]]
Curve = tuple[str, Floats, Bands]


def draw(
    curves: Sequence[Curve],
    metrics: Mapping[str, tuple[str, float, bool]],
    along: str,
    kind: str,
) -> bytes:
    """The figure as a file of that kind, svg, pdf or png; a panel for each metric.

    curves: mechanism, levels of the unknown, and metric -> mean, low and high ends there. metrics:
    name -> label, target, and whether the axis begins at 0, for a share; else it is logarithmic.
    """
    with style.applied():
        width = style.WIDE.width * max(1, 0.8 * len(metrics))
        figure, grid = style.new_figure(columns=len(metrics), width=width)
        for axes, (metric, (label, target, share)) in zip(grid.flat, metrics.items(), strict=True):
            for k, curve in enumerate(curves):
                _draw_curve(axes, k, curve, metric)
            style.draw_target(axes, target, f"target {number(target)}")
            style.scale(axes.xaxis, curves[0][1], True)
            if share:
                axes.set_ylim(bottom=0)
            else:
                style.scale(axes.yaxis, _values(curves, metric), True)
            axes.set_xlabel(style.wrapped(along, style.WIDE.width))
            axes.set_ylabel(style.wrapped(label, style.HEIGHT))
        grid.flat[0].legend()
        return style.images(figure, (kind,))[kind]


def _draw_curve(axes: "Axes", k: int, curve: Curve, metric: str) -> None:
    """Draw the means of the k-th mechanism with their band."""
    mechanism, levels, bands = curve
    mean, low, high = bands[metric]
    colour = COLOURS[k % len(COLOURS)]
    axes.plot(
        levels,
        mean,
        color=colour,
        linestyle=style.LINES[k % len(style.LINES)],
        label=mechanism.replace("_", " "),
        marker=style.MARKERS[k],
        markevery=len(levels) // 8,
    )
    axes.fill_between(levels, low, high, color=colour, alpha=0.16, linewidth=0)


def _values(curves: Sequence[Curve], metric: str) -> list[float]:
    """All values that an axis must show."""
    values: list[float] = []
    for _, _, bands in curves:
        for end in bands[metric]:
            values += end.tolist()
    return values
