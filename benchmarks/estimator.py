"""Regularised BTL estimator: batched Newton against one fit at a time, NumPy Newton and SciPy
L-BFGS-B.

Every competitor gets the sufficient statistic (the scores), a good start and analytic derivatives.
"""

import time

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from pipeline.problems.ranking.estimators import newton as btl_newton

SIZES = {10: 200, 20: 200, 40: 100, 100: 30, 500: 4, 1000: 2}  # items: replications
REGIMES = [
    (1600, 3.0, 1.0),
    (400, 1.0, 1.0),
    (100, 0.3, 1.0),
    (100, 0.05, 1.0),
    (1600, 3.0, 1e-3),
    (400, 1.0, 1e-3),
    (100, 0.05, 1e-3),
]  # users, epsilon, ridge·L/G
ROUNDS = 3


def simulate(rng: np.random.Generator, reps: int, m: int, users: int, epsilon: float) -> np.ndarray:
    """Scores (rep, item) of debiased randomized response on θ* ~ Uniform(−2, 2), centred."""
    theta = rng.uniform(-2, 2, (reps, m))
    first, second = np.triu_indices(m, 1)
    t = np.tanh(epsilon / 2)
    released = 0.5 + (expit(theta[:, first] - theta[:, second]) - 0.5) * t
    return btl_newton.scores(0.5 + (rng.binomial(users, released) / users - 0.5) / t, m)


def numpy_newton(scores: np.ndarray, ridge: float, tolerance: float = 1e-8) -> np.ndarray:
    """One fit (item,), dense Newton with the same start, tolerance and safe step length."""
    m = scores.size
    theta = (scores - scores.mean()) / (m / 4 + 2 * ridge)
    base, step, length, safe = theta, 0, 0, 1
    for _ in range(200):
        p = 1 / (1 + np.exp(np.minimum(theta - theta[:, None], 700)))
        gradient = p.sum(1) - 0.5 - scores + 2 * ridge * theta
        if gradient @ gradient <= tolerance**2:
            break
        if length > safe and gradient @ step > 0:
            length = max(safe, length / 2)
        else:
            hessian = p * (p - 1)
            hessian.flat[:: m + 1] -= hessian.sum(1) - 2 * ridge
            base, step = theta, np.linalg.solve(hessian, -gradient)
            radius = np.ptp(step)
            length, safe = 1, 1 if radius <= 1 else np.log1p(radius) / radius
        theta = base + length * step
    return theta


def scipy_lbfgs(scores: np.ndarray, ridge: float) -> np.ndarray:
    """One fit (item,), L-BFGS-B with analytic gradient, to a gradient of 1e-8 like the others if it
    can.
    """
    m = scores.size
    excess = scores - (m - 1) / 2

    def objective(theta):
        difference = theta[:, None] - theta
        e = np.exp(-np.abs(difference))
        p = np.where(difference > 0, 1, e) / (1 + e)
        # softplus(d) = d/2 + |d|/2 + log(1+e^-|d|), summed over all ordered pairs and halved
        value = (np.abs(difference).sum() / 2 + np.log1p(e).sum() - m * np.log(2)) / 2
        value += ridge * theta @ theta - excess @ theta
        return value, p.sum(1) - 0.5 - scores + 2 * ridge * theta

    options = dict(maxiter=1000, maxfun=2000, ftol=0, gtol=1e-8)
    return minimize(
        objective, excess / (m / 4 + 2 * ridge), jac=True, method="L-BFGS-B", options=options
    ).x


def _clock(fit):
    start = time.perf_counter()
    return fit(), time.perf_counter() - start


def main() -> None:
    """Print milliseconds per fit (medians of alternating runs) and the largest difference of
    solutions.
    """
    print(
        f"{'m':>5} {'users':>6} {'eps':>5} {'ridge':>9} {'ours':>9} {'newton':>9} {'l-bfgs':>9} "
        f"{'ratio':>7} {'ours-newton':>11} {'ours-lbfgs':>11}  ms per fit, one BLAS thread"
    )
    with threadpool_limits(1):
        for m, reps in SIZES.items():
            for users, epsilon, factor in REGIMES:
                scores = simulate(np.random.default_rng(1), reps, m, users, epsilon)
                ridge = factor / np.tanh(epsilon / 2) ** 2 / users
                fits = {
                    "ours": lambda s=scores, r=ridge: btl_newton.minimise(s, r).theta,
                    "newton": lambda s=scores, r=ridge: np.array(
                        [numpy_newton(row, r) for row in s]
                    ),
                    "lbfgs": lambda s=scores, r=ridge: np.array([scipy_lbfgs(row, r) for row in s]),
                }
                times, theta = {name: [] for name in fits}, {}
                fits["ours"]()
                for _ in range(ROUNDS if m <= 100 else 1):
                    for name, fit in fits.items():
                        theta[name], seconds = _clock(fit)
                        times[name].append(1e3 * seconds / reps)
                ours, newton, lbfgs = (np.median(times[name]) for name in fits)
                apart = [np.abs(theta["ours"] - theta[name]).max() for name in ("newton", "lbfgs")]
                print(
                    f"{m:5d} {users:6d} {epsilon:5g} {ridge:9.3g} {ours:9.4f} {newton:9.4f} "
                    f"{lbfgs:9.4f} {min(newton, lbfgs) / ours:7.1f} {apart[0]:11.1e} "
                    f"{apart[1]:11.1e}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
