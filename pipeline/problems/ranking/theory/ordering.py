"""Ranking in the private Bradley–Terry–Luce model: excess risk and the order of items."""

from collections.abc import Iterator

import numpy as np
from scipy.special import expit, ndtr

from pipeline.kernels.loader import function
from pipeline.study.arrays import Floats, Numbers

from .risk import score_variance

_SLICE_BYTES = 1 << 20  # of one slice's (rep, item, item) array
# Error in logits below which the divergence is summed as a series: above, it keeps 12
# digits.
_NEAR = 0.01
_FAR = 300.0  # error in logits from which e^error is not computed: it may overflow
_excess_risks = function(
    __file__,
    "excess_risks",
    """
    m: size; m >= 1
    reps: size
    estimate: f8[reps, m]
    theta: f8[reps, m]
    risk: out f8[reps]
""",
)


def bernoulli_divergence(gap: Numbers, error: Numbers) -> Floats:
    """KL divergence of Bernoulli(σ(gap + error)) from Bernoulli(σ(gap)), nats; broadcasts, ≥ 0.

    log(1 + p(e^δ − 1)) − pδ with p = σ(gap), δ = error, and by its
    cumulants, Σ_k κ_k δ^k/k!, where that would lose digits. Relative
    accuracy 1e-12.
    """
    gap, error = np.broadcast_arrays(np.asarray(gap, float), np.asarray(error, float))
    return _divergence(gap.flatten(), error.flatten()).reshape(gap.shape)


def _divergence(gap: Floats, error: Floats) -> Floats:
    """`bernoulli_divergence` of contiguous arrays of one shape, both overwritten.

    Memory costs more than arithmetic.
    """
    work = np.copysign(1.0, gap)
    error *= np.negative(work, out=work)  # symmetric: the side with p ≤ ½ keeps its digits
    np.copysign(gap, -1.0, out=gap)
    near = np.flatnonzero(np.abs(error, out=work) < _NEAR)
    far = np.flatnonzero(error > _FAR)
    far_gap = gap.ravel()[far]
    beyond = np.logaddexp(0, far_gap + error.ravel()[far]) - np.logaddexp(0, far_gap)
    p = np.exp(gap, out=gap)
    p /= np.add(p, 1, out=work)
    small = _series(p.ravel()[near], error.ravel()[near])
    with np.errstate(invalid="ignore", over="ignore"):  # NaN gives NaN; what overflows is `beyond`
        divergence: Floats = np.expm1(error, out=work)
        divergence *= p
        np.log1p(divergence, out=divergence)
    divergence.ravel()[far] = beyond
    error *= p
    divergence -= error
    divergence.ravel()[near] = small
    return divergence


def _series(p: Floats, error: Floats) -> Floats:
    """The divergence up to δ⁶, by its cumulants.

    With s = 1 − 2p: κ₂ = w, κ₃ = ws, κ₄ = w(1 − 6w), κ₅ = ws(1 − 12w),
    κ₆ = w(1 − 30w + 120w²).
    """
    w = p * (1 - p)
    s = 1 - 2 * p
    total = ((w / 6 - 1 / 24) * w + 1 / 720) * error
    for term in ((1 / 120 - w / 10) * s, 1 / 24 - w / 4, s / 6):
        total += term
        total *= error
    total += 0.5
    for factor in (error, error, w):
        total *= factor
    return total


def excess_risk(estimate: Floats, theta: Floats) -> Floats:
    """Excess risk e_L(θ̂, θ*) = m⁻² Σ_{i<j} KL(σ(θ*_i − θ*_j), σ(θ̂_i − θ̂_j)), nats.

    The same as m⁻² Σ_{i<j} [σ(θ*_i−θ*_j)(θ̂_j−θ̂_i) + log(1+e^{θ̂_i−θ̂_j})]
    minus its value at θ*, but accurate however small. estimate, theta:
    (reps, m) -> (reps,). O(reps · m²). Source: Xu, Sun and Cheng, eq. (4).
    """
    estimate, theta = np.broadcast_arrays(np.asarray(estimate, float), np.asarray(theta, float))
    reps, m = theta.shape
    risk = np.empty(reps)
    _excess_risks(m, reps, np.ascontiguousarray(estimate), np.ascontiguousarray(theta), risk)
    return risk


def kendall_prediction(
    theta: Floats, epsilon: Numbers, users: Numbers, weights: Floats | None = None
) -> Floats:
    """Expected Kendall distance of the debiased M-estimator where its scores are Gaussian.

    It is the mean over pairs of Φ(−|μ_i − μ_j|/sd_ij). θ̂ orders items as their
    scores s_i = Σ_{k≠i} z̄_ik do, whatever the ridge. So this needs no linearisation
    of the estimator: μ_i = Σ_{k≠i} σ(θ_i − θ_k),
    sd_ij² = Var(s_i − s_j) = V_i + V_j + 2V_ij, with V_ij = Var(z̄_ij) and V_i its
    sum over the others. theta: (reps, m); epsilon, users, weights: (group,) or scalar
    -> (reps,). O(reps · m²).
    Source: Xu, Sun and Cheng, eq. (3) and Lemma 2, by the central limit theorem.
    """
    theta = np.asarray(theta, float)
    reps, m = theta.shape
    comparison, privacy = score_variance(epsilon, users, weights)
    first, second = np.triu_indices(m, 1)
    distance = np.empty(reps)
    for rows in _slices(reps, m):
        beats = expit(theta[rows, :, None] - theta[rows, None, :])
        variance = comparison * beats * beats.mT + privacy
        np.einsum("rii->ri", variance)[...] = 0
        wins = beats.sum(axis=2)
        total = variance.sum(axis=2)
        square = total[:, first] + total[:, second] + 2 * variance[:, first, second]
        lead = np.abs(wins[:, first] - wins[:, second]) / np.sqrt(square)
        distance[rows] = ndtr(-lead).mean(axis=1)
    return distance


def _slices(reps: int, m: int) -> Iterator[slice]:
    length = max(1, _SLICE_BYTES // (8 * m * m))
    return (slice(start, start + length) for start in range(0, reps, length))
