"""Yardsticks and moments of the private Bradley–Terry–Luce model, one value per replication.

Yardsticks depend on θ*, which may be redrawn, so they are computed in the
same replication as the error that they predict: measured and predicted risk
are then paired. The formulas are for the complete graph: where users
compared only some pairs, yardsticks are NaN. The lean of a comparison is
the probability that the better item wins, less ½.
"""

import numpy as np

from pipeline.privacy import randomized_response_laws as laws
from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory import rates, risk
from .last import Last

# Estimators on one release share them.
_last_sandwich = Last[Floats]()
_last_bound = Last[Floats]()


@metric("predicted squared error, sandwich", units="logits²", least=0.0)
def sandwich_risk(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """First-order prediction of ‖θ̂ − θ*‖₂²/m of the debiased estimator, ridge bias included.

    O(reps · m³). Laplace noise counts by its variance: as randomized
    response with the budget that has this variance.
    """
    if release.compared is not None:
        return np.full(len(truth.theta), np.nan)

    def make() -> Floats:
        epsilon = release.equivalent_epsilon
        return risk.sandwich_risk(
            truth.theta, epsilon, release.users, estimate.ridge, estimate.weights
        )

    return _last_sandwich(truth, release, estimate, make)


@metric("predicted squared error of the fit's own law", units="logits²", least=0.0)
def law_risk(truth: Preferences, estimate: PreferenceEstimate) -> Floats:
    """First-order prediction of ‖θ̂ − θ*‖₂²/m, ridge bias included, for any survey and link.

    (tr J⁺VJ⁺ + ‖2λJ⁺θ*‖²)/m at θ*, with the law of the estimate's own gradient: what
    standard errors are made of. NaN where the estimator has none. O(reps · m³).
    Source: `theory.inference`.
    """
    if estimate.law is None:
        return np.full(len(truth.theta), np.nan)
    variances = estimate.law.variances(truth.theta, estimate.ridge)
    bias = 2 * estimate.ridge * variances.image
    predicted: Floats = (variances.variance + np.square(bias)).mean(axis=1)
    return predicted


@metric("Cramér–Rao bound on the squared error", units="logits²", least=0.0)
def cramer_rao_risk(truth: Preferences, release: ReleasedWins) -> Floats:
    """Cramér–Rao bound on ‖θ̂ − θ*‖₂²/m of unbiased estimators from flipped comparisons.

    O(reps · m³). NaN for other releases than randomized response's, which
    have another law.
    """
    if release.compared is not None or not isinstance(release, FlippedWins):
        return np.full(len(truth.theta), np.nan)

    def make() -> Floats:
        return risk.cramer_rao_risk(truth.theta, release.epsilon, release.users)

    return _last_bound(truth, release, None, make)


@metric("minimax lower bound, constant 1", units="logits", least=0.0)
def minimax_bound(truth: Preferences, release: ReleasedWins) -> Floats:
    """Theorem 3's lower bound on ‖θ̂ − θ*‖₂/√m with constant 1: 1/√(κ m Σ_l t(ε_l)²).

    NaN for other releases than randomized response's, and where users
    compared only some pairs.
    """
    if release.compared is not None or not isinstance(release, FlippedWins):
        return np.full(len(truth.theta), np.nan)
    share = laws.information(release.epsilon, release.users)
    kappa = rates.condition_number(truth.theta)
    return rates.minimax_lower_bound(kappa, release.items, share)


@metric("log condition number log κ", units="logits", least=0.0)
def log_condition(truth: Preferences) -> Floats:
    """log κ = max θ* − min θ*. Source: Xu, Sun and Cheng, §4.1."""
    spread: Floats = np.ptp(truth.theta, axis=1)
    return spread


@metric("information Σ tanh²(ε/2)", units="users", least=0.0)
def information(truth: Preferences, release: ReleasedWins) -> Floats:
    """Σ_l t(ε_l)²: number of unperturbed users with the same information.

    For Laplace noise by its variance.
    Source: Xu, Sun and Cheng, Theorem 3.
    """
    users = laws.information(release.equivalent_epsilon, release.users)
    return np.full(len(truth.theta), users)


@metric("mean squared amplification G(ε)", least=1.0)
def mean_gain(truth: Preferences, release: ReleasedWins) -> Floats:
    """G(ε), mean growth of a debiased comparison's variance by privacy.

    Source: Xu, Sun and Cheng, Theorem 1.
    """
    gain = np.average(release.gain, weights=release.users)
    return np.full(len(truth.theta), gain)


@metric("mean lean of raw comparisons", units="probability")
def lean_true(truth: Preferences) -> Floats:
    """Mean over pairs of |σ(θ_i − θ_j) − ½|: how far raw comparisons lean from a coin flip."""
    lean: Floats = np.abs(rates.win_probability(truth.theta) - 0.5).mean(axis=1)
    return lean


@metric("mean squared lean of raw comparisons", units="probability²")
def lean_true_squared(truth: Preferences) -> Floats:
    """Mean over pairs of (σ(θ_i − θ_j) − ½)², which Lemma 2's variance depends on."""
    squared: Floats = np.square(rates.win_probability(truth.theta) - 0.5).mean(axis=1)
    return squared


@metric("mean lean of released comparisons", units="probability")
def lean_released(truth: Preferences, release: ReleasedWins) -> Floats:
    """Mean over pairs of released comparisons' lean towards the better item (Lemma 1)."""
    return _lean(truth, release.raw_mean())


@metric("mean lean of debiased comparisons", units="probability")
def lean_debiased(truth: Preferences, release: ReleasedWins) -> Floats:
    """Mean over pairs of debiased comparisons' lean towards the better item (Lemma 2, mean)."""
    return _lean(truth, release.debiased_mean())


def _lean(truth: Preferences, mean: Floats) -> Floats:
    """(reps,): mean lean towards the better item. mean: (reps, pairs), of comparisons."""
    towards_better = np.sign(rates.win_probability(truth.theta) - 0.5)
    lean: Floats = (towards_better * (mean - 0.5)).mean(axis=1)
    return lean


@metric("variance of one debiased comparison", units="probability²")
def error_debiased_squared(truth: Preferences, release: ReleasedWins) -> Floats:
    """L times the mean over pairs of (z̄ − σ)²: variance of one debiased comparison (Lemma 2)."""
    error = release.debiased_mean() - rates.win_probability(truth.theta)
    variance: Floats = release.users.sum() * np.square(error).mean(axis=1)
    return variance


@metric("|sum of the estimated preferences|", units="logits", least=0.0)
def estimate_sum(estimate: PreferenceEstimate) -> Floats:
    """|Σ_i θ̂_i|, zero by Lemma 3."""
    total: Floats = np.abs(estimate.theta.sum(axis=1))
    return total
