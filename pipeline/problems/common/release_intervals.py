"""Intervals in the tables of releases, made of what was released alone: its
numbers and their noise.

Numbers of the data themselves, as counts, have the noise as their only error,
whose law is known exactly. Estimates have that of the people besides.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.privacy.integer_laws import (
    gaussian_tail,
    gaussian_variance,
    laplace_tail,
    laplace_variance,
)
from pipeline.study.arrays import Array, Floats
from pipeline.study.intervals import Interval, checked_level

from .heavy_tails import MOST, chance_beyond
from .normal_scores import NormalScores
from .ranks import RankIntervals

LEVEL = 0.95
WIDE = 1e10  # variance from which a tail is that of the normal law, to 1e-5 of the reach
ENDS = ("low", "high")
RANKS = ("rank_low", "rank_high")
OF_COUNTS = (
    f"low, high: contain the number without noise with probability {LEVEL:.0%}, by the exact law "
    "of the noise"
)
OF_SCORES = (
    "low, high: contain what a larger crowd of such people would give with probability "
    f"{LEVEL:.0%}; centred at an estimate without the bias of ridges and pseudo-counts; answers "
    "are taken as independent given the model. rank_low, rank_high: contain the ranks, 1 for the "
    f"highest, of all items at once with probability {LEVEL:.0%}. Empty: not available, as noise "
    "is too large"
)
OF_SUMS = (
    OF_COUNTS
    + "; rank_low, rank_high: contain the ranks, 1 for the highest, of all numbers without "
    f"noise at once with probability {LEVEL:.0%}"
)


class Noise(NamedTuple):
    """The law of independent noise on integers: the name of its width, and the width."""

    law: str
    width: float

    @classmethod
    def of(cls, account: Mapping[str, float]) -> "Noise":
        """From what a release says of its noise, {"variance": …} or {"scale": …}."""
        ((law, width),) = account.items()
        return cls(law, float(width))

    @property
    def variance(self) -> float:
        """Of one draw."""
        if self.law == "scale":
            return laplace_variance(self.width)
        return gaussian_variance(self.width)

    @property
    def fourth(self) -> float:
        """Fourth cumulant of one draw; 0 of the Gaussian law, see `GaussianNoise`."""
        if self.law == "scale":
            return 3 * self.variance**2 + self.variance
        return 0.0

    def reach(self, level: float, number: int = 1) -> int:
        """Least whole r ≥ 0 so that `number` independent draws are all within ±r with `level`.

        P(|N| ≤ r)^number ≥ level, by the exact law. Raises InvalidInput unless 0 < level < 1.

        >>> Noise("scale", 1.0).reach(0.95), Noise("variance", 100.0).reach(0.95)
        (3, 20)
        """
        allowed = -math.expm1(math.log(checked_level(level)) / number)
        low = -1
        high = 1
        while self._beyond(high) > allowed:
            low = high
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            if self._beyond(middle) > allowed:
                low = middle
            else:
                high = middle
        return high

    def _beyond(self, reach: int) -> float:
        """P(|N| > reach)."""
        if self.law == "scale":
            return 2 * float(laplace_tail(reach + 1, self.width))
        if self.width > WIDE:
            return math.erfc((reach + 0.5) / math.sqrt(2 * self.width))
        return 2 * float(gaussian_tail(reach + 1, self.width))


def sum_ranks(values: Array, reach: float) -> RankIntervals:
    """Ranks of numbers that are all within ±reach of the true ones, (k,), 1 for the highest.

    A number is surely ahead of those from whose intervals its own is apart. O(k log k).

    >>> ranks = sum_ranks(np.array([10, 0, 1]), 2)
    >>> ranks.low.tolist(), ranks.high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    ordered = np.sort(np.asarray(values, float))
    ahead = len(ordered) - np.searchsorted(ordered, values + 2 * reach, side="right")
    behind = np.searchsorted(ordered, values - 2 * reach, side="left")
    return RankIntervals(1 + ahead, len(ordered) - behind)


def cells(ends: Interval | RankIntervals) -> list[tuple[str | float, str | float]]:
    """Low and high of each, as a table has them; empty where they are not available."""
    rows: list[tuple[str | float, str | float]] = []
    for low, high in zip(
        np.asarray(ends.low).tolist(), np.asarray(ends.high).tolist(), strict=True
    ):
        if math.isnan(low) or math.isnan(high):
            rows.append(("", ""))
        else:
            rows.append((low, high))
    return rows


def score_cells(scores: NormalScores) -> list[tuple[str | float, ...]]:
    """low, high, rank_low, rank_high of estimates, (m,)."""
    ends = cells(scores.interval(LEVEL))
    ranks = cells(scores.ranks(LEVEL))
    return [(*end, *rank) for end, rank in zip(ends, ranks, strict=True)]


def sum_cells(values: Array, noise: Noise, draws: int = 1) -> list[tuple[float, ...]]:
    """low, high, rank_low, rank_high of whole numbers, (k,), each with the sum of `draws` noises.

    For more than one draw all are taken to be within their reach at once.
    """
    number = len(values)
    reach = draws * noise.reach(LEVEL, draws)
    ranks = sum_ranks(values, draws * noise.reach(LEVEL, draws * number))
    rows: list[tuple[float, ...]] = []
    for k, value in enumerate(values.tolist()):
        rows.append((value - reach, value + reach, int(ranks.low[k]), int(ranks.high[k])))
    return rows


def joined(
    rows: Sequence[Sequence[str | int | float]], more: Sequence[Sequence[str | int | float]]
) -> list[tuple[str | int | float, ...]]:
    """Rows of a table with more cells at their ends."""
    return [(*row, *cells_of_row) for row, cells_of_row in zip(rows, more, strict=True)]


def chance_wrong(leads: Floats, errors: Floats, excess: Floats | None = None) -> list[str | float]:
    """P(the true lead has the other sign) of leads with these errors; empty for NaN.

    excess: kurtosis of each, where a curator's noise has heavier tails than normal errors.
    """
    chances: list[str | float] = []
    kurtosis = np.zeros(len(leads)) if excess is None else excess
    shares = np.sqrt(np.clip(kurtosis, 0, MOST) / MOST)
    for lead, error, share in zip(leads.tolist(), errors.tolist(), shares.tolist(), strict=True):
        if math.isnan(error) or error == 0:
            chances.append("")
        else:
            chances.append(chance_beyond(abs(lead) / error, share) / 2)
    return chances
