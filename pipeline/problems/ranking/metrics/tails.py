"""Exact tail probabilities for two items, as −log P; the same in every replication.

They are about the debiased estimator from randomized response: NaN for more
items, other releases, and users who are weighted. O(L) for each gap that
differs.
"""

import math
from collections.abc import Callable

import numpy as np

from pipeline.privacy.randomized_response_laws import amplification, mean_squared_amplification
from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory import tails
from ..theory.rates import excess_risk_rate, l2_rate

DEPTH = 1 / 64  # excess risk over L/G(ε) of `deep_excess`


@metric("−log of the probability that two items change ranks", units="nats")
def inversion_surprisal(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """−log P(the better item is not ranked first). Source: Xu, Sun and Cheng, Theorems 4 to 6."""

    def surprisal(gap: float) -> float:
        return tails.inversion_surprisal(gap, release.epsilon, release.users)

    return _by_gap(surprisal, truth, release, estimate)


@metric("−log of the probability of an error beyond Theorem 2's", units="nats")
def large_error_surprisal(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """−log P(‖θ̂ − θ*‖∞ ≥ 4κ√(G log(mL)/(mL))).

    The constant is that of the proof of Theorem 2, part 1.
    Source: Xu, Sun and Cheng, Theorem 2.
    """

    def surprisal(gap: float) -> float:
        rate = l2_rate(math.exp(gap), _gain(release), 2, int(release.users.sum()))
        radius = float(4 * rate)
        return tails.error_surprisal(radius, gap, estimate.ridge, release.epsilon, release.users)

    return _by_gap(surprisal, truth, release, estimate)


@metric("C in Theorem 1 at its least δ")
def large_excess_surprisal(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """−log P(e_L ≥ δ) over m²Lδ/ρ at Theorem 1's least δ, κG log(mL)/(mL): the C that holds there.

    ρ = (1 + κ) max{H, G}.
    Source: Xu, Sun and Cheng, Theorem 1, eq. (5).
    """

    def constant(gap: float) -> float:
        rate = excess_risk_rate(math.exp(gap), _gain(release), 2, int(release.users.sum()))
        return _constant(float(rate), gap, estimate.ridge, release)

    return _by_gap(constant, truth, release, estimate)


@metric("1/C in Theorem 1 at δ = L/(64 G)")
def deep_excess(truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate) -> Floats:
    """m²Lδ/ρ over −log P(e_L ≥ δ), 1/C, at δ = L/(64 G); 0 where P is 0.

    There θ̂ is far outside the range of θ*.
    """

    def inverse(gap: float) -> float:
        excess = DEPTH * float(release.users.sum()) / _gain(release)
        return 1 / _constant(excess, gap, estimate.ridge, release)

    return _by_gap(inverse, truth, release, estimate)


def _by_gap(
    value: Callable[[float], float],
    truth: Preferences,
    release: ReleasedWins,
    estimate: PreferenceEstimate,
) -> Floats:
    """(reps,): the value at the gap of each replication, ≥ 0."""
    is_weighted = estimate.weights is not None and np.ptp(estimate.weights) > 0
    is_flipped = isinstance(release, FlippedWins) and release.compared is None
    if release.items != 2 or not is_flipped or is_weighted:
        return np.full(len(truth.theta), np.nan)
    gaps = np.ptp(truth.theta, axis=1)
    values = {gap: value(gap) for gap in np.unique(gaps).tolist()}
    return np.array([values[gap] for gap in gaps.tolist()])


def _gain(release: ReleasedWins) -> float:
    return float(mean_squared_amplification(release.epsilon, release.users))


def _constant(excess: float, gap: float, ridge: float, release: ReleasedWins) -> float:
    """C with P(e_L ≥ δ) = exp(−C m²Lδ/ρ)."""
    rho = (1 + math.exp(gap)) * max(float(amplification(release.epsilon).max()), _gain(release))
    surprisal = tails.excess_surprisal(excess, gap, ridge, release.epsilon, release.users)
    return surprisal * rho / (4 * float(release.users.sum()) * excess)
