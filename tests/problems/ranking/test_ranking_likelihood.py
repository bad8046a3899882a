"""Maximum likelihood under randomized response: closed forms, brute force, the Cramér–Rao bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.stats import binom

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.problems.common.pairwise_newton import Local, minimise_pairs
from pipeline.problems.ranking.estimators.likelihood import FlippedLoss, Likelihood
from pipeline.problems.ranking.estimators.moments import Debiased, Weighted, ridge_of
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.ranking.theory.rates import win_probability
from pipeline.problems.ranking.theory.risk import cramer_rao_risk, risks
from pipeline.study.study import build
from tests.helpers.checks import mean_agrees
from tests.problems.common.test_pairwise_newton import (
    fit,
    released,
    released_at,
    take,
    truth_scores,
)


def penalised(theta, data, rep, scale):
    """−log L(θ) + c‖θ‖² from the binomial law itself."""
    p = released_probability(win_probability(theta[None])[0], data.epsilon[:, None])
    made = data.users[:, None] if data.compared is None else data.compared[rep]
    return scale * theta @ theta - binom.logpmf(data.wins[rep], made, p).sum()


def test_two_items_without_ridge_are_the_debiased_estimate():
    users = np.array([50])
    wins = np.arange(51.0).reshape(-1, 1, 1)
    for epsilon in (0.3, 2.0, np.inf):
        data = FlippedWins(wins, users, np.array([epsilon]), 2)
        found = fit(Likelihood(m=2, lambda_scale=0.0), data)
        z = data.debiased_mean()[:, 0]
        inside = (z > 1e-9) & (z < 1 - 1e-9)
        assert (found.converged == inside).all()  # otherwise the maximum is at infinity
        clear = (z > 0.01) & (z < 0.99)
        z, same = z[clear], fit(Debiased(m=2, lambda_scale=0.0), data)
        assert found.theta[clear, 0] * 2 == pytest.approx(np.log(z / (1 - z)), abs=1e-7)
        assert found.theta[clear] == pytest.approx(same.theta[clear], abs=1e-6) and len(z) >= 5


@pytest.mark.parametrize("rate", [None, 0.4])
@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_without_privacy_it_is_eq_3_times_L(rate, scale):
    _, data = released(1, 20, 6, 40, np.inf, rate=rate)
    first, second = (
        fit(Likelihood(m=6, lambda_scale=scale), data),
        fit(Debiased(m=6, lambda_scale=scale), data),
    )
    assert first.theta == pytest.approx(second.theta, abs=1e-6)
    assert first.ridge == pytest.approx(second.ridge) and first.ridge == pytest.approx(scale / 40)


@pytest.mark.parametrize("epsilon", [[1e-3], [0.02, 0.05]])
def test_at_small_budgets_it_is_the_weighted_estimator(epsilon):
    """While θ is small: the two objectives agree to second order at θ = 0."""
    _, data = released(2, 20, 6, [40, 60][: len(epsilon)], epsilon)
    first, second = (fit(kind(m=6, lambda_scale=300.0), data) for kind in (Likelihood, Weighted))
    largest = np.abs(first.theta).max()
    assert first.theta == pytest.approx(second.theta, abs=1e-3 * largest) and 0 < largest < 0.01
    assert first.ridge == second.ridge and (first.weights == second.weights).all()
    assert first.ridge == pytest.approx(300 / (data.users * np.tanh(data.epsilon / 2) ** 2).sum())


def test_for_one_budget_the_ridge_is_c_G_over_L():
    _, data = released(3, 1, 3, 40, 0.7)
    assert fit(Likelihood(m=3, lambda_scale=2.0), data).ridge == pytest.approx(ridge_of(2.0, data))


@pytest.mark.parametrize("epsilon", [[0.5], [0.5, 20.0], [3.0, np.inf]])
@pytest.mark.parametrize("m, rate", [(2, None), (5, None), (4, 0.3)])
def test_the_minimum_is_that_of_brute_force(epsilon, m, rate):
    _, data = released(4, 4, m, [30, 25][: len(epsilon)], epsilon, rate=rate)
    found = fit(Likelihood(m=m), data)
    assert found.converged.all()
    rng = np.random.default_rng(5)
    for rep in range(4):
        starts = [found.theta[rep], np.zeros(m), *rng.normal(0, 2, (3, m))]
        with np.errstate(invalid="ignore"):  # its line search meets log 0
            tries = [
                minimize(penalised, s, (data, rep, 1.0), "BFGS", options=dict(gtol=1e-6))
                for s in starts
            ]
        best = min(tries, key=lambda x: x.fun)
        assert penalised(found.theta[rep], data, rep, 1.0) <= best.fun + 1e-6
        assert found.theta[rep] == pytest.approx(best.x, abs=1e-3)
        control = FlippedWins(data.wins, data.users, data.epsilon * 1.2, m, data.compared)
        if np.isfinite(epsilon).all():
            assert fit(Likelihood(m=m), control).theta[rep] != pytest.approx(best.x, abs=1e-3)


@pytest.mark.parametrize("epsilon", [[1e-3], [0.5], [0.5, 20.0], [8.0], [40.0, np.inf]])
def test_slope_and_curvature_are_derivatives(epsilon):
    rng = np.random.default_rng(6)
    groups = len(epsilon)
    for gap in (*rng.normal(0, 3, 4), -25.0, 30.0, 0.0):
        made = rng.integers(1, 20, (1, groups, 1)).astype(float)
        loss, at = (
            FlippedLoss(rng.binomial(made.astype(int), 0.6), made, np.array(epsilon)),
            np.array([gap]),
        )
        value, slope, curvature = (lambda d, f=loss, k=k: f(d[None])[k].ravel() for k in range(3))
        assert check_grad(lambda d, f=value: f(d)[0], slope, at) < 1e-5
        assert check_grad(lambda d, f=slope: f(d)[0], curvature, at) < 1e-5
        assert loss(np.zeros((1, 1))).value[0] == pytest.approx(0, abs=1e-12)


def test_probabilities_near_0_and_1_keep_their_digits():
    epsilon = np.array([40.0])
    one = FlippedLoss(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), epsilon)
    for gap in (-30.0, -38.0, -45.0):
        p = np.exp(-40) + np.exp(gap)
        assert one(np.array([[gap]])).value[0] == pytest.approx(np.log(0.5), rel=1e-12)
        won = FlippedLoss(np.ones((1, 1, 1)), np.ones((1, 1, 1)), epsilon)(np.array([[gap]]))
        assert won.value[0] == pytest.approx(-np.log(2 * p), rel=1e-12)
        assert won.slope[0, 0] == pytest.approx(-np.exp(gap) / p, rel=1e-9)


@pytest.mark.parametrize(
    "epsilon", [[0.01], [0.2], [1.0], [8.0], [np.inf], [0.05, 2.0], [0.5, 20.0]]
)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_it_converges_everywhere(epsilon, scale):
    for m, reps in ((2, 40), (5, 40), (40, 3)):
        for users in (20, 400, 100_000):
            for rate in (None, 0.03):
                size = [users] if len(epsilon) == 1 else [users // 2, users // 2]
                rng = np.random.default_rng(7)
                data = released_at(truth_scores(rng, reps, m, 2), rng, size, epsilon, rate)
                found = fit(Likelihood(m=m, lambda_scale=scale), data)
                assert (found.converged == data.linked).all() and np.isfinite(found.theta).all(), (
                    m,
                    users,
                    rate,
                )


def test_a_maximum_is_left_behind():
    class Waves:
        """f(d) = cos d − 1: with little ridge, θ = 0 is a maximum."""

        size, width, convex = np.ones(3), 1, False

        def take(self, rows):
            return self

        def __call__(self, gap):
            return Local(np.cos(gap).sum(axis=1) - gap.shape[1], -np.sin(gap), -np.cos(gap))

    found = minimise_pairs(Waves(), np.zeros((3, 2)), 1e-6)
    assert found.converged.all() and np.cos(np.diff(found.theta)) == pytest.approx(
        np.full((3, 1), -1)
    )


def test_the_risk_is_the_cramer_rao_bound_and_below_the_debiased_estimator():
    theta, reps = np.array([[3.0, 1.5, 0.0, -1.5, -3.0]]), 2000
    users, epsilon = np.array([10**6, 10**6]), np.array([2.0, 4.0])
    probability = released_probability(win_probability(theta)[:, None], epsilon[:, None])
    wins = np.random.default_rng(8).binomial(users[:, None], probability, (reps, 2, 10))
    data = FlippedWins(wins, users, epsilon, 5)
    bound = float(cramer_rao_risk(theta, epsilon, users)[0])

    def squared(kind, release):
        found = fit(kind(m=5), release)
        assert found.converged.all()
        return np.square(found.theta - theta).mean(axis=1)

    best, weighted = squared(Likelihood, data), squared(Weighted, data)
    sandwich = float(risks(theta, epsilon, users, weights=np.tanh(epsilon / 2) ** 2)[0, 0])
    assert mean_agrees(best, bound, "squared error") and mean_agrees(
        weighted, sandwich, "squared error, weighted"
    )
    print(
        f"likelihood/weighted {best.mean() / weighted.mean():.3g}, predicted {bound / sandwich:.3g}"
    )
    assert not mean_agrees(weighted - best, 0, "gain") and best.mean() < 0.97 * weighted.mean()
    mistaken = FlippedWins(data.wins, users, epsilon * 1.2, 5)
    assert not mean_agrees(
        squared(Likelihood, mistaken), bound, "squared error, taking ε for 1.2 ε"
    )


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 6),
    st.sampled_from([0.1, 1.0, 30.0]),
    st.sampled_from([None, 0.3]),
)
def test_laws(seed, m, epsilon, rate):
    _, data = released(seed, 4, m, [8, 30], [epsilon, 1.0], rate=rate)
    estimator, order = Likelihood(m=m), np.random.default_rng(seed).permutation(m)
    found = fit(estimator, data)
    assert found.converged.all() and np.abs(found.theta.sum(axis=1)).max() < 1e-8
    assert fit(estimator, take(data, slice(2, 3))).theta == pytest.approx(
        found.theta[2:3], rel=1e-8, abs=1e-8
    )
    assert fit(estimator, take(data, slice(None), order)).theta == pytest.approx(
        found.theta[:, order], abs=1e-6
    )


def test_hopeless_budgets_end_in_a_status():
    _, data = released(9, 4, 5, 10, 1e-8)
    assert fit(Likelihood(m=5), data).converged.all()
    with np.errstate(all="ignore"):
        found = fit(Likelihood(m=5), FlippedWins(data.wins, data.users, np.array([1e-320]), 5))
    assert not found.converged.any() and found.theta.shape == (4, 5)


def test_only_binomial_releases_are_accepted():
    assert Likelihood.accepts is FlippedWins and build(Likelihood, {"m": 4}).cost() > 0
