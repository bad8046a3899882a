"""The debiased estimator to first order in its scores: exact moments of its squared error.

θ̂ ≈ θ* + A(s − E s) + b with A = (H + 2λI)⁺ and b = −2λAθ*, in the space Σθ
= 0. Its squared error Q = ‖A(s − E s) + b‖²/m is a quadratic form of
independent binomial variables, so that its mean and its variance are known
exactly, whatever L. Sources: eq. (3) and Lemmas 2 and S5 of Xu, Sun and
Cheng; cumulants of sums.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.privacy.randomized_response_laws import amplification, released_probability
from pipeline.problems.common.laplacians import inverse_laplacian
from pipeline.study.arrays import Floats, Integers

from ..estimators.newton import scores
from .risk import curvature, score_variance

# Of one slice's (rep, item, item) array: a few such arrays stay in the cache.
_SLICE_BYTES = 1 << 19


class SquaredError(NamedTuple):
    """Q, its mean and its variance given θ*; (reps,) each, logits² and logits⁴.

    NaN where H is singular.
    """

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
    """Q of a block.

    theta: (reps, m). mean: (reps, pairs), z̄. epsilon, users, weights:
    (groups,); ridge λ ≥ 0.

    With e = A(s − E s) + b: E Q = (tr C + ‖b‖²)/m, C the sandwich; Var Q =
    [2 tr C² + 4 bᵀCb + Σ_p M_p²κ₄ + 4 M_p γ_p κ₃]/m² over pairs p = (i, j),
    where κ are the cumulants of z̄_p, M_p = (A²)_ii + (A²)_jj − 2 (A²)_ij
    and γ_p = (Ab)_i − (Ab)_j. O(reps · m³).
    """
    reps, m = theta.shape
    value = np.empty(reps)
    expected = np.empty(reps)
    variance = np.empty(reps)
    length = max(1, _SLICE_BYTES // (8 * m * m))
    law = _Law(epsilon, users, weights)
    for start in range(0, reps, length):
        rows = slice(start, start + length)
        of_slice = _squared_error(theta[rows], mean[rows], law, ridge)
        value[rows] = of_slice.value
        expected[rows] = of_slice.mean
        variance[rows] = of_slice.variance
    return SquaredError(value, expected, variance)


@dataclass(frozen=True)
class _Law:
    """Groups of users by which released comparisons vary: (groups,) each.

    Weights None are all alike.
    """

    epsilon: Floats
    users: Integers
    weights: Floats | None


def _squared_error(theta: Floats, mean: Floats, law: _Law, ridge: float) -> SquaredError:
    m = theta.shape[1]
    first, second = np.triu_indices(m, 1)
    comparison, privacy = score_variance(law.epsilon, law.users, law.weights)
    inverse = inverse_laplacian(curvature(theta), np.full(len(theta), ridge))  # A
    square = inverse @ inverse
    covariance = comparison * inverse + (privacy * m - 2 * comparison * ridge) * square  # C
    bias = -2 * ridge * np.matvec(inverse, theta)  # b

    chance = 1 / (1 + np.exp(theta[:, second] - theta[:, first]))
    score_errors = scores(mean - chance + 0.5, m)  # constants vanish
    error = np.matvec(inverse, score_errors) + bias
    value = np.vecdot(error, error) / m
    expected = (np.einsum("rii->r", covariance) + np.vecdot(bias, bias)) / m

    normal = 2 * np.einsum("rij,rij->r", covariance, covariance)
    shifted = 4 * np.vecdot(bias, np.matvec(covariance, bias))
    skew = _higher_moments(chance, law, square, np.matvec(inverse, bias))
    return SquaredError(value, expected, (normal + shifted + skew) / m**2)


def _higher_moments(chance: Floats, law: _Law, square: Floats, turned: Floats) -> Floats:
    """Σ M (M κ₄ + 4 γ κ₃) over pairs, (reps,): what the error's variance has beyond a normal one.

    square: A², (reps, m, m). turned: Ab, (reps, m).
    """
    first, second = np.triu_indices(square.shape[1], 1)
    third, fourth = cumulants(chance, law.epsilon, law.users, law.weights)
    diagonal = np.einsum("rii->ri", square)
    weight = diagonal[:, first] + diagonal[:, second] - 2 * square[:, first, second]  # M
    slope = turned[:, first] - turned[:, second]  # γ
    total: Floats = (weight * (weight * fourth + 4 * slope * third)).sum(axis=1)
    return total


def cumulants(
    chance: Floats, epsilon: Floats, users: Integers, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Third and fourth cumulant of z̄ after randomized response.

    chance: (reps, pairs), P(i beats j). z̄ = const + Σ_g k_g W_g, W_g ~
    Binomial(n_g, p̃), k_g = v_g a_g/Σ v n: κ₃ = Σ k³n p̃(1 − p̃)(1 − 2p̃)
    and κ₄ = Σ k⁴n p̃(1 − p̃)(1 − 6p̃(1 − p̃)). weights v: (groups,), None
    is all alike. Returns (reps, pairs) each.
    """
    v = np.ones(len(users)) if weights is None else weights
    factors = v * amplification(epsilon) / (v * users).sum()
    third = np.zeros(chance.shape)
    fourth = np.zeros(chance.shape)
    for n, budget, k in zip(users, epsilon, factors, strict=True):
        p = released_probability(chance, budget)
        single = p * (1 - p)
        third += k**3 * n * single * (1 - 2 * p)
        fourth += k**4 * n * single * (1 - 6 * single)
    return third, fourth
