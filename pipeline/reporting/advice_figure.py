"""Curves of advice as a figure for a paper: means against the unknown, with bands, mechanisms side
by side.
"""

from collections.abc import Mapping, Sequence

from pipeline.reporting import style
from pipeline.reporting.advice_page import COLOURS
from pipeline.reporting.formatting import number
from pipeline.study.arrays import Floats

Bands = Mapping[str, tuple[Floats, Floats, Floats]]


def draw(
    curves: Sequence[tuple[str, Floats, Bands]],
    metrics: Mapping[str, tuple[str, float, bool]],
    along: str,
    kind: str,
) -> bytes:
    """The figure as a file of that kind, svg, pdf or png; a panel for each metric.

    curves: mechanism, levels of the unknown, and metric -> mean, low and high ends there. metrics:
    name -> label, target, and whether the axis begins at 0, for a share; else it is logarithmic.
    """
    with style.applied():
        figure, grid = style.new_figure(
            columns=len(metrics), width=style.WIDTH * max(1, 0.8 * len(metrics))
        )
        for axes, (metric, (label, target, share)) in zip(grid.flat, metrics.items(), strict=True):
            for k, (mechanism, levels, bands) in enumerate(curves):
                mean, low, high = bands[metric]
                colour = COLOURS[k % len(COLOURS)]
                line = style.LINES[k % len(style.LINES)]
                axes.plot(
                    levels,
                    mean,
                    color=colour,
                    linestyle=line,
                    label=mechanism.replace("_", " "),
                    marker=style.MARKERS[k],
                    markevery=len(levels) // 8,
                )
                axes.fill_between(levels, low, high, color=colour, alpha=0.16, linewidth=0)
            axes.axhline(target, **style.GUIDE)
            axes.annotate(
                f"target {number(target)}",
                (1, target),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8.5,
            )
            style.scale(axes.xaxis, curves[0][1], True)
            if share:
                axes.set_ylim(bottom=0)
            else:
                style.scale(
                    axes.yaxis,
                    [*(v for _, _, bands in curves for part in bands[metric] for v in part)],
                    True,
                )
            axes.set_xlabel(style.wrapped(along, style.WIDTH))
            axes.set_ylabel(style.wrapped(label, style.HEIGHT))
        grid.flat[0].legend()
        return style.images(figure, (kind,))[kind]
