"""Quantiles and trimmed means over replications that can be merged, in bounded memory.

A sketch counts values. Up to `MOST` different ones are counted as they are, so that quantiles are
exact; beyond that neighbours share a count, at the finest of 53 resolutions at which there are no
more: a float64 without its last d bits of 52, to a relative width of 2^(d − 52). Sums of counts,
and dropping bits, do not depend on the order in which blocks are merged, and a part never needs
more bits dropped than the whole: the same values give the same bytes, whatever the blocks and their
order.

Monte Carlo errors: of quantiles by order statistics, without a law of the values (David and
Nagaraja, Order Statistics, 2003, §7.1); of trimmed means by the winsorised variance (Tukey and
McLaughlin 1963).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from pipeline.analysis.estimate import Estimate
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput

MOST = 1 << 16  # different counts of a sketch: 1 MB
BITS = 63  # that may be dropped of a key: then one count is left for each sign
NO_VALUES = "none is finite; at least one is needed"
POSITIVE = np.int64(0x7FFF_FFFF_FFFF_FFFF)


@dataclass(frozen=True)
class Sketch:
    """Counts of values. keys: (k,), rising, whole; counts: (k,). dropped: last bits of keys.

    A key is a float64's bits in the order of the floats, without its last `dropped` bits.
    """

    keys: Integers
    counts: Integers
    dropped: int = 0

    @classmethod
    def of(cls, values: Floats) -> "Sketch":
        """Of finite values, any shape; others are left out. O(n log n)."""
        flat = np.asarray(values, float).ravel()
        finite = flat[np.isfinite(flat)] + 0.0  # −0 is 0
        bits = finite.view(np.int64)
        keys, counts = np.unique(bits ^ ((bits >> 63) & POSITIVE), return_counts=True)
        return cls(keys, counts.astype(np.int64))._bounded()

    @property
    def n(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    def merged(self, other: "Sketch") -> "Sketch":
        """The sketch of all values of both. O(k)."""
        dropped = max(self.dropped, other.dropped)
        first = self._coarser(dropped)
        second = other._coarser(dropped)
        keys = np.concatenate([first.keys, second.keys])
        counts = np.concatenate([first.counts, second.counts])
        return _counted(keys, counts, dropped)._bounded()

    def order_statistic(self, rank: int) -> float:
        """The value of this rank, from 1 to n: exact, or the middle of those that share a count."""
        if not 1 <= rank <= self.n:
            raise InvalidInput("rank", rank, f"must be 1 to {self.n:,}")
        position = int(np.searchsorted(np.cumsum(self.counts), rank))
        return float(self._values()[position])

    def quantile(self, share: float, confidence: float = 0.95) -> Estimate:
        """The least value that a share of all values do not exceed, and its interval.

        Between order statistics of ranks that a binomial number of values leaves out with chance
        1 − confidence at most, whatever the law of the values, and wider by what values that share
        a count may differ. Infinite ends where there are too few. Raises InvalidInput unless
        0 < share < 1, and without values.
        """
        if not 0 < share < 1:
            raise InvalidInput("share", share, "must be above 0 and below 1")
        n = self.n
        if n == 0:
            raise InvalidInput("values", 0, NO_VALUES)
        value = self.order_statistic(max(1, math.ceil(share * n)))
        ranks = _ranks(n, share, (1 - confidence) / 2)
        low = self._end(ranks.low, last=False) if ranks.low >= 1 else -math.inf
        high = self._end(ranks.high, last=True) if ranks.high <= n else math.inf
        error = (high - low) / (2 * float(special.ndtri((1 + confidence) / 2)))
        return Estimate(value, low, high, error)

    def trimmed_mean(self, share: float, confidence: float = 0.95) -> Estimate:
        """Mean without this share of the lowest and of the highest values, and its interval.

        The standard error is s_w/((1 − 2·share)√n), s_w² the variance of values that are pulled in
        to the last ones that stay. Infinite ends where fewer than two stay, which do not say how
        much they vary. Raises InvalidInput unless 0 ≤ share < ½, and without values.
        """
        if not 0 <= share < 0.5:
            raise InvalidInput("share", share, "must be at least 0 and below ½")
        n = self.n
        if n == 0:
            raise InvalidInput("values", 0, NO_VALUES)
        cut = math.floor(share * n)
        values = self._values()
        last = np.cumsum(self.counts)
        stays = np.minimum(last, n - cut) - np.maximum(last - self.counts, cut)
        stays = np.maximum(stays, 0)
        mean = float(stays @ values / stays.sum())
        if n - 2 * cut < 2:
            return Estimate(mean, -math.inf, math.inf, math.inf)
        pulled = np.clip(values, self.order_statistic(cut + 1), self.order_statistic(n - cut))
        centre = self.counts @ pulled / n
        variance = float(self.counts @ (pulled - centre) ** 2) / (n - 1)
        error = math.sqrt(variance / n) / (1 - 2 * share)
        reach = float(special.stdtrit(n - 2 * cut - 1, (1 + confidence) / 2)) * error
        return Estimate(mean, mean - reach, mean + reach, error)

    def _end(self, rank: int, last: bool) -> float:
        """The least, or the last, value that the order statistic of this rank may be."""
        position = int(np.searchsorted(np.cumsum(self.counts), rank))
        key = self.keys[position : position + 1] << self.dropped
        if last:
            key = key + ((1 << self.dropped) - 1)
        return float(_floats(key)[0])

    def _values(self) -> Floats:
        """The value of each count: the middle of its range."""
        first = self.keys << self.dropped
        last = first + ((1 << self.dropped) - 1)
        middle: Floats = _floats(first) / 2 + _floats(last) / 2
        return middle

    def _coarser(self, dropped: int) -> "Sketch":
        if dropped == self.dropped:
            return self
        return _counted(self.keys >> (dropped - self.dropped), self.counts, dropped)

    def _bounded(self) -> "Sketch":
        sketch = self
        while len(sketch.keys) > MOST and sketch.dropped < BITS:
            sketch = sketch._coarser(sketch.dropped + 1)
        return sketch


class _Ranks(NamedTuple):
    low: int
    high: int


def _ranks(n: int, share: float, tail: float) -> _Ranks:
    """The last rank l with P(fewer than l values below) ≤ tail, and the first h with the same
    above.
    """
    # P(Bin(n, share) ≤ k − 1) = P(order statistic k is above the quantile).
    spread = math.sqrt(n * share * (1 - share))
    middle = n * share
    low = math.floor(middle - 8 * spread) - 8
    high = math.ceil(middle + 8 * spread) + 8
    grid = np.arange(max(low, 0), min(high, n) + 1)
    below = special.bdtr(grid, n, share)  # P(Bin ≤ k)
    few = grid[below <= tail]
    enough = grid[below >= 1 - tail]
    lowest = int(few[-1]) + 1 if len(few) else 0
    highest = int(enough[0]) + 1 if len(enough) else n + 1
    return _Ranks(lowest, highest)


def _counted(keys: Integers, counts: Integers, dropped: int) -> Sketch:
    """Counts of equal keys together, keys rising."""
    rising, places = np.unique(keys, return_inverse=True)
    total = np.zeros(len(rising), np.int64)
    np.add.at(total, places, counts)
    return Sketch(rising, total, dropped)


def _floats(keys: Integers) -> Floats:
    """The floats with these keys."""
    bits = np.ascontiguousarray(keys ^ ((keys >> 63) & POSITIVE))
    return bits.view(np.float64)
