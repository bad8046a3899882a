"""Users from whom on spectral clustering of sums over pairs learns, to first order.

N items in two equal clusters, all users of one class, w ratings each. Users
who rate two items rate them alike with another probability where both are of
one cluster than where they are not; half the difference is the gap h. The
sums of all pairs are a matrix whose signal has the eigenvalue N·(signal of an
entry), and whose noise has the norm 2√N·(standard deviation of an entry).
Below a ratio of 1 the first eigenvector tells nothing as N → ∞; with few
items the error falls gradually around it.
"""

import math


def threshold_of_bits(N: int, w: int, gap: float, questions: int, answer_epsilon: float) -> float:
    """Users of pairwise_preference, each asked about so many pairs, at which the ratio is 1.

    A pair has n = U·k/C(N, 2) bits of variance ¼, whose mean leans by t·h·P(both
    are rated), t = tanh(ε/2): ratio √(N·n)·t·h·P(both are rated).

    >>> round(threshold_of_bits(20, 8, 0.18, 1, 1.0))
    63222
    """
    lean = math.tanh(answer_epsilon / 2) * gap * both_rated(N, w)
    bits_of_a_pair = 1 / (N * lean**2)
    return bits_of_a_pair * math.comb(N, 2) / questions


def threshold_of_curator(N: int, w: int, gap: float, variance: float) -> float:
    """Users of noisy_co_occurrences (signed) at which the ratio is 1.

    variance: of the noise on one sum. An entry has the signal 2·U·h·p and the
    variance v + U·p, p = P(both are rated): ratio √N·U·h·p/√(v + U·p).

    >>> round(threshold_of_curator(20, 8, 0.18, 1314))
    311
    """
    both = both_rated(N, w)
    signal = math.sqrt(N) * gap * both
    # signal²·U² = v + U·p
    half = both / (2 * signal**2)
    return half + math.sqrt(half**2 + variance / signal**2)


def both_rated(N: int, w: int) -> float:
    """Chance that a user has rated both items of a pair."""
    return w * (w - 1) / (N * (N - 1))
