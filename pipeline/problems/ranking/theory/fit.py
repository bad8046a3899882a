"""Bradley–Terry–Luce fit to one set of comparisons with unequal counts: the truth of recorded data."""

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Floats, Numbers

ITERATIONS = 200  # far beyond what the safe step needs; a guard


def weighted_fit(wins: Numbers, compared: Numbers, items: int, ridge: float) -> Floats:
    """argmin of Σ_{i<j} [n_ij log(1 + e^{θ_i−θ_j}) − w_ij (θ_i − θ_j)] + λ‖θ‖², which sums to 0; (items,), logits.

    wins w, compared n: (pairs,), 0 ≤ w ≤ n, reals, pairs in the order of `numpy.triu_indices(items, 1)`;
    ridge λ > 0. Newton's method with a step that cannot overshoot; O(items³) per iteration. Raises
    ArithmeticError if the gradient does not vanish to 1e-10 of its scale. Source: Xu, Sun and Cheng, eq. (2),
    whose comparisons are all made, n_ij = 1; step: Sun and Tran-Dinh (2019), generalised self-concordance.
    """
    first, second = np.triu_indices(items, 1)
    made, won = np.zeros((2, items, items))
    made[first, second] = made[second, first] = compared
    won[first, second], won[second, first] = wins, np.subtract(compared, wins)
    theta, scale = np.zeros(items), made.sum(axis=1).max() + ridge
    for _ in range(ITERATIONS):
        chance = expit(theta[:, None] - theta)
        gradient = (made * chance - won).sum(axis=1) + 2 * ridge * theta
        if np.linalg.norm(gradient) <= 1e-10 * scale:
            values: Floats = theta - theta.mean()
            return values
        weight = made * chance * chance.T
        step = -np.linalg.solve(np.diag(weight.sum(axis=1) + 2 * ridge) - weight, gradient)
        reach = np.ptp(step)
        theta = theta + (step if reach <= 1 else step * np.log1p(reach) / reach)
    raise ArithmeticError(f"the fit to all comparisons did not converge in {ITERATIONS} steps")
