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
from pipeline.study.arrays import Floats, Integers

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


def shuffled_binary_delta(epsilon: float, local_epsilon: float, n: int) -> float:
    """Exact δ at ε of n binary answers, each by ε0 randomized response, in random order.

    Only the number of ones can be seen. Neighbours differ in one person's answer;
    the others may have any number of ones, and the worst counts. A lower bound for
    other reports of budget ε0. Absolute error below 1e-12. O(n √n).
    Source: the reference for Feldman, McMillan and Talwar (2022), Theorem III.1.
    """
    return _worst(epsilon, local_epsilon, n)[0]


def shuffled_exact_epsilon(local_epsilon: float, n: int, delta: float) -> float:
    """ε at δ of shuffled answers of budget ε0, where `shuffled_binary_delta` is δ.

    Between 0 and ε0.
    Solved for one number of ones at a time: from the worst at one ε to the worst at
    the next, until it is the same.
    """
    epsilon = 0.0
    tried: set[int] = set()
    while True:
        largest, answering_one = _worst(epsilon, local_epsilon, n)
        if largest <= delta or answering_one in tried:
            return epsilon
        tried.add(answering_one)
        law = _laws(local_epsilon, n, np.array([answering_one]))
        low = epsilon
        high = float(local_epsilon)
        for _ in range(50):  # no root finder of scipy: it returns other last digits
            middle = (low + high) / 2
            if _deltas(middle, local_epsilon, law)[0] > delta:
                low = middle
            else:
                high = middle
        epsilon = high


def _worst(epsilon: float, local_epsilon: float, n: int) -> tuple[float, int]:
    """The largest δ at ε, and the number of ones among the n − 1 others that has it.

    Up to (n − 1)/2 ones are tried: more ones than zeros are the mirror image.
    """
    deltas = []
    for numbers in np.array_split(np.arange((n - 1) // 2 + 1), n // 1000 + 1):
        laws = _laws(local_epsilon, n, numbers)
        deltas.append(_deltas(epsilon, local_epsilon, laws))
    every_delta = np.concatenate(deltas)
    return float(every_delta.max()), int(every_delta.argmax())


def _laws(local_epsilon: float, n: int, answering_one: Integers) -> Floats:
    """Laws of the number of ones that n − 1 others report, (k, window).

    answering_one: (k,), how many of them have a one. By Fourier inversion, around
    their means: what lies outside, and is added at the other end, is below 1e-18.
    """
    flip = 1 / (1 + math.exp(local_epsilon))
    k = answering_one[:, None]
    reach = math.sqrt(84 * (n - 1) * flip * (1 - flip)) + 28  # Bernstein's inequality
    length = 2 * math.ceil(reach) + 4
    first = np.floor(k * (1 - flip) + (n - 1 - k) * flip) - length // 2
    angle = -2j * np.pi / length * np.arange(length // 2 + 1)
    keep = 1 - flip
    # Logarithms of characteristic functions, finite if ε0 is 0.
    of_one = np.log(flip + keep * np.exp(angle) + 1e-300)
    of_zero = np.log(keep + (1 - keep) * np.exp(angle) + 1e-300)
    transform = np.exp(k * of_one + (n - 1 - k) * of_zero - first * angle)
    laws: Floats = np.fft.irfft(transform, length)
    return laws


def _deltas(epsilon: float, local_epsilon: float, laws: Floats) -> Floats:
    """δ at ε for each number of ones among the others, (k,): the larger of both directions."""
    flip = 1 / (1 + math.exp(local_epsilon))
    odds = math.exp(epsilon)
    more = 1 - flip - odds * flip
    less = odds * (1 - flip) - flip
    before = np.pad(laws, ((0, 0), (1, 0)))
    after = np.pad(laws, ((0, 0), (0, 1)))
    up = np.maximum(more * before - less * after, 0).sum(1)
    down = np.maximum(more * after - less * before, 0).sum(1)
    worse: Floats = np.maximum(up, down)
    return worse


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
