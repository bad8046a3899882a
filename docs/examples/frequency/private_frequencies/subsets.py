"""How often values are in random sets of one size: exact in law, from counts, never person by
person.
"""

import numpy as np

from pipeline.study.arrays import Integers


def in_sets(holders: Integers, others: Integers, size: int, rng: np.random.Generator) -> Integers:
    """(reps, k): how many random sets of `size` out of k values have each value.

    holders: (reps, k), people by their value, each of whom has the own value with size − 1 uniform
    others. others: (reps,), sets that are uniform. Value after value: sets that lack j members, of
    R values left, have the next one with probability j/R. People are ahead of their own value,
    which is then not among the R, or past it, as all uniform sets are. How many members those ahead
    lack does not depend on which value is theirs, so that those who reach it are a random choice
    among them (hypergeometric). O(reps · k · size).
    """
    counts = holders.copy()
    reps, k = holders.shape
    ahead, past = np.zeros((2, reps, size + 1), np.int64)
    ahead[:, size - 1], past[:, size] = holders.sum(axis=1), others
    for v in range(k):
        here = _chosen(ahead, holders[:, v], rng)
        ahead -= here
        counts[:, v] += _take(past, k - v, rng)
        if size > 1:
            counts[:, v] += _take(ahead, k - v - 1, rng)
        past += here
    return counts


def _take(lacking: Integers, left: int, rng: np.random.Generator) -> Integers:
    """(reps,): how many sets take the next of `left` values. lacking: (reps, size + 1), sets by
    members they lack; it is changed to those afterwards.
    """
    members = np.arange(lacking.shape[1])
    taken: Integers = rng.binomial(lacking, np.minimum(members / max(left, 1), 1.0))
    lacking -= taken
    lacking[:, :-1] += taken[:, 1:]
    total: Integers = taken.sum(axis=1)
    return total


def _chosen(groups: Integers, number: Integers, rng: np.random.Generator) -> Integers:
    """(reps, size + 1): how many of each group are among `number` (reps,) people chosen at random
    from all groups.
    """
    chosen = np.zeros_like(groups)
    rest, wanted = groups.sum(axis=1), number.copy()
    for j in np.flatnonzero(groups.any(axis=0))[::-1]:
        rest -= groups[:, j]
        chosen[:, j] = rng.hypergeometric(groups[:, j], rest, wanted)
        wanted -= chosen[:, j]
    return chosen
