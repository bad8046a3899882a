"""Exact probabilities that two scores are in the wrong order, for one budget: estimates order items as scores do."""

import numpy as np
from scipy.special import expit

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.study.arrays import Floats

SMALL = 42.0  # −log of what is neglected


def wrong_order(theta: Floats, epsilon: float, users: int) -> Floats:
    """(m, m): P(s_i < s_j) + ½ P(s_i = s_j) for released scores of all items, s_i = Σ_k wins of i over k.

    theta: (m,). s_i − s_j is ½N − X up to sign, X = Σ_{k≠i,j} (W_ik + W_kj) + 2W_ij, a sum of independent binomials
    with N = 2(m − 1)L; its law follows from the characteristic function at 2πk/(N + 1), where that is not negligible.
    Right to 1e-12; O(m² · points). Source: Xu, Sun and Cheng, eq. (3) and Lemma 1.
    """
    m = len(theta)
    released = released_probability(expit(theta[:, None] - theta), epsilon)
    half = (m - 1) * users
    steps = 2 * half + 1
    least = users * 2 * (m - 2) * float((released * (1 - released)).min())  # of the variance
    turn = np.arccos(1 - SMALL / least) if least > SMALL / 2 else np.pi
    angle = (
        2 * np.pi * np.arange(1, min(int(turn * steps / (2 * np.pi)) + 2, half + 1)) / steps
    )  # of half of them
    one = users * np.log1p(released[..., None] * np.expm1(1j * angle))
    one[np.arange(m), np.arange(m)] = 0
    twice = users * np.log1p(released[..., None] * np.expm1(2j * angle))
    law = np.exp(one.sum(axis=1)[:, None] + one.sum(axis=0)[None] - 2 * one + twice)
    below = -np.expm1(-1j * angle * half) / -np.expm1(-1j * angle) + np.exp(-1j * angle * half) / 2
    wrong: Floats = (half + 0.5 + 2 * (law * below).real.sum(axis=-1)) / steps
    np.fill_diagonal(wrong, 0.5)
    return wrong
