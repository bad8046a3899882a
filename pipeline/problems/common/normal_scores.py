"""Scores that are jointly normal around the truth, and all that follows from their covariance.

Every problem whose estimates have a normal limit gives them as a `NormalScores`: intervals of each,
of their differences, and of all ranks are the same for all of them.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from pipeline.problems.common.ranks import RankIntervals, difference_errors, rank_intervals
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Floats, Integers
from pipeline.study.intervals import (
    Interval,
    checked_level,
    normal_interval,
    normal_quantile,
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

    @property
    def freedom(self) -> Floats | None:
        """Degrees of freedom of the errors, in the shape of theta; None where these hardly vary."""
        return None

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
        freedom = None if self.freedom is None else self.freedom[row]
        return SingleScores(self.theta[row], self.errors[row], matrix, freedom)

    def like(self, estimated: Floats) -> "NormalScores":
        """These, or, of an estimate of one data set, those of its only replication."""
        if estimated.ndim == self.theta.ndim:
            return self
        return self.single(0)

    def interval(self, level: float) -> Interval:
        """An interval for each score, which covers it with probability `level`."""
        if self.freedom is None:
            return normal_interval(self.theta, self.errors, level)
        return student_interval(self.theta, self.errors, self.freedom, level)

    def differences(self, level: float) -> Interval:
        """An interval for each difference θ_i − θ_j, (…, m, m); 0 on the diagonal."""
        leads = self.theta[..., :, None] - self.theta[..., None, :]
        return normal_interval(leads, difference_errors(self.covariance), level)

    def differences_of(self, first: Integers, second: Integers, level: float) -> Interval:
        """Intervals of θ_i − θ_j of some pairs, (…, pairs); first, second: (pairs,), items."""
        lead = self.theta[..., first] - self.theta[..., second]
        errors = difference_errors(self.covariance)[..., first, second]
        return normal_interval(lead, errors, level)

    def ranks(self, level: float) -> RankIntervals:
        """Intervals of all ranks, which cover all of them at once with probability `level`.

        O(reps · m³), without covariances of all replications in memory.
        """
        scores = np.atleast_2d(self.theta)
        reps, m = scores.shape
        low = np.empty((reps, m), np.int64)
        high = np.empty((reps, m), np.int64)
        for rows in slices_of(reps, m):
            ranks = rank_intervals(scores[rows], self.covariance_of(rows), level)
            low[rows] = ranks.low
            high[rows] = ranks.high
        return RankIntervals(low.reshape(self.theta.shape), high.reshape(self.theta.shape))


@dataclass(frozen=True)
class SingleScores(NormalScores):
    """Of one data set. theta, errors: (m,). matrix: covariance, (m, m). degrees: of freedom, (m,)."""

    theta: Floats
    errors: Floats
    matrix: Floats
    degrees: Floats | None = None

    @property
    def freedom(self) -> Floats | None:
        """(m,): `degrees`."""
        return self.degrees

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


def student_interval(centre: Floats, errors: Floats, freedom: Floats, level: float) -> Interval:
    """centre ± t · errors, t the quantile of Student's law, where errors vary themselves.

    freedom: degrees of freedom ν, of the shape of the errors: the relative variance of their squares
    is 2/ν. NaN is none. Source: Satterthwaite (1946), An approximate distribution of estimates of
    variance components, Biometrics Bulletin 2.

    >>> interval = student_interval(np.zeros(2), np.ones(2), np.array([10.0, np.inf]), 0.95)
    >>> interval.high.round(2).tolist()
    [2.23, 1.96]
    """
    share = (1 + checked_level(level)) / 2
    many = np.isinf(freedom)
    few = np.where(many, 1.0, freedom)
    quantile = np.where(many, normal_quantile(level), special.stdtrit(few, share))
    reach = quantile * errors
    return Interval(centre - reach, centre + reach)
