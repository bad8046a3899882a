"""Stationary laws of Markov chains as NumPy computes them: the reference of `common/stationary.c`."""

import numpy as np

from pipeline.study.arrays import Floats

LEAF = 2  # states eliminated one by one; more are halved
STEPS = 16  # states of a law computed between rescalings


def stationary(rates: Floats) -> Floats:
    """Stationary laws of Markov chains, up to a factor; rates (reps, m, m) from row to column -> (reps, m).

    rates ≥ 0 with a zero diagonal; overwritten. Elimination without subtractions, so every entry of the law has a small
    relative error, done in halves, so that most of it is products of matrices. Not finite, or not positive, where
    states do not communicate. O(reps · m³). Source: Grassmann, Taksar and Heyman (1985).
    """
    reps, m = rates.shape[:2]
    law = np.ones((reps, m))
    leaving = np.ones((reps, m))
    _eliminate(rates, leaving, 1, m)
    for low in range(1, m, STEPS):
        high = min(low + STEPS, m)
        law[:, low:high] = np.vecmat(law[:, :low], rates[:, :low, low:high])
        for k in range(low, high):
            law[:, k] += np.vecdot(law[:, low:k], rates[:, low:k, k])
            law[:, k] /= leaving[:, k]
        law[:, :high] /= law[:, :high].max(axis=1, keepdims=True)
    return law


def _eliminate(rates: Floats, leaving: Floats, low: int, high: int) -> None:
    """Censor the chain on the states below `low`, given that those from `high` on are gone.

    Keeps, for each state k eliminated, the chances of its next state below k, its rate of leaving and the rates at
    which it is entered.
    """
    if high - low <= LEAF:
        for k in range(high - 1, low - 1, -1):
            chances = rates[:, k, :k]
            leaving[:, k] = chances.sum(axis=1)
            chances /= leaving[:, k, None]
            if k > low:
                rates[:, low:k, :k] += rates[:, low:k, k, None] * chances[:, None]
                rates[:, :low, low:k] += rates[:, :low, k, None] * chances[:, None, low:]
        return
    middle = (low + high) // 2
    _eliminate(rates, leaving, middle, high)
    rates[:, low:middle, :middle] += (
        rates[:, low:middle, middle:high] @ rates[:, middle:high, :middle]
    )
    rates[:, :low, low:middle] += rates[:, :low, middle:high] @ rates[:, middle:high, low:middle]
    _eliminate(rates, leaving, low, middle)
