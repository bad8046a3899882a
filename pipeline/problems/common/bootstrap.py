"""The parametric bootstrap through the mechanism: how an estimate varies where no limit law says
it.

People whose truth is the estimate θ̂ are simulated, the mechanism releases
what they answer, and the estimator is fitted anew, B times, which gives
estimates θ*. Their mean m* and covariance C* are those of θ̂ around the truth,
as far as θ̂ is close to it. So

    θ̃ = θ̂ − (m* − θ̂)

has no bias to first order, whatever its cause: a ridge, a floor, flips that
the estimator does not know of. Given θ̂ the mean m* has the covariance C*/B of
its own, hence Cov θ̃ = (1 + 1/B) C*.

It fails where the bias at θ̂ is not that at the truth, as with an estimator
that is not consistent: no number of people and no B mend that.

Everything is made of the release: it costs no budget. All B releases of a
replication are fitted in one call.

Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, §6.5
(parametric) and §10.2 (bias); Davison and Hinkley (1997), Bootstrap Methods
and their Application, §2.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseEstimator
from pipeline.study.protocols import Estimator
from pipeline.study.untyped import AnyField

from .normal_scores import NormalScores

BATCH_BYTES = 1 << 27  # of the largest array of releases that are drawn at once
PER_REPLICATION = 3e5  # nanoseconds of calls, whatever is fitted
LEAST = 20  # releases: with fewer a covariance says little
BOOTSTRAP: AnyField = parameter(
    "releases of the parametric bootstrap that errors are made of; 0 takes the limit law, where "
    "one is known",
    unit="releases",
    default=0,
    low=0,
    high=10**5,
)
AnyEstimate: TypeAlias = Any  # each problem's own
AnyRelease: TypeAlias = Any
Estimated = TypeVar("Estimated", bound=Any)
Refit = Callable[[int, np.random.Generator], Floats]


class RedrawnRelease(Abstract):
    """A release of which others of the same law can be drawn, from an estimate."""

    @abstractmethod
    def drawn_again(
        self, estimate: AnyEstimate, row: int, times: int, rng: np.random.Generator
    ) -> AnyRelease:
        """`times` releases, as replications, of people whose truth is the estimate of a
        replication.

        row: of the replication. As many people are asked the same, by the same mechanism. None
        where the release does not tell what such people would do.
        """


@dataclass(frozen=True)
class BootstrapScores(NormalScores):
    """θ̃ and how it varies. theta, errors: (reps, k) or (k,). matrix: (reps, k, k) or (k, k).

    NaN where the estimate has not converged, or fewer than half of those from redrawn releases
    have.
    """

    theta: Floats
    errors: Floats
    matrix: Floats

    def covariance_of(self, rows: slice) -> Floats:
        """(reps of these rows, k, k): (1 + 1/B) C*."""
        k = self.theta.shape[-1]
        matrix: Floats = self.matrix.reshape(-1, k, k)[rows]
        return matrix


def bootstrap_scores(centre: Floats, refit: Refit, seeds: Integers) -> BootstrapScores:
    """θ̃ of estimates θ̂ = centre, (reps, k). refit: estimates of a replication, (times, k), NaN
    where one has not converged, given its number and its generator. seeds: (reps,).

    >>> def refit(row, rng):
    ...     return 3.0 + rng.standard_normal((4000, 1))
    >>> scores = bootstrap_scores(np.array([[2.0]]), refit, np.array([1]))
    >>> scores.theta.round(1).tolist(), scores.errors.round(1).tolist()
    ([[1.0]], [[1.0]])
    """
    reps, k = centre.shape
    theta = np.full((reps, k), np.nan)
    matrix = np.full((reps, k, k), np.nan)
    for row, seed in enumerate(seeds.tolist()):
        if not np.isfinite(centre[row]).all():
            continue
        drawn = refit(row, np.random.default_rng(seed))
        valid = drawn[np.isfinite(drawn).all(axis=1)]
        if len(valid) < max(LEAST, len(drawn) / 2):
            continue
        theta[row] = 2 * centre[row] - valid.mean(axis=0)
        covariance = np.cov(valid, rowvar=False).reshape(k, k)
        matrix[row] = (1 + 1 / len(valid)) * covariance
    errors = np.sqrt(np.einsum("rii->ri", matrix))
    return BootstrapScores(theta, errors, matrix)


class Bootstrapped(BaseEstimator):
    """Base of estimators whose errors may be made by the bootstrap. bootstrap: a field,
    `BOOTSTRAP`.

    What they estimate is the array that `quantity` of their estimates names; `drawn` of these is a
    `BootstrapScores`, or None.
    """

    bootstrap: int

    def errors_cost(self) -> float:
        """Predicted cost of the standard errors of one replication: of as many fits, and calls."""
        if self.bootstrap == 0:
            return 0.0
        fit = cast(Estimator, self)
        return self.bootstrap * fit.cost() + PER_REPLICATION

    def with_bootstrap(
        self, release: AnyRelease, estimate: Estimated, rng: np.random.Generator
    ) -> Estimated:
        """The estimate with errors of the bootstrap where that is wanted.

        Of a release that cannot be drawn again errors are NaN, not available. Each replication has
        a generator of its own. O(times) fits.
        """
        times = self.bootstrap
        if times == 0:
            return estimate
        centre = np.array(getattr(estimate, estimate.quantity), float)
        centre[~estimate.converged] = np.nan
        seeds = rng.integers(0, 2**63 - 1, len(centre))
        if not isinstance(release, RedrawnRelease):
            centre[:] = np.nan
        plain: Any = replace(self, bootstrap=0)  # type: ignore[type-var]
        batch = max(1, int(BATCH_BYTES / _bytes_of_replication(release)))
        unknown = np.full((times, centre.shape[1]), np.nan)

        def refit(row: int, generator: np.random.Generator) -> Floats:
            fits = []
            for first in range(0, times, batch):
                number = min(batch, times - first)
                again = release.drawn_again(estimate, row, number, generator)
                if again is None:
                    return unknown
                fit = plain.fit(again, generator)
                drawn = np.array(getattr(fit, fit.quantity), float)
                drawn[~fit.converged] = np.nan
                fits.append(drawn)
            return np.concatenate(fits)

        return replace(estimate, drawn=bootstrap_scores(centre, refit, seeds))


def _bytes_of_replication(release: AnyRelease) -> float:
    """Bytes of its arrays that one replication takes, as if all were float64."""
    arrays = [value for value in vars(release).values() if isinstance(value, np.ndarray)]
    sizes = [8 * array.size / max(1, len(array)) for array in arrays if array.ndim > 1]
    return max([1.0, *sizes])
