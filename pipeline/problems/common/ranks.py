"""Ranks that one may believe: simultaneous intervals of all ranks, and sets
of the top K.

If intervals of all differences cover at once, then an item is surely behind
those whose difference to it has an interval above 0, and ahead of those whose
interval is below 0; its rank is between. That is the first step. It has 2P
one-sided hypotheses "i is not ahead of j", P = m(m−1)/2 pairs of m items. Once
r of them are rejected, at most N = 2P − r are true if no error was made, and
the quantile of Bonferroni for N of them is enough for those that remain: z with
N(1 − Φ(z)) = 1 − level. This goes on until nothing more is rejected. As the
quantile of a step is never below that of all true hypotheses, which are among
those that remain, the probability of any error stays 1 − level at most (Holm
1979; Romano and Wolf 2005).

Source: Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for Ranks with
Applications to Mobility across Neighbourhoods and Academic Achievement across
Countries, Review of Economic Studies 91 (doi:10.1093/restud/rdad006), with
its stepwise improvement; as code in their R package csranks (`csranks`,
simul=TRUE, stepdown=TRUE), which simulates the quantiles that are bounds here.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import ndtri

from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.intervals import simultaneous_quantile

from .heavy_tails import heavy_quantile

# Of one slice's (rep, item, item) array.
SLICE_BYTES = 1 << 20
# Quantiles of heavy tails are computed for so many numbers of hypotheses, and rounded up between.
HEAVY_STEPS = 8
BELOW_HALF = 0.499  # largest chance of an error of one hypothesis


@dataclass(frozen=True)
class RankIntervals:
    """Ranks of items, 1 for the highest score: all are within their intervals at the level.

    low, high: (reps, m), whole numbers from 1 to m. Where nothing is known of an item, 1 and m.
    """

    low: Annotated[Integers, "reps", "m"]
    high: Annotated[Integers, "reps", "m"]

    def possible_top(self, size: int) -> Booleans:
        """(reps, m): items that may be among the top `size`.

        All that truly are belong to it, with the probability of the level at least.
        """
        return np.asarray(self.low <= size)

    def certain_top(self, size: int) -> Booleans:
        """(reps, m): items that are among the top `size`, with the probability of the level."""
        return np.asarray(self.high <= size)


def difference_errors(covariance: Floats) -> Floats:
    """(…, m, m): standard errors √(C_ii + C_jj − 2C_ij) of x_i − x_j, from the covariance C of x.

    >>> difference_errors(np.array([[1.0, 0.5], [0.5, 1.0]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    variance = np.einsum("...ii->...i", covariance)
    square = variance[..., :, None] + variance[..., None, :] - 2 * covariance
    with np.errstate(invalid="ignore"):
        errors: Floats = np.sqrt(np.maximum(square, 0))
    return errors


def rank_intervals(
    scores: Floats, covariance: Floats, level: float, excess: Floats | None = None
) -> RankIntervals:
    """Intervals of the ranks of all items, which cover all of them at once.

    scores: (reps, m), jointly normal with covariance (reps, m, m) around the true ones. excess:
    kurtosis of the differences, (reps, m, m), where they have heavier tails than normal ones. NaN
    is nothing known. Every step is O(reps · m²); there are few. Raises InvalidInput unless
    0 < level < 1.

    >>> scores = np.array([[9.0, 0.0, 0.1]])
    >>> ranks = rank_intervals(scores, np.eye(3)[None], 0.95)
    >>> ranks.low.tolist(), ranks.high.tolist()
    ([[1, 2, 2]], [[1, 3, 3]])
    """
    reps, m = scores.shape
    behind = np.empty((reps, m), np.int64)
    ahead = np.empty((reps, m), np.int64)
    length = max(1, SLICE_BYTES // (8 * m * m))
    for start in range(0, reps, length):
        rows = slice(start, start + length)
        lead = scores[rows, :, None] - scores[rows, None, :]
        errors = difference_errors(covariance[rows])
        of_rows = None if excess is None else excess[rows]
        is_ahead = _surely_ahead(lead, errors, level, of_rows)
        behind[rows] = is_ahead.sum(axis=2)
        ahead[rows] = is_ahead.sum(axis=1)
    return RankIntervals(1 + ahead, m - behind)


def _surely_ahead(lead: Floats, errors: Floats, level: float, excess: Floats | None) -> Booleans:
    """(reps, m, m): whether item i is ahead of j, in as many steps as reject more."""
    m = lead.shape[1]
    pairs = max(m * (m - 1) // 2, 1)  # the only item is the first, whatever the quantile
    rejected = lead > _first_quantile(level, pairs, excess) * errors
    waiting = np.arange(len(lead))
    while len(waiting):
        before = rejected[waiting].sum(axis=(1, 2))
        of_waiting = None if excess is None else excess[waiting]
        quantile = _next_quantile(level, pairs, 2 * pairs - before, of_waiting)
        rejected[waiting] |= lead[waiting] > quantile * errors[waiting]
        waiting = waiting[rejected[waiting].sum(axis=(1, 2)) > before]
    return rejected


def _first_quantile(level: float, pairs: int, excess: Floats | None) -> float | Floats:
    """Two-sided, for all pairs at once. Source: `simultaneous_quantile`.

    Its bound holds for sums of normal and Laplace errors too, as these are normal ones of
    independent random scales: given the scales it is Šidák's, and the chances of all pairs fall
    together as a scale rises.
    """
    if excess is None:
        return simultaneous_quantile(level, pairs)
    return heavy_quantile(level ** (1 / pairs), excess)


def _next_quantile(level: float, pairs: int, remaining: Integers, excess: Floats | None) -> Floats:
    """One-sided, for so many hypotheses, (reps,), of each replication; for (reps, m, m).

    It is above 0, whatever the level.
    """
    if excess is None:
        quantile: Floats = -ndtri(np.minimum((1 - level) / remaining, BELOW_HALF))
        return quantile[:, None, None]
    step = -(-pairs // HEAVY_STEPS)
    rounded = -(-remaining // step) * step
    quantiles = np.empty(excess.shape)
    for number in np.unique(rounded).tolist():
        rows = rounded == number
        beyond = min((1 - level) / number, BELOW_HALF)
        quantiles[rows] = heavy_quantile(1 - 2 * beyond, excess[rows])
    return quantiles


def true_ranks(scores: Floats) -> RankIntervals:
    """The ranks of items; those of equal scores share all of their ranks.

    >>> ranks = true_ranks(np.array([[2.0, 1.0, 1.0]]))
    >>> ranks.low.tolist(), ranks.high.tolist()
    ([[1, 2, 2]], [[1, 3, 3]])
    """
    reps, m = scores.shape
    return rank_intervals(scores, np.zeros((reps, m, m)), 0.5)
