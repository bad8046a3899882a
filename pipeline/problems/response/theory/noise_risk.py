"""What noise on counts of pairs adds to the squared error, to first order in the noise."""

import numpy as np
from scipy.special import expit

from pipeline.kernels.loader import function
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, nearest

ESTIMATORS = ("spectral", "pairwise_likelihood")
LARGEST = 700  # logits: e^β stays finite
NEAR = 1e-5  # logits: where a difference quotient and a derivative are about as accurate
_sums = function(
    __file__,
    "sums",
    """
    reps: size
    n: size
    m: size; m >= 1
    skill: f8[reps, n]
    difficulty: f8[reps, m]
    wrong: out f8[reps, m]
    right: out f8[reps, m]
    spread: out f8[reps, m]
""",
)


def expected_counts(theta: Floats, ability: Floats, p: float = 1.0) -> Floats:
    """E[Y_ij | β*, θ*] = p² Σ_l σ(θ_l − β_i) σ(β_j − θ_l), 0 on the diagonal; (reps, m, m).

    theta: β*, (reps, m). ability: θ*, (reps, n). With W_i = Σ_l σ(β_i −
    θ_l) the sum over persons is (W_i − W_j)/(e^(β_i − β_j) − 1), or with
    R_j − R_i, of right answers, where these are fewer. For |β_i − β_j| <
    10⁻⁵ it is (1 + (β_j − β_i)/2) (W_i' + W_j')/2, with the derivatives W'.
    Both are right to 10 digits. O(reps · (n · m + m²)). Source: Nguyen and
    Zhang, eqs. (1) and (2).
    """
    reps, m = theta.shape
    n = ability.shape[1]
    wrong, right, spread = np.empty((3, reps, m))
    skill = np.ascontiguousarray(np.exp(np.minimum(ability, LARGEST)))
    difficulty = np.ascontiguousarray(np.exp(np.minimum(theta, LARGEST)))
    _sums(reps, n, m, skill, difficulty, wrong, right, spread)
    gap = theta[:, :, None] - theta[:, None]
    near = np.abs(gap) < NEAR
    more_wrong = np.maximum(wrong[:, :, None], wrong[:, None])
    more_right = np.maximum(right[:, :, None], right[:, None])
    of_wrong = wrong[:, :, None] - wrong[:, None]
    of_right = right[:, None] - right[:, :, None]
    difference = np.where(more_wrong < more_right, of_wrong, of_right)
    with np.errstate(over="ignore"):
        quotient = difference / np.where(near, 1, np.expm1(gap))
        derivative = (1 - gap / 2) * (spread[:, :, None] + spread[:, None]) / 2
        counts: Floats = np.where(near, derivative, quotient)
    np.einsum("rii->ri", counts)[...] = 0
    return p**2 * counts


def noise_risk(estimator: str, theta: Floats, counts: Floats, variance: Floats) -> Floats:
    """First-order mean of ‖β̂ − β̂₀‖₂²/m: σ² tr(L⁺KL⁺)/m, logits²; (reps,).

    β̂₀: the estimate without noise. theta: β*, (reps, m). counts: E[Y],
    (reps, m, m). variance: σ² of independent noise on every Y_ij, i ≠ j,
    (reps,). Both estimators solve Σ_i (w_ij Y_ij − w_ji Y_ji) = 0 for every
    j, the spectral one with w_ij = e^β_i, pairwise likelihood with w_ij =
    σ(β_i − β_j). The weighted counts w_ij E[Y_ij] are symmetric in i and j:
    with L their Laplacian, and K that of w_ij² + w_ji², noise Z moves the
    estimate by L⁺r, r_j = Σ_i (w_ij Z_ij − w_ji Z_ji), and Cov r = σ²K.
    Where E[Y] ∝ n and σ² ∝ m²/ρ this is m/(nρ) times the error without
    noise, up to a constant that depends on how β* spreads: with the
    spectral weights e^β the noise of the hardest items affects all. O(reps
    · m³).
    """
    if estimator not in ESTIMATORS:
        raise InvalidInput("estimator", estimator, nearest(estimator, ESTIMATORS))
    if estimator == "spectral":
        relative = np.exp(theta - theta.max(axis=1, keepdims=True))
        weight = relative[:, :, None] * np.ones_like(counts)
        slope = weight * counts
    else:
        weight = expit(theta[:, :, None] - theta[:, None])
        slope = weight * weight.swapaxes(1, 2) * (counts + counts.swapaxes(1, 2))
    laplacian = _laplacian((slope + slope.swapaxes(1, 2)) / 2)
    # L⁺ and a multiple of 11ᵀ.
    inverse = np.linalg.inv(laplacian + np.einsum("rii->r", laplacian)[:, None, None])
    spread = _laplacian(weight**2 + weight.swapaxes(1, 2) ** 2)
    trace = np.einsum("rij,rjk,rki->r", inverse, spread, inverse, optimize=True)
    risk: Floats = variance * trace / theta.shape[1]
    return risk


def _laplacian(weights: Floats) -> Floats:
    """Laplacians of symmetric weights, whose diagonal does not count; (reps, m, m)."""
    laplacian = -weights
    np.einsum("rii->ri", laplacian)[...] = 0
    np.einsum("rii->ri", laplacian)[...] = -laplacian.sum(axis=2)
    return laplacian
