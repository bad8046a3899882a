"""The figure of an audit: the promised trade-off, what was certified, what breaks it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.reporting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 4.0
PROMISED = style.NAMED[0]
CERTIFIED = style.NAMED[1]
BROKEN = style.NAMED[2]


@dataclass(frozen=True)
class TradeOff:
    """What the figure shows.

    alarms, powers: the promised curve, rising. certified: points (false alarm, power) that hold.
    broken: those of them above the promised curve. promise: in words.
    """

    alarms: Sequence[float]
    powers: Sequence[float]
    certified: Sequence[tuple[float, float]]
    broken: Sequence[tuple[float, float]]
    promise: str
    verdict: str


def draw(trade_off: TradeOff, formats: Sequence[str] = ("svg",)) -> dict[str, bytes]:
    """The figure, in each format."""
    with style.laid_out(style.NARROW), style.applied():
        figure, grid = style.new_figure(rows=1, height=HEIGHT)
        axes = grid.flat[0]
        _promised(axes, trade_off)
        _certified(axes, trade_off)
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=":", label="guessing")
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("chance that the test says so on the neighbour")
        axes.set_ylabel("chance that it says so on the data set")
        axes.legend(loc="lower right", handlelength=1.4)
        return style.images(figure, formats)


def describe(trade_off: TradeOff) -> str:
    """What the figure shows, for those who cannot see it."""
    highest = max((power - alarm for alarm, power in trade_off.certified), default=0.0)
    text = (
        f"Power of tests against false alarms. Promised: {trade_off.promise}. "
        f"{len(trade_off.certified)} certified points, at most {highest:.3g} above guessing. "
        f"Verdict: {trade_off.verdict}."
    )
    if not trade_off.broken:
        return text
    alarm, power = max(trade_off.broken, key=lambda point: point[1] - point[0])
    return f"{text} Breaks the promise: power {power:.4g} at {alarm:.4g} false alarms."


def _promised(axes: "Axes", trade_off: TradeOff) -> None:
    label = f"promised: {trade_off.promise}"
    axes.plot(trade_off.alarms, trade_off.powers, color=PROMISED, label=style.wrapped(label, 2.6))


def _certified(axes: "Axes", trade_off: TradeOff) -> None:
    """The region below certified points, which some test reaches, and the points themselves."""
    corners = sorted({(0.0, 0.0), *trade_off.certified, (1.0, 1.0)})
    hull = _hull(corners)
    axes.fill_between(
        [alarm for alarm, _ in hull],
        [power for _, power in hull],
        [alarm for alarm, _ in hull],
        color=CERTIFIED,
        alpha=0.16,
        linewidth=0,
        label="certified: tests reach this",
    )
    axes.plot(
        [alarm for alarm, _ in trade_off.certified],
        [power for _, power in trade_off.certified],
        color=CERTIFIED,
        marker=style.MARKERS[0],
        linestyle="none",
        label="certified point",
    )
    if trade_off.broken:
        axes.plot(
            [alarm for alarm, _ in trade_off.broken],
            [power for _, power in trade_off.broken],
            color=BROKEN,
            marker=style.MARKERS[3],
            markersize=8,
            linestyle="none",
            label="breaks the promise",
            zorder=4,
        )


def _hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The upper concave hull of points that rise in their first number: tests may be mixed."""
    hull: list[tuple[float, float]] = []
    for point in points:
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns_left(
    first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]
) -> bool:
    along = (second[0] - first[0], second[1] - first[1])
    further = (third[0] - first[0], third[1] - first[1])
    return along[0] * further[1] - along[1] * further[0] >= 0
