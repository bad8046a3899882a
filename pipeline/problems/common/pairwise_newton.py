"""Minimisers of Σ_{i<j} f_ij(θ_i−θ_j) + λ‖θ‖² over θ in R^m with Σθ = 0.

Batched damped Newton, dense solves. For pairwise losses that the kernel of
the complete graph (`newton.c`) does not cover: incomplete comparisons, and
likelihoods that are not convex. Where the Hessian is not positive definite,
its eigenvalues are replaced by their absolute values (saddle-free Newton;
Dauphin et al. 2014) and the direction of steepest negative curvature is
added, so every step descends; steps are shortened until the objective falls
(Armijo).
"""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Booleans, Floats, Integers

USABLE = 1e50  # scores and ridges (and 1/ridge) beyond this would overflow when squared
# Of one (rep, item, item) array: losses take dozens of passes over half as much.
SLICE_BYTES = 1 << 19
EPS = np.finfo(float).eps
ACCURACY = 1e-7  # of θ, relative to 1 logit and its range: longest next step at a minimum
# Size over least curvature, without a ridge: beyond it some item is not determined.
WORST_CONDITION = 1e12
SUFFICIENT = 1e-4  # share of the predicted descent that a step must reach (Armijo)
LONGEST = 1e3  # step over 1 logit and the range of θ


class Minimum(NamedTuple):
    """Minimisers and how they were reached; the first axis is the replication.

    theta (rep, item), rows summing to 0; converged (rep,) bool; iterations
    (rep,) int, the number of gradient evaluations; gradient_norm (rep,),
    Euclidean, at theta. Where `converged` is False, theta is the last
    iterate, or NaN (as is gradient_norm, with 0 iterations) when the scores
    or the ridge were not usable.
    """

    theta: Floats
    converged: Booleans
    iterations: Integers
    gradient_norm: Floats


class Local(NamedTuple):
    """Losses at given gaps.

    value: (reps,), summed over pairs. slope f' and curvature f'': (reps,
    pairs).
    """

    value: Floats
    slope: Floats
    curvature: Floats


class Losses(Protocol):
    """Losses f_ij of all pairs i < j, f_ij(0) = 0, in the order of `numpy.triu_indices(m, 1)`.

    size: (reps,), the sum of the magnitudes that are added up in f:
    rounding errors are in proportion to it. width: groups of users, each of
    which takes arrays of (reps, pairs). convex: whether f'' ≥ 0.
    """

    size: Floats
    width: int
    convex: bool

    def take(self, rows: Integers | Booleans) -> "Losses":
        """Losses of some replications."""

    def __call__(self, gap: Floats) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""


class Logistic:
    """f(d) = n [log((1+e^d)/2) − z̄ d]: eq.

    (3) of Xu, Sun and Cheng with pairs weighted by `share`.

    mean z̄, any reals, and share n ≥ 0: (reps, pairs).
    """

    width = 1
    convex = True

    def __init__(self, mean: Floats, share: Floats):
        self.mean = mean
        self.share = share
        self.size = (share * (1 + np.abs(mean))).sum(axis=1)

    def take(self, rows: Integers | Booleans) -> "Logistic":
        """Losses of some replications."""
        return Logistic(self.mean[rows], self.share[rows])

    def __call__(self, gap: Floats) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""
        win = expit(gap)
        lose = expit(-gap)
        value = (self.share * (np.logaddexp(0, gap) - self.mean * gap - np.log(2))).sum(axis=1)
        return Local(value, self.share * (win - self.mean), self.share * win * lose)


def minimise_pairs(
    loss: Losses, start: Floats, ridge: float, tolerance: float = 1e-10, iterations: int = 300
) -> Minimum:
    """Minimiser for every replication, each independent of the others in the batch.

    start: (reps, items), rows summing to 0; where 0 is better, it starts
    there. ridge: λ ≥ 0. Converged: the gradient's norm is below
    `tolerance`, or its rounding error if that is larger, the Hessian is
    positive definite, and the next step is short, at most `ACCURACY` of 1 +
    the range of θ; with hardly a ridge rounding may keep it longer. If λ =
    0 the Hessian is well conditioned, too, which excludes items that no
    comparison connects and minima at infinity. What is not finite gives
    NaN, not converged. Under ten iterations are usual; minima 10⁴ logits
    away, of means far outside [0, 1] with hardly a ridge, may take more
    than the limit. O(reps · m³) an iteration; temporary memory some dozen
    times max(0.5 MB, 8m² bytes).
    """
    reps, m = start.shape
    unusable = np.full((reps, m), np.nan)
    result = Minimum(unusable, np.zeros(reps, bool), np.zeros(reps, int), unusable[:, 0].copy())
    is_regular = ridge == 0 or 1 / USABLE < ridge < USABLE
    usable = np.flatnonzero(is_regular & (loss.size < USABLE))
    length = max(1, SLICE_BYTES // (8 * m * m * loss.width))
    with np.errstate(all="ignore"):
        for first in range(0, usable.size, length):
            rows = usable[first : first + length]
            descent = _Descent(rows, loss.take(rows), start[rows], ridge, tolerance)
            for iteration in range(1, iterations + 1):
                descent.iterate(result, iteration, is_last=iteration == iterations)
                if not len(descent.rows):
                    break
    return result


class _Descent:
    """Descents of some replications that have not ended yet, side by side.

    rows: (left,), their numbers. x: (left, m), where each is tried next.
    base, step, length, level, slope: the last accepted θ, the step from
    there, the share of the step that is tried, the objective at base and
    its slope along the step. lowest: norm of the gradient one iteration
    before, if it was small.
    """

    def __init__(self, rows: Integers, loss: Losses, start: Floats, ridge: float, tolerance: float):
        self.rows = rows
        self.loss = loss
        self.ridge = ridge
        self.tolerance = tolerance
        self.x = start
        self.base = np.zeros_like(start)
        self.step = np.zeros_like(start)
        self.level = np.zeros(len(start))
        self.slope = np.zeros(len(start))
        self.length = np.ones(len(start))
        self.lowest = np.full(len(start), np.inf)

    def iterate(self, result: Minimum, iteration: int, is_last: bool) -> None:
        """One step of each; writes the state of each into the result, and drops those that end."""
        value, gradient, curvature = self._objective()
        norm = np.sqrt(np.vecdot(gradient, gradient))
        reach = np.ptp(self.x, axis=1)
        noise = 8 * EPS * (self.loss.size * (1 + reach) + np.abs(value))
        sufficient = self.level + SUFFICIENT * self.length * self.slope
        accept = value <= sufficient + noise
        is_regular = np.zeros(len(self.x), bool)
        is_regular[accept] = self._move(accept, curvature, gradient, value, reach)

        rounding = (
            4 * EPS * (self.loss.size + (1 + 2 * self.ridge) * np.sqrt(np.vecdot(self.x, self.x)))
        )
        is_flat = accept & (norm <= np.maximum(self.tolerance, rounding))
        short = ACCURACY * (1 + reach) if self.ridge > 0 else 1e-3
        is_near = np.ptp(self.step, axis=1) < short
        is_done = is_flat & is_regular & is_near
        is_rounding = (norm <= rounding) & ~(norm < self.lowest / 2)
        is_stalled = is_flat & ~is_near & (self.ridge > 0) & is_rounding
        self.lowest = np.where(is_flat, norm, np.inf)
        is_lost = is_flat & ~is_regular & self.loss.convex
        stop = is_done | is_stalled | is_lost | is_last
        result.theta[self.rows] = np.where(accept[:, None], self.x, self.base)
        result.converged[self.rows] = is_done
        result.iterations[self.rows] = iteration
        result.gradient_norm[self.rows] = norm
        if not stop.all():
            self._shorten(accept, value)
        if stop.any():
            self._keep(~stop)
        self.x = self.base + self.length[:, None] * self.step

    def _objective(self) -> tuple[Floats, Floats, Floats]:
        """Value (left,), centred gradient (left, m) and curvatures (left, pairs) at x."""
        m = self.x.shape[1]
        first, second = np.triu_indices(m, 1)
        local = self.loss(self.x[:, first] - self.x[:, second])
        value = local.value + self.ridge * np.vecdot(self.x, self.x)
        gradient = _net(local.slope, first, second, m) + 2 * self.ridge * self.x
        gradient -= gradient.mean(axis=1, keepdims=True)
        return value, gradient, local.curvature

    def _move(
        self, accept: Booleans, curvature: Floats, gradient: Floats, value: Floats, reach: Floats
    ) -> Booleans:
        """Makes the accepted points bases; (accepted,), whether Hessians are positive definite."""
        step, is_definite = _newton_step(
            curvature[accept],
            gradient[accept],
            self.ridge,
            self.loss.size[accept],
            self.loss.convex,
        )
        span = np.maximum(np.ptp(step, axis=1), 1)
        step *= np.minimum(1, LONGEST * (1 + reach[accept]) / span)[:, None]
        self.base[accept] = self.x[accept]
        self.step[accept] = step
        self.level[accept] = value[accept]
        self.slope[accept] = np.vecdot(gradient[accept], step)
        return is_definite

    def _shorten(self, accept: Booleans, value: Floats) -> None:
        """The whole next step where a point was accepted, else less of the last one.

        The parabola through the known values of the objective along the
        step says how much less.
        """
        rise = value - self.level - self.slope * self.length
        cut = -self.slope * self.length**2 / (2 * rise)
        bounded = np.clip(cut, 0.1 * self.length, 0.5 * self.length)
        cut = np.where(np.isfinite(cut), bounded, 0.1 * self.length)
        self.length = np.where(accept, 1, cut)

    def _keep(self, left: Booleans) -> None:
        """Drops replications but those left."""
        self.rows = self.rows[left]
        self.loss = self.loss.take(left)
        self.base = self.base[left]
        self.step = self.step[left]
        self.level = self.level[left]
        self.slope = self.slope[left]
        self.length = self.length[left]
        self.lowest = self.lowest[left]


def _net(slope: Floats, first: Integers, second: Integers, m: int) -> Floats:
    """(reps, m): Σ_{j≠i} of the slopes of an item's pairs, signed."""
    square = np.zeros((len(slope), m, m))
    square[:, first, second] = slope
    square[:, second, first] = -slope
    net: Floats = square.sum(axis=2)
    return net


def _hessian(edges: Floats, ridge: float, m: int) -> Floats:
    """Laplacian of the edges + 2λI, with the mean degree added along its null vector 1.

    So it can be inverted.
    """
    first, second = np.triu_indices(m, 1)
    square = np.zeros((len(edges), m, m))
    square[:, first, second] = -edges
    square[:, second, first] = -edges
    degree = -square.sum(axis=2)
    lift = np.abs(degree).mean(axis=1) + 2 * ridge
    square += (lift / m)[:, None, None]
    # LAPACK stops the whole batch at a zero pivot.
    least = np.maximum(2 * ridge, 1e-13 * lift + 1 / USABLE)
    np.einsum("rii->ri", square)[...] += degree + least[:, None]
    return square


def _newton_step(
    curvature: Floats, gradient: Floats, ridge: float, size: Floats, convex: bool
) -> tuple[Floats, Booleans]:
    """(Newton steps, whether the Hessian is safely positive definite)."""
    m = gradient.shape[1]
    matrix = _hessian(curvature, ridge, m)
    step = np.empty_like(gradient)
    definite = np.ones(len(matrix), bool) if convex else _definite(matrix)
    step[definite] = np.linalg.solve(matrix[definite], -gradient[definite, :, None])[:, :, 0]
    if not definite.all():
        step[~definite] = _saddle_free(matrix[~definite], gradient[~definite])
    step -= step.mean(axis=1, keepdims=True)
    if ridge == 0:
        definite &= np.linalg.eigvalsh(matrix)[:, 0] > 2 / USABLE + size / WORST_CONDITION
    return step, definite


def _saddle_free(matrix: Floats, gradient: Floats) -> Floats:
    """−abs(H)⁻¹g, and one logit along the direction of most negative curvature.

    abs takes the absolute values of eigenvalues. Along that direction the
    objective falls.
    """
    values, vectors = np.linalg.eigh(matrix)
    along = np.matvec(vectors.mT, gradient)
    size = np.abs(values)
    along /= -np.maximum(size, 1e-8 * size.max(axis=1, keepdims=True))
    downhill = np.where(along[:, 0] < 0, -1, 1)
    along[:, 0] += np.where(values[:, 0] < 0, downhill, 0)
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
