"""Expectation–maximisation for one-coin crowds, a block of replications at once.

In signs, s_ij = ±1 for answers 1 and 0, 0 for none, with c_i = 2 p_i − 1 and u_j = 2 y_j − 1, a step is

    c = S u / k, cut to ±(1 − 2λ);    u = tanh(Sᵀ artanh c);    k_i: answers of worker i,

which is eqs. (10), (7), (8) of Wang and Xu.
"""

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats

from .signed_sums import Signs, Steps, em_steps

ALIKE = 1e-5  # difference up to which two |c| count as equal by symmetry: EM may have begun to leave the saddle slowly
ROUGH = 1e-3  # error of eigenvalues in float32 that is allowed for: most are farther below 1
MARGIN = 1e-6  # from 1: of eigenvalues, which are 1 where the likelihood is level in some direction, and of |c|


def maximise(
    answers: Signs,
    start: Floats | None,
    limit: float,
    steps: int,
    tolerance: float,
    all_steps: bool = False,
) -> tuple[Steps, Booleans]:
    """Abilities c, labels u and more after some steps, and whether they converged, (reps,).

    answers: (reps, n, m) in {−1, 0, 1}. start: the first u, (reps, m), None the mean vote. limit: 1 − 2λ < 1. Converged
    when a step changed no p_i = (1 + c_i)/2 by as much as the tolerance, or with all_steps when so many were done, and
    not at a saddle point of the likelihood (`at_saddle`) where further steps change nothing.
    A replication's numbers do not depend on the others. O(reps · n · m) a step.
    """
    found = em_steps(answers, start, limit, steps, 2 * tolerance)
    settled, saddle = found.change < 2 * tolerance, at_saddle(answers, found, limit)
    if not all_steps:
        return found, settled & ~saddle
    some = np.flatnonzero(saddle & ~settled)
    if some.size:  # two steps more, of which the second shows a change
        saddle[some] = (
            em_steps(answers[some], found.labels[some], limit, 2, 2 * tolerance).change
            < 2 * tolerance
        )
    return found, (settled | (found.taken == steps)) & ~saddle


def at_saddle(answers: Signs, found: Steps, limit: float) -> Booleans:
    """(reps,): is this fixed point of EM, c (reps, n) and u (reps, m), a saddle point of the likelihood?

    It is one where the derivative of a step, diag(1/k) S diag(1 − u²) Sᵀ diag(1/(1 − c²)), with 0 for a c that is cut,
    has an eigenvalue above 1: EM moves away from it if the answers differ a little, and stays only where a symmetry of
    the answers makes it. A symmetry moves a worker, whose |c| is then another's, or flips one, whose c is then 0.
    So only replications with two |c| alike, or one of 0, are examined, of these only those in which eigenvalues may
    add up to more than 1, and of these only those in which other sums are alike as well. One costs O(n m min(n, m)).
    """
    abilities, labels = found.abilities, found.labels
    free = np.abs(abilities) < min(
        limit, 1 - MARGIN
    )  # so near to 1 that steps do not change it, it counts as cut
    gain = np.where(free, 1 / (found.answered * (1 - np.where(free, abilities, 0) ** 2)), 0)
    saddle: Booleans = gain.sum(axis=1) * found.unsure > 1
    sizes = np.sort(
        np.where(free, np.abs(abilities), 2.0 + np.arange(abilities.shape[1]))[saddle], axis=1
    )
    saddle[saddle] = (np.diff(sizes, axis=1, prepend=0.0) < ALIKE).any(axis=1)
    for r in np.flatnonzero(saddle):
        if not _symmetric(
            np.abs(abilities[r, free[r]]),
            answers[r, free[r]],
            labels[r],
            found.answered[r, free[r]],
        ):
            saddle[r] = False
            continue
        left, right = np.sqrt(gain[r])[:, None], np.sqrt(1 - labels[r] ** 2)
        saddle[r] = all(
            _eigenvalue_above(bound, left.astype(kind), answers[r], right.astype(kind))
            for bound, kind in ((1 - ROUGH, np.float32), (1 + MARGIN, np.float64))
        )
    return saddle


def _symmetric(sizes: Floats, signs: Signs, labels: Floats, answered: Floats) -> bool:
    """Whether a symmetry may move a worker, or flip one: |Σ_j s_ij u_j³| / k_i is then another's or 0, like |c_i|.

    sizes: |c| of some workers, whose answers are `signs` (workers, m), `answered` of them.
    """
    some = (np.abs(sizes[:, None] - np.append(sizes, 0.0)) < ALIKE).sum(axis=1) > 1
    cubes = np.append(np.abs(signs[some] @ (labels * labels * labels)) / answered[some], 0.0)
    sizes = np.append(sizes[some], 0.0)
    alike = (np.abs(sizes[:, None] - sizes) < ALIKE) & (np.abs(cubes[:, None] - cubes) < 10 * ALIKE)
    return bool(alike.sum() > len(sizes))


def _eigenvalue_above(bound: float, left: Array, signs: Signs, right: Array) -> bool:
    """Whether R Rᵀ, R = left · signs · right, has an eigenvalue above: then bound − R Rᵀ has no Cholesky factor."""
    root = left * signs
    root *= right
    square = root @ root.T if len(root) <= root.shape[1] else root.T @ root
    try:
        np.linalg.cholesky(bound * np.eye(len(square)) - square)
    except np.linalg.LinAlgError:
        return True
    return False
