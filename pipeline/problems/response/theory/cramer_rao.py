"""The Cramér–Rao bound of the Rasch model: how well responses without privacy determine the difficulties."""

import numpy as np

from pipeline.study.arrays import Floats

SLICE_CELLS = 1 << 17  # responses processed at a time: about what the L2 cache holds


def item_information(theta: Floats, ability: Floats) -> Floats:
    """Fisher information of β if all responses are observed and abilities are unknown; (reps, m, m).

    theta: β*, (reps, m), logits. ability: θ*, (reps, n), logits.

    With v_li = σ'(θ_l − β_i) the information of (β, θ) is a bipartite Laplacian; what is left of it for β is
    Σ_l (diag(v_l) − v_l v_lᵀ/Σ_i v_li), whose rows sum to 0. O(reps · n · m²). Infinite logits give NaN or 0.
    """
    reps, m = theta.shape
    information, odds = np.zeros((reps, m, m)), np.exp(theta)
    width = max(1, SLICE_CELLS // m)
    for row in range(reps):
        own = np.zeros(m)
        for start in range(0, ability.shape[1], width):
            skill = np.exp(ability[row, start : start + width, None])
            weight = skill * odds[row] / (skill + odds[row]) ** 2
            total = weight.sum(axis=1)
            own += weight.sum(axis=0)
            weight /= np.sqrt(total)[:, None]
            information[row] -= weight.T @ weight
        information[row].flat[:: m + 1] += own
    return information


def cramer_rao_risk(theta: Floats, ability: Floats, p: float = 1.0) -> Floats:
    """Cramér–Rao bound tr(I⁺)/m on E‖β̂ − β*‖₂²/m of unbiased estimators with Σβ̂ = 0, without privacy; logits².

    theta: β*, (reps, m). ability: θ*, (reps, n), unknown to the estimator. p: probability that a response is observed;
    responses missing at random leave p times the information of all. Of order 1/(np). Returns (reps,), NaN without
    persons. O(reps · (n · m² + m³)).
    Source: Fisher information of eq. (1) of Nguyen and Zhang; that the bound is of order m/(np) for ‖·‖₂² is Theorem
    3.5 of Nguyen and Zhang (2022), which Theorem 3.3 extends to all estimators.
    """
    reps, m = theta.shape
    if not ability.shape[1]:
        return np.full(reps, np.nan)
    information = item_information(np.asarray(theta, float), np.asarray(ability, float))
    level = np.einsum("rii->r", information) / m
    filled = information + (level / m)[:, None, None]  # the null vector 1 gets the eigenvalue `level`
    risk: Floats = (np.einsum("rii->r", np.linalg.inv(filled)) - 1 / level) / (m * p)
    return risk
