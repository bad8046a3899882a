"""Regularised M-estimator of the Bradley–Terry–Luce model: batched Newton (safe-guarded, with status).

Xu, Sun and Cheng, eq. (3): minimise Σ_{i<j} [z̄_ij(θ_j−θ_i) + log(1+e^{θ_i−θ_j})] + λ‖θ‖² over θ in R^m.
The data enter only through the scores s_i = Σ_{j≠i} z̄_ij, so the gradient is
Σ_{j≠i} σ(θ_i−θ_j) − s_i + 2λθ_i and the Hessian is the Laplacian of the complete graph with weights
σ(θ_i−θ_j)σ(θ_j−θ_i), plus 2λI. Both leave the subspace Σθ = 0 invariant (Lemma 3); all work is done in it.
"""

from typing import NamedTuple

import numpy as np

# Bytes of one slice's (reps, item, item) array: it is swept several times per step, from the L2 cache.
SLICE_BYTES = 1 << 18


class Minimum(NamedTuple):
    """Minimisers and how they were reached, one entry per replication on the first axis.

    theta (reps, item), each row summing to 0; converged (reps,) bool; iterations (reps,) int, gradient
    evaluations used; gradient_norm (reps,), Euclidean, at theta. Where `converged` is False, theta is the
    last iterate (finite), or NaN when the scores or the ridge are not usable.
    """

    theta: np.ndarray
    converged: np.ndarray
    iterations: np.ndarray
    gradient_norm: np.ndarray


def scores(mean: np.ndarray, m: int) -> np.ndarray:
    """Scores s_i = Σ_{j≠i} z̄_ij with z̄_ji = 1 − z̄_ij; the sufficient statistic of eq. (3).

    mean (reps, pair), pairs in the order of `np.triu_indices(m, 1)`, any real values -> (reps, item).
    O(reps · m²).
    """
    mean = np.asarray(mean, float)
    first, second = np.triu_indices(m, 1)
    incidence = np.zeros((first.size, m))
    incidence[np.arange(first.size), first] = 1
    incidence[np.arange(first.size), second] = -1
    return mean @ incidence + np.arange(m)


def minimise(scores, ridge, tolerance: float = 1e-8, iterations: int = 100) -> Minimum:
    scores = np.asarray(scores, float)
    reps, m = scores.shape
    ridge = np.broadcast_to(np.asarray(ridge, float), reps)
    result = Minimum(np.full((reps, m), np.nan), np.zeros(reps, bool), np.zeros(reps, int), np.full(reps, np.nan))
    usable = np.flatnonzero(np.isfinite(scores).all(1) & np.isfinite(ridge) & (ridge >= 0))
    length = max(1, SLICE_BYTES // (8 * m * m))
    work = np.empty((min(length, usable.size), m, m))
    with np.errstate(all="ignore"):
        for start in range(0, usable.size, length):
            rows = usable[start:start + length]
            _minimise_slice(rows, scores[rows], ridge[rows, None], tolerance, iterations, work, result)
    return result


MODE, BACK, ETA, ETB = "half", 2.0, 0.1, 0.1


def _minimise_slice(rows, s, ridge, tolerance, iterations, work, result):
    m = s.shape[1]
    s = s - s.mean(1, keepdims=True)  # minus (m-1)/2, so that the gradient stays in the subspace
    exists = (ridge[:, 0] > 0) | _inside_permutahedron(s)
    x = s / (m / 4 + 2 * ridge)  # the Newton step from 0, whose Hessian is m/4 (I - 11'/m) + 2 ridge I
    if THRESH:
        far = np.flatnonzero((ridge[:, 0] > 0) & ~_inside_permutahedron(s))
        if far.size:
            y = _excess(s[far]) / (2 * ridge[far])
            use = np.ptp(y, axis=1) > THRESH
            x[far[use]] = y[use]
    base, step, t, safe = x, np.zeros_like(x), np.zeros(len(x)), np.ones(len(x))
    a = t
    for k in range(1, iterations + 1):
        scale, weight, gradient = _win_gradient(x, work[:len(x)])
        gradient += 2 * ridge * x - s
        gradient -= gradient.mean(1, keepdims=True)
        norm = _norm(gradient)
        rounding = 4 * np.finfo(float).eps * (_norm(s) + (m / 4 + 2 * ridge[:, 0]) * _norm(x))
        done = (norm <= np.maximum(tolerance, rounding)) & np.isfinite(rounding) & exists
        stop = done | ~exists | (k == iterations)
        result.theta[rows], result.converged[rows] = x, done
        result.iterations[rows], result.gradient_norm[rows] = k, norm
        if stop.all():
            return
        b = np.vecdot(gradient, step)
        accept = (t <= safe) | (b <= 0)
        new = _newton_step(scale, weight, ridge, gradient, norm, tolerance)
        base = np.where(accept[:, None], x, base)
        step = np.where(accept[:, None], new, step)
        radius = step.max(1) - step.min(1)
        safe = np.where(radius <= 1, 1, np.log1p(radius) / radius)
        if MODE == "half":
            t = np.where(accept, 1, np.maximum(safe, t / BACK))
        else:
            t = np.where(accept, 1, np.maximum(safe, t * np.clip(a / (a + b), 1 / BACK, .9)))
            a = np.where(accept, -np.vecdot(gradient, new), a)
        if stop.any():
            rows, s, ridge, exists, base, step, t, safe, a = (
                v[~stop] for v in (rows, s, ridge, exists, base, step, t, safe, a))
        x = base + t[:, None] * step


def _norm(rows):
    return np.sqrt(np.vecdot(rows, rows))


def _inside_permutahedron(s):
    m = s.shape[1]
    k = np.arange(1, m)
    return (np.cumsum(np.sort(s, 1), 1)[:, :-1] > -k * (m - k) / 2).all(1)


THRESH = 20
def _excess(s):
    """s minus its projection on the permutahedron."""
    reps, m = s.shape
    order = np.argsort(-s, 1)
    total = np.zeros((reps, m + 1))
    np.cumsum(np.take_along_axis(s, order, 1) - ((m - 1) / 2 - np.arange(m)), 1, out=total[:, 1:])
    first, last = np.arange(m)[:, None], np.arange(m)
    mean = (total[:, None, 1:] - total[:, :m, None]) / np.maximum(last - first + 1, 1)
    mean[:, first > last] = -np.inf
    mean = np.maximum.accumulate(mean[:, :, ::-1], 2)[:, :, ::-1]
    mean[:, first > last] = np.inf
    out = np.empty_like(s)
    np.put_along_axis(out, order, mean.min(1), 1)
    return out


def _win_gradient(x, work):
    m = x.shape[1]
    centred = x - (x.max(1, keepdims=True) + x.min(1, keepdims=True)) / 2
    diagonal = np.einsum("bii->bi", work)
    if np.abs(centred).max(initial=0) < 300:
        u = np.exp(centred)
        left, right = np.ones((len(x), m, 2)), np.ones((len(x), 2, m))
        left[:, :, 0] = right[:, 1] = u
        np.matmul(left, right, out=work)
        np.divide(1.0, work, out=work)
        diagonal[...] = 0
        gradient = np.matvec(work, np.ones(m)) * u - (m - 1) / 2
        np.multiply(work, work, out=work)
    else:
        u = np.ones_like(x)
        np.subtract(x[:, None, :], x[:, :, None], out=work)
        np.exp(np.clip(work, -700, 700, out=work), out=work)
        work += 1
        np.divide(1.0, work, out=work)
        diagonal[...] = 0
        gradient = np.matvec(work, u) - (m - 1) / 2
        np.multiply(work, work.swapaxes(1, 2), out=work)
    return u, work, gradient


def _newton_step(scale, weight, ridge, gradient, norm, tolerance):
    """PCG."""
    degree = np.matvec(weight, scale) * scale + 2 * ridge
    inverse = 1 / np.maximum(degree, 1e-300)
    target = np.maximum(np.minimum(ETA, norm * ETB) * norm, tolerance / 10)
    step, residual, direction, old = np.zeros_like(scale), -gradient, 0.0, np.ones(len(scale))
    for _ in range(scale.shape[1] + 5):
        z = residual * inverse
        z -= z.mean(1, keepdims=True)
        rho = np.vecdot(residual, z)
        direction = z + (rho / old)[:, None] * direction
        image = degree * direction - scale * np.matvec(weight, scale * direction)
        curvature = np.vecdot(direction, image)
        alpha = np.where((curvature > 0) & (_norm(residual) > target), rho / curvature, 0)
        if not alpha.any():
            break
        step += alpha[:, None] * direction
        residual -= alpha[:, None] * image
        old = rho
    return step
