"""The Newton method of `newton.c` in NumPy, over all replications at once: the reference of the compiled one."""

import numpy as np

from pipeline.problems.common.pair_sums import pair_sums
from pipeline.problems.common.pairwise_newton import USABLE, Minimum
from pipeline.study.arrays import Booleans, Floats, Integers, Numbers

SLICE_BYTES = (
    1 << 21
)  # of one (rep, item, item) array: near the L2 cache, yet long enough to amortise calls
ACCURACY = 1e-6  # of a minimiser, relative to 1 logit and the range of its scores
FAR = 200.0  # score range / ridge from which minimisers may be far into the tails of σ (measured)


def minimise(
    scores: Floats, ridge: Numbers, tolerance: float = 1e-8, iterations: int = 100
) -> Minimum:
    """As `pipeline.problems.ranking.estimators.newton.minimise`."""
    scores = np.asarray(scores, float)
    reps, m = scores.shape
    ridge = np.broadcast_to(np.asarray(ridge, float), reps)
    nan = np.full((reps, m), np.nan)
    result = Minimum(nan, np.zeros(reps, bool), np.zeros(reps, int), nan[:, 0].copy())
    regular = (ridge == 0) | ((ridge > 1 / USABLE) & (ridge < USABLE))
    usable = np.flatnonzero(regular & (np.abs(scores) < USABLE).all(1))
    length = max(2, SLICE_BYTES // (8 * m * m))
    workspace = np.empty((max(2, min(length, usable.size)), m, m))
    with np.errstate(all="ignore"):
        for start in range(0, usable.size, length):
            rows = _pair(usable[start : start + length])
            _minimise_slice(
                rows, scores[rows], ridge[rows], tolerance, iterations, workspace, result
            )
    return result


def _pair(rows: Integers) -> Integers:
    """The same, a single one twice: NumPy adds up one column in another order than each of several."""
    return np.repeat(rows, 2) if rows.size == 1 else rows


def _minimise_slice(  # noqa: PLR0914, PLR0915 - the solver of former days, as it was
    rows: Integers,
    s: Floats,
    ridge: Floats,
    tolerance: float,
    iterations: int,
    workspace: Floats,
    result: Minimum,
) -> None:
    m = s.shape[1]
    s = s - s.mean(1, keepdims=True)
    inside = _inside(s, tolerance)
    exists = (ridge > 0) | inside
    curve = 2 * ridge
    x = s / (
        m / 4 + curve[:, None]
    )  # the exact Newton step from 0, where the Laplacian is m/4 on Σθ = 0
    far = np.flatnonzero(~inside & (ridge > 0) & (np.ptp(s, 1) > FAR * ridge))
    if far.size:
        x[far] = _excess(s[far]) / curve[far, None]
    x, s = np.ascontiguousarray(x.T), np.ascontiguousarray(s.T)
    base, step, descent, size = x, np.zeros_like(x), np.zeros(len(rows)), np.sqrt(_dot(s, s))
    length, safe, lowest = np.zeros(len(rows)), np.ones(len(rows)), np.full(len(rows), np.inf)
    for k in range(1, iterations + 1):
        u, weight, wins = _win_sums(x, workspace[: len(rows)])
        gradient = wins - s + curve * x
        gradient -= gradient.sum(0) / m
        norm = np.sqrt(_dot(gradient, gradient))
        rounding = 4 * np.finfo(float).eps * (size + (m / 4 + curve) * np.sqrt(_dot(x, x)))
        far = np.exp(-np.ptp(x, 0))
        sure = (
            ACCURACY * (1 + np.ptp(x, 0)) * (curve + m * far / (1 + far) ** 2)
        )  # by the least curvature
        flat = exists & (norm <= np.maximum(tolerance, rounding))
        visible = (
            np.finfo(float).eps * (size + curve * np.sqrt(_dot(x, x))) <= sure
        )  # along a valley
        done = flat & visible & (norm <= sure)
        # By convexity a trial that is still on a descending slope has decreased the objective.
        slope = _dot(gradient, step)
        accept = (length <= safe) | (slope <= 0)
        doubtful = flat & ~done & accept
        exact = np.where(doubtful, np.minimum(sure, tolerance), tolerance)
        newton = _newton_step(u, weight, curve, gradient, norm, exact)
        done |= doubtful & visible & (np.ptp(newton, 0) <= ACCURACY / 10 * (1 + np.ptp(x, 0)))
        stop = (
            done
            | (doubtful & (norm <= rounding) & ~(norm < lowest / 2))
            | ~exists
            | (k == iterations)
        )
        lowest = np.where(doubtful, norm, lowest)
        if stop.any():
            over = rows[stop]
            result.theta[over], result.converged[over] = x[:, stop].T, done[stop]
            result.iterations[over], result.gradient_norm[over] = k, norm[stop]
            if stop.all():
                return
        base = np.where(accept, x, base)
        step = np.where(accept, newton, step)
        radius = np.ptp(step, 0)
        safe = np.where(radius <= 1, 1, np.log1p(radius) / radius)
        secant = length * np.maximum(
            descent / (descent + slope), 0.25
        )  # where the slope should vanish
        length = np.where(accept, 1, np.maximum(safe, np.minimum(secant, 0.9 * length)))
        descent = np.where(accept, -_dot(gradient, newton), descent)
        if stop.any():
            live = _pair(np.flatnonzero(~stop))
            rows, exists = rows[live], exists[live]
            state = s, size, curve, base, step, descent, length, safe, lowest
            s, size, curve, base, step, descent, length, safe, lowest = (
                a.take(live, -1) for a in state
            )
        x = base + length * step


def _dot(a: Floats, b: Floats) -> Floats:
    """(reps,): Σ_i a_i b_i of arrays (item, rep)."""
    dot: Floats = np.einsum("ir,ir->r", a, b)
    return dot


def _times(matrix: Floats, x: Floats) -> Floats:
    """(item, rep): products of matrices (rep, item, item) with vectors (item, rep)."""
    product = np.empty_like(x)
    np.matvec(matrix, x.T, out=product.T)
    return product


def _inside(s: Floats, margin: float) -> Booleans:
    """Are the centred scores inside the permutahedron? Then, and only then, λ = 0 has a minimum.

    Landau's condition: any k items are compared k(k−1)/2 times among themselves, so any k scores must sum to more.
    """
    k = np.arange(1, s.shape[1])
    return np.asarray((np.cumsum(np.sort(s, 1), 1)[:, :-1] + k * k[::-1] / 2 > margin).all(1))


def _excess(s: Floats) -> Floats:
    """Centred scores minus their projection on the permutahedron: the limit of 2λθ̂ as λ → 0.

    A start near minimisers that are far away. Isotonic regression of the sorted scores (Lim and Wright 2016).
    """
    m, order, total = s.shape[1], np.argsort(-s, 1), np.zeros((len(s), s.shape[1] + 1))
    np.cumsum(np.take_along_axis(s, order, 1) - (m - 1) / 2 + np.arange(m), 1, out=total[:, 1:])
    first, last = np.arange(m)[:, None], np.arange(m)
    mean = (total[:, None, 1:] - total[:, :-1, None]) / np.maximum(last - first + 1, 1)
    mean[:, first > last] = -np.inf
    largest = np.maximum.accumulate(mean[:, :, ::-1], 2)[:, :, ::-1]
    largest[:, first > last] = np.inf
    excess = np.empty_like(s)
    np.put_along_axis(excess, order, largest.min(1), 1)
    centred: Floats = excess - excess.mean(1, keepdims=True)
    return centred


def _win_sums(x: Floats, workspace: Floats) -> tuple[Floats, Floats, Floats]:
    """(u, K, wins): edge weights are u_i K_ij u_j with K_ii = 0, wins_i = Σ_{j≠i} (σ(θ_i−θ_j) − ½).

    x: (item, rep). K overwrites `workspace`, (rep, item, item), the only large array but where some are far.
    """
    m, columns = len(x), x.T
    centred = x - (x.max(0) + x.min(0)) / 2
    far = np.abs(centred).max(0) >= 300  # u^-2 would not be finite
    if far.any() and not far.all():  # each its own way, whatever the batch
        u, wins = np.empty_like(x), np.empty_like(x)
        for some in (_pair(np.flatnonzero(far)), _pair(np.flatnonzero(~far))):
            u[:, some], workspace[some], wins[:, some] = _win_sums(x[:, some], workspace[some])
        return u, workspace, wins
    diagonal = np.einsum("rii->ri", workspace)  # a view
    if not far.any():
        u = np.exp(centred)
        pair_sums(u.T, out=workspace)
        np.divide(1.0, workspace, out=workspace)
        diagonal[...] = 0
        wins = u * _times(workspace, np.ones_like(u))
        np.multiply(workspace, workspace, out=workspace)
    else:
        u = np.ones_like(x)
        np.subtract(columns[:, None, :], columns[:, :, None], out=workspace)
        np.exp(np.clip(workspace, -700, 700, out=workspace), out=workspace)
        np.divide(1.0, np.add(workspace, 1, out=workspace), out=workspace)
        diagonal[...] = 0
        wins = _times(workspace, u)
        np.multiply(workspace, workspace.swapaxes(1, 2), out=workspace)
    return u, workspace, wins - (m - 1) / 2


def _newton_step(
    u: Floats, weight: Floats, curve: Floats, gradient: Floats, norm: Floats, tolerance: Floats
) -> Floats:
    """Newton step by diagonally preconditioned conjugate gradients, in the subspace Σθ = 0.

    Truncated at a residual of 0.1·min(1, norm)·norm: superlinear; the slope along p stays −pᵀHp, as for the
    exact step, on which the safe length rests. Each replication stops for itself, whatever the batch.
    """
    m = len(u)
    degree = u * _times(weight, u) + curve
    target = np.maximum(0.1 * np.minimum(1, norm) * norm, tolerance / 10)
    step, residual, direction, before = (
        np.zeros_like(u),
        -gradient,
        np.zeros_like(u),
        np.ones(u.shape[1]),
    )
    scale = 1 / np.maximum(degree, 1 / USABLE)
    for _ in range(m + 5):
        rough = np.sqrt(_dot(residual, residual)) > target
        if not rough.any():
            break
        scaled = residual * scale
        scaled -= scaled.sum(0) / m
        rho = _dot(residual, scaled)
        direction *= np.where(rho > 0, rho / before, 0)  # 0/0 if solved exactly
        direction += scaled
        image = degree * direction - u * _times(weight, u * direction)
        curvature = _dot(direction, image)
        alpha = np.where(rough & (curvature > 0), rho / curvature, 0)
        if not alpha.any():
            break
        step += alpha * direction
        residual -= alpha * image
        before = rho
    return step
