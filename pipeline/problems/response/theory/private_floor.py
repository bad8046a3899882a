"""What no private release of responses can tell: a floor of the error, whatever estimates.

M is any ρ-zCDP release of n persons' rows, A(M) the score of its law in β, which is the
mean of Σ_l s_l given M, s_l the score of person l's row. Of M', the release with
that row replaced by a fresh one, s_l knows nothing: E ⟨s_l, A(M')⟩ = 0. Order 2 of
ρ-zCDP bounds the χ² divergence of M from M' by e^{2ρ} − 1, so that

    E‖A‖² = Σ_l E ⟨s_l, A(M)⟩ ≤ n √(e^{2ρ} − 1) √(λ E‖A‖²),

λ the largest eigenvalue of the information in one row. The information in M has a
trace of n²(e^{2ρ} − 1)λ at most, over all items together. With β of independent
normal laws of variance τ², in the m − 1 directions that sum to 0, van Trees's
inequality makes of it

    E‖β̂ − β‖² ≥ (m − 1) / (1/τ² + n²(e^{2ρ} − 1)λ/(m − 1)).

λ is E σ'(θ) at most: to know abilities adds information, and given them it is
diagonal.
Source: the argument of Cai, Wang and Zhang (2021) for (ε, δ), here for ρ.
"""

import math

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Floats

from .abilities import ability_points


def row_information(law: str, spread: float) -> float:
    """E σ'(θ), the most that a person's answer to an item tells of its difficulty; logits⁻².

    law, spread: of abilities.

    >>> round(row_information("normal", 1.0), 4)
    0.2066
    """
    points, weights = ability_points(law, spread)
    right = expit(points)
    return float(weights @ (right * (1 - right)))


def private_floor(
    m: int, n: int, rho: float, item_spread: float = 1.0, law: str = "normal", spread: float = 1.0
) -> float:
    """Least E‖β̂ − β*‖₂²/m over that of the estimate 0, of all ρ-zCDP releases and estimators.

    β* normal of this standard deviation; law, spread: of abilities.
    """
    information = n**2 * math.expm1(2 * rho) * row_information(law, spread)
    return 1 / (1 + item_spread**2 * information / (m - 1))


def mean_slope(item_spread: float, law: str, spread: float) -> float:
    """E σ'(θ − β) over normal difficulties: logits of β to chances of a right answer.

    By it the best linear estimate takes a share of right answers back to β, as
    Stein's lemma says.
    """
    points, weights = ability_points(law, spread)
    items, shares = ability_points("normal", item_spread)
    right = expit(np.subtract.outer(points, items))
    return float(weights @ (right * (1 - right)) @ shares)


def shrunk_risk(
    m: int,
    n: int,
    variance: float | Floats,
    item_spread: float = 1.0,
    law: str = "normal",
    spread: float = 1.0,
) -> Floats:
    """Predicted E‖β̂ − β*‖₂²/m of `ShrunkScores` over that of the estimate 0.

    variance: σ² of the noise on every count. First order in what is not noise: 1 − r²,
    r the correlation of a difficulty with its score.
    """
    slope = mean_slope(item_spread, law, spread)
    residual = score_variance(m, n, variance, item_spread, law, spread)
    signal = (slope * item_spread) ** 2
    return np.asarray(1 - signal / (signal + residual))


def score_variance(
    m: int,
    n: int,
    variance: float | Floats,
    item_spread: float,
    law: str,
    spread: float,
) -> Floats:
    """Variance of an item's score about the line in β: noise, persons, and what is not linear.

    The score is Σ_j (Y_ji − Y_ij)/(nm), the share of wrong answers less its mean
    over items. Its noise has variance 2(m − 1)σ²/(nm)², of which (m − 1)/m are in the
    directions that sum to 0.
    """
    points, weights = ability_points(law, spread)
    items, shares = ability_points("normal", item_spread)
    right = expit(np.subtract.outer(points, items))
    chance = weights @ right
    whole = float(shares @ (chance - shares @ chance) ** 2)
    slope = mean_slope(item_spread, law, spread)
    curved = whole - (slope * item_spread) ** 2
    one_person = float(weights @ (right * (1 - right)) @ shares)
    noise = 2 * np.asarray(variance) / (n**2 * m)
    return np.asarray(curved + one_person / n + noise)
