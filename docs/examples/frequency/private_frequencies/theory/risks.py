"""Exact risks of the unbiased estimates, and where one mechanism overtakes another.

Wang et al. (2017): variances about the frequencies of the n people. Ye and Barg (2018): risk about
a law that people are drawn from, least over mechanisms of the greatest over laws.
"""

import math

import numpy as np

from pipeline.study.arrays import Numbers

from .reports import Support, optimised_unary, randomized_response, subset_size


def variance(support: Support, n: int, frequency: Numbers = 0.0) -> Numbers:
    """Variance of the estimated frequency of a value about its frequency among the n people.

    Shape of `frequency`.

    (f p(1 − p) + (1 − f) q(1 − q))/(n(p − q)²): a report supports the value with probability p =
    held of those who hold it, q = other of the rest. Source: Theorem 2 of Wang et al., as q(1 −
    q)/(n(p − q)²) + f(1 − p − q)/(n(p − q)).
    """
    held, other = support
    spread = frequency * held * (1 - held) + (1 - frequency) * other * (1 - other)
    return spread / (n * support.lean**2)


def risk(support: Support, k: int, n: int) -> float:
    """E Σ_v (f̂_v − f_v)² about the frequencies among n people: (p(1 − p) + (k − 1) q(1 − q))/(n(p
    − q)²).

    The sum of `variance` over all values; it depends on no frequency.
    """
    return float(variance(support, n, 1.0) + (k - 1) * variance(support, n, 0.0))


def sampling_risk(frequencies: Numbers, n: int) -> Numbers:
    """(1 − Σ_v f_v²)/n, what drawing the n people from a law adds to `risk`; frequencies: (…, k)."""
    added: Numbers = (1 - np.square(frequencies).sum(axis=-1)) / n
    return added


def minimax_constant(k: int, epsilon: float) -> float:
    """M = (k − 1)² (d e^ε + k − d)²/(k d (k − d)(e^ε − 1)²): n times the risk of subset selection
    at the uniform law.

    No mechanism with any estimate has a lesser greatest risk over all laws than (M + o(1))/n.
    Source: Ye and Barg (2018); the lower bound is theirs of 2019, Optimal locally private
    estimation under ℓp loss.
    """
    odds, d = math.exp(epsilon), subset_size(k, epsilon)
    return (k - 1) ** 2 * (d * odds + k - d) ** 2 / (k * d * (k - d) * math.expm1(epsilon) ** 2)


def absent_crossover(epsilon: float) -> float:
    """k = 3e^ε + 2, beyond which optimised unary encoding has the lesser variance on values that
    nobody holds.

    Randomized response's is (e^ε + k − 2)/(n(e^ε − 1)²), that of optimised unary encoding
    4e^ε/(n(e^ε − 1)²). Source: Wang et al., on which protocol to use.
    """
    return 3 * math.exp(epsilon) + 2


def total_crossover(epsilon: float) -> float:
    """k beyond which optimised unary encoding has the lesser `risk`, so the sum over all values.

    About (1 + √2)e^ε.

    With a = e^ε the risks are (k − 1)(2a + k − 2) and (a + 1)² + 4(k − 1)a, over n(a − 1)²; equal
    at k − 1 = (2a + 1 + √((2a + 1)² + 4(a + 1)²))/2. It lies below 3e^ε + 2: on values that are
    held, randomized response loses more.
    """
    odds = math.exp(epsilon)
    return 1 + (2 * odds + 1 + math.hypot(2 * odds + 1, 2 * odds + 2)) / 2


def unary_variance(epsilon: float, n: int) -> float:
    """4e^ε/(n(e^ε − 1)²): variance of optimised unary encoding on a value that nobody holds."""
    return float(variance(optimised_unary(epsilon), n))


def unary_risk(k: int, epsilon: float, n: int) -> float:
    """`risk` of optimised unary encoding."""
    return risk(optimised_unary(epsilon), k, n)


def response_risk(k: int, epsilon: float, n: int) -> float:
    """`risk` of randomized response."""
    return risk(randomized_response(k, epsilon), k, n)
