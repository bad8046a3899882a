"""Expectation–maximisation for one-coin crowds, a block of replications at once.

In signs, s_ij = ±1 for answers 1 and 0, 0 for none, with c_i = 2 p_i − 1 and u_j = 2 y_j − 1, a step is

    c = S u / k, cut to ±(1 − 2λ);    u = tanh(Sᵀ artanh c);    k_i: answers of worker i,

which is eqs. (10), (7), (8) of Wang and Xu. Most of a step's time is the reading of S, which is therefore kept in
float32. While abilities still move by 1e-5, all is computed in float32. Then the two products are computed once to
float64's precision, and from there on only changes are multiplied: these are small, and so are their rounding errors.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Array, Booleans, Floats, Integers

from ..sign_batches import SignBatch, Singles, sign_batches

ROUGH = 1e-5  # change of an ability down to which float32 will do: some hundred times its rounding
EXACT = 2.0**-24  # float32 holds all multiples of a grid up to 2²⁴ of it
SNAP = 1.5 * 2.0**52  # added and subtracted, times a grid, it rounds to multiples of the grid
LEAST = 1e-20  # smaller numbers need no care
ALIKE = 1e-5  # difference up to which two |c| count as equal by symmetry: EM may have begun to leave the saddle slowly
MARGIN = 1e-6  # from 1: of eigenvalues, which are 1 where the likelihood is level in some direction, and of |c|


def posterior(signs: Singles, abilities: Floats) -> Floats:
    """(reps, m): u = tanh(Sᵀ artanh c), eqs. (7) and (8), whose exponents are right to 1e-10.

    signs: (reps, n, m) float32. abilities: (reps, n), c in (−1, 1).
    """
    return np.tanh(exact_product(np.arctanh(abilities), signs))


def maximise(
    answers: NDArray[np.int8], start: Callable[[SignBatch], Floats], limit: float, steps: int, tolerance: float,
) -> tuple[Floats, Floats, Booleans, Integers]:
    """Abilities c (reps, n), labels u (reps, m), whether converged (reps,), and the steps taken (reps,).

    answers: (reps, n, m) in {−1, 0, 1}. start: the first u of a batch. limit: 1 − 2λ < 1. Converged when a step changed
    no p_i = (1 + c_i)/2 by as much as the tolerance, and not at a saddle point of the likelihood (`at_saddle`). Where
    `steps` ends it before, the last of them is in float64 and those before it in float32. A replication's numbers do
    not depend on the others. O(reps · n · m) a step; memory 4 bytes for each answer of a few replications.
    """
    reps, n, m = answers.shape
    abilities, labels = np.empty((reps, n)), np.empty((reps, m))
    converged, taken = np.empty(reps, bool), np.empty(reps, int)
    for batch in sign_batches(answers):
        rows, signs, answered = batch
        u: Array = start(batch)
        before: Array = np.full((1, 1), np.inf)
        done = np.zeros(len(signs), int)
        if steps > 1:
            u, before, done = _roughly(signs, answered, u, limit, steps - 1)
        abilities[rows], labels[rows], change, taken[rows] = _closely(
            signs, answered, u, before, limit, steps, done, 2 * tolerance)
        converged[rows] = (change < 2 * tolerance) & ~at_saddle(batch, abilities[rows], labels[rows], limit)
    return abilities, labels, converged, taken


def at_saddle(batch: SignBatch, abilities: Floats, labels: Floats, limit: float) -> Booleans:
    """(reps,): is this fixed point of EM, c (reps, n) and u (reps, m), a saddle point of the likelihood?

    It is one where the derivative of a step, diag(1/k) S diag(1 − u²) Sᵀ diag(1/(1 − c²)), with 0 for a c that is cut,
    has an eigenvalue above 1: EM moves away from it if the answers differ a little, and stays only where a symmetry of
    the answers makes it. A symmetry moves a worker, whose |c| is then another's, or flips one, whose c is then 0.
    So only replications with two |c| alike, or one of 0, are examined, and of these only those in which the
    eigenvalues may add up to more than 1. An eigenvalue costs O(n m min(n, m)).
    """
    _, signs, answered = batch
    free = np.abs(abilities) < min(limit, 1 - MARGIN)  # so near to 1 that steps do not change it, it counts as cut
    gain = np.where(free, 1 / (answered * (1 - np.where(free, abilities, 0) ** 2)), 0)
    unsure = 1 - labels**2
    sizes = np.sort(np.where(free, np.abs(abilities), 2.0 + np.arange(abilities.shape[1])), axis=1)
    alike = (np.diff(sizes, axis=1, prepend=0.0) < ALIKE).any(axis=1)
    saddle = np.zeros(len(signs), bool)
    for r in np.flatnonzero(alike & (gain.sum(axis=1) * unsure.sum(axis=1) > 1)):
        root = np.sqrt(gain[r])[:, None] * signs[r] * np.sqrt(unsure[r])  # root·rootᵀ has the derivative's eigenvalues
        square = root @ root.T if len(root) <= root.shape[1] else root.T @ root
        saddle[r] = np.linalg.eigvalsh(square)[-1] > 1 + MARGIN
    return saddle


def _roughly(
    signs: Singles, answered: Singles, start: Floats, limit: float, steps: int
) -> tuple[Singles, Singles, Integers]:
    """Steps in float32 until abilities change by less than ROUGH: u, c, and the steps taken of each replication.

    A replication that has ended is no longer multiplied, and so keeps its numbers.
    """
    reps, (n, m) = len(signs), signs.shape[1:]
    u, q, weights, z = start.astype(np.float32), *(np.empty((reps, k), np.float32) for k in (n, n, m))
    live, taken = list(range(reps)), np.zeros(reps, int)
    c = np.full((1, 1), np.inf, np.float32)
    while live:
        _multiply(signs, u, live, q)
        before, c = c, _cut(q / answered, limit)
        weights[...] = np.arctanh(_cut(c.astype(float), limit))  # float32 may round the limit to 1
        _multiply(signs.swapaxes(1, 2), weights, live, z)
        np.tanh(z, out=u)
        taken[live] += 1
        over = (np.abs(c - before).max(axis=1) < 2 * ROUGH) | (taken >= steps)
        live = [r for r in live if not over[r]]
    return u, c, taken


def _closely(
    signs: Singles, answered: Singles, start: Array, abilities: Array, limit: float, steps: int,
    taken: Integers, least: float,
) -> tuple[Floats, Floats, Floats, Integers]:
    """Steps in float64 until abilities change by less than `least`: c, u, last changes, and the steps taken.

    start, abilities: u and c of the last rough step. q = S u and z = Sᵀ artanh c are updated by products with changes.
    What a change loses in float32 is corrected by the next one. A replication that has ended keeps its numbers.
    """
    q = exact_product(start, signs.swapaxes(1, 2))
    c = _cut(q / answered, limit)
    weights = np.arctanh(c)
    z = exact_product(weights, signs)
    change, taken = np.abs(c - abilities).max(axis=1), taken + 1
    u = start.astype(float)
    dq, dw, dz, du = (np.empty_like(x, np.float32) for x in (q, weights, z, u))
    live = list(range(len(signs)))
    while True:
        over = (change < least) | (taken >= steps)
        dq[over], dz[over] = 0, 0
        live = [r for r in live if not over[r]]
        if not live:
            return c, np.tanh(z), change, taken
        np.subtract(np.tanh(z), u, out=du, casting="same_kind")
        u += du
        _multiply(signs, du, live, dq)
        q += dq
        before, c = c, _cut(q / answered, limit)
        change[live] = np.abs(c - before).max(axis=1)[live]
        taken[live] += 1
        np.subtract(np.arctanh(c), weights, out=dw, casting="same_kind")
        weights += dw
        _multiply(signs.swapaxes(1, 2), dw, live, dz)
        z += dz


def _multiply(matrices: Singles, x: Singles, live: Sequence[int], out: Singles) -> None:
    """Products of some replications' matrices (reps, q, p) with x (reps, p), into out (reps, q)."""
    if len(live) == len(x):
        np.matvec(matrices, x, out=out)
    else:
        for r in live:
            np.dot(matrices[r], x[r], out=out[r])


def _cut(x: Array, limit: float) -> Array:
    """x, cut to ±limit: a third of np.clip's time."""
    cut: Array = np.minimum(np.maximum(x, -limit), limit)
    return cut


def exact_product(x: Array, signs: Singles) -> Floats:
    """(reps, q): x (reps, p) times signs (reps, p, q), to some 1e-11 of Σ|x|, p up to 10⁵.

    The leading digits of x are so few that float32 adds them without error; the others are 2²⁴/p times smaller.
    """
    size = np.maximum(np.abs(x).max(axis=1, keepdims=True), LEAST)
    snap = SNAP * np.exp2(np.ceil(np.log2(size) + np.log2(x.shape[1] * EXACT)))
    parts = np.empty((len(x), 2, x.shape[1]), np.float32)
    leading = (x + snap) - snap
    parts[:, 0], parts[:, 1] = leading, x - leading
    product: Floats = (parts @ signs).sum(axis=1, dtype=float)
    return product
