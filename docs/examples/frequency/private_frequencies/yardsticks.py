"""What errors are compared with: exact risks, the minimax constant, bounds.

One value per replication.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import Checked, parameter

from .estimators import FrequencyEstimate, unbiased
from .metrics import ErrorAbsent, ErrorSquared, Positive
from .model import Frequencies
from .releases import Supports
from .theory import risks


@dataclass(frozen=True)
class Risk(Positive, Checked):
    """Exact expectation of the squared error of all frequencies, of unbiased estimates.

    Source: `theory.risks.risk`.
    """

    target: str = parameter(
        "what is learned: frequencies among the people, or the law of the population",
        default="people",
        choices=("people", "population"),
    )

    long_name: ClassVar[str] = "exact risk of the unbiased estimate"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        reps, k = release.supports.shape
        private = np.full(reps, risks.risk(release.support, k, release.people))
        drawn = (
            risks.sampling_risk(truth.frequencies, release.people)
            if self.target == "population"
            else 0.0
        )
        return private + drawn


@dataclass(frozen=True)
class VarianceAbsent(Positive):
    """q(1 − q)/(n(p − q)²), the variance of an unbiased estimate of a frequency that is 0."""

    long_name: ClassVar[str] = "variance of a frequency that is 0"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,)."""
        return np.full(
            len(release.supports), float(risks.variance(release.support, release.people))
        )


@dataclass(frozen=True)
class _OfBudget(Positive, Checked):
    k: int = parameter("values", unit="values", low=2)
    epsilon: float = parameter("privacy budget of one person", unit="nats", low=1e-6, high=50)


@dataclass(frozen=True)
class MinimaxRisk(_OfBudget):
    """M(k, ε)/n. Source: `theory.risks.minimax_constant`."""

    long_name: ClassVar[str] = "minimax risk"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,)."""
        return np.full(
            len(release.supports), risks.minimax_constant(self.k, self.epsilon) / release.people
        )


@dataclass(frozen=True)
class ErrorOverUnary(_OfBudget):
    """Squared error of all frequencies over the exact risk of optimised unary encoding at the same
    k, ε and n.
    """

    long_name: ClassVar[str] = "squared error over that of optimised unary encoding"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        unary = risks.unary_risk(self.k, self.epsilon, release.people)
        return ErrorSquared()(truth, release, estimate) / unary


@dataclass(frozen=True)
class AbsentOverUnary(_OfBudget):
    """Squared error of a frequency that is 0 over the variance of optimised unary encoding at the
    same ε and n.
    """

    long_name: ClassVar[str] = (
        "squared error of a frequency that is 0 over that of optimised unary encoding"
    )

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        unary = risks.unary_variance(self.epsilon, release.people)
        return ErrorAbsent()(truth, release, estimate) / unary


@dataclass(frozen=True)
class ProjectionBound(Positive):
    """max_v e_v − min_v e_v, e = errors of the unbiased estimates: no projected estimate has a
    larger squared error.

    The projection P has ‖P − f‖² ≤ Σ_v e_v (P_v − f_v), the entries of P − f sum to 0, and its
    positive ones to at most 1.
    """

    long_name: ClassVar[str] = "range of the errors of the unbiased estimate"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        spread: Floats = np.ptp(unbiased(release) - truth.frequencies, axis=1)
        return spread
