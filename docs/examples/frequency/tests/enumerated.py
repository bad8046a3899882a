"""Reports of one person, listed with their probabilities: written from the papers' definitions, not
from the package.

Every function gives pairs (set of values that the report supports, probability of the report from
each value).
"""

import itertools
import math

import numpy as np


def randomized_response(k, epsilon, truthful=None):
    odds = math.exp(epsilon)
    p = odds / (odds + k - 1) if truthful is None else truthful
    return [({y}, [p if y == x else (1 - p) / (k - 1) for x in range(k)]) for y in range(k)]


def unary(k, one_held, one_other):
    """Bits are independent.

    The bit of the value is 1 with probability one_held, others with one_other.
    """

    def bit(b, x, v):
        one = one_held if v == x else one_other
        return one if b else 1 - one

    return [
        (
            {v for v in range(k) if bits[v]},
            [math.prod(bit(b, x, v) for v, b in enumerate(bits)) for x in range(k)],
        )
        for bits in itertools.product((0, 1), repeat=k)
    ]


def symmetric_unary(k, epsilon):
    return unary(
        k, math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1), 1 / (math.exp(epsilon / 2) + 1)
    )


def optimised_unary(k, epsilon):
    return unary(k, 0.5, 1 / (math.exp(epsilon) + 1))


def local_hashing(k, epsilon, truthful=None):
    """A report is a hash function, one of all g^k, and a hash value."""
    g = int(math.floor(math.exp(epsilon) + 0.5)) + 1
    p = math.exp(epsilon) / (math.exp(epsilon) + g - 1) if truthful is None else truthful
    return [
        (
            {v for v in range(k) if function[v] == y},
            [g**-k * (p if function[x] == y else (1 - p) / (g - 1)) for x in range(k)],
        )
        for function in itertools.product(range(g), repeat=k)
        for y in range(g)
    ]


def subset_selection(k, epsilon, size=None, odds=None):
    odds = math.exp(epsilon) if odds is None else odds
    if size is None:  # by the risk of Ye and Barg, over all sizes
        size = min(range(1, k), key=lambda d: (d * odds + k - d) ** 2 / (d * (k - d)))
    sets = list(itertools.combinations(range(k), size))
    total = sum(odds if 0 in s else 1 for s in sets)
    return [(set(s), [(odds if x in s else 1) / total for x in range(k)]) for s in sets]


REPORTS = {
    "randomized_response": randomized_response,
    "symmetric_unary": symmetric_unary,
    "optimised_unary": optimised_unary,
    "local_hashing": local_hashing,
    "subset_selection": subset_selection,
}


def loss(reports):
    """Largest log ratio of a report's probabilities from two values."""
    return max(math.log(max(law) / min(law)) if min(law) > 0 else math.inf for _, law in reports)


def supports(reports, k):
    """(reports, k) 0 or 1, and (reports, k) probabilities by value."""
    sets = np.array([[float(v in members) for v in range(k)] for members, _ in reports])
    return sets, np.array([law for _, law in reports])


def joint_law(reports, counts):
    """Vector of supports -> probability, for people with these counts of values.

    An array with an axis for each value.
    """
    k, n = len(counts), sum(counts)
    law = np.zeros((n + 1,) * k)
    law[(0,) * k] = 1
    for value in np.repeat(np.arange(k), counts):
        new = np.zeros_like(law)
        sets = {}  # reports that support the same values
        for members, probabilities in reports:
            sets[frozenset(members)] = sets.get(frozenset(members), 0.0) + probabilities[value]
        for members, chance in sets.items():
            new += chance * np.roll(law, [v in members for v in range(k)], range(k))
        law = new
    return {index: float(chance) for index, chance in np.ndenumerate(law) if chance > 0}
