"""Exact privacy losses: what a release really spends on one person.

They follow from the laws of the noise alone, not from the sensitivities that the
noise was made for, so they can check these. Largest losses are enumerated and
divergences are of whole laws: exact but for rounding.
"""

import math

import numpy as np
from scipy.special import logsumexp

from pipeline.privacy import accounting
from pipeline.privacy.gaussian_account import gaussian_delta as gaussian_delta
from pipeline.privacy.integer_laws import gaussian_normaliser, gaussian_renyi, laplace_pmf
from pipeline.privacy.shuffling import shuffled_binary_delta as shuffled_binary_delta
from pipeline.privacy.shuffling import shuffled_exact_epsilon as shuffled_exact_epsilon

from .sensitivity import printed_variance

# Of Rényi divergences; zCDP is spent in full at the whole ones.
ORDERS = (1.01, 1.5, 2.0, 3.0, 8.0, 40.0)


def changed_entries(m: int) -> int:
    """Most entries of Y that change when a person's row of m answers becomes another; whole.

    Over all pairs of rows. Of a items right in both rows, b right in the first
    alone, c in the second alone and d in none,
    (a + b)(c + d) + (a + c)(b + d) − 2ad entries change, each by 1 or −1: all (a,
    b, c, d) are tried. O(m³).
    """
    a, b, c = np.ogrid[: m + 1, : m + 1, : m + 1]
    d = m - a - b - c
    changed = (a + b) * (c + d) + (a + c) * (b + d) - 2 * a * d
    return int(changed[d >= 0].max())


def gaussian_spent(entries: int, variance: float, rho: float) -> float:
    """Share of ρ-zCDP that noise N_Z(0, σ²) spends on entries that change by 1.

    The largest D_α/(αρ) over `ORDERS`.
    """
    return max(entries * gaussian_renyi(order, 1, variance) / (order * rho) for order in ORDERS)


def gaussian_count_spent(sensitivity: int, epsilon: float) -> float:
    """Share of ½ε²-zCDP that noise N_Z(0, Δ²/ε²) spends on one count that a person changes by Δ.

    The largest D_α/(α ε²/2) over `ORDERS`, each divergence summed term by term.
    Source: Nguyen and Zhang, supplement, Lemma 3.2 (Canonne, Kamath and Steinke,
    2020, Theorem 4).
    """
    variance = (sensitivity / epsilon) ** 2
    reach = math.ceil(12 * math.sqrt(variance)) + 10
    whole = math.log(gaussian_normaliser(variance))
    worst = 0.0
    for order in ORDERS:
        # Where the terms are: complete the square.
        x = round(order * sensitivity) + np.arange(-reach, reach + 1.0)
        logs = -(order * (x - sensitivity) ** 2 + (1 - order) * x**2) / (2 * variance) - whole
        share = float(logsumexp(logs)) / ((order - 1) * order * epsilon**2 / 2)
        worst = max(worst, share)
    return worst


def laplace_count_spent(sensitivity: int, epsilon: float) -> float:
    """Share of ε that discrete Laplace noise of scale Δ/ε spends.

    The largest |log P(x)/P(x − Δ)| over integers x, over ε.
    Source: Nguyen and Zhang, supplement, Lemma 4.2 (Ghosh, Roughgarden and
    Sundararajan, 2009).
    """
    scale = sensitivity / epsilon
    x = np.arange(-sensitivity, 2 * sensitivity + 1)
    loss = np.log(laplace_pmf(x, scale)) - np.log(laplace_pmf(x - sensitivity, scale))
    return float(np.abs(loss).max() / epsilon)


def printed_spent(m: int, rho: float) -> float:
    """Share of ρ-zCDP that the variance printed in Lemma 4.1 spends on a row.

    It is √(m(m−1))/ε*² with ε*² = 2ρ.
    """
    variance = float(printed_variance(math.sqrt(2 * rho), m))
    return gaussian_spent(changed_entries(m), variance, rho)


def published_local_epsilon(epsilon: float, n: int, delta: float) -> float:
    """ε0 that the published search finds.

    It stays at the limit of the theorem where ε would allow more. Below 16 log(2/δ)
    persons it is ε.
    Source: Nguyen and Zhang, supplement, `find_effective_epsilon0_rr`.
    """
    local = float(accounting.shuffled_local_epsilon(epsilon, n, delta))
    if math.isnan(local):
        return float(epsilon)
    return local
