"""When a cell needs no more replications: targets of precision, read on the prefix of
its blocks.

A group of cells that share their data is read at looks: block counts that grow by a
tenth from one to the next. The first look at which every target is met in every cell of
the group ends it. So what counts is a function of the numbers alone, not of workers,
order, or how many surplus blocks were simulated before a look.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from pipeline.analysis.intervals import mean_interval, rule_of_three
from pipeline.analysis.moments import STATISTICS, Moments, block_moments, merged
from pipeline.analysis.pairs import merged_pairs, pair_moments
from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.pairing import Pairing
from pipeline.study.study import Study
from pipeline.study.targets import Target

GROWTH = 1.1  # of the block count from one look to the next


class Rule:
    """The targets of a study, and how they are read from the moments of a group of
    cells.

    columns: indices of the study's metrics that the targets need. pairing: the study's
    groups.
    """

    def __init__(self, study: Study):
        self.targets = study.precision
        self.pairing = Pairing(study)
        used = {target.metric for target in self.targets}
        used |= {target.over for target in self.targets}
        self.names = [name for name in study.metrics if name in used]
        self.columns = [study.metrics.index(name) for name in self.names]
        parts = [study.metric(name) for name in self.names]
        self.ranges = [(part.least, part.most) for part in parts]
        self.axes = self.pairing.axes
        across = {target.across for target in self.targets}
        self.differ = tuple(k for k, axis in enumerate(self.axes) if axis in across)
        self.ratios: list[tuple[int, int, float]] = []
        for target in self.targets:
            if target.over:
                metric = self.names.index(target.metric)
                over = self.names.index(target.over)
                self.ratios.append((metric, over, target.power))
        self.blocks = study.blocks
        least = max(target.least for target in self.targets)
        self.least = min(-(-least // study.block), study.blocks)

    def start(self, present: Booleans) -> "Prefix":
        """The prefix of a group of cells before its first block.

        present: (levels…), the cells that there are.
        """
        return Prefix(self, present)

    def next_look(self, blocks: int) -> int:
        """Block count of the next look after this many blocks."""
        look = self.least
        while look <= blocks:
            look = max(look + 1, math.floor(GROWTH * look))
        return min(look, self.blocks)

    def read(self, values: Floats, status: Array) -> "Sums":
        """The sums that are needed of a block. values: (columns, levels…, reps).

        status: (levels…, reps).
        """
        # contiguous, so that sums are rounded in the same way
        values = np.ascontiguousarray(values)
        status = np.ascontiguousarray(status)
        both = np.stack([status, status], -2)
        axis = both.ndim - 2
        ratios = []
        for i, j, power in self.ratios:
            pair = np.stack([values[i] ** power, values[j]], -2)
            ratios.append(pair_moments(pair[None], both, axis)[0])
        return Sums(block_moments(values, status, self.differ), tuple(ratios))

    def merge(self, a: "Sums", b: "Sums") -> "Sums":
        """Sums over the replications of both."""
        ratios = []
        for x, y in zip(a.ratios, b.ratios, strict=True):
            ratios.append(merged_pairs(x[None], y[None], x.ndim - 3)[0])
        return Sums(merged(a.moments, b.moments), tuple(ratios))

    def excess(self, sums: "Sums", present: Booleans) -> float:
        """The greatest half-width of a group over the one that is wanted.

        It is at most 1 once every target is met. Infinite where a mean is unknown.
        present: (levels…), the cells that there are.
        """
        ratios = iter(sums.ratios)
        excess = 0.0
        for target in self.targets:
            ratio = None
            if target.over:
                ratio = next(ratios)
            excess = max(excess, self._excess(target, sums.moments, ratio, present))
        return excess

    def _excess(
        self, target: Target, sums: Moments, ratio: Floats | None, present: Booleans
    ) -> float:
        """`excess` of one target. ratio: moments of its two metrics, if it has two."""
        of_target = present
        if target.across:
            axis = self.axes.index(target.across)
            column = self.names.index(target.metric)
            # (…, level, other, PAIR)
            pairs = np.moveaxis(sums.pairs[axis][column], axis, -3)
            of_target = _pairs_of(np.moveaxis(present, axis, -1))
            estimate, half = self._difference(target, pairs)
        elif ratio is not None:
            estimate, half = _ratio(ratio[..., 0, 1, :], ratio[..., 1, 0, :], target.confidence)
        else:
            estimate, half = self._mean(target, sums)
        wanted: float | Array | None = target.absolute
        if wanted is None:
            wanted = (target.relative or 0.0) * np.abs(estimate)
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = half / wanted
        excess = np.where(np.isnan(excess), np.inf, excess)
        return float(excess[of_target].max(initial=0.0))

    def _mean(self, target: Target, sums: Moments) -> tuple[Array, Array]:
        """Mean of a metric and the half-width of its interval."""
        column = self.names.index(target.metric)
        part = dict(zip(STATISTICS, np.moveaxis(sums.values[column], -1, 0), strict=True))
        low, high = mean_interval(part, target.confidence, self.ranges[column] == (0, 1))
        unseen = self._unseen(column, part["n"], target.confidence)
        return part["mean"], np.where(high > low, (high - low) / 2, unseen)

    def _difference(self, target: Target, pairs: Array) -> tuple[Array, Array]:
        """Mean of the difference of two cells, and its half-width, by t.

        pairs: (…, level, other, PAIR).
        """
        n, mean, m2, cross = np.moveaxis(pairs, -1, 0)
        other = np.swapaxes(pairs, -2, -3)
        half = _half(m2 + other[..., 2] - 2 * cross, n, target.confidence)
        unseen = 2 * self._unseen(self.names.index(target.metric), n, target.confidence)
        return mean - other[..., 1], np.where(half > 0, half, unseen)

    def _unseen(self, column: int, n: Array, confidence: float) -> Array:
        """How far a mean of n equal values may be off.

        That is the bound of the probability of others, times the metric's range.
        Infinite for a metric without a range: equal values then say nothing of others.
        """
        least, most = self.ranges[column]
        with np.errstate(divide="ignore"):
            unseen: Array = (most - least) * rule_of_three(np.asarray(n, float), confidence)
        return unseen


class Sums(NamedTuple):
    """Moments of the metrics with targets, and of the two metrics of every ratio.

    ratios: (levels…, 2, 2, PAIR) each.
    """

    moments: Moments
    ratios: tuple[Floats, ...]


def _ratio(first: Array, other: Array, confidence: float) -> tuple[Array, Array]:
    """Ratio of two means of the same replications, and its half-width by the delta
    method.

    (…, PAIR) both.
    """
    n, mean, m2, cross = np.moveaxis(first, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(other[..., 1] != 0, mean / other[..., 1], np.nan)
        squares = (m2 - 2 * ratio * cross + ratio**2 * other[..., 2]) / other[..., 1] ** 2
    half = _half(squares, n, confidence)
    return ratio, np.where(half > 0, half, np.inf)  # equal values say nothing about others


def _half(squares: Array, n: Array, confidence: float) -> Array:
    """t √(squares / (n(n − 1))); infinite for n < 2.

    Squares below 0, by rounding, count as 0.
    """
    freedom = np.maximum(n - 1, 1)
    t = special.stdtrit(freedom, 0.5 + confidence / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = t * np.sqrt(np.maximum(squares, 0.0) / (n * freedom))
    return np.where(n < 2, np.inf, half)


def _pairs_of(present: Booleans) -> Booleans:
    """(…, level, other): pairs of different cells that there are. present: (…, level)."""
    different = ~np.eye(present.shape[-1], dtype=bool)
    return present[..., :, None] & present[..., None, :] & different


class Prefix:
    """The blocks of a group of cells from the first on, until its targets are met.

    present: (levels…), cells that the grid has. blocks: how many were added. looked:
    blocks at the last look, 0 before the first. counted: blocks at the look that ended
    it, None before. excess: see `Rule.excess`, of the last look.
    """

    def __init__(self, rule: Rule, present: Booleans):
        self.rule = rule
        self.present = present
        self.blocks = 0
        self.looked = 0
        self.counted: int | None = None
        self.excess = math.nan
        self.sums: Sums | None = None

    @property
    def next_look(self) -> int:
        """Blocks at the next look."""
        return self.rule.next_look(self.blocks)

    @property
    def predicted(self) -> int:
        """Blocks that it will count, as far as is known: widths fall like 1/√n."""
        if self.counted is not None:
            return self.counted
        if not math.isfinite(self.excess):
            return self.rule.blocks if self.looked else self.rule.least
        needed = min(self.excess**2 * self.looked, self.rule.blocks)
        return max(self.rule.next_look(math.ceil(needed) - 1), self.next_look)

    def add(self, values: Floats, status: Array) -> None:
        """Add the next block. values: (metrics, levels…, reps), those of the rule's
        columns.

        status: (levels…, reps).

        O(values), and a fixed time of some 0.1 ms.
        """
        look = self.next_look
        part = self.rule.read(values, status)
        self.sums = part if self.sums is None else self.rule.merge(self.sums, part)
        self.blocks += 1
        if self.blocks == look:
            self.excess = self.rule.excess(self.sums, self.present)
            self.looked = look
            if self.excess <= 1 or self.blocks == self.rule.blocks:
                self.counted = self.blocks
