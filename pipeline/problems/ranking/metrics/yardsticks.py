"""Yardsticks and moments of the private Bradley–Terry–Luce model, one value per replication.

Yardsticks depend on θ*, which may be redrawn, so they are computed in the same replication as the error that they
predict: measured and predicted risk are then paired. The lean of a comparison is the probability that the better item
wins, less ½.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import information
from pipeline.study.arrays import Floats

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory import rates as theory
from ..theory import risk
from .last import Last

_sandwich, _cramer_rao = Last[Floats](), Last[Floats]()  # estimators on one release share them


class _Yardstick:
    """NaN where users compared only some pairs: the formulas are for the complete graph."""

    units: ClassVar[str] = "logits²"
    least: ClassVar[float] = 0.0


@dataclass(frozen=True)
class SandwichRisk(_Yardstick):
    """First-order prediction of ‖θ̂ − θ*‖₂²/m of the debiased estimator, ridge bias included.

    Laplace noise counts by its variance: as randomized response with the budget that has this variance.
    """

    long_name: ClassVar[str] = "predicted squared error, sandwich"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m³)."""
        if release.compared is not None:
            return np.full(len(truth.theta), np.nan)
        return _sandwich(
            truth,
            release,
            estimate,
            lambda: risk.sandwich_risk(
                truth.theta,
                release.equivalent_epsilon,
                release.users,
                estimate.ridge,
                estimate.weights,
            ),
        )


@dataclass(frozen=True)
class CramerRaoRisk(_Yardstick):
    """Cramér–Rao bound on ‖θ̂ − θ*‖₂²/m of unbiased estimators from comparisons flipped by randomized response.

    NaN for other releases, which have another law.
    """

    long_name: ClassVar[str] = "Cramér–Rao bound on the squared error"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m³)."""
        if release.compared is not None or not isinstance(release, FlippedWins):
            return np.full(len(truth.theta), np.nan)
        return _cramer_rao(
            truth,
            release,
            None,
            lambda: risk.cramer_rao_risk(truth.theta, release.epsilon, release.users),
        )


@dataclass(frozen=True)
class MinimaxBound:
    """Theorem 3's lower bound on ‖θ̂ − θ*‖₂/√m with constant 1: 1/√(κ m Σ_l t(ε_l)²).

    NaN for other releases than randomized response's, and where users compared only some pairs.
    """

    long_name: ClassVar[str] = "minimax lower bound, constant 1"
    units: ClassVar[str] = "logits"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        if release.compared is not None or not isinstance(release, FlippedWins):
            return np.full(len(truth.theta), np.nan)
        share = information(release.epsilon, release.users)
        return theory.minimax_lower_bound(
            theory.condition_number(truth.theta), release.items, share
        )


@dataclass(frozen=True)
class LogCondition:
    """log κ = max θ* − min θ*. Source: Xu, Sun and Cheng, §4.1."""

    long_name: ClassVar[str] = "log condition number log κ"
    units: ClassVar[str] = "logits"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        log_condition: Floats = np.ptp(truth.theta, axis=1)
        return log_condition


@dataclass(frozen=True)
class Information:
    """Σ_l t(ε_l)²: number of unperturbed users with the same information; for Laplace noise by its variance.

    Source: Xu, Sun and Cheng, Theorem 3.
    """

    long_name: ClassVar[str] = "information Σ tanh²(ε/2)"
    units: ClassVar[str] = "users"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        return np.full(len(truth.theta), information(release.equivalent_epsilon, release.users))


@dataclass(frozen=True)
class MeanGain:
    """G(ε), mean growth of a debiased comparison's variance by privacy. Source: Xu, Sun and Cheng, Theorem 1."""

    long_name: ClassVar[str] = "mean squared amplification G(ε)"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 1.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        return np.full(len(truth.theta), np.average(release.gain, weights=release.users))


class _Moment:
    units: ClassVar[str] = "probability"


@dataclass(frozen=True)
class LeanTrue(_Moment):
    """Mean over pairs of |σ(θ_i − θ_j) − ½|: how far raw comparisons lean from a coin flip."""

    long_name: ClassVar[str] = "mean lean of raw comparisons"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        lean: Floats = np.abs(theory.win_probability(truth.theta) - 0.5).mean(axis=1)
        return lean


@dataclass(frozen=True)
class LeanTrueSquared(_Moment):
    """Mean over pairs of (σ(θ_i − θ_j) − ½)², which Lemma 2's variance depends on."""

    long_name: ClassVar[str] = "mean squared lean of raw comparisons"
    units: ClassVar[str] = "probability²"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        squared: Floats = np.square(theory.win_probability(truth.theta) - 0.5).mean(axis=1)
        return squared


@dataclass(frozen=True)
class LeanReleased(_Moment):
    """Mean over pairs of the released comparisons' lean towards the truly better item (Lemma 1)."""

    long_name: ClassVar[str] = "mean lean of released comparisons"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        return _lean(truth, release.raw_mean())


@dataclass(frozen=True)
class LeanDebiased(_Moment):
    """Mean over pairs of the debiased comparisons' lean towards the truly better item (Lemma 2, mean)."""

    long_name: ClassVar[str] = "mean lean of debiased comparisons"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        return _lean(truth, release.debiased_mean())


@dataclass(frozen=True)
class ErrorDebiasedSquared(_Moment):
    """L times the mean over pairs of (z̄ − σ)²: the variance of one debiased comparison (Lemma 2)."""

    long_name: ClassVar[str] = "variance of one debiased comparison"
    units: ClassVar[str] = "probability²"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        error = release.debiased_mean() - theory.win_probability(truth.theta)
        variance: Floats = release.users.sum() * np.square(error).mean(axis=1)
        return variance


@dataclass(frozen=True)
class EstimateSum:
    """|Σ_i θ̂_i|, zero by Lemma 3."""

    long_name: ClassVar[str] = "|sum of the estimated preferences|"
    units: ClassVar[str] = "logits"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        total: Floats = np.abs(estimate.theta.sum(axis=1))
        return total


def _lean(truth: Preferences, mean: Floats) -> Floats:
    lean: Floats = (np.sign(theory.win_probability(truth.theta) - 0.5) * (mean - 0.5)).mean(axis=1)
    return lean
