"""The debiased estimator to first order in its scores, and the exact moments of its squared error given θ*.

θ̂ ≈ θ* + A(s − E s) + b with A = (H + 2λI)⁺ and b = −2λAθ*, in the space Σθ = 0. Its squared error Q = ‖A(s − E s) +
b‖²/m is a quadratic form of independent binomial variables, so that its mean and its variance are known exactly,
whatever L. Sources: eq. (3) and Lemmas 2 and S5 of Xu, Sun and Cheng; cumulants of sums.
"""

from typing import NamedTuple

import numpy as np

from pipeline.privacy.randomized_response_laws import amplification, released_probability
from pipeline.study.arrays import Floats, Integers

from ..estimators.newton import scores
from .risk import curvature, inverse_laplacian, score_variance

_SLICE_BYTES = (
    1 << 19
)  # of one slice's (rep, item, item) array: a few such arrays stay in the cache


class SquaredError(NamedTuple):
    """Q, its mean and its variance given θ*; (reps,) each, logits² and logits⁴; NaN where H is singular."""

    value: Floats
    mean: Floats
    variance: Floats


def squared_error(
    theta: Floats,
    mean: Floats,
    epsilon: Floats,
    users: Integers,
    ridge: float,
    weights: Floats | None = None,
) -> SquaredError:
    """Q of a block. theta: (reps, m). mean: (reps, pairs), z̄. epsilon, users, weights: (groups,); ridge λ ≥ 0.

    With e = A(s − E s) + b: E Q = (tr C + ‖b‖²)/m, C the sandwich; Var Q = [2 tr C² + 4 bᵀCb + Σ_p M_p²κ₄ + 4 M_p γ_p
    κ₃]/m² over pairs p = (i, j), where κ are the cumulants of z̄_p, M_p = (A²)_ii + (A²)_jj − 2 (A²)_ij and γ_p =
    (Ab)_i − (Ab)_j. O(reps · m³).
    """
    reps, m = theta.shape
    result = np.empty((3, reps))
    length = max(1, _SLICE_BYTES // (8 * m * m))
    own, privacy = score_variance(epsilon, users, weights)
    for start in range(0, reps, length):
        rows = slice(start, start + length)
        result[:, rows] = _of_slice(
            theta[rows], mean[rows], epsilon, users, ridge, weights, own, privacy
        )
    return SquaredError(*result)


def _of_slice(
    theta: Floats,
    mean: Floats,
    epsilon: Floats,
    users: Integers,
    ridge: float,
    weights: Floats | None,
    own: float,
    privacy: float,
) -> Floats:
    m = theta.shape[1]
    first, second = np.triu_indices(m, 1)
    inverse = inverse_laplacian(curvature(theta), np.full(len(theta), ridge))
    square = inverse @ inverse
    covariance = own * inverse + (privacy * m - 2 * own * ridge) * square
    bias = -2 * ridge * np.matvec(inverse, theta)
    chance = 1 / (1 + np.exp(theta[:, second] - theta[:, first]))
    error = np.matvec(inverse, scores(mean - chance + 0.5, m)) + bias  # constants vanish
    third, fourth = cumulants(chance, epsilon, users, weights)
    diagonal, turned = np.einsum("rii->ri", square), np.matvec(inverse, bias)
    weight = diagonal[:, first] + diagonal[:, second] - 2 * square[:, first, second]
    slope = turned[:, first] - turned[:, second]
    variance = (
        2 * np.einsum("rij,rij->r", covariance, covariance)
        + 4 * np.vecdot(bias, np.matvec(covariance, bias))
        + (weight * (weight * fourth + 4 * slope * third)).sum(axis=1)
    )
    return np.stack(
        [
            np.vecdot(error, error) / m,
            (np.einsum("rii->r", covariance) + np.vecdot(bias, bias)) / m,
            variance / m**2,
        ]
    )


def cumulants(
    chance: Floats, epsilon: Floats, users: Integers, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Third and fourth cumulant of z̄ after randomized response; chance: (reps, pairs), P(i beats j).

    z̄ = const + Σ_g k_g W_g, W_g ~ Binomial(n_g, p̃), k_g = v_g a_g/Σ v n: κ₃ = Σ k³n p̃(1 − p̃)(1 − 2p̃) and
    κ₄ = Σ k⁴n p̃(1 − p̃)(1 − 6p̃(1 − p̃)). weights v: (groups,), None is all alike. Returns (reps, pairs) each.
    """
    v = np.ones(len(users)) if weights is None else weights
    third, fourth = np.zeros((2, *chance.shape))
    for n, one, k in zip(
        users, epsilon, v * amplification(epsilon) / (v * users).sum(), strict=True
    ):
        p = released_probability(chance, one)
        single = p * (1 - p)
        third += k**3 * n * single * (1 - 2 * p)
        fourth += k**4 * n * single * (1 - 6 * single)
    return third, fourth
