"""Exact tail probabilities for two items, as −log P; the same in every replication.

They are about the debiased estimator from randomized response: NaN for more items, other releases, and users who are
weighted.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import amplification, mean_squared_amplification
from pipeline.study.arrays import Floats

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory import tails
from ..theory.rates import excess_risk_rate, l2_rate

DEPTH = 1 / 64  # excess risk over L/G(ε) of `DeepExcess`


@dataclass(frozen=True)
class _Tail(ABC):
    units: ClassVar[str] = "nats"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """The metric's `value` for the gap of each replication, (reps,). O(L) for each gap that differs."""
        weighted = estimate.weights is not None and np.ptp(estimate.weights) > 0
        if (
            release.items != 2
            or release.compared is not None
            or weighted
            or not isinstance(release, FlippedWins)
        ):
            return np.full(len(truth.theta), np.nan)
        gaps = np.ptp(truth.theta, axis=1)
        values = {gap: self.value(gap, estimate.ridge, release) for gap in np.unique(gaps).tolist()}
        return np.array([values[gap] for gap in gaps.tolist()])

    @abstractmethod
    def value(self, gap: float, ridge: float, release: ReleasedWins) -> float:
        """The number for a gap ≥ 0."""


def _gain(release: ReleasedWins) -> float:
    return float(mean_squared_amplification(release.epsilon, release.users))


@dataclass(frozen=True)
class InversionSurprisal(_Tail):
    """−log P(the better item is not ranked first). Source: Xu, Sun and Cheng, Theorems 4 to 6."""

    long_name: ClassVar[str] = "−log of the probability that two items change ranks"

    def value(self, gap: float, ridge: float, release: ReleasedWins) -> float:
        """−log P, nats."""
        return tails.inversion_surprisal(gap, release.epsilon, release.users)


@dataclass(frozen=True)
class LargeErrorSurprisal(_Tail):
    """−log P(‖θ̂ − θ*‖∞ ≥ 4κ√(G log(mL)/(mL))), the constant being that of the proof of Theorem 2, part 1.

    Source: Xu, Sun and Cheng, Theorem 2.
    """

    long_name: ClassVar[str] = "−log of the probability of an error beyond Theorem 2's"

    def value(self, gap: float, ridge: float, release: ReleasedWins) -> float:
        """−log P, nats."""
        radius = float(4 * l2_rate(math.exp(gap), _gain(release), 2, int(release.users.sum())))
        return tails.error_surprisal(radius, gap, ridge, release.epsilon, release.users)


@dataclass(frozen=True)
class LargeExcessSurprisal(_Tail):
    """−log P(e_L ≥ δ) over m²Lδ/ρ at the least δ of Theorem 1, κG log(mL)/(mL): the C that holds there.

    ρ = (1 + κ) max{H, G}. Source: Xu, Sun and Cheng, Theorem 1, eq. (5).
    """

    long_name: ClassVar[str] = "C in Theorem 1 at its least δ"
    units: ClassVar[str] = "1"

    def value(self, gap: float, ridge: float, release: ReleasedWins) -> float:
        """The C, a number."""
        users = int(release.users.sum())
        return _constant(
            float(excess_risk_rate(math.exp(gap), _gain(release), 2, users)), gap, ridge, release
        )


@dataclass(frozen=True)
class DeepExcess(_Tail):
    """m²Lδ/ρ over −log P(e_L ≥ δ), 1/C, at δ = L/(64 G), where θ̂ is far outside the range of θ*; 0 where P is 0."""

    long_name: ClassVar[str] = "1/C in Theorem 1 at δ = L/(64 G)"
    units: ClassVar[str] = "1"

    def value(self, gap: float, ridge: float, release: ReleasedWins) -> float:
        """1/C, a number."""
        return 1 / _constant(
            DEPTH * float(release.users.sum()) / _gain(release), gap, ridge, release
        )


def _constant(excess: float, gap: float, ridge: float, release: ReleasedWins) -> float:
    """C with P(e_L ≥ δ) = exp(−C m²Lδ/ρ)."""
    rho = (1 + math.exp(gap)) * max(float(amplification(release.epsilon).max()), _gain(release))
    surprisal = tails.excess_surprisal(excess, gap, ridge, release.epsilon, release.users)
    return surprisal * rho / (4 * float(release.users.sum()) * excess)
