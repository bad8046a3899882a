"""Exact probabilities that two scores are in the wrong order, for one budget.

Estimates order items as scores do.
"""

import numpy as np
from scipy.special import expit

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.study.arrays import Floats

SMALL = 42.0  # −log of what is neglected


def wrong_order(theta: Floats, epsilon: float, users: int) -> Floats:
    """(m, m): P(s_i < s_j) + ½ P(s_i = s_j) for released scores, s_i = Σ_k wins of i over k.

    theta: (m,). s_i − s_j is ½N − X up to sign, X = Σ_{k≠i,j} (W_ik + W_kj)
    + 2W_ij, a sum of independent binomials with N = 2(m − 1)L; its law
    follows from the characteristic function at 2πk/(N + 1), where that is
    not negligible. Right to 1e-12; O(m² · points). Source: Xu, Sun and
    Cheng, eq. (3) and Lemma 1.
    """
    m = len(theta)
    released = released_probability(expit(theta[:, None] - theta), epsilon)
    half = (m - 1) * users  # N/2
    points = 2 * half + 1
    least_variance = users * 2 * (m - 2) * float((released * (1 - released)).min())
    turn = np.pi
    if least_variance > SMALL / 2:
        turn = np.arccos(1 - SMALL / least_variance)
    count = min(int(turn * points / (2 * np.pi)) + 2, half + 1)
    angle = 2 * np.pi * np.arange(1, count) / points  # of half of the points
    of_once = users * np.log1p(released[..., None] * np.expm1(1j * angle))
    of_once[np.arange(m), np.arange(m)] = 0
    of_twice = users * np.log1p(released[..., None] * np.expm1(2j * angle))
    out_of = of_once.sum(axis=1)[:, None]
    into = of_once.sum(axis=0)[None]
    law = np.exp(out_of + into - 2 * of_once + of_twice)
    below = -np.expm1(-1j * angle * half) / -np.expm1(-1j * angle) + np.exp(-1j * angle * half) / 2
    wrong: Floats = (half + 0.5 + 2 * (law * below).real.sum(axis=-1)) / points
    np.fill_diagonal(wrong, 0.5)
    return wrong
