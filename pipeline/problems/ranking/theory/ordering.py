"""Ranking in the private Bradley–Terry–Luce model: excess risk, what orders items, and how much signal there is."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from scipy.special import expit, ndtr

from pipeline.privacy.randomized_response_laws import amplification
from pipeline.study.arrays import Floats, Numbers

from .rates import whole_users
from .risk import score_variance

_SLICE_BYTES = 1 << 20  # of one slice's (rep, item, item) array
_NEAR = 0.1  # error in logits below which the divergence is summed as a series: above, it keeps 12 digits


def bernoulli_divergence(gap: Numbers, error: Numbers) -> Floats:
    """KL divergence of Bernoulli(σ(gap + error)) from Bernoulli(σ(gap)), nats; broadcasts, ≥ 0.

    With p = σ(gap), q = 1 − p, δ = error: log(1 + p(e^δ − 1)) − pδ = log(1 + q φ(−pδ) + p φ(qδ)), where
    φ(x) = e^x − 1 − x ≥ 0: no cancellation, whatever the error. Relative accuracy 1e-12.
    """
    gap, error = np.broadcast_arrays(np.asarray(gap, float), np.asarray(error, float))
    error, gap = np.where(gap > 0, -error, error), -np.abs(gap)  # symmetric; now p ≤ ½ keeps its digits
    p = expit(gap)
    with np.errstate(invalid="ignore"):  # NaN gives NaN
        divergence = np.asarray(np.logaddexp(0, gap + error) - np.logaddexp(0, gap) - p * error)
    near = np.abs(error) < _NEAR
    p, error = p[near], error[near]
    divergence[near] = np.log1p((1 - p) * _phi(-p * error) + p * _phi((1 - p) * error))
    return divergence


def _phi(x: Floats) -> Floats:
    """e^x − 1 − x for |x| < 0.1, by its series."""
    total = np.ones_like(x)
    for k in range(10, 2, -1):
        total = 1 + total * x / k
    return total * x * x / 2


def excess_risk(estimate: Floats, theta: Floats) -> Floats:
    """Excess risk e_L(θ̂, θ*) = m⁻² Σ_{i<j} KL(σ(θ*_i − θ*_j), σ(θ̂_i − θ̂_j)), nats.

    The same as m⁻² Σ_{i<j} [σ(θ*_i−θ*_j)(θ̂_j−θ̂_i) + log(1+e^{θ̂_i−θ̂_j})] minus its value at θ*, but accurate however
    small. estimate, theta: (reps, m) -> (reps,). O(reps · m²). Source: Xu, Sun and Cheng, eq. (4).
    """
    estimate, theta = np.asarray(estimate, float), np.asarray(theta, float)
    reps, m = theta.shape
    first, second = np.triu_indices(m, 1)
    risk = np.empty(reps)
    for rows in _slices(reps, m):
        gap = theta[rows][:, first] - theta[rows][:, second]
        error = estimate[rows][:, first] - estimate[rows][:, second] - gap
        risk[rows] = bernoulli_divergence(gap, error).sum(axis=1) / m**2
    return risk


def kendall_prediction(theta: Floats, epsilon: Numbers, users: Numbers, weights: Floats | None = None) -> Floats:
    """Expected Kendall distance of the debiased M-estimator where its scores are Gaussian: mean over pairs of
    Φ(−|μ_i − μ_j|/sd_ij).

    θ̂ orders items as their scores s_i = Σ_{k≠i} z̄_ik do, whatever the ridge. So this needs no linearisation of the
    estimator: μ_i = Σ_{k≠i} σ(θ_i − θ_k), sd_ij² = Var(s_i − s_j) = V_i + V_j + 2V_ij, with V_ij = Var(z̄_ij) and V_i
    its sum over the others. theta: (reps, m); epsilon, users, weights: (group,) or scalar -> (reps,). O(reps · m²).
    Source: Xu, Sun and Cheng, eq. (3) and Lemma 2, by the central limit theorem.
    """
    theta = np.asarray(theta, float)
    reps, m = theta.shape
    own, privacy = score_variance(epsilon, users, weights)
    first, second = np.triu_indices(m, 1)
    distance = np.empty(reps)
    for rows in _slices(reps, m):
        beats = expit(theta[rows, :, None] - theta[rows, None, :])
        variance = own * beats * beats.mT + privacy
        np.einsum("rii->ri", variance)[...] = 0
        wins, total = beats.sum(axis=2), variance.sum(axis=2)
        square = total[:, first] + total[:, second] + 2 * variance[:, first, second]
        distance[rows] = ndtr(-np.abs(wins[:, first] - wins[:, second]) / np.sqrt(square)).mean(axis=1)
    return distance


def _slices(reps: int, m: int) -> Iterator[slice]:
    length = max(1, _SLICE_BYTES // (8 * m * m))
    return (slice(start, start + length) for start in range(0, reps, length))


def size(epsilon: float, m: int, L: int) -> Annotated[float, "released sample mL/G(ε)", "1"]:
    """Released sample mL/G(ε), counted in unperturbed comparisons of an item; broadcasts.

    Source: Xu, Sun and Cheng, Theorems 1 and 2.
    """
    a: Any = amplification(epsilon)  # of the shape of its argument: a number here
    worth: float = m * L / a**2
    return worth


def signal(epsilon: float, m: int, L: int, spacing: float) -> Annotated[float, "signal mLΔ²/G(ε)", "1"]:
    """Signal mLΔ²/G(ε) between items Δ = `spacing` logits apart; broadcasts.

    The ranking errors fall as exp(−C · signal/κ⁴). Source: Xu, Sun and Cheng, Theorems 5 and 6.
    """
    return size(epsilon, m, L) * spacing**2


def signal_over_log(
    epsilon: float, m: int, L: int, spacing: float
) -> Annotated[float, "signal over log(mL), mLΔ²/(G(ε) log(mL))", "1"]:
    """Signal over log(mL), which must be large for the top K to be recovered exactly; broadcasts, mL ≥ 2.

    Source: Xu, Sun and Cheng, Theorem 4.
    """
    over_log: float = signal(epsilon, m, L, spacing) / np.log(m * L)
    return over_log


def users_from_signal(
    signal: Annotated[float, "signal mLΔ²/G(ε)"], m: int,
    spacing: Annotated[float, "gap Δ between neighbours in θ*, logits"], epsilon: float,
) -> int:
    """Users L = signal·G(ε)/(mΔ²), rounded; InvalidInput below one user."""
    return whole_users("signal", signal, float(amplification(epsilon) ** 2) * signal / (m * spacing**2))


def spacing_from_signal(
    signal: Annotated[float, "signal mLΔ²/G(ε)"], m: int, L: int,
    common_epsilon: Annotated[float, "budget of one comparison, the same for all users"],
) -> float:
    """Gap Δ = √(signal·G/(mL)) at the G of one budget for all, to which mixed budgets may be matched; logits."""
    gain: Any = amplification(common_epsilon) ** 2  # of the shape of its argument: a number here
    spacing: float = np.sqrt(signal * gain / (m * L))
    return spacing
