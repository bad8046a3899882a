"""Expectation–maximisation for one-coin crowds, a block of replications at once.

In signs, s_ij = ±1 for answers 1 and 0, 0 for none, with c_i = 2 p_i − 1 and u_j = 2 y_j − 1, a step is

    c = S u / k, cut to ±(1 − 2λ);    u = tanh(Sᵀ artanh c);    k_i: answers of worker i,

which is eqs. (10), (7), (8) of Wang and Xu. Reading S is what a step costs, so it is held in float32. While abilities
still move by 1e-5 all is done in float32. Then the two products are taken once to float64's precision, and from there
on only changes are multiplied: these are small, and so are their rounding errors.
"""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

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
        if answers[rows].all():
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
    a step changed no p_i = (1 + c_i)/2 by as much as the tolerance. A replication's numbers do not depend on the
    others. O(reps · n · m) a step; memory 4 bytes for each answer of a few replications.
    """
    reps, n, m = answers.shape
    abilities, labels = np.empty((reps, n)), np.empty((reps, m))
    converged, taken = np.empty(reps, bool), np.empty(reps, int)
    for rows, signs, answered in blocks(answers):
        crowd = SimpleNamespace(
            signs=signs, answered=answered, place=np.arange(len(signs)), limit=limit, u=start(signs, answered, rows),
            c=np.full((len(signs), n), np.inf), taken=np.zeros(len(signs), int))
        if steps > 1:
            _iterate(crowd, _rough_step, 2 * ROUGH, steps - 1, True)
        crowd.q, crowd.z = _product(crowd.u, signs.swapaxes(1, 2)), None
        change = _iterate(crowd, _step, 2 * tolerance, steps, False)
        place = crowd.place + rows.start
        abilities[place], labels[place], taken[place] = crowd.c, crowd.u, crowd.taken
        converged[place] = change < 2 * tolerance
    return abilities, labels, converged, taken


def _iterate(crowd, step, least, most, again):
    """Take steps of each replication until its abilities change by less than `least`, or it has taken `most`.

    What has come to its end moves behind what is at work, its signs only if they are needed `again`. Leaves c
    and u of each replication's last step in the crowd, and returns the last changes, (reps,).
    """
    reps = len(crowd.signs)
    c, u, taken, last = np.empty_like(crowd.c, float), np.empty_like(crowd.u, float), crowd.taken.copy(), np.empty(reps)
    live = np.ones(reps, bool)
    work = SimpleNamespace(**vars(crowd))
    while live.any():
        before = work.c
        step(work)
        change = np.abs(work.c - before).max(axis=1)
        width = len(live)
        taken[:width] += live
        over = np.flatnonzero(live & ((change < least) | (taken[:width] >= most)))
        if not over.size:
            continue
        c[over], u[over], last[over] = work.c[over], work.u[over], change[over]
        live[over] = False
        left = live.sum()
        if 4 * left <= 3 * width:
            holes, moved = np.flatnonzero(~live[:left]), left + np.flatnonzero(live[left:])
            for array in (c, u, taken, last, crowd.place, crowd.answered, *([crowd.signs] if again else [])):
                array[holes], array[moved] = array[moved], array[holes]
            if not again:
                crowd.signs[holes] = crowd.signs[moved]
            for name in ("c", "u", "q", "z", "du"):
                if isinstance(array := getattr(work, name, None), np.ndarray):
                    array[holes] = array[moved]
                    setattr(work, name, array[:left])
            work.signs, work.answered, live = crowd.signs[:left], crowd.answered[:left], np.ones(left, bool)
    crowd.c, crowd.u, crowd.taken = c, u, taken
    return last


def _rough_step(crowd):
    crowd.c = np.matvec(crowd.signs, crowd.u.astype(np.float32, copy=False)) / crowd.answered
    np.clip(crowd.c, -crowd.limit, crowd.limit, out=crowd.c)
    weights = np.arctanh(np.clip(crowd.c.astype(float), -crowd.limit, crowd.limit))  # float32 may round the limit to 1
    crowd.u = np.vecmat(weights.astype(np.float32), crowd.signs)
    np.tanh(crowd.u, out=crowd.u)


def _step(crowd):
    """q and z are S u and Sᵀ artanh c, kept up to date; du is what q lacks."""
    before = crowd.c
    if crowd.z is not None:
        crowd.q += np.matvec(crowd.signs, crowd.du)
    crowd.c = np.clip(crowd.q / crowd.answered, -crowd.limit, crowd.limit)
    if crowd.z is None:
        crowd.z = _product(np.arctanh(crowd.c), crowd.signs)
    else:
        crowd.z += np.vecmat((np.arctanh(crowd.c) - np.arctanh(before)).astype(np.float32), crowd.signs)
    u = np.tanh(crowd.z)
    crowd.du = (u - crowd.u).astype(np.float32)
    crowd.u = u


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
