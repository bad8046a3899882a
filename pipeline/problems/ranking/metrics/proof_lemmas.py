"""Both sides of Lemmas S5 to S8 of Xu, Sun and Cheng in every replication: each ratio is at most 1 where they hold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.study.arrays import Floats

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import ReleasedWins
from ..theory import rates
from ..theory.ordering import bernoulli_divergence
from ..theory.risk import curvature

WIDEST = 700.0  # logits that θ may span where `curvature` is computed
CONSTANT = (
    4  # δ over κG log(mL)/(mL), which the theorem leaves open: 16/log(mL) is enough for Lemma S7
)


class _Ratio:
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0


def _excess(truth: Preferences, release: ReleasedWins) -> Floats:
    """δ = 4 κG log(mL)/(mL), (reps,)."""
    gain = float(np.average(release.gain, weights=release.users))
    kappa = rates.condition_number(truth.theta)
    excess: Floats = CONSTANT * rates.excess_risk_rate(
        kappa, gain, release.items, int(release.users.sum())
    )
    return excess


@dataclass(frozen=True)
class HessianRatio(_Ratio):
    """The larger of 2λ/Λ_min and Λ_max over 2(λ + max_i Σ_j w_ij), Λ of the Hessian at θ̂. Source: Lemma S5.

    NaN where θ̂ spans so many logits that weights w_ij are no numbers any more.
    """

    long_name: ClassVar[str] = "eigenvalues of the Hessian over their bounds"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m³)."""
        ratio = np.full(len(estimate.theta), np.nan)
        narrow = np.ptp(estimate.theta, axis=1) < WIDEST
        ratio[narrow] = self._ratio(estimate.theta[narrow], estimate.ridge)
        return ratio

    def _ratio(self, theta: Floats, ridge: float) -> Floats:
        weights, m = curvature(theta), theta.shape[1]
        rows = weights.sum(axis=2)
        hessian = rows[:, :, None] * np.eye(m) - weights + 2 * ridge * np.eye(m)
        eigenvalues = np.linalg.eigvalsh(hessian)
        largest = eigenvalues[:, -1] / (2 * (ridge + rows.max(axis=1)))
        ratio: Floats = np.maximum(2 * ridge / eigenvalues[:, 0], largest)
        return ratio


@dataclass(frozen=True)
class VarianceRatio(_Ratio):
    """Largest Var(ΔL_ij)/(8(1 + κ)a(ε_l)² E ΔL_ij) over pairs and users, ΔL from θ* to θ̂, given θ̂.

    ΔL_ij = z_ij·(gap) + …: its variance is Lemma 2's times the square of the difference of gaps, and its mean is the
    divergence of the comparisons' laws. Source: Lemma S6.
    """

    long_name: ClassVar[str] = "variance of the loss over Lemma S6's bound"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m²)."""
        first, second = np.triu_indices(release.items, 1)
        gap, estimated = (
            theta[:, first] - theta[:, second] for theta in (truth.theta, estimate.theta)
        )
        lean = rates.win_probability(truth.theta) - 0.5
        share = (
            0.25 - attenuation(release.equivalent_epsilon).min() ** 2 * lean**2
        )  # variance over a², the largest
        mean = (
            8
            * (1 + rates.condition_number(truth.theta))[:, None]
            * bernoulli_divergence(gap, estimated - gap)
        )
        ratio: Floats = (share * (estimated - gap) ** 2 / np.maximum(mean, 1e-300)).max(axis=1)
        return ratio


@dataclass(frozen=True)
class SupremumRatio(_Ratio):
    """A bound on sup over S_1 of ν, over M_1/2 = δ/2; its mean is what Lemma S7 bounds by 1, for all u ≥ 1 by scaling.

    ν(θ) = m⁻² g·(θ − θ*), g_i = Σ_j (z̄_ij − σ_ij). Where e_L ≤ 2δ and κ bounds θ too, ‖θ − θ*‖² ≤ 4mδ(1 + κ)²/κ, so
    that ν ≤ ‖g‖√(4mδ(1 + κ)²/κ)/m². Source: Lemma S7.
    """

    long_name: ClassVar[str] = "supremum of the empirical process over Lemma S7's bound"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m²)."""
        m, kappa, delta = (
            release.items,
            rates.condition_number(truth.theta),
            _excess(truth, release),
        )
        noise = np.zeros((len(truth.theta), m, m))
        noise[:, *np.triu_indices(m, 1)] = release.debiased_mean() - rates.win_probability(
            truth.theta
        )
        norm = np.linalg.norm(noise.sum(axis=2) - noise.sum(axis=1), axis=1)
        bound: Floats = norm * np.sqrt(4 * m * delta / kappa) * (1 + kappa) / m**2 / (delta / 2)
        return bound


@dataclass(frozen=True)
class EntryRatio(_Ratio):
    """Largest |θ̂_i − θ*_i| over Lemma S8's bound with t = √(mG log(mL)/L), true with probability 1 − 2/(mL²)."""

    long_name: ClassVar[str] = "largest error over Lemma S8's bound"

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m)."""
        m, users, kappa = (
            release.items,
            int(release.users.sum()),
            rates.condition_number(truth.theta),
        )
        gain = float(np.average(release.gain, weights=release.users))
        error, delta = np.abs(estimate.theta - truth.theta), _excess(truth, release)
        square = np.square(truth.theta).sum(axis=1)
        common = np.sqrt(np.square(error).mean(axis=1)) / 4 + np.sqrt(
            gain * np.log(m * users) / (m * users)
        )
        own = m * np.abs(truth.theta) * (delta / square)[:, None]
        ratio: Floats = (
            error / (2 * (1 + kappa) ** 2 / kappa)[:, None] / (common[:, None] + own)
        ).max(axis=1)
        return ratio
