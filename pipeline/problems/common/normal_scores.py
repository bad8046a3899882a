"""Scores that are jointly normal around the truth, and all that follows from their covariance.

Every problem whose estimates have a normal limit gives them as a `NormalScores`: intervals of each,
of their differences, and of all ranks are the same for all of them.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeline.problems.common.heavy_tails import heavy_quantile
from pipeline.problems.common.ranks import RankIntervals, difference_errors, rank_intervals
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.intervals import (
    Interval,
    normal_interval,
)

# Of one slice's (rep, item, item) array: a few such arrays stay in the cache.
SLICE_BYTES = 1 << 19


class NormalScores(Abstract):
    """Scores θ̃, their standard errors, and their covariance where it is needed.

    theta, errors: (reps, m) or (m,), NaN where not available.
    """

    if TYPE_CHECKING:  # fields of some classes

        @property
        def theta(self) -> Floats: ...

        @property
        def errors(self) -> Floats: ...

    @abstractmethod
    def covariance_of(self, rows: slice) -> Floats:
        """Covariance of θ̃ of some replications, (reps of these rows, m, m)."""

    @cached_property
    def covariance(self) -> Floats:
        """(reps, m, m) or (m, m), of θ̃; O(reps · m³)."""
        reps, m = np.atleast_2d(self.theta).shape
        covariance = np.empty((reps, m, m))
        for rows in slices_of(reps, m):
            covariance[rows] = self.covariance_of(rows)
        return covariance.reshape(*self.theta.shape, m)

    def single(self, row: int) -> "SingleScores":
        """Those of one replication of a block."""
        matrix = self.covariance_of(slice(row, row + 1))[0]
        rows = slice(row, row + 1)
        tails = Tails(self.excess_of(rows, False), self.excess_of(rows, True))
        return SingleScores(self.theta[row], self.errors[row], matrix, tails)

    def like(self, estimated: Array) -> "NormalScores":
        """These, or, of an estimate of one data set, those of its only replication."""
        if estimated.ndim == self.theta.ndim:
            return self
        return self.single(0)

    def excess_of(self, rows: slice, of_differences: bool) -> Floats | None:
        """Excess kurtosis of the errors of scores, (reps of these rows, m), or of differences,
        (reps of these rows, m, m); None where errors are normal.
        """
        return None

    def interval(self, level: float) -> Interval:
        """An interval for each score, which covers it with probability `level`."""
        excess = self.excess_of(slice(None), of_differences=False)
        if excess is None:
            return normal_interval(self.theta, self.errors, level)
        reach = heavy_quantile(level, excess).reshape(self.theta.shape) * self.errors
        return Interval(self.theta - reach, self.theta + reach)

    def differences(self, level: float) -> Interval:
        """An interval for each difference θ_i − θ_j, (…, m, m); 0 on the diagonal."""
        leads = self.theta[..., :, None] - self.theta[..., None, :]
        errors = difference_errors(self.covariance)
        excess = self.excess_of(slice(None), of_differences=True)
        if excess is None:
            return normal_interval(leads, errors, level)
        reach = heavy_quantile(level, excess).reshape(errors.shape) * errors
        return Interval(leads - reach, leads + reach)

    def differences_of(self, first: Integers, second: Integers, level: float) -> Interval:
        """Intervals of θ_i − θ_j of some pairs, (…, pairs); first, second: (pairs,), items."""
        every = self.differences(level)
        return Interval(every.low[..., first, second], every.high[..., first, second])

    def ranks(self, level: float) -> RankIntervals:
        """Intervals of all ranks, which cover all of them at once with probability `level`.

        O(reps · m³), without covariances of all replications in memory.
        """
        scores = np.atleast_2d(self.theta)
        reps, m = scores.shape
        low = np.empty((reps, m), np.int64)
        high = np.empty((reps, m), np.int64)
        for rows in slices_of(reps, m):
            excess = self.excess_of(rows, of_differences=True)
            ranks = rank_intervals(scores[rows], self.covariance_of(rows), level, excess)
            low[rows] = ranks.low
            high[rows] = ranks.high
        return RankIntervals(low.reshape(self.theta.shape), high.reshape(self.theta.shape))


class Tails(NamedTuple):
    """Excess kurtosis of the errors of scores, (1, m), and of differences, (1, m, m); or None."""

    scores: Floats | None = None
    differences: Floats | None = None


@dataclass(frozen=True)
class SingleScores(NormalScores):
    """Of one data set. theta, errors: (m,). matrix: covariance, (m, m)."""

    theta: Floats
    errors: Floats
    matrix: Floats
    tails: Tails = Tails()

    def excess_of(self, rows: slice, of_differences: bool) -> Floats | None:
        """(1, m), or (1, m, m)."""
        return self.tails.differences if of_differences else self.tails.scores

    def covariance_of(self, rows: slice) -> Floats:
        """(1, m, m)."""
        return self.matrix[None]


@dataclass(frozen=True)
class UnknownScores(NormalScores):
    """No limit law is known: all is NaN. theta: (reps, m) or (m,), NaN."""

    theta: Floats

    @property
    def errors(self) -> Floats:
        """NaN."""
        return self.theta

    def covariance_of(self, rows: slice) -> Floats:
        """NaN."""
        scores = np.atleast_2d(self.theta)[rows]
        return np.full((*scores.shape, scores.shape[1]), np.nan)


def slices_of(reps: int, m: int) -> list[slice]:
    """Replications whose (m, m) arrays are computed at a time."""
    length = max(1, SLICE_BYTES // (8 * m * m))
    return [slice(start, start + length) for start in range(0, reps, length)]
