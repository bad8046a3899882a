"""Estimators of the Bradley–Terry–Luce model from released wins."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.estimators.btl_newton import minimise, scores
from pipeline.models.btl import ReleasedWins
from pipeline.parameters import parameter


@dataclass(frozen=True)
class PreferenceEstimate:
    """theta: (reps, m), rows sum to 0. converged: (reps,). ridge: λ of eq. (3) that was used, or its like.

    weights: (groups,), how users' comparisons were weighted; None is all alike.
    """

    theta: np.ndarray
    converged: np.ndarray
    ridge: float
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Debiased:
    """Regularised M-estimator fed the debiased means z̄: argmin of eq. (3) with λ = c G(ε)/L.

    Source: Xu, Sun and Cheng, eq. (3). The text prints λ ≍ L⁻¹(e^ε+1)²/(e^ε−1); Theorem 1 wants the square
    of the denominator as well, which is G(ε)/L.
    """

    m: int = parameter("items", unit="items", low=2)
    lambda_scale: float = parameter("c in λ = c·G(ε)/L", default=1.0, low=0)

    accepts: ClassVar[type] = ReleasedWins

    def mean(self, release: ReleasedWins) -> np.ndarray:
        """(reps, pairs): the comparisons that enter eq. (3)."""
        return release.debiased_mean()

    def fit(self, release: ReleasedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Estimate of a block; non-convergence is a value, not an error."""
        ridge = ridge_of(self.lambda_scale, release)
        found = minimise(scores(self.mean(release), release.items), ridge)
        return PreferenceEstimate(found.theta, found.converged, ridge)

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 25 * self.m**2


class PlugIn(Debiased):
    """The same estimator fed the released comparisons as if they were raw: inconsistent, the baseline."""

    def mean(self, release: ReleasedWins) -> np.ndarray:
        """(reps, pairs): mean released comparison."""
        return release.raw_mean()


def ridge_of(lambda_scale: float, release: ReleasedWins) -> float:
    """λ = c·G/L, G the mean `gain`, G(ε) for randomized response. Source: Xu, Sun and Cheng, Theorem 1."""
    return float(lambda_scale * (release.users * release.gain).sum() / release.users.sum() ** 2)
