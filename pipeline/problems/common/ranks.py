"""Ranks that one may believe: simultaneous intervals of all ranks, and sets
of the top K.

If intervals of all differences cover at once, then an item is surely behind
those whose difference to it has an interval above 0, and ahead of those whose
interval is below 0; its rank is between. That is the single-step procedure; a
stepwise one may give shorter intervals. Source: Mogstad, Romano, Shaikh and
Wilhelm (2024), Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries, Review of Economic
Studies 91 (doi:10.1093/restud/rdad006); as code in their R package csranks
(`csranks`, simul=TRUE, stepdown=FALSE), which simulates the quantile that is
a bound here.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.intervals import simultaneous_quantile

from .heavy_tails import heavy_quantile

# Of one slice's (rep, item, item) array.
SLICE_BYTES = 1 << 20


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

    scores: (reps, m), jointly normal with covariance (reps, m, m) around the true ones. The
    m(m−1)/2 differences are within z of their standard errors all at once with probability `level`
    at least, z by `simultaneous_quantile`. excess: kurtosis of the differences, (reps, m, m), where
    they have heavier tails than normal ones. NaN is nothing known. O(reps · m²). Raises
    InvalidInput unless 0 < level < 1.

    >>> scores = np.array([[9.0, 0.0, 0.1]])
    >>> ranks = rank_intervals(scores, np.eye(3)[None], 0.95)
    >>> ranks.low.tolist(), ranks.high.tolist()
    ([[1, 2, 2]], [[1, 3, 3]])
    """
    reps, m = scores.shape
    pairs = max(m * (m - 1) // 2, 1)  # the only item is the first, whatever the quantile
    quantile: float | Floats = simultaneous_quantile(level, pairs)
    if excess is not None:
        quantile = heavy_quantile(level ** (1 / pairs), excess)
    ahead = np.empty((reps, m), np.int64)
    behind = np.empty((reps, m), np.int64)
    length = max(1, SLICE_BYTES // (8 * m * m))
    for start in range(0, reps, length):
        rows = slice(start, start + length)
        lead = scores[rows, :, None] - scores[rows, None, :]
        of_rows = quantile if isinstance(quantile, float) else quantile[rows]
        reach = of_rows * difference_errors(covariance[rows])
        behind[rows] = (lead > reach).sum(axis=2)
        ahead[rows] = (lead < -reach).sum(axis=2)
    return RankIntervals(1 + ahead, m - behind)


def true_ranks(scores: Floats) -> RankIntervals:
    """The ranks of items; those of equal scores share all of their ranks.

    >>> ranks = true_ranks(np.array([[2.0, 1.0, 1.0]]))
    >>> ranks.low.tolist(), ranks.high.tolist()
    ([[1, 2, 2]], [[1, 3, 3]])
    """
    reps, m = scores.shape
    return rank_intervals(scores, np.zeros((reps, m, m)), 0.5)
