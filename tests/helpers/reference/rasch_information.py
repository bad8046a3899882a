"""Sums over persons of the Rasch model's information as NumPy computes them: the reference of `cramer_rao.c`."""

import numpy as np


def information_sums(odds, share, ability):
    """Σ s i_k (reps, r) and Σ x_k x_l (reps, r, r) over persons.

    s = e^ability, i_k = 1/(s + odds_k)², x = i √(s / share·i). odds, share: (reps, r). ability: (reps, n).
    """
    skill = np.exp(ability)
    inverse = 1 / (skill[:, None] + odds[:, :, None]) ** 2
    own = np.matvec(inverse, skill)
    inverse *= (np.sqrt(skill) / np.sqrt(np.vecmat(share, inverse)))[:, None]
    return own, inverse @ inverse.mT
