"""The figure of a promise: how often attacks find the truth against how often they are wrong.

It is a few lines of SVG: a page beside a release is made without a library that draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.study.disclosure import TradeOff

SIDE = 200.0  # of the square between the axes, in units of the drawing
TICKS = (0, 25, 50, 75, 100)  # per cent
STYLES = ("first", "second", "third")  # told apart by their dashes, in grey too


@dataclass(frozen=True)
class DrawnCurve:
    """A curve. style: class of its line; points: as SVG has them."""

    label: str
    style: str
    points: str


@dataclass(frozen=True)
class Tick:
    """A mark of both axes: along is its place from the left, up from above."""

    text: str
    along: float
    up: float


@dataclass(frozen=True)
class PromiseFigure:
    """All that the template draws. described: for those who cannot see it."""

    side: float
    curves: Sequence[DrawnCurve]
    ticks: Sequence[Tick]
    described: str


def promise_figure(trade_offs: Sequence[TradeOff]) -> PromiseFigure:
    """The figure of some trade-offs, at most three."""
    curves = []
    for style, curve in zip(STYLES, trade_offs, strict=False):
        curves.append(DrawnCurve(curve.attacked, style, _points(curve)))
    ticks = [Tick(f"{share}", SIDE * share / 100, SIDE * (1 - share / 100)) for share in TICKS]
    shares = [
        f"{curve.attacked}: {percent(curve.at(0.05))} true alarms at 5 % false ones"
        for curve in trade_offs
    ]
    described = f"True alarms of the best attack against its false alarms. {'; '.join(shares)}."
    return PromiseFigure(SIDE, curves, ticks, described)


def _points(curve: TradeOff) -> str:
    """Points of a line, to a hundredth of a unit."""
    points = []
    for false_alarms, true_alarms in zip(curve.false_alarms, curve.true_alarms, strict=True):
        points.append(f"{SIDE * false_alarms:.2f},{SIDE * (1 - true_alarms):.2f}")
    return " ".join(points)


def percent(share: float) -> str:
    """A share in per cent, with three digits that count.

    >>> percent(0.0271828), percent(0.99999)
    ('2.72 %', 'nearly 100 %')
    """
    if 0.999 < share < 1:
        return "nearly 100 %"
    return f"{100 * share:.3g} %"
