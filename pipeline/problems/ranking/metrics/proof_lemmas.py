"""Both sides of Lemmas S5 to S8 of Xu, Sun and Cheng in every replication.

Each ratio is at most 1 where they hold.
"""

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import ReleasedWins
from ..theory import rates
from ..theory.ordering import bernoulli_divergence
from ..theory.risk import curvature
from ..theory.tails import largest_error_radius

WIDEST = 700.0  # logits that θ may span where `curvature` is computed
# δ over κG log(mL)/(mL), which the theorem leaves open: 16/log(mL) is enough for
# Lemma S7.
CONSTANT = 4
RADIUS_CHANCE = 0.2  # of an error beyond the radius, at most


@metric("eigenvalues of the Hessian over their bounds", least=0.0)
def hessian_ratio(estimate: PreferenceEstimate) -> Floats:
    """The larger of 2λ/Λ_min and Λ_max over 2(λ + max_i Σ_j w_ij), Λ of the Hessian at θ̂.

    O(reps · m³). NaN where θ̂ spans so many logits that weights w_ij are no
    numbers any more. Source: Lemma S5.
    """
    ratio = np.full(len(estimate.theta), np.nan)
    is_narrow = np.ptp(estimate.theta, axis=1) < WIDEST
    ratio[is_narrow] = _hessian_ratio(estimate.theta[is_narrow], estimate.ridge)
    return ratio


def _hessian_ratio(theta: Floats, ridge: float) -> Floats:
    m = theta.shape[1]
    weights = curvature(theta)
    rows = weights.sum(axis=2)
    hessian = rows[:, :, None] * np.eye(m) - weights + 2 * ridge * np.eye(m)
    eigenvalues = np.linalg.eigvalsh(hessian)
    largest = eigenvalues[:, -1] / (2 * (ridge + rows.max(axis=1)))
    ratio: Floats = np.maximum(2 * ridge / eigenvalues[:, 0], largest)
    return ratio


@metric("variance of the loss over Lemma S6's bound", least=0.0)
def variance_ratio(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """Largest Var(ΔL_ij)/(8(1 + κ)a(ε_l)² E ΔL_ij) over pairs and users, given θ̂; O(reps · m²).

    ΔL_ij, the change of the loss from θ* to θ̂, is z_ij times the
    difference of gaps and a constant: its variance is Lemma 2's times the
    square of that difference, and its mean is the divergence of the
    comparisons' laws. Source: Lemma S6.
    """
    first, second = np.triu_indices(release.items, 1)
    gap = truth.theta[:, first] - truth.theta[:, second]
    change = estimate.theta[:, first] - estimate.theta[:, second] - gap
    lean = rates.win_probability(truth.theta) - 0.5
    # Variance over a², the largest.
    share = 0.25 - attenuation(release.equivalent_epsilon).min() ** 2 * lean**2
    factor = 8 * (1 + rates.condition_number(truth.theta))[:, None]
    bound = factor * bernoulli_divergence(gap, change)
    ratio: Floats = (share * change**2 / np.maximum(bound, 1e-300)).max(axis=1)
    return ratio


@metric("supremum of the empirical process over Lemma S7's bound", least=0.0)
def supremum_ratio(truth: Preferences, release: ReleasedWins) -> Floats:
    """A bound on sup over S_1 of ν, over M_1/2 = δ/2; O(reps · m²).

    Its mean is what Lemma S7 bounds by 1, for all u ≥ 1 by scaling. ν(θ) =
    m⁻² g·(θ − θ*), g_i = Σ_j (z̄_ij − σ_ij). Where e_L ≤ 2δ and κ bounds θ
    too, ‖θ − θ*‖² ≤ 4mδ(1 + κ)²/κ, so that ν ≤ ‖g‖√(4mδ(1 + κ)²/κ)/m².
    Source: Lemma S7.
    """
    m = release.items
    kappa = rates.condition_number(truth.theta)
    delta = _excess(truth, release)
    first, second = np.triu_indices(m, 1)
    noise = np.zeros((len(truth.theta), m, m))
    noise[:, first, second] = release.debiased_mean() - rates.win_probability(truth.theta)
    norm = np.linalg.norm(noise.sum(axis=2) - noise.sum(axis=1), axis=1)  # ‖g‖
    bound: Floats = norm * np.sqrt(4 * m * delta / kappa) * (1 + kappa) / m**2 / (delta / 2)
    return bound


@metric("largest error over Lemma S8's bound", least=0.0)
def entry_ratio(truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate) -> Floats:
    """Largest |θ̂_i − θ*_i| over Lemma S8's bound with t = √(mG log(mL)/L); O(reps · m).

    The bound is true with probability 1 − 2/(mL²).
    """
    m = release.items
    users = int(release.users.sum())
    kappa = rates.condition_number(truth.theta)
    gain = float(np.average(release.gain, weights=release.users))
    delta = _excess(truth, release)
    error = np.abs(estimate.theta - truth.theta)
    square = np.square(truth.theta).sum(axis=1)
    deviation = np.sqrt(gain * np.log(m * users) / (m * users))
    of_all_items = np.sqrt(np.square(error).mean(axis=1)) / 4 + deviation
    of_the_item = m * np.abs(truth.theta) * (delta / square)[:, None]
    scaled = error / (2 * (1 + kappa) ** 2 / kappa)[:, None]
    ratio: Floats = (scaled / (of_all_items[:, None] + of_the_item)).max(axis=1)
    return ratio


@metric("largest error over the radius that one in five may exceed", least=0.0)
def radius_ratio(truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate) -> Floats:
    """‖θ̂ − θ*‖∞ over the radius that it exceeds with probability 0.2 at most; O(reps · m).

    0 where no radius is known. Source: `theory.tails.largest_error_radius`, for eq. (7).
    """
    m = release.items
    users = int(release.users.sum())
    gain = float(np.average(release.gain, weights=release.users))
    kappa = rates.condition_number(truth.theta)
    pull = 2 * estimate.ridge * np.abs(truth.theta).max(axis=1)
    radius = [
        largest_error_radius(RADIUS_CHANCE, m, users, gain, float(spread), float(ridge))
        for spread, ridge in zip(kappa, pull, strict=True)
    ]
    error = np.abs(estimate.theta - truth.theta).max(axis=1)
    ratio: Floats = error / np.array(radius)
    return ratio


def _excess(truth: Preferences, release: ReleasedWins) -> Floats:
    """δ = 4 κG log(mL)/(mL), (reps,)."""
    gain = float(np.average(release.gain, weights=release.users))
    kappa = rates.condition_number(truth.theta)
    rate = rates.excess_risk_rate(kappa, gain, release.items, int(release.users.sum()))
    excess: Floats = CONSTANT * rate
    return excess
