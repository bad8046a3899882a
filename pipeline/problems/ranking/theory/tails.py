"""Exact tail probabilities of the debiased estimator for two items, however small.

For m = 2 the estimate is a rising function of the one mean comparison z̄,
whose law is that of weighted binomial variables: all statements on
probabilities in Theorems 1, 2 and 4 to 6 of Xu, Sun and Cheng are then
sums. Budgets in groups: `epsilon`, `users` (group,), at most two.
Probabilities are given as −log P, nats.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy
from scipy.special import expit, logsumexp

from pipeline.privacy.randomized_response_laws import amplification, released_probability
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput

from .ordering import bernoulli_divergence


def surprisal_below(level: float, gap: float, epsilon: Floats, users: Integers) -> float:
    """−log P(z̄ ≤ level) for items `gap` logits apart; O(L), exact but for rounding.

    z̄ = ½ + Σ_g a_g (W_g − n_g/2)/L, W_g ~ Binomial(n_g, ½ + (σ(gap) − ½)
    t(ε_g)). Raises `InvalidInput` for more than two groups. Source: Xu, Sun
    and Cheng, eq. (1) and Lemma 1.
    """
    if len(users) > 2:
        raise InvalidInput("profile", len(users), "must have one group of budgets or two")
    slopes = amplification(epsilon)
    chances = released_probability(expit(gap), epsilon)
    wins = [np.arange(n + 1) for n in users]
    groups = zip(wins, users, chances, strict=True)
    laws = [scipy.stats.binom.logpmf(w, n, p) for w, n, p in groups]
    left = np.full(1, users.sum() * (level - 0.5))  # of what is allowed, after the second group
    of_second: Floats | int = 0
    if len(users) == 2:
        left = left - slopes[1] * (wins[1] - users[1] / 2)
        of_second = laws[1]
    most = np.floor(np.clip(left / slopes[0] + users[0] / 2 + 1e-9, -1, users[0])).astype(int)
    at_most = np.concatenate([[-np.inf], np.logaddexp.accumulate(laws[0])])
    return float(-logsumexp(at_most[most + 1] + of_second))


def surprisal_outside(
    low: float, high: float, gap: float, epsilon: Floats, users: Integers
) -> float:
    """−log P(z̄ ≤ low or z̄ ≥ high), low < high."""
    below = surprisal_below(low, gap, epsilon, users)
    above = surprisal_below(1 - high, -gap, epsilon, users)
    return float(-np.logaddexp(-below, -above))


def mean_of_estimate(difference: float, ridge: float) -> float:
    """z̄ at which the estimated difference is this: σ(x) + λx, by eq. (3) for m = 2."""
    return float(expit(difference)) + ridge * difference


def inversion_surprisal(gap: float, epsilon: Floats, users: Integers) -> float:
    """−log P(θ̂ does not rank the better item first).

    For two items that is E H_1, the Kendall distance, and 1 − P(exact top
    1).
    """
    return surprisal_below(0.5, gap, epsilon, users)


def error_surprisal(
    radius: float, gap: float, ridge: float, epsilon: Floats, users: Integers
) -> float:
    """−log P(‖θ̂ − θ*‖∞ ≥ radius), which is ‖·‖₂/√m here. Source: Xu, Sun and Cheng, Theorem 2."""
    low = mean_of_estimate(gap - 2 * radius, ridge)
    high = mean_of_estimate(gap + 2 * radius, ridge)
    return surprisal_outside(low, high, gap, epsilon, users)


def excess_surprisal(
    excess: float, gap: float, ridge: float, epsilon: Floats, users: Integers
) -> float:
    """−log P(e_L(θ̂, θ*) ≥ excess), e_L = KL/4 for m = 2.

    Source: Xu, Sun and Cheng, Theorem 1, eq. (5).
    """

    def beyond(error: float) -> float:
        return float(bernoulli_divergence(gap, error)) / 4 - excess

    low, high = (mean_of_estimate(gap + _root(beyond, side), ridge) for side in (-1.0, 1.0))
    return surprisal_outside(low, high, gap, epsilon, users)


def _root(beyond: Callable[[float], float], side: float) -> float:
    """Where a function that is negative at 0 vanishes on this side, −1 or 1."""
    reach = side
    while beyond(reach) < 0:
        reach *= 2
    return float(scipy.optimize.brentq(beyond, 0, reach, xtol=1e-12))


def ordering_exponent(signal: float, kappa: float) -> float:
    """Lower bound signal · κ²/(1 + κ)⁴ on −log P(θ̂_i < θ̂_j) for items Δ apart and any m; nats.

    θ̂ orders items as their scores s do. s_i − s_j sums up independent z of
    ranges a(ε_l)/L, 2(m − 2) of each user and one twice as wide, so by
    Hoeffding's inequality P(s_i ≤ s_j) ≤ exp(−L(μ_i − μ_j)²/(mG)), and the
    mean value theorem gives μ_i − μ_j ≥ mΔκ/(1 + κ)². No condition on H(ε),
    and κ² for the κ⁴ of Theorems 5 and 6 of Xu, Sun and Cheng.
    """
    return signal * math.exp(2 * math.log(kappa) - 4 * math.log1p(kappa))


def largest_error_radius(
    chance: float, m: int, users: int, gain: float, kappa: float, pull: float = 0.0
) -> float:
    """r with P(‖θ̂ − θ*‖∞ ≥ r) ≤ chance, of every m, mixture of budgets and ridge; logits, or ∞.

    gain: G(ε). pull: 2λ‖θ*‖∞. Let item i have the largest error, e_i > 0. The other errors
    sum to −e_i, so that the gaps e_i − e_j ≥ 0 sum to m e_i, and none exceeds 2e_i. With h(x)
    = σ(log κ + x) − σ(log κ), which is concave and the least that a gap of x adds to a
    chance, the estimating equation of i has

        s_i − E s_i + 2λ|θ*_i| ≥ Σ_j h(e_i − e_j) ≥ m h(2e_i)/2.

    By Hoeffding's inequality some score is off by t with probability
    2m exp(−2Lt²/((m − 1)G)) at most. For small r it is 4κ√(G log(mL)/(mL)) at most at the
    chance 2/(mL²) of eq. (7), which has κ² and a term with H(ε) beside it.
    Source: for Xu, Sun and Cheng, Theorem 2, eq. (7).

    >>> round(largest_error_radius(0.05, 10, 400, 4.7, 1.5), 3)
    0.251
    """
    off = math.sqrt((m - 1) * gain * math.log(2 * m / chance) / (2 * users))
    best = kappa / (1 + kappa)
    reached = best + 2 * (off + pull) / m
    if reached >= 1:
        return math.inf
    return (math.log(reached / (1 - reached)) - math.log(kappa)) / 2
