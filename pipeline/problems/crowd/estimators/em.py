"""Expectation–maximisation for one-coin crowds, a block of replications at once.

In signs, s_ij = ±1 for answers 1 and 0, 0 for none, with c_i = 2 p_i
− 1 and u_j = 2 y_j − 1, a step is

    c = S u / k, cut to ±(1 − 2λ);    u = tanh(Sᵀ artanh c);    k_i: answers of worker i,

which is eqs. (10), (7), (8) of Wang and Xu.
"""

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats

from .signed_sums import Signs, Steps, em_steps

# Difference up to which two |c| count as equal by symmetry: EM may have begun to
# leave a saddle slowly.
ALIKE = 1e-5
# Error of eigenvalues in float32 that is allowed for: most are farther below 1.
ROUGH = 1e-3
# Distance from 1 of eigenvalues, which are 1 where the likelihood is level in some
# direction, and of |c|.
MARGIN = 1e-6


def maximise(
    answers: Signs,
    start: Floats | None,
    limit: float,
    steps: int,
    tolerance: float,
    all_steps: bool = False,
) -> tuple[Steps, Booleans]:
    """Abilities c, labels u and more after some steps, and whether they converged, (reps,).

    answers: (reps, n, m) in {−1, 0, 1}. start: the first u, (reps,
    m); None is the mean vote. limit: 1 − 2λ < 1. A replication has
    converged when a step changed no p_i = (1 + c_i)/2 by as much as
    the tolerance, or with all_steps when so many were done. It has
    not converged at a saddle point of the likelihood (`at_saddle`),
    where further steps change nothing. A replication's numbers do not
    depend on the others. O(reps · n · m) a step.
    """
    least_change = 2 * tolerance
    fit = em_steps(answers, start, limit, steps, least_change)
    settled = fit.change < least_change
    saddle = at_saddle(answers, fit, limit)
    if not all_steps:
        return fit, settled & ~saddle
    moving = np.flatnonzero(saddle & ~settled)
    if moving.size:  # two steps more, of which the second shows a change
        more = em_steps(answers[moving], fit.labels[moving], limit, 2, least_change)
        saddle[moving] = more.change < least_change
    finished = settled | (fit.taken == steps)
    return fit, finished & ~saddle


def at_saddle(answers: Signs, fit: Steps, limit: float) -> Booleans:
    """(reps,): is this fixed point of EM, c (reps, n) and u (reps, m), a saddle point
    of the likelihood?

    It is one where the derivative of a step, diag(1/k) S diag(1 − u²)
    Sᵀ diag(1/(1 − c²)), with 0 for a c that is cut, has an eigenvalue
    above 1. EM moves away from it if the answers differ a little, and
    stays only where a symmetry of the answers makes it. A symmetry
    moves a worker, whose |c| is then another's, or flips one, whose c
    is then 0. So only replications with two equal |c|, or one of 0,
    are examined; of these only those in which eigenvalues may add up
    to more than 1; and of these only those in which other sums are
    equal as well. One costs O(n m min(n, m)).
    """
    free = np.abs(fit.abilities) < min(
        limit, 1 - MARGIN
    )  # nearer to 1 no step changes it: it is cut
    of_free = np.where(free, fit.abilities, 0)
    gain = np.where(free, 1 / (fit.answered * (1 - of_free**2)), 0)
    saddle: Booleans = gain.sum(axis=1) * fit.unsure > 1
    saddle[saddle] = _have_equal_sizes(fit.abilities[saddle], free[saddle])
    for r in np.flatnonzero(saddle):
        workers = free[r]
        sizes = np.abs(fit.abilities[r, workers])
        signs = answers[r, workers]
        symmetric = _symmetric(sizes, signs, fit.labels[r], fit.answered[r, workers])
        if not symmetric or not _step_expands(gain[r], answers[r], fit.labels[r]):
            saddle[r] = False
    return saddle


def _have_equal_sizes(abilities: Floats, free: Booleans) -> Booleans:
    """(reps,): whether two free |c| are equal, or one is 0. abilities, free: (reps, n)."""
    apart = 2.0 + np.arange(abilities.shape[1])  # sizes of those that are cut: none is equal
    sizes = np.sort(np.where(free, np.abs(abilities), apart), axis=1)
    gaps = np.diff(sizes, axis=1, prepend=0.0)
    equal: Booleans = np.any(gaps < ALIKE, axis=1)
    return equal


def _symmetric(sizes: Floats, signs: Signs, labels: Floats, answered: Floats) -> bool:
    """Whether a symmetry may move a worker, or flip one.

    Then |Σ_j s_ij u_j³| / k_i is another worker's or 0, as |c_i| is.
    sizes: |c| of some workers, whose answers are `signs` (workers,
    m), `answered` of them.
    """
    equal_sizes = np.abs(sizes[:, None] - np.append(sizes, 0.0)) < ALIKE
    paired = equal_sizes.sum(axis=1) > 1
    cubes = np.abs(signs[paired] @ (labels * labels * labels)) / answered[paired]
    cubes = np.append(cubes, 0.0)
    sizes = np.append(sizes[paired], 0.0)
    equal_sizes = np.abs(sizes[:, None] - sizes) < ALIKE
    equal_cubes = np.abs(cubes[:, None] - cubes) < 10 * ALIKE
    pairs = (equal_sizes & equal_cubes).sum()
    return bool(pairs > len(sizes))


def _step_expands(gain: Floats, signs: Signs, labels: Floats) -> bool:
    """Whether the derivative of a step has an eigenvalue above 1: roughly first, then exactly.

    gain: (n,), 1/(k(1 − c²)). signs: (n, m). labels: (m,), u.
    """
    left = np.sqrt(gain)[:, None]
    right = np.sqrt(1 - labels**2)
    roughly = _eigenvalue_above(1 - ROUGH, left.astype(np.float32), signs, right.astype(np.float32))
    return roughly and _eigenvalue_above(1 + MARGIN, left, signs, right)


def _eigenvalue_above(bound: float, left: Array, signs: Signs, right: Array) -> bool:
    """Whether R Rᵀ, R = left · signs · right, has an eigenvalue above a bound.

    Then bound − R Rᵀ has no Cholesky factor.
    """
    root = left * signs
    root *= right
    if len(root) > root.shape[1]:
        root = root.T
    square = root @ root.T
    try:
        np.linalg.cholesky(bound * np.eye(len(square)) - square)
    except np.linalg.LinAlgError:
        return True
    return False
