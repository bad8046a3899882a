"""Bradley–Terry–Luce fit to comparisons with unequal counts: the truth of recorded data."""

import math

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Floats, Numbers

SMALL = 1e-10  # norm of the gradient at the end, relative to its scale
ACCURACY = 1e-7  # longest step that is left out, relative to 1 logit and the range of θ
ITERATIONS = 200  # far beyond what the safe step needs; a guard


def weighted_fit(wins: Numbers, compared: Numbers, items: int, ridge: float) -> Floats:
    """argmin of Σ_{i<j} [n_ij log(1 + e^{θ_i−θ_j}) − w_ij (θ_i − θ_j)] + λ‖θ‖², which sums to 0.

    (items,), logits. wins w, compared n: (pairs,), 0 ≤ w ≤ n, reals, pairs
    in the order of `numpy.triu_indices(items, 1)`; ridge λ > 0. Newton's
    method with a step that cannot overshoot; O(items³) per iteration. It
    ends where the gradient vanishes to 1e-10 of its scale and the next step
    is below 1e-7 of 1 + the range of θ, or all that rounding leaves of it.
    Raises ArithmeticError if that is not reached. Source: Xu, Sun and
    Cheng, eq. (2), whose comparisons are all made, n_ij = 1; step: Sun and
    Tran-Dinh (2019), generalised self-concordance.
    """
    first, second = np.triu_indices(items, 1)
    trials = np.zeros((items, items))
    trials[first, second] = compared
    trials[second, first] = compared
    won = np.zeros((items, items))
    won[first, second] = wins
    won[second, first] = np.subtract(compared, wins)
    theta = np.zeros(items)
    scale = trials.sum(axis=1).max() + ridge
    lowest = math.inf  # norm of the gradient one iteration before, if it was small
    for _ in range(ITERATIONS):
        chance = expit(theta[:, None] - theta)
        gradient = (trials * chance - won).sum(axis=1) + 2 * ridge * theta
        weight = trials * chance * chance.T
        hessian = np.diag(weight.sum(axis=1) + 2 * ridge) - weight
        step = -np.linalg.solve(hessian, gradient)
        reach = np.ptp(step)
        norm = float(np.linalg.norm(gradient))
        if norm <= SMALL * scale:
            is_near = reach <= ACCURACY * (1 + np.ptp(theta))
            is_rounding = norm >= lowest / 2
            if is_near or is_rounding:
                centred: Floats = theta - theta.mean()
                return centred
            lowest = norm
        if reach > 1:
            step = step * np.log1p(reach) / reach
        theta = theta + step
    raise ArithmeticError(f"the fit to all comparisons did not converge in {ITERATIONS} steps")
