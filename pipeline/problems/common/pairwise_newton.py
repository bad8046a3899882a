"""Minimisers of Σ_{i<j} f_ij(θ_i−θ_j) + λ‖θ‖² over θ in R^m with Σθ = 0: batched damped Newton, dense solves.

For pairwise losses that the kernel of the complete graph (`newton.c`) does not cover: incomplete comparisons, and
likelihoods that are not convex. Where the Hessian is not positive definite, its eigenvalues are replaced by their
absolute values (saddle-free Newton; Dauphin et al. 2014) and the direction of steepest negative curvature is added, so
every step descends; steps are shortened until the objective falls (Armijo).
"""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Booleans, Floats, Integers

USABLE = 1e50  # scores and ridges (and 1/ridge) beyond this would overflow when squared
SLICE_BYTES = (
    1 << 19
)  # of one (rep, item, item) array: losses take dozens of passes over half as much
EPS = np.finfo(float).eps
ACCURACY = 1e-7  # of θ, relative to 1 logit and its range: longest next step at a minimum
WORST_CONDITION = (
    1e12  # size over least curvature, without a ridge: beyond it some item is not determined
)


class Minimum(NamedTuple):
    """Minimisers and how they were reached; the first axis is the replication.

    theta (rep, item), rows summing to 0; converged (rep,) bool; iterations (rep,) int, the number of gradient
    evaluations; gradient_norm (rep,), Euclidean, at theta. Where `converged` is False, theta is the last
    iterate, or NaN (as is gradient_norm, with 0 iterations) when the scores or the ridge were not usable.
    """

    theta: Floats
    converged: Booleans
    iterations: Integers
    gradient_norm: Floats


class Local(NamedTuple):
    """Losses at given gaps: value (reps,), summed over pairs; slope f' and curvature f'', (reps, pairs)."""

    value: Floats
    slope: Floats
    curvature: Floats


class Losses(Protocol):
    """Losses f_ij of all pairs i < j, f_ij(0) = 0, in the order of `numpy.triu_indices(m, 1)`.

    size: (reps,), the sum of the magnitudes that are added up in f: rounding errors are in proportion to it.
    width: groups of users, each of which takes arrays of (reps, pairs). convex: whether f'' ≥ 0.
    """

    size: Floats
    width: int
    convex: bool

    def take(self, rows: Integers | Booleans) -> "Losses":
        """Losses of some replications."""

    def __call__(self, gap: Floats) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""


class Logistic:
    """f(d) = n [log((1+e^d)/2) − z̄ d]: eq. (3) of Xu, Sun and Cheng with pairs weighted by `share`.

    mean z̄, any reals, and share n ≥ 0: (reps, pairs).
    """

    width, convex = 1, True

    def __init__(self, mean: Floats, share: Floats):
        self.mean, self.share = mean, share
        self.size = (share * (1 + np.abs(mean))).sum(axis=1)

    def take(self, rows: Integers | Booleans) -> "Logistic":
        """Losses of some replications."""
        return Logistic(self.mean[rows], self.share[rows])

    def __call__(self, gap: Floats) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""
        win, lose = expit(gap), expit(-gap)
        value = (self.share * (np.logaddexp(0, gap) - self.mean * gap - np.log(2))).sum(axis=1)
        return Local(value, self.share * (win - self.mean), self.share * win * lose)


def minimise_pairs(
    loss: Losses, start: Floats, ridge: float, tolerance: float = 1e-10, iterations: int = 300
) -> Minimum:
    """Minimiser for every replication, each independent of the others in the batch.

    start: (reps, items), rows summing to 0; where 0 is better, it starts there. ridge: λ ≥ 0.
    Converged: the gradient's norm is below `tolerance`, or its rounding error if that is larger, the
    Hessian is positive definite, and the next step is short, at most `ACCURACY` of 1 + the range of
    θ; with hardly a ridge rounding may keep it longer. If λ = 0 the Hessian is well conditioned,
    too, which excludes items that no comparison connects and minima at infinity. What is not finite gives NaN,
    not converged. Under ten iterations are usual; minima 10⁴ logits away, of means far outside
    [0, 1] with hardly a ridge, may take more than the limit. O(reps · m³) an iteration; temporary
    memory some dozen times max(0.5 MB, 8m² bytes).
    """
    reps, m = start.shape
    nan = np.full((reps, m), np.nan)
    result = Minimum(nan, np.zeros(reps, bool), np.zeros(reps, int), nan[:, 0].copy())
    regular = ridge == 0 or 1 / USABLE < ridge < USABLE
    usable = np.flatnonzero(regular & (loss.size < USABLE))
    length = max(1, SLICE_BYTES // (8 * m * m * loss.width))
    with np.errstate(all="ignore"):
        for first in range(0, usable.size, length):
            rows = usable[first : first + length]
            _minimise_slice(
                rows, loss.take(rows), start[rows], ridge, tolerance, iterations, result
            )
    return result


def _minimise_slice(
    rows: Integers,
    loss: Losses,
    x: Floats,
    ridge: float,
    tolerance: float,
    iterations: int,
    result: Minimum,
) -> None:
    first, second = np.triu_indices(x.shape[1], 1)
    base, step = np.zeros_like(x), np.zeros_like(x)
    level, descent, length = np.zeros(len(x)), np.zeros(len(x)), np.ones(len(x))
    lowest = np.full(len(x), np.inf)  # norm of the gradient one iteration before, if it was small
    for k in range(1, iterations + 1):
        local = loss(x[:, first] - x[:, second])
        value = local.value + ridge * np.vecdot(x, x)
        gradient = _net(local.slope, first, second, x.shape[1]) + 2 * ridge * x
        gradient -= gradient.mean(axis=1, keepdims=True)
        norm, reach = np.sqrt(np.vecdot(gradient, gradient)), np.ptp(x, axis=1)
        noise = 8 * EPS * (loss.size * (1 + reach) + np.abs(value))
        accept = value <= level + 1e-4 * length * descent + noise
        newton, definite = _newton_step(
            local.curvature[accept], gradient[accept], ridge, loss.size[accept], loss.convex
        )
        span = np.maximum(np.ptp(newton, axis=1), 1)
        newton *= np.minimum(1, 1e3 * (1 + reach[accept]) / span)[:, None]
        base[accept], step[accept], level[accept] = x[accept], newton, value[accept]
        descent[accept] = np.vecdot(gradient[accept], newton)
        rounding = 4 * EPS * (loss.size + (1 + 2 * ridge) * np.sqrt(np.vecdot(x, x)))
        flat = accept & (norm <= np.maximum(tolerance, rounding))
        regular = np.zeros(len(x), bool)
        regular[accept] = definite
        short = ACCURACY * (1 + reach) if ridge > 0 else 1e-3
        near = np.ptp(step, axis=1) < short
        done = flat & regular & near
        stalled = flat & ~near & (ridge > 0) & (norm <= rounding) & ~(norm < lowest / 2)
        lowest = np.where(flat, norm, np.inf)
        stop = done | stalled | (flat & ~regular & loss.convex) | (k == iterations)
        result.theta[rows], result.converged[rows] = np.where(accept[:, None], x, base), done
        result.iterations[rows], result.gradient_norm[rows] = k, norm
        if stop.all():
            return
        # The parabola through the known values of the objective along the step.
        cut = -descent * length**2 / (2 * (value - level - descent * length))
        cut = np.where(np.isfinite(cut), np.clip(cut, 0.1 * length, 0.5 * length), 0.1 * length)
        length = np.where(accept, 1, cut)
        if stop.any():
            state = rows, base, step, level, descent, length, lowest
            rows, base, step, level, descent, length, lowest = (a[~stop] for a in state)
            loss = loss.take(~stop)
        x = base + length[:, None] * step


def _net(slope: Floats, first: Integers, second: Integers, m: int) -> Floats:
    """(reps, m): Σ_{j≠i} of the slopes of an item's pairs, signed."""
    square = np.zeros((len(slope), m, m))
    square[:, first, second] = slope
    square[:, second, first] = -slope
    net: Floats = square.sum(axis=2)
    return net


def _hessian(edges: Floats, ridge: float, m: int) -> Floats:
    """Laplacian of the edges + 2λI, with the mean degree added along its null vector 1, so that it can be inverted."""
    first, second = np.triu_indices(m, 1)
    square = np.zeros((len(edges), m, m))
    square[:, first, second] = -edges
    square[:, second, first] = -edges
    degree = -square.sum(axis=2)
    lift = np.abs(degree).mean(axis=1) + 2 * ridge
    square += (lift / m)[:, None, None]
    least = np.maximum(
        2 * ridge, 1e-13 * lift + 1 / USABLE
    )  # LAPACK stops the whole batch at a zero pivot
    np.einsum("rii->ri", square)[...] += degree + least[:, None]
    return square


def _newton_step(
    curvature: Floats, gradient: Floats, ridge: float, size: Floats, convex: bool
) -> tuple[Floats, Booleans]:
    """(Newton steps, whether the Hessian is safely positive definite)."""
    m = gradient.shape[1]
    matrix, step = _hessian(curvature, ridge, m), np.empty_like(gradient)
    definite = np.ones(len(matrix), bool) if convex else _definite(matrix)
    step[definite] = np.linalg.solve(matrix[definite], -gradient[definite, :, None])[:, :, 0]
    if not definite.all():
        step[~definite] = _saddle_free(matrix[~definite], gradient[~definite])
    step -= step.mean(axis=1, keepdims=True)
    if ridge == 0:
        definite &= np.linalg.eigvalsh(matrix)[:, 0] > 2 / USABLE + size / WORST_CONDITION
    return step, definite


def _saddle_free(matrix: Floats, gradient: Floats) -> Floats:
    """−|H|⁻¹g, and one logit along the direction of most negative curvature, on the side where the objective falls."""
    values, vectors = np.linalg.eigh(matrix)
    along = np.matvec(vectors.mT, gradient)
    size = np.abs(values)
    along /= -np.maximum(size, 1e-8 * size.max(axis=1, keepdims=True))
    along[:, 0] += np.where(values[:, 0] < 0, np.where(along[:, 0] < 0, -1, 1), 0)
    step: Floats = np.matvec(vectors, along)
    return step


def _definite(matrix: Floats) -> Booleans:
    """(reps,): is the matrix positive definite? If the batch is not, its halves are tested."""
    try:
        np.linalg.cholesky(matrix)
        return np.ones(len(matrix), bool)
    except np.linalg.LinAlgError:
        if len(matrix) == 1:
            return np.zeros(1, bool)
        half = len(matrix) // 2
        return np.concatenate([_definite(matrix[:half]), _definite(matrix[half:])])
