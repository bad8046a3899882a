"""Minimax lower bounds under a trusted curator: no private release of rankings has
less error.

Assouad's argument, with the privacy of groups. The items are matched at random, and
one of each match, a fair coin decides which, has θ = s and the other −s: all ways
to put half of m items at s are equally likely. A user's k comparisons are of random
pairs. Exchanging the two items of one match changes the law of a user's answers by
a total variation of at most

    τ = min(1, (k/P)·(m − 1)·tanh s, s·√(m k/(2P))),

the sum over pairs (tanh s for the match itself, and ½·tanh s for each of the 2(m −
2) pairs with another item), or by Pinsker's inequality from the divergences, s²/2
and 2s² at most. So the data of all L users can be coupled with those of the
exchanged match such that D = τ·L of them differ on average. Of d differing users an
ε-DP release tells so little that any test errs with probabilities that add up to
2/(1 + e^{εd}), and a ρ-zCDP release so little that they add up to 1 − d√(ρ/2). Both
are convex in d, so that D may stand for d. A match whose order is mistaken costs a
squared error of s² at least, of each of its two items:

    E‖θ̂ − θ*‖₂²/m ≥ s²/2 · max(2/(1 + e^{εD}), 1 − D√(ρ/2), 0).
"""

import math

import numpy as np
import scipy

from pipeline.privacy.accounting import zcdp_rho

from .person import pairs_of


def differing(spread: float, questions: int, m: int) -> float:
    """τ: chance that a user's answers change if the two items of a match are
    exchanged.
    """
    share = questions / pairs_of(m)
    by_pairs = share * (m - 1) * math.tanh(spread)
    by_divergence = spread * math.sqrt(m * share / 2)
    return min(1.0, by_pairs, by_divergence)


def least_squared_error(
    spread: float, person: float, person_delta: float, questions: int, m: int, users: int
) -> float:
    """Least E‖θ̂ − θ*‖₂²/m of two groups at ±spread, of all private releases.

    With person_delta = 0 of those that are pure ε-DP; otherwise of those that are
    ρ-zCDP at the ρ of (ε, δ). m must be even. Logits².
    """
    number = users * differing(spread, questions, m)
    if person_delta == 0:
        errors = 2 / (1 + math.exp(min(person * number, 700.0)))
    else:
        rho = float(zcdp_rho(person, person_delta))
        errors = max(0.0, 1 - number * math.sqrt(rho / 2))
    return spread**2 / 2 * errors


def worst_spread(person: float, person_delta: float, questions: int, m: int, users: int) -> float:
    """Spread of the two groups at which the bound is largest; logits, at most 3."""
    grid = np.geomspace(1e-6, 3.0, 200)
    bounds = [
        least_squared_error(spread, person, person_delta, questions, m, users) for spread in grid
    ]
    best = int(np.argmax(bounds))
    low = grid[max(0, best - 1)]
    high = grid[min(len(grid) - 1, best + 1)]
    optimum = scipy.optimize.minimize_scalar(
        lambda spread: -least_squared_error(spread, person, person_delta, questions, m, users),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(optimum.x)
