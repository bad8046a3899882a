"""Spectral initial vector for expectation–maximisation on crowds."""

import numpy as np

from pipeline.study.arrays import Floats

from ..sign_batches import Singles
from .em import posterior

TOLERANCE = 1e-6  # change of a unit vector's entries in the last step of power iteration
STEPS = 1000


def spectral_start(signs: Singles, limit: float) -> Floats:
    """(reps, m): u of eqs. (7), (8) at abilities from the leading eigenvector of the workers' agreement.

    signs: (reps, n, m) float32 in {−1, 0, 1}. limit: 1 − 2λ, the largest |c|. Two workers agree in Ĝ_il =
    Σ_j s_ij s_lj / k_il over the k_il tasks that both answered, 0 if none; E Ĝ_il = c_i c_l for i ≠ l and Ĝ_ii = 1,
    so c ≈ √(λ₁ − 1) v. Its sign: mean ability at least ½. Where all answer, v is the leading left singular vector
    of S. O(reps · n² m). Source: Ghosh, Kale and McAfee (2011); Zhang, Chen, Zhou and Jordan (2016), one-coin case.
    """
    balance = signs @ signs.swapaxes(1, 2)  # agreements minus disagreements of two workers
    answered = np.abs(signs)
    both = answered @ answered.swapaxes(1, 2)
    agreement = balance.astype(float) / np.maximum(both, 1)
    vector = leading_vector(agreement)
    size = np.sqrt(np.maximum(np.vecdot(vector, np.matvec(agreement, vector)) - 1, 0))
    vector *= np.where(vector.sum(axis=1) < 0, -size, size)[:, None]
    return posterior(signs, np.clip(vector, -limit, limit))


def leading_vector(matrix: Floats) -> Floats:
    """(reps, n): unit vectors by power iteration from (1, …, 1); matrix (reps, n, n), symmetric.

    Until no entry changes by more than 1e-6, 1000 steps at most: it need not be exact. O(reps · n²) a step.
    """
    reps, n = matrix.shape[:2]
    vector, moving = np.full((reps, n), n**-0.5), np.arange(reps)
    current = vector
    for _ in range(STEPS):
        following = np.matvec(matrix, current)
        following /= np.maximum(np.linalg.norm(following, axis=1, keepdims=True), np.finfo(float).tiny)
        still = np.abs(following - current).max(axis=1) <= TOLERANCE
        current = vector[moving] = following
        if still.all():
            break
        if still.any():
            moving, matrix, current = moving[~still], matrix[~still], current[~still]
    return vector
