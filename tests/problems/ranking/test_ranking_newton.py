"""The batched Newton solver against its optimality condition, dense Newton, SciPy and closed forms."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit

from pipeline.problems.ranking.estimators.newton import MANY, minimise, scores


def released(seed, reps, m, users=200, epsilon=1.0):
    """z̄ (rep, pair) of debiased randomized response, and λ = G/L."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-2, 2, (reps, m))
    first, second = np.triu_indices(m, 1)
    t = np.tanh(epsilon / 2)
    raw = rng.binomial(users, 0.5 + (expit(theta[:, first] - theta[:, second]) - 0.5) * t) / users
    return 0.5 + (raw - 0.5) / t, 1 / (t * t * users)


def gradient(theta, s, ridge):
    """Gradient of eq. (3), written out pair by pair."""
    p = expit(theta[:, :, None] - theta[:, None, :])
    return p.sum(2) - 0.5 - s + 2 * np.reshape(ridge, (-1, 1)) * theta


def dense_newton(s, ridge):
    """One fit by dense solves, with the objective itself as the safeguard."""

    def objective(theta):
        excess = s - (s.size - 1) / 2
        return (
            np.logaddexp(0, theta[:, None] - theta).sum() / 2
            - excess @ theta
            + ridge * theta @ theta
        )

    theta = np.zeros_like(s)
    for _ in range(500):
        p = expit(theta[:, None] - theta)
        w = p * p.T
        g = p.sum(1) - 0.5 - s + 2 * ridge * theta
        hessian = np.diag(w.sum(1) + 2 * ridge) - w + 1 / s.size  # + 11'/m: regular when λ = 0
        step = np.linalg.solve(hessian, -g)
        while np.ptp(step) > 1 and objective(theta + step) > objective(theta) + 0.1 * g @ step:
            step = step / 2
        theta = theta + step
        if np.abs(step).max() < 1e-12:
            break
    return theta


def agrees(theta, s, ridge, tolerance=1e-6):
    """The check that negative controls must fail: theta solves eq. (3) with these scores and this ridge."""
    expected = np.array([dense_newton(row, ridge) for row in s])
    return np.abs(theta - expected).max() <= tolerance


def test_scores_are_the_sum_over_opponents():
    mean = np.array([[0.9, -0.4, 1.7]])  # pairs 01, 02, 12
    assert scores(mean, 3) == pytest.approx(np.array([[0.9 - 0.4, 0.1 + 1.7, 1.4 - 0.7]]))
    assert scores(released(0, 4, 9)[0], 9).sum(1) == pytest.approx(np.full(4, 36))


def test_two_items_are_a_scalar_root():
    mean = np.array([[0.7], [-3.0], [12.5], [0.5]])
    found = minimise(scores(mean, 2), 0.01)
    assert found.converged.all()
    for z, theta in zip(mean[:, 0], found.theta, strict=True):
        # θ = (d, −d): σ(2d) − z + 2λd = 0
        root = brentq(lambda d, z=z: expit(2 * d) - z + 0.02 * d, -1e4, 1e4, xtol=1e-12)
        assert theta == pytest.approx([root, -root], abs=1e-6)
    assert minimise(scores(np.array([[0.8]]), 2), 0).theta[0, 0] == pytest.approx(
        np.log(4) / 2, abs=1e-7
    )


@pytest.mark.parametrize("m, reps", [(2, 5), (3, 20), (10, 50), (40, 10), (500, 1)])
@pytest.mark.parametrize("epsilon", [3.0, 0.3])
@pytest.mark.parametrize("factor", [1.0, 1e-3])
def test_agrees_with_dense_newton(m, reps, epsilon, factor):
    mean, ridge = released(m, reps, m, epsilon=epsilon)
    s, ridge = scores(mean, m), factor * ridge
    found = minimise(s, ridge)
    assert found.converged.all() and found.iterations.max() <= 15
    slack = 1e-7 / min(1, ridge)  # a gradient of 1e-8 moves a far minimiser by up to 1e-8 / 2λ
    assert agrees(found.theta, s, ridge, max(1e-6, slack) if m < 500 else 1e-6)


def test_wrong_twins_fail_the_same_check():
    mean, ridge = released(3, 20, 10)
    s = scores(mean, 10)
    assert agrees(minimise(s, ridge).theta, s, ridge)
    assert not agrees(minimise(s, ridge / 2).theta, s, ridge)
    undebiased = scores(0.5 + (mean - 0.5) * np.tanh(0.5), 10)
    assert not agrees(minimise(undebiased, ridge).theta, s, ridge)
    assert not agrees(minimise(s, ridge, iterations=2).theta, s, ridge)


@pytest.mark.parametrize("epsilon", [2.0, 0.1])
def test_agrees_with_scipy_on_the_objective_of_equation_3(epsilon):
    m = 8
    mean, ridge = released(5, 3, m, epsilon=epsilon)
    first, second = np.triu_indices(m, 1)
    for z in mean:

        def value(theta, z=z):
            d = theta[first] - theta[second]
            return (-z * d - log_expit(-d)).sum() + ridge * theta @ theta

        def slope(theta, z=z):
            pull = expit(theta[first] - theta[second]) - z
            return np.bincount(first, pull, m) - np.bincount(second, pull, m) + 2 * ridge * theta

        def curvature(theta):
            p = expit(theta[:, None] - theta)
            w = p * p.T
            return np.diag(w.sum(1) + 2 * ridge) - w

        found = minimise(scores(z[None], m), ridge).theta[0]
        exact = minimize(
            value,
            np.zeros(m),
            jac=slope,
            hess=curvature,
            method="trust-exact",
            options=dict(gtol=1e-9),
        )
        bfgs = minimize(value, np.zeros(m), jac=slope, method="BFGS", options=dict(gtol=1e-7))
        assert found == pytest.approx(exact.x, abs=1e-6)
        assert found == pytest.approx(bfgs.x, abs=1e-5)
        assert value(found) <= min(exact.fun, bfgs.fun) + 1e-12 * abs(exact.fun)


def test_a_replication_solved_early_survives_slower_company():
    mean, ridge = released(
        5, 500, 5, users=50, epsilon=0.05
    )  # some steps are exact after one CG step
    s = scores(mean, 5)
    for factor in (1e-3, 1e-5, 1e-8):
        found = minimise(s, factor * ridge)
        assert found.converged.all()
        for row, theta in list(zip(s, found.theta, strict=True))[::25]:
            assert minimise(row[None], factor * ridge).theta[0] == pytest.approx(
                theta, rel=1e-9, abs=1e-6
            )


@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e-6, 1e-12])
def test_scores_that_no_theta_matches(factor):
    mean, ridge = released(1, 30, 12, users=100, epsilon=0.05)
    s = scores(mean, 12)
    assert ((mean < 0) | (mean > 1)).mean() > 0.5 and ((s < 0) | (s > 11)).any()
    found = minimise(s, factor * ridge)
    assert found.converged.all() and found.iterations.max() <= 30
    scale = 1e-7 + 1e-14 * np.abs(found.theta).max()
    assert np.abs(gradient(found.theta, s, factor * ridge)).max() <= scale


def test_small_ridge_limit_is_the_distance_to_the_permutahedron():
    # scores (9, 1, −7): the projection is (2, 1, 0), so 2λθ → (7, 0, −7)
    found = minimise(np.array([[9.0, 1.0, -7.0]]), 1e-6)
    assert 2e-6 * found.theta == pytest.approx(np.array([[7.0, 0.0, -7.0]]), abs=1e-4)


def test_without_ridge_on_regular_data():
    mean, _ = released(2, 20, 10, users=1000, epsilon=np.inf)
    s = scores(mean, 10)
    found = minimise(s, 0)
    assert found.converged.all() and agrees(found.theta, s, 0.0)


@pytest.mark.parametrize("m", [2, 3, 10, 100])
def test_without_ridge_separable_data_has_no_minimum(m):
    winner = np.concatenate([[m - 1.0], np.full(m - 1, (m - 2) / 2)])  # unbeaten
    order = np.arange(m, dtype=float)  # a total order
    regular = np.full(m, (m - 1) / 2)
    found = minimise(np.stack([winner, regular, order, 3 * order - (m - 1)]), 0.0)
    assert found.iterations.max() <= 10  # it gives up at once, not at the limit
    assert found.converged.tolist() == [False, True, False, False]
    assert np.isfinite(found.theta).all() and np.isfinite(found.gradient_norm).all()
    assert minimise(np.stack([winner, order]), 1e-3).converged.all()


def test_unusable_input_is_a_status_and_stays_alone():
    mean, ridge = released(4, 6, 7)
    s = scores(mean, 7)
    expected = minimise(s, ridge)
    mean[1, 3], mean[2, 0] = np.nan, np.inf
    ridges = np.full(6, ridge)
    ridges[4], ridges[5] = -1, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = minimise(scores(mean, 7), ridges)
    assert found.converged.tolist() == [True, False, False, True, False, False]
    assert np.isnan(found.theta[[1, 2, 4, 5]]).all() and found.iterations[1] == 0
    assert found.theta[[0, 3]] == pytest.approx(expected.theta[[0, 3]], abs=1e-9)


def test_huge_scores_and_tiny_budgets_end_in_a_status():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for factor in (1.0, 1e-10, 1e-20):
            mean, ridge = released(6, 10, 10, users=100, epsilon=1e-8)
            s = scores(mean, 10)
            assert np.abs(s).max() > 1e7
            found = minimise(s, factor * ridge)
            assert found.converged.all()
            relative = np.abs(gradient(found.theta, s, factor * ridge)).max() / np.abs(s).max()
            assert relative < 1e-13
        for s in (1e40, 1e49, 1e300):
            found = minimise(np.array([[s, 0, -s]]), np.array([1e-40]))
            assert found.theta.shape == (1, 3) and not np.isinf(found.theta).any()


def test_iteration_limit_and_empty_batches():
    mean, ridge = released(7, 5, 10)
    short = minimise(scores(mean, 10), ridge, iterations=2)
    assert (
        not short.converged.any()
        and np.isfinite(short.theta).all()
        and (short.iterations == 2).all()
    )
    assert (short.gradient_norm > 1e-8).all()
    assert minimise(np.empty((0, 5)), 1.0).theta.shape == (0, 5)
    assert minimise(np.zeros((2, 1)), 1.0).converged.all()


def test_slices_do_not_change_results():
    mean, ridge = released(8, 60, 12, users=100, epsilon=0.2)
    s, ridges = scores(mean, 12), np.geomspace(1e-8, 1, 60) * ridge
    whole = minimise(s, ridges)
    sliced = np.concatenate(
        [minimise(s[i : i + 7], ridges[i : i + 7]).theta for i in range(0, 60, 7)]
    )
    alone = np.concatenate([minimise(s[i : i + 1], ridges[i]).theta for i in range(60)])
    assert np.array_equal(sliced, whole.theta) and np.array_equal(alone, whole.theta)
    assert (
        0 < (np.ptp(whole.theta, axis=1) > 600).sum() < 60
    )  # some, whose e^θ has no square, beside others


@pytest.mark.parametrize("m", [2, 3, 10, 33, MANY])
def test_a_replication_has_the_same_bits_in_every_batch(m):
    mean, ridge = released(9, 23, m, epsilon=2.0)
    mean[5] = 0.5  # all items alike: solved at the start
    s = scores(mean, m)
    whole = minimise(s, ridge)
    assert whole.converged.all() and whole.iterations[5] == 1 and not whole.theta[5].any()
    for first, last in [(0, 1), (1, 3), (3, 5), (5, 6), (4, 7), (7, 18), (18, 23)]:
        for ours, part in zip(whole, minimise(s[first:last], ridge), strict=True):
            assert np.array_equal(ours[first:last], part)


@st.composite
def problems(draw):
    """z̄ (rep, pair) in [−4, 5], m and λ."""
    m = draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.1, 0.5, 4.5]))
    return (
        rng.uniform(0.5 - spread, 0.5 + spread, (3, m * (m - 1) // 2)),
        m,
        draw(st.floats(1e-2, 10)),
        rng,
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems())
def test_laws_of_the_minimiser(problem):
    mean, m, ridge, rng = problem
    s = scores(mean, m)
    found = minimise(s, ridge)
    theta, slack = found.theta, 4e-8 / ridge
    assert found.converged.all() and (found.gradient_norm <= 1e-8).all()
    assert np.linalg.norm(gradient(theta, s, ridge), axis=1).max() <= 1.1e-8
    assert np.abs(theta.sum(1)).max() <= 1e-10
    order = rng.permutation(m)
    assert minimise(s[:, order], ridge).theta == pytest.approx(theta[:, order], abs=slack)
    assert minimise(m - 1 - s, ridge).theta == pytest.approx(-theta, abs=slack)
    assert minimise(s[1:2], ridge).theta == pytest.approx(theta[1:2], abs=slack)
    for row, fit in zip(s, theta, strict=True):  # higher score, higher parameter
        assert (np.diff(fit[np.argsort(row, kind="stable")]) >= -slack).all()
    assert agrees(theta, s, ridge, slack)
