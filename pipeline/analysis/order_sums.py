"""Medians, quantiles and trimmed means of many cells.

They come from sketches that are merged block by block. What counts are
the values of which the mean is made: finite ones, of replications that
did not fail. A cell's values take 16 bytes each until there are `MOST`
different ones, and 1 MB from then on. The same values give the same
numbers, whatever the blocks and their order.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from pipeline.analysis.order_statistics import Sketch
from pipeline.study.arrays import Array, Floats
from pipeline.study.statistics import ATTRIBUTE, ESTIMATE, Statistic, read_statistics
from pipeline.study.status import FAILED

CONFIDENCE = 0.95  # of the interval

Sketches: TypeAlias = dict[str, list[Sketch]]  # metric -> of every cell, row by row


class OrderSums:
    """The statistics of a study, and how they are made.

    metrics: of the values, in their order.
    """

    def __init__(self, statistics: Iterable[Statistic], metrics: Sequence[str]):
        self.statistics = tuple(statistics)
        names = {statistic.metric for statistic in self.statistics}
        self.columns = {name: metrics.index(name) for name in metrics if name in names}

    def of(self, values: Floats, status: Array) -> Sketches:
        """Sketches of a block. values: (metrics, cells…, reps).

        status: (cells…, reps).
        """
        reps = status.shape[-1]
        ran = status > 0
        failed = status == FAILED
        rows_used = (ran & ~failed).reshape(-1, reps)
        sketches: Sketches = {}
        for name, column in self.columns.items():
            rows = values[column].reshape(-1, reps)
            of_cells = []
            for row, used in zip(rows, rows_used, strict=True):
                of_cells.append(Sketch.of(row[used]))
            sketches[name] = of_cells
        return sketches

    def merge(self, first: Sketches, second: Sketches) -> Sketches:
        """Sketches of the replications of both."""
        both: Sketches = {}
        for name, cells in first.items():
            pairs = zip(cells, second[name], strict=True)
            both[name] = [a.merged(b) for a, b in pairs]
        return both

    def estimates(self, sketches: Sketches, shape: tuple[int, ...]) -> dict[str, Floats]:
        """Variable -> (cells…, ESTIMATE), NaN in cells without a value.

        shape: of the cells.
        """
        variables = {}
        for statistic in self.statistics:
            cells = sketches[statistic.metric]
            rows = [_estimate(statistic, sketch) for sketch in cells]
            numbers = np.array(rows)
            variables[statistic.variable] = numbers.reshape(*shape, len(ESTIMATE))
        return variables


def of_results(attributes: Mapping[str, object], metrics: Sequence[str]) -> OrderSums | None:
    """What makes the statistics that results say they have.

    Only those of metrics that they hold; None without any.
    """
    text = str(attributes.get(ATTRIBUTE, "{}"))
    config = json.loads(text)
    there = {name: config[name] for name in config if name in metrics}
    statistics = read_statistics(there, metrics)
    if not statistics:
        return None
    return OrderSums(statistics, metrics)


def _estimate(statistic: Statistic, sketch: Sketch) -> list[float]:
    """Value, Monte Carlo error, and ends of the interval, as ESTIMATE."""
    if sketch.n == 0:
        return [np.nan for _ in ESTIMATE]
    if statistic.is_trimmed:
        estimate = sketch.trimmed_mean(statistic.share, CONFIDENCE)
    else:
        estimate = sketch.quantile(statistic.share, CONFIDENCE)
    ends = [estimate.low, estimate.high]
    return [estimate.value, estimate.standard_error, *ends]
