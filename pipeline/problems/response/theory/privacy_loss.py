"""Exact privacy losses: what a release really spends on one person.

They follow from the laws of the noise alone, without the sensitivities that the noise was made for, so that they can
audit these. Largest losses are enumerated and divergences are of whole laws: exact but for rounding.
"""

import math

import numpy as np
from scipy.special import logsumexp

from pipeline.privacy import accounting
from pipeline.privacy.integer_laws import gaussian_normaliser, gaussian_renyi, laplace_pmf
from pipeline.study.arrays import Floats

from .sensitivity import printed_variance

ORDERS = (1.01, 1.5, 2.0, 3.0, 8.0, 40.0)  # of Rényi divergences; zCDP is spent in full at the whole ones


def changed_entries(m: int) -> int:
    """Most entries of Y that change when a person's row of m answers becomes another, over all pairs of rows; whole.

    Of a items right in both rows, b right in the first alone, c in the second alone and d in none,
    (a + b)(c + d) + (a + c)(b + d) − 2ad entries change, each by 1 or −1: all (a, b, c, d) are tried. O(m³).
    """
    a, b, c = np.ogrid[: m + 1, : m + 1, : m + 1]
    d = m - a - b - c
    changed = (a + b) * (c + d) + (a + c) * (b + d) - 2 * a * d
    return int(changed[d >= 0].max())


def gaussian_spent(entries: int, variance: float, rho: float) -> float:
    """Share of ρ-zCDP that noise N_Z(0, σ²) spends on entries that change by 1: max over `ORDERS` of D_α/(αρ)."""
    return max(entries * gaussian_renyi(order, 1, variance) / (order * rho) for order in ORDERS)


def gaussian_count_spent(sensitivity: int, epsilon: float) -> float:
    """Share of ½ε²-zCDP that noise N_Z(0, Δ²/ε²) spends on one count that a person changes by Δ.

    The largest D_α/(α ε²/2) over `ORDERS`, each divergence summed term by term.
    Source: Nguyen and Zhang, supplement, Lemma 3.2 (Canonne, Kamath and Steinke, 2020, Theorem 4).
    """
    variance, worst = (sensitivity / epsilon) ** 2, 0.0
    reach, whole = math.ceil(12 * math.sqrt(variance)) + 10, math.log(gaussian_normaliser(variance))
    for order in ORDERS:
        x = round(order * sensitivity) + np.arange(-reach, reach + 1.0)  # where the terms are: complete the square
        logs = -(order * (x - sensitivity) ** 2 + (1 - order) * x**2) / (2 * variance) - whole
        worst = max(worst, float(logsumexp(logs)) / ((order - 1) * order * epsilon**2 / 2))
    return worst


def laplace_count_spent(sensitivity: int, epsilon: float) -> float:
    """Share of ε that discrete Laplace noise of scale Δ/ε spends: max over integers x of |log P(x)/P(x − Δ)|, over ε.

    Source: Nguyen and Zhang, supplement, Lemma 4.2 (Ghosh, Roughgarden and Sundararajan, 2009).
    """
    scale = sensitivity / epsilon
    x = np.arange(-sensitivity, 2 * sensitivity + 1)
    loss = np.log(laplace_pmf(x, scale)) - np.log(laplace_pmf(x - sensitivity, scale))
    return float(np.abs(loss).max() / epsilon)


def printed_spent(m: int, rho: float) -> float:
    """Share of ρ-zCDP that the variance printed in Lemma 4.1, √(m(m−1))/ε*² with ε*² = 2ρ, spends on a row."""
    return gaussian_spent(changed_entries(m), float(printed_variance(math.sqrt(2 * rho), m)), rho)


def gaussian_delta(epsilon: float, rho: float) -> float:
    """Exact δ at ε of continuous Gaussian noise that is ρ-zCDP: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = √(2ρ).

    Discrete Gaussian noise of a standard deviation well above 1 has nearly the same.
    Source: Balle and Wang (2018), Theorem 8.
    """
    shift = math.sqrt(2 * rho)

    def normal_cdf(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    return normal_cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * normal_cdf(-shift / 2 - epsilon / shift)


def shuffled_binary_delta(epsilon: float, local_epsilon: float, n: int) -> float:
    """Exact δ at ε of n binary answers, each by ε0 randomized response, in random order.

    Only the number of ones can be seen. Neighbours differ in one person's answer. The others answer all 0, all 1 or
    half of each, and the worst counts: a lower bound for other data sets and for other reports of budget ε0.
    O(n) to O(n log n).
    Source: the reference for Feldman, McMillan and Talwar (2022), Theorem III.1.
    """
    flip, worst = 1 / (1 + math.exp(local_epsilon)), 0.0
    for ones in (0, (n - 1) // 2, n - 1):
        others = _convolved(_binomial(ones, 1 - flip), _binomial(n - 1 - ones, flip))
        zero, one = (_convolved(others, np.array([1 - p, p])) for p in (flip, 1 - flip))
        for first, second in ((one, zero), (zero, one)):
            worst = max(worst, float(np.maximum(first - math.exp(epsilon) * second, 0).sum()))
    return worst


def _binomial(n: int, p: float) -> Floats:
    """Probabilities of 0 … n; (n + 1,)."""
    k = np.arange(n + 1)
    steps = np.log(np.maximum(n - k[:-1], 1)) - np.log(k[1:]) + math.log(p) - math.log1p(-p)
    return np.exp(n * math.log1p(-p) + np.concatenate([[0.0], np.cumsum(steps)]))


def _convolved(first: Floats, second: Floats) -> Floats:
    return second * first[0] if first.size == 1 else np.convolve(first, second)


def shuffled_exact_epsilon(local_epsilon: float, n: int, delta: float) -> float:
    """ε at δ of shuffled answers of budget ε0: `shuffled_binary_delta` solved by bisection between 0 and ε0."""
    low, high = 0.0, float(local_epsilon)  # no root finder of scipy: it returns other last digits
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if shuffled_binary_delta(middle, local_epsilon, n) > delta else (low, middle)
    return high


def published_local_epsilon(epsilon: float, n: int, delta: float) -> float:
    """ε0 that the published search finds: it stays at the limit of the theorem where ε would allow more.

    Below 16 log(2/δ) persons it is ε. Source: Nguyen and Zhang, supplement, `find_effective_epsilon0_rr`.
    """
    local = float(accounting.shuffled_local_epsilon(epsilon, n, delta))
    return float(epsilon) if math.isnan(local) else local
