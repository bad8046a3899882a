"""Means around an advised value, for its figure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.advice.axis import Axis
from pipeline.advice.certificate import Measured, measure
from pipeline.advice.question import Question
from pipeline.advice.simulation import Simulator

FACTOR = 4.0
LEVELS = 9  # of the value, on either side; how many levels in all
REPLICATIONS = 1000  # of a level at most
DRAWN = 10**7  # blocks that come before: more than any answer has drawn


@dataclass(frozen=True)
class Around:
    """Means at levels around a value. levels: as the person names them.

    measured: metric -> one for each level.
    """

    levels: Sequence[float]
    measured: Mapping[str, Sequence[Measured]]


def around(question: Question, level: float) -> Around:
    """Means of all targets at levels from a quarter of a level to four times it, by fresh
    replications.
    """
    axis = Axis(question, 1)
    middle = axis.position(level)
    half = math.log(FACTOR)
    levels = axis.levels(axis.within(middle - half), axis.within(middle + half), LEVELS)
    simulator = Simulator(question, drawn=DRAWN)
    rows = [
        measure(simulator, one_level, min(REPLICATIONS, simulator.affordable(one_level, 0.02)))
        for one_level in levels
    ]
    by_metric = {}
    for k, target in enumerate(question.targets):
        by_metric[target.metric] = [row.measured[k] for row in rows]
    return Around([question.shown(one_level) for one_level in levels], by_metric)
