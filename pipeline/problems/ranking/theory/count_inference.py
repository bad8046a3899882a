"""How sure scores are that were fitted to noisy counts of wins of a release,
from the counts alone.

W_ij is how often i won against j, with independent noise of variance s² on
each. The scores of a Bradley–Terry–Luce model solve Ψ_i(θ) = Σ_j [W_ij σ(θ_j
− θ_i) − W_ji σ(θ_i − θ_j)] = 0. Its slope is −K, K the Laplacian with weights
n_ij w_ij, n = W_ij + W_ji and w = σ(1 − σ), and Cov Ψ = V the Laplacian with
weights n_ij w_ij + s² (σ_ij² + σ_ji²), σ_ij = σ(θ_i − θ_j). Counts below 0
that were taken as 0, and a ridge, make θ̂ another point than the solution;
one step of Newton's method,

    θ̃ = θ̂ + K⁺Ψ(θ̂),    Cov θ̃ = K⁺VK⁺,

takes that off to first order. Where noise is Laplace, the noise in W_ij is in θ̃_k
with the weight (K⁺_ki − K⁺_kj) σ_ji, and quantiles are those of its kurtosis
(`problems.common.heavy_tails`). Comparisons are taken as independent given the
scores, as the model has it.

Source: first principles; the sandwich and the step as in `theory.inference`.
"""

import numpy as np
from scipy.special import expit

from pipeline.problems.common.heavy_tails import excess_kurtosis, fourth_cumulants, pair_parts
from pipeline.problems.common.laplacians import inverse_laplacian, is_definite, laplacian_of
from pipeline.problems.common.normal_scores import SingleScores, Tails
from pipeline.problems.common.ranks import difference_errors
from pipeline.study.arrays import Array, Floats


def count_scores(
    fitted: Floats, counts: Array, variance: float, fourth: float = 0.0
) -> SingleScores:
    """θ̃ of θ̂ = fitted, (m,), from counts (pairs, 2): first won, second won. variance: s².

    fourth: the fourth cumulant of the noise in one count. NaN where K is not positive definite, as
    where noise outweighs the counts. O(m³), with a fourth cumulant O(m⁴).

    >>> scores = count_scores(np.zeros(2), np.array([[90, 10]]), 0.0)
    >>> float(scores.theta[0] - scores.theta[1]), round(float(scores.errors[0]), 3)
    (1.6, 0.1)
    """
    m = len(fitted)
    first, second = np.triu_indices(m, 1)
    won = np.zeros((m, m))
    won[first, second] = counts[:, 0]
    won[second, first] = counts[:, 1]
    ahead = expit(fitted[:, None] - fitted)
    behind = ahead.T
    total = won + won.T
    curvature = total * ahead * behind
    spread = np.maximum(curvature, 0) + variance * (ahead**2 + behind**2) * (1 - np.eye(m))
    pull = (won * behind - won.T * ahead).sum(axis=1)
    with np.errstate(all="ignore"):
        inverse = inverse_laplacian(curvature[None], np.zeros(1))[0]
    covariance = inverse @ laplacian_of(spread[None])[0] @ inverse
    if not is_definite(curvature[None])[0]:
        covariance = np.full((m, m), np.nan)
    errors = np.sqrt(np.einsum("ii->i", covariance))
    centre = np.where(np.isnan(errors), np.nan, fitted + inverse @ pull)
    tails = Tails()
    if fourth > 0:
        tails = _tails(inverse, fourth * (ahead**4 + behind**4), covariance)
    return SingleScores(centre, errors, covariance, tails)


def _tails(inverse: Floats, fourth: Floats, covariance: Floats) -> Tails:
    """Excess kurtosis of θ̃ and its differences. fourth: of both counts of pairs, (m, m)."""
    parts = list(pair_parts(inverse[None], fourth[None]))
    variance = np.einsum("ii->i", covariance)
    scores = excess_kurtosis(fourth_cumulants(parts, False), variance[None])
    apart = difference_errors(covariance)[None] ** 2
    return Tails(scores, excess_kurtosis(fourth_cumulants(parts, True), apart))
