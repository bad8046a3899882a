"""Spectral initial vector for expectation–maximisation on crowds."""

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Floats

from .signed_sums import Signs, weighted_votes

TOLERANCE = 1e-6  # change of a unit vector's entries in the last step of power iteration
STEPS = 1000


def spectral_start(answers: Signs, limit: float) -> Floats:
    """(reps, m): u of eqs.

    (7), (8) at abilities from the leading eigenvector of
    the workers' agreement.

    answers: (reps, n, m) in {−1, 0, 1}. limit: 1 − 2λ, the largest
    |c|. Two workers agree in Ĝ_il = Σ_j s_ij s_lj / k_il over the
    k_il tasks that both answered, 0 if none. E Ĝ_il = c_i c_l for i ≠
    l and Ĝ_ii = 1, so c ≈ √(λ₁ − 1) v. Its sign: mean ability at
    least ½. Where all answer, v is the leading left singular vector
    of S. O(reps · n² m). Source: Ghosh, Kale and McAfee (2011);
    Zhang, Chen, Zhou and Jordan (2016), one-coin case.
    """
    agreement = np.array([_agreement(signs.astype(np.float32)) for signs in answers])
    vector = leading_vector(agreement)
    size = np.sqrt(np.maximum(np.vecdot(vector, np.matvec(agreement, vector)) - 1, 0))
    vector *= np.where(vector.sum(axis=1) < 0, -size, size)[:, None]
    return np.tanh(weighted_votes(answers, np.arctanh(np.clip(vector, -limit, limit))))


def _agreement(signs: NDArray[np.float32]) -> Floats:
    """(n, n): Ĝ of one replication's signs (n, m); its sums are exact below 2²⁴ tasks."""
    answered = np.abs(signs)
    together: Floats = np.maximum(answered @ answered.T, 1).astype(float)
    return (signs @ signs.T) / together


def leading_vector(matrix: Floats) -> Floats:
    """(reps, n): unit vectors by power iteration from (1, …, 1); matrix (reps, n, n), symmetric.

    Until no entry changes by more than 1e-6, 1000 steps at
    most: it need not be exact. O(reps · n²) a step.
    """
    reps, n = matrix.shape[:2]
    vector = np.full((reps, n), n**-0.5)
    moving = np.arange(reps)
    current = vector
    for _ in range(STEPS):
        following = np.matvec(matrix, current)
        length = np.linalg.norm(following, axis=1, keepdims=True)
        following /= np.maximum(length, np.finfo(float).tiny)
        still = np.abs(following - current).max(axis=1) <= TOLERANCE
        current = vector[moving] = following
        if still.all():
            break
        if still.any():
            moving = moving[~still]
            matrix = matrix[~still]
            current = current[~still]
    return vector
