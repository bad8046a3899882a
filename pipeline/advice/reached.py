"""What a search for the least of an unknown reports: where its targets begin to be met, or that
this is nowhere.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.advice.axis import Axis
from pipeline.advice.tried import Tried
from pipeline.analysis.paired_crossing import Crossing


class Nowhere(Exception):
    """No level within the limits meets the targets, or all do.

    met: at all of them. last: the last level looked at. why: there is none beyond it, if a part or
    the machine sets the limit.
    """

    def __init__(self, met: bool, last: float, why: str = ""):
        self.met = met
        self.last = last
        self.why = why
        super().__init__(why)


@dataclass(frozen=True)
class Reached:
    """Where the targets begin to be met, in positions of the axis. value, low, high: of the target
    that is met last.

    crossings, deviations: of each target, where it begins to be met, and the standard deviation of
    one replication. window: the positions between which it was looked for. numbers: what is known
    of every number of questions that was tried, where that is the unknown.
    """

    axis: Axis
    crossings: list[Crossing]
    deviations: list[float]
    window: tuple[float, float]
    numbers: Mapping[int, Tried] = field(default_factory=dict)

    @property
    def estimate(self) -> float:
        """Where the last target begins to be met; infinite where that is not within the window."""
        return max(crossing.value for crossing in self.crossings)

    @property
    def value(self) -> float:
        """The estimate, or the end of the window that is nearest to it."""
        first, last = self.window
        return self.axis.within(min(max(self.estimate, first), last))

    @property
    def low(self) -> float:
        """Low end of the interval; the end of the axis where it lies before the window."""
        return self.axis.within(max(crossing.low for crossing in self.crossings))

    @property
    def high(self) -> float:
        """High end of the interval; the end of the axis where it lies beyond the window."""
        return self.axis.within(max(crossing.high for crossing in self.crossings))

    @property
    def settled(self) -> bool:
        """Whether the window held the crossing and its interval."""
        low = max(crossing.low for crossing in self.crossings)
        high = max(crossing.high for crossing in self.crossings)
        return math.isfinite(low) and math.isfinite(self.estimate) and math.isfinite(high)

    def shown(self) -> tuple[float, float, float]:
        """Low end, estimate and high end as the person names the unknown, in ascending order."""
        positions = (self.low, self.value, self.high)
        levels = [float(f"{math.exp(self.axis.better * position):.6g}") for position in positions]
        low, value, high = sorted(map(self.axis.question.shown, levels))
        return low, value, high

    def replications(self, z: float, width: float) -> float:
        """Replications at which z standard errors of the deciding mean move the crossing by
        `width`; may be infinite.
        """
        last = max(range(len(self.crossings)), key=lambda k: self.crossings[k].value)
        slope = -self.crossings[last].slope
        if slope <= 0:
            return math.inf
        return (z * self.deviations[last] / (width * slope)) ** 2


class Rough(NamedTuple):
    """Where the targets begin to be met, by a few replications, and how many these were.

    first, last: positions of the bracket in which that was looked for.
    """

    reached: Reached
    first: float
    last: float
    replications: int
