"""Yardsticks of the private Bradley–Terry–Luce model: sandwich covariance, Cramér–Rao bound.

Both are Laplacians of the complete graph on the m items. With p = σ(θ_i −
θ_j), w = p(1 − p): H has weights w, the variance of the score has weights
V_ij = Var(z̄_ij), the released comparisons carry information with weights
Σ_l t²w²/(p̃(1 − p̃)). Xu, Sun and Cheng give rates only; these give the
constants.
"""

from typing import NamedTuple

import numpy as np

from pipeline.kernels.loader import function
from pipeline.problems.common.laplacians import inverse_laplacian
from pipeline.problems.common.pair_sums import pair_sums
from pipeline.study.arrays import Floats, Numbers

# Items up to which risks are compiled, replications side by side; with more, LAPACK's
# blocks are as fast.
MANY = 400
BOTH = (True, True)  # sandwich risk, Cramér–Rao risk
SANDWICH = (True, False)
BOUND = (False, True)
# Logits, and the variance of a pair's mean: own is the comparisons' part, privacy that of noise.
ESTIMATES = """
    m: size; m >= 1
    reps: size
    theta: f8[reps, m]
    ridge: f8[reps]
    own: f8
    privacy: f8
"""
_compiled = function(
    __file__,
    "risks",
    f"""{ESTIMATES}
    groups: size
    users: f8[groups]
    noise: f8[groups]
    wanted: u1[2]
    sandwich: out f8[reps]
    bound: out f8[reps]
""",
)
_variances = function(
    __file__,
    "variances",
    f"""{ESTIMATES}
    variance: out f8[reps, m]
    image: out f8[reps, m]
""",
)


def debiased_variance(probability: Numbers, epsilon: Numbers) -> Floats:
    """Variance a²(¼ − t²(p − ½)²) of one debiased comparison z; broadcasts.

    It is p(1 − p) + e^ε/(e^ε − 1)²: the comparison's own variance plus
    privacy's, whatever p. Equals the paper's form, without its cancellation
    near p = 0 or 1. Source: Xu, Sun and Cheng, Lemma 2.
    """
    probability = np.asarray(probability, float)
    variance: Floats = probability * (1 - probability) + _privacy_variance(epsilon)
    return variance


def curvature(theta: Floats) -> Floats:
    """w_ij = σ(θ_i − θ_j) σ(θ_j − θ_i), zero on the diagonal; (reps, m) logits -> (reps, m, m).

    Rows must span less than 700 logits.
    Source: Xu, Sun and Cheng, Lemma S5.
    """
    theta = np.asarray(theta, float)
    middle = (theta.max(axis=-1, keepdims=True) + theta.min(axis=-1, keepdims=True)) / 2
    odds = np.exp(theta - middle)
    weights: Floats = pair_sums(odds)
    np.divide(1.0, weights, out=weights)
    np.multiply(weights, weights, out=weights)
    weights *= odds[..., :, None]
    weights *= odds[..., None, :]
    np.einsum("...ii->...i", weights)[...] = 0
    return weights


def risks(
    theta: Floats,
    epsilon: Numbers,
    users: Numbers,
    ridge: Numbers = 0.0,
    weights: Floats | None = None,
) -> Floats:
    """`sandwich_risk` and `cramer_rao_risk` as two rows, (2, reps).

    Arguments and source as theirs.
    """
    return np.array(_risks(theta, epsilon, users, ridge, weights, BOTH))


def sandwich_risk(
    theta: Floats,
    epsilon: Numbers,
    users: Numbers,
    ridge: Numbers = 0.0,
    weights: Floats | None = None,
) -> Floats:
    """Predicted E‖θ̂ − θ*‖₂²/m of the debiased M-estimator, to first order in its score; logits².

    [tr((H+2λI)⁺ V (H+2λI)⁺) + 4λ²‖(H+2λI)⁺θ*‖²]/m in the space Σθ = 0; at λ
    = 0 it is tr(H⁺VH⁺)/m. V_ij = Σ_l v_l² Var(z_ij^(l))/(Σ_l v_l)², where
    z̄ weights users by v. The first order speaks when the errors are small
    against 1; a ridge comparable to H's eigenvalues (m/4 at most) makes it
    rough.

    theta: (reps, m), rows summing to 0. epsilon, users, weights v: (group,)
    or scalar; weights None is equal weights, and attenuation(epsilon)² is
    nearly optimal. ridge λ ≥ 0: scalar or (reps,). Returns (reps,), NaN
    where H's condition number exceeds 1e12 (rows spanning about 28 logits).
    O(reps · m³). Source: eq. (3), Lemmas 2 and S5 of Xu, Sun and Cheng, by
    the delta method.
    """
    sandwich, _ = _risks(theta, epsilon, users, ridge, weights, SANDWICH)
    return sandwich


def cramer_rao_risk(theta: Floats, epsilon: Numbers, users: Numbers) -> Floats:
    """Cramér–Rao bound tr(I⁺)/m on E‖θ̂ − θ*‖₂²/m of unbiased estimators with Σθ̂ = 0; logits².

    I = Σ_l Σ_{i<j} t_l²w²/(p̃(1 − p̃)) (e_i − e_j)(e_i − e_j)ᵀ, from the
    law of the released comparisons.

    theta: (reps, m). epsilon, users: (group,) or scalar. Returns (reps,),
    NaN where I's condition number exceeds 1e12. O(reps · (m³ + groups ·
    m²)). Source: Fisher information of Lemma 1 of Xu, Sun and Cheng.
    """
    _, bound = _risks(theta, epsilon, users, 0.0, None, BOUND)
    return bound


def sandwich_covariance(
    theta: Floats,
    epsilon: Numbers,
    users: Numbers,
    ridge: Numbers = 0.0,
    weights: Floats | None = None,
) -> Floats:
    """Covariance (H+2λI)⁺V(H+2λI)⁺ of the debiased M-estimator to first order.

    (reps, m, m), logits². Arguments and source as in `sandwich_risk`,
    without the ridge's bias. O(reps · m³).
    """
    theta = np.asarray(theta, float)
    ridge = np.broadcast_to(np.asarray(ridge, float), len(theta))
    comparison, privacy = score_variance(epsilon, users, weights)
    inverse = inverse_laplacian(curvature(theta), ridge)
    of_square = privacy * theta.shape[1] - 2 * comparison * ridge[:, None, None]
    covariance: Floats = comparison * inverse + of_square * (inverse @ inverse)
    return covariance


class Variances(NamedTuple):
    """Diagonal of (H+2λI)⁺V(H+2λI)⁺ and (H+2λI)⁺θ, (reps, m) each."""

    variance: Floats
    image: Floats


def complete_variances(theta: Floats, comparison: float, privacy: float, ridge: float) -> Variances:
    """Variances of all scores where all users compared all pairs, and Var(z̄_ij) = s·w_ij + c.

    theta: (reps, m), logits. comparison s, privacy c: see `score_variance`. ridge λ ≥ 0. NaN where
    the condition number exceeds 1e12. Compiled; O(reps · m³). Source: as `sandwich_risk`.
    """
    reps, m = theta.shape
    variance = np.empty((reps, m))
    image = np.empty((reps, m))
    ridges = np.full(reps, ridge)
    rows = np.ascontiguousarray(theta, float)
    _variances(m, reps, rows, ridges, comparison, privacy, variance, image)
    return Variances(variance, image)


def _privacy_variance(epsilon: Numbers) -> Floats:
    """(a² − 1)/4 = e^ε/(e^ε − 1)²; zero at ε = ∞."""
    epsilon = np.asarray(epsilon, float)
    variance: Floats = np.exp(-epsilon) / np.expm1(-epsilon) ** 2
    return variance


def score_variance(
    epsilon: Numbers, users: Numbers, weights: Floats | None = None
) -> tuple[float, float]:
    """Scalars s, c such that Var(z̄_ij) = s·w_ij + c: the comparison's own share and privacy's.

    Arguments as in `sandwich_risk`.
    """
    of_one_user, users, weights = np.broadcast_arrays(
        _privacy_variance(epsilon), np.asarray(users, float), 1.0 if weights is None else weights
    )
    square = users * weights**2 / np.sum(users * weights) ** 2
    return np.sum(square), np.sum(square * of_one_user)


class _Law(NamedTuple):
    """What risks need of a release.

    comparison, privacy: of `score_variance`. users: (groups,). noise:
    (groups,), variance that privacy adds to a debiased comparison.
    """

    comparison: float
    privacy: float
    users: Floats
    noise: Floats


def _risks(
    theta: Floats,
    epsilon: Numbers,
    users: Numbers,
    ridge: Numbers,
    weights: Floats | None,
    wanted: tuple[bool, bool],
) -> tuple[Floats, Floats]:
    """Sandwich risk and Cramér–Rao risk, each (reps,); what is not `wanted` is not computed."""
    theta = np.asarray(theta, float)
    reps, m = theta.shape
    shares_theta = reps > 1 and theta.strides[0] == 0
    if shares_theta and np.ndim(ridge) == 0:
        sandwich, bound = _risks(theta[:1], epsilon, users, ridge, weights, wanted)
        return np.repeat(sandwich, reps), np.repeat(bound, reps)
    ridges = np.array(np.broadcast_to(ridge, reps), float)
    comparison, privacy = score_variance(epsilon, users, weights)
    noise = np.atleast_1d(_privacy_variance(epsilon))
    noise, groups = np.broadcast_arrays(noise, np.asarray(users, float))
    law = _Law(comparison, privacy, np.array(groups), np.array(noise))
    if m <= MANY:
        return _compiled_risks(theta, ridges, law, wanted)
    return _risks_one_by_one(theta, ridges, law, wanted)


def _compiled_risks(
    theta: Floats, ridges: Floats, law: _Law, wanted: tuple[bool, bool]
) -> tuple[Floats, Floats]:
    reps, m = theta.shape
    sandwich = np.empty(reps)
    bound = np.empty(reps)
    _compiled(
        m,
        reps,
        np.ascontiguousarray(theta),
        ridges,
        law.comparison,
        law.privacy,
        len(law.noise),
        law.users,
        law.noise,
        np.array(wanted, np.uint8),
        sandwich,
        bound,
    )
    return sandwich, bound


def _risks_one_by_one(
    theta: Floats, ridges: Floats, law: _Law, wanted: tuple[bool, bool]
) -> tuple[Floats, Floats]:
    sandwich = np.empty(len(theta))
    bound = np.empty(len(theta))
    for row in range(len(theta)):
        curve = curvature(theta[row : row + 1])
        if wanted[0]:
            sandwich[row] = _sandwich_risk(curve, theta[row], ridges[row : row + 1], law)
        if wanted[1]:
            bound[row] = _bound(curve, law)
    return sandwich, bound


def _sandwich_risk(curve: Floats, theta: Floats, ridge: Floats, law: _Law) -> float:
    """Sandwich risk of one θ*, (m,); curve: (1, m, m), ridge: (1,)."""
    # V = s·H + c·(mI − 11ᵀ), so that AVA is a polynomial in A = (H + 2λI)⁺: one
    # inverse is enough.
    m = len(theta)
    inverse = inverse_laplacian(curve, ridge)[0]
    bias = 2 * ridge[0] * inverse @ theta
    of_square = law.privacy * m - 2 * law.comparison * ridge[0]
    variance = law.comparison * np.trace(inverse) + of_square * np.vdot(inverse, inverse)
    return float((variance + bias @ bias) / m)


def _bound(curve: Floats, law: _Law) -> float:
    """Cramér–Rao risk of one θ*; curve: (1, m, m)."""
    m = curve.shape[1]
    # p̃(1 − p̃) = t²·Var(z), so a group's weight is users·w²/(w + its privacy
    # variance).
    positive_noise = np.maximum(law.noise, np.finfo(float).tiny)  # keeps 0/0 off the diagonal
    groups = zip(law.users, positive_noise, strict=True)
    edges = sum(n * curve / (curve + c) for n, c in groups) * curve
    inverse = inverse_laplacian(edges, np.zeros(1))[0]
    return float(np.trace(inverse) / m)
