"""Expectation–maximisation for one-coin crowds, a block of replications at once.

In signs, s_ij = ±1 for answers 1 and 0, 0 for none, with c_i = 2 p_i − 1 and u_j = 2 y_j − 1, a step is

    c = S u / k, cut to ±(1 − 2λ);    u = tanh(Sᵀ artanh c);    k_i: answers of worker i,

which is eqs. (10), (7), (8) of Wang and Xu. Reading S is what a step costs, so it is held in float32. While abilities
still move by 1e-5 all is done in float32. Then the two products are taken once to float64's precision, and from there
on only changes are multiplied: these are small, and so are their rounding errors.
"""

from collections.abc import Callable, Iterator

import numpy as np

SIGNS_BYTES = 1 << 22  # of signs in float32 that are worked on at a time: more does not stay in a shared cache
ROUGH = 1e-5  # change of an ability up to which float32 will do: some hundred times its rounding
EXACT = 2.0**-24  # float32 holds all multiples of a grid up to 2²⁴ of it
SNAP = 1.5 * 2.0**52  # added and subtracted, times a grid, it rounds to multiples of the grid
LEAST = 1e-20  # smaller numbers need no care


def blocks(answers: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Some replications at a time: which, their signs (some, n, m) float32, and (some, n) answers of each worker.

    A worker without answers counts as having one. The signs are gone when the next come.
    """
    reps, n, m = answers.shape
    length = min(reps, max(1, SIGNS_BYTES // (4 * n * m)))
    space = np.empty((length, n, m), np.float32)
    for first in range(0, reps, length):
        rows = slice(first, min(first + length, reps))
        signs = space[: rows.stop - first]
        signs[...] = answers[rows]
        if answers[rows].view(bool).all():
            yield rows, signs, np.full((len(signs), n), np.float32(m))
        else:
            yield rows, signs, np.maximum(np.vecdot(signs, signs), 1)


def mean_vote(signs: np.ndarray, answered: np.ndarray) -> np.ndarray:
    """(reps, m): mean sign of each task, 0 without answers.

    signs: (reps, n, m) float32 in {−1, 0, 1}. answered: (reps, n), answers of each worker, at least 1.
    """
    everybody = np.ones((1, signs.shape[1]), np.float32)
    votes = np.vecmat(everybody, signs).astype(float)
    if (answered == signs.shape[2]).all():
        return votes / signs.shape[1]
    return votes / np.maximum(np.vecmat(everybody, np.abs(signs)), 1)


def posterior(signs: np.ndarray, abilities: np.ndarray) -> np.ndarray:
    """(reps, m): u = tanh(Sᵀ artanh c), eqs. (7) and (8), whose exponents are right to 1e-10.

    signs: (reps, n, m) float32. abilities: (reps, n), c in (−1, 1).
    """
    return np.tanh(_product(np.arctanh(abilities), signs))


def maximise(
    answers: np.ndarray, start: Callable[[np.ndarray, np.ndarray, slice], np.ndarray], limit: float, steps: int,
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Abilities c (reps, n), labels u (reps, m), whether converged (reps,), and the steps taken (reps,).

    answers: (reps, n, m) in {−1, 0, 1}. start(signs, k, replications): their first u. limit: 1 − 2λ < 1. Converged when
    a step changed no p_i = (1 + c_i)/2 by as much as the tolerance. Where `steps` ends it before, the last of them is
    exact and those before it float32's. A replication's numbers do not depend on the others. O(reps · n · m) a step;
    memory 4 bytes for each answer of a few replications.
    """
    reps, n, m = answers.shape
    abilities, labels = np.empty((reps, n)), np.empty((reps, m))
    converged, taken = np.empty(reps, bool), np.empty(reps, int)
    for rows, signs, answered in blocks(answers):
        u, before, done = start(signs, answered, rows), np.inf, np.zeros(len(signs), int)
        if steps > 1:
            u, before, done = _roughly(signs, answered, u, limit, steps - 1)
        abilities[rows], labels[rows], change, taken[rows] = _closely(
            signs, answered, u, before, limit, steps, done, 2 * tolerance)
        converged[rows] = change < 2 * tolerance
    return abilities, labels, converged, taken


def _roughly(signs, answered, u, limit, steps):
    """Steps in float32 until abilities change by less than ROUGH: u, c, and the steps taken of each replication.

    What is at its end is no longer multiplied, and so stays as it is.
    """
    reps, (n, m) = len(signs), signs.shape[1:]
    u, q, weights, z = u.astype(np.float32), *(np.empty((reps, k), np.float32) for k in (n, n, m))
    live, c, taken = list(range(reps)), np.inf, np.zeros(reps, int)
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


def _closely(signs, answered, u, c, limit, steps, taken, least):
    """Steps in float64 until abilities change by less than `least`: c, u, last changes, and the steps taken.

    q = S u and z = Sᵀ artanh c are kept up to date by products with changes. What a change loses in float32 is made
    good by the next one. Of what is no longer live nothing changes that is returned.
    """
    before, q = c, _product(u, signs.swapaxes(1, 2))
    c = _cut(q / answered, limit)
    weights = np.arctanh(c)
    z = _product(weights, signs)
    change, taken = np.abs(c - before).max(axis=1), taken + 1
    u = u.astype(float)
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


def _multiply(matrices, x, live, out):
    """Products of some replications' matrices (reps, q, p) with x (reps, p), into out (reps, q)."""
    if len(live) == len(x):
        np.matvec(matrices, x, out=out)
    else:
        for r in live:
            np.dot(matrices[r], x[r], out=out[r])


def _cut(x, limit):
    return np.minimum(np.maximum(x, -limit), limit)  # a third of np.clip's time


def _product(x, signs):
    """(reps, q): x (reps, p) times signs (reps, p, q), to some 1e-11 of Σ|x|, p up to 10⁵.

    The leading digits of x are so few that float32 adds them without error; the others are 2²⁴/p times smaller.
    """
    size = np.maximum(np.abs(x).max(axis=1, keepdims=True), LEAST)
    snap = SNAP * np.exp2(np.ceil(np.log2(size) + np.log2(x.shape[1] * EXACT)))
    parts = np.empty((len(x), 2, x.shape[1]), np.float32)
    leading = (x + snap) - snap
    parts[:, 0], parts[:, 1] = leading, x - leading
    return (parts @ signs).sum(axis=1, dtype=float)
