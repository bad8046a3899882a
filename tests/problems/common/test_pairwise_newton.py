"""Estimators of the ranking model with weights, and with comparisons that some users skipped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.special import expit

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.problems.common.pairwise_newton import Logistic, minimise_pairs
from pipeline.problems.ranking.estimators.moments import (
    Debiased,
    PlugIn,
    Weighted,
    ridge_of,
    shares,
)
from pipeline.problems.ranking.estimators.newton import minimise, scores
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.metrics.yardsticks import sandwich_risk
from pipeline.problems.ranking.model import Comparisons, Preferences
from pipeline.problems.ranking.releases import FlippedWins, LaplaceWins
from pipeline.problems.ranking.theory.rates import win_probability
from tests.helpers.checks import mean_agrees


def truth_scores(rng, reps, m, spread=1.5):
    """θ (reps, m), centred."""
    theta = rng.uniform(-spread, spread, (reps, m))
    return theta - theta.mean(axis=1, keepdims=True)


def released(seed, reps, m, users, epsilon, rate=None, kind=FlippedWins):
    """θ (reps, m) and released wins; every user makes a comparison with probability `rate`."""
    rng = np.random.default_rng(seed)
    theta = truth_scores(rng, reps, m)
    return theta, released_at(theta, rng, users, epsilon, rate, kind)


def released_at(theta, rng, users, epsilon, rate=None, kind=FlippedWins):
    """Released wins at some θ, (reps, m)."""
    reps, m = theta.shape
    users, epsilon = np.atleast_1d(users), np.atleast_1d(epsilon).astype(float)
    probability, made, compared = win_probability(theta)[:, None], users[:, None], None
    if rate is not None:
        made = compared = rng.binomial(made, rate, (reps, len(users), probability.shape[2]))
    if kind is LaplaceWins:
        wins = rng.binomial(made, probability) + rng.laplace(size=compared.shape) / epsilon[:, None]
    else:
        wins = rng.binomial(made, released_probability(probability, epsilon[:, None]))
    return kind(wins, users, epsilon, m, compared)


def fit(estimator, release):
    return estimator.fit(release, np.random.default_rng(0))


def take(release, rows, order=None):
    """Some replications, with the items in another order."""
    wins, compared, m = release.wins[rows], release.compared, release.items
    made = np.broadcast_to(
        release.users[:, None] if compared is None else compared[rows], wins.shape
    )
    if order is not None:
        i, j = np.triu_indices(m, 1)
        square, full = np.zeros((2, *wins.shape[:2], m, m))
        square[..., i, j], square[..., j, i] = wins, made - wins
        full[..., i, j] = full[..., j, i] = made
        wins, made = (a[..., order, :][..., order][..., i, j] for a in (square, full))
    return type(release)(
        wins, release.users, release.epsilon, m, None if compared is None else made
    )


def objective(theta, mean, share, ridge):
    """Eq. (3) with pairs weighted, written out pair by pair; value and gradient."""
    value, gradient = ridge * theta @ theta, 2 * ridge * theta
    for k, (i, j) in enumerate(zip(*np.triu_indices(len(theta), 1), strict=True)):
        gap = theta[i] - theta[j]
        value += share[k] * (np.logaddexp(0, gap) - mean[k] * gap)
        gradient[i] += share[k] * (expit(gap) - mean[k])
        gradient[j] -= share[k] * (expit(gap) - mean[k])
    return value, gradient


def by_scipy(*problem, m):
    found = minimize(
        objective, np.zeros(m), problem, jac=True, method="BFGS", options=dict(gtol=1e-9)
    )
    return found.x


# Weighted users.


@pytest.mark.parametrize("kind", [FlippedWins, LaplaceWins])
def test_for_one_budget_weighted_is_debiased(kind):
    _, data = released(1, 20, 6, 50, 0.6, rate=1.0, kind=kind)
    for release in (data, kind(data.wins, data.users, data.epsilon, 6)):
        plain, weighted = fit(Debiased(m=6), release), fit(Weighted(m=6), release)
        assert weighted.theta == pytest.approx(plain.theta, abs=1e-9)
        assert weighted.ridge == pytest.approx(plain.ridge, rel=1e-12)


def test_users_weigh_by_their_information():
    """z̄ is the weighted mean of every user's own debiased answers, λ = c/Σ_l t(ε_l)²."""
    _, data = released(2, 3, 4, [3, 5], [0.4, 2.0])
    t = np.tanh(np.array([0.2, 1.0]))
    estimator = Weighted(m=4, lambda_scale=0.7)
    for rep, pair in np.ndindex(3, 6):
        z, v = [], []
        for g, n in enumerate((3, 5)):
            won = data.wins[rep, g, pair]
            z += [0.5 + 0.5 / t[g]] * won + [0.5 - 0.5 / t[g]] * (n - won)
            v += [t[g] ** 2] * n
        assert estimator.mean(data)[rep, pair] == pytest.approx(np.average(z, weights=v))
    found = fit(estimator, data)
    assert found.ridge == pytest.approx(0.7 / sum(v)) and found.weights == pytest.approx(t**2)
    assert found.theta == pytest.approx(
        minimise(scores(estimator.mean(data), 4), found.ridge).theta
    )
    laplace = Laplace(m=3, L=8, epsilon=0.5, profile="0.5:1,0.5:4").release(
        Comparisons(np.full((1, 3), 0.5), 8, 3, np.random.default_rng(0)), np.random.default_rng(1)
    )
    assert fit(Weighted(m=3), laplace).weights == pytest.approx(
        1 / (1 + 8 / np.array([0.5, 2.0]) ** 2)
    )


def test_the_sandwich_with_weights_is_the_risk_and_without_it_is_not():
    theta = np.array([[1.5, 0.8, 0.1, -0.9, -1.5]])
    users, epsilon, reps = np.array([6000, 6000]), np.array([0.4, 3.0]), 3000
    probability = released_probability(win_probability(theta)[:, None], epsilon[:, None])
    wins = np.random.default_rng(3).binomial(users[:, None], probability, (reps, 2, 10))
    data, truth = FlippedWins(wins, users, epsilon, 5), Preferences(theta)
    risk = {}
    for kind in (Weighted, Debiased):
        found = fit(kind(m=5), data)
        risk[kind] = np.square(found.theta - theta).mean(axis=1)
        assert found.converged.all()
        assert mean_agrees(
            risk[kind], float(sandwich_risk()(truth, data, found)[0]), f"risk, {kind.__name__}"
        )
    other = float(sandwich_risk()(truth, data, fit(Debiased(m=5), data))[0])
    assert not mean_agrees(risk[Weighted], other, "risk, weights of the plain mean")
    print(f"weighted/plain {risk[Weighted].mean() / risk[Debiased].mean():.3g}")
    assert risk[Weighted].mean() < 0.2 * risk[Debiased].mean()


# Comparisons that some users skipped.


@pytest.mark.parametrize("kind", [Debiased, PlugIn, Weighted])
@pytest.mark.parametrize("m", [2, 10])
def test_when_all_pairs_are_compared_it_is_the_complete_estimator(kind, m):
    _, data = released(4, 30, m, [20, 30], [0.3, 2.0], rate=1.0)
    complete = FlippedWins(data.wins, data.users, data.epsilon, m)
    first, second = fit(kind(m=m), data), fit(kind(m=m), complete)
    assert first.converged.all() and first.ridge == second.ridge
    assert first.theta == pytest.approx(second.theta, abs=1e-6)


@pytest.mark.parametrize("kind", [Debiased, PlugIn, Weighted])
@pytest.mark.parametrize(
    "release_kind, epsilon",
    [(FlippedWins, [0.3, 2.0]), (FlippedWins, [2.0, np.inf]), (LaplaceWins, [0.5, 2.0])],
)
@pytest.mark.parametrize("m, rate", [(3, 0.5), (7, 0.05)])
def test_the_minimum_is_that_of_scipy(kind, release_kind, epsilon, m, rate):
    _, data = released(5, 4, m, [12, 25], epsilon, rate=rate, kind=release_kind)
    estimator = kind(m=m)
    found, mean = fit(estimator, data), estimator.mean(data)
    weights = estimator.weights(data)
    v = np.ones(2) if weights is None else weights
    share = (data.compared * v[:, None]).sum(axis=1) / (data.users @ v)
    assert shares(data, weights) == pytest.approx(share)
    assert found.converged.all() and np.abs(found.theta.sum(axis=1)).max() < 1e-9
    for rep in range(4):
        expected = by_scipy(mean[rep], share[rep], found.ridge, m=m)
        assert found.theta[rep] == pytest.approx(expected, abs=1e-6 * max(1, 1e-2 / found.ridge))
        control = by_scipy(mean[rep], np.ones_like(share[rep]), found.ridge, m=m)
        assert found.theta[rep] != pytest.approx(control, abs=1e-4)


def test_two_items_without_ridge_are_log_odds():
    mean = np.array([[0.8], [0.3], [0.999], [1.0], [1.2], [0.5]])
    found = minimise_pairs(Logistic(mean, np.full((6, 1), 0.2)), np.zeros((6, 2)), 0.0)
    assert found.converged.tolist() == [True, True, True, False, False, True]
    z = mean[found.converged, 0]
    assert found.theta[found.converged, 0] * 2 == pytest.approx(np.log(z / (1 - z)), abs=1e-8)


def test_items_that_nobody_connects_need_a_ridge():
    mean, share = (
        np.array([[0.8, 0.5, 0.5, 0.5, 0.5, 0.3]]),
        np.array([[1.0, 0, 0, 0, 0, 1.0]]),
    )  # 01 and 23
    alone = minimise_pairs(Logistic(mean, share), np.zeros((1, 4)), 0.0)
    assert not alone.converged.any()
    found = minimise_pairs(Logistic(mean, share), np.zeros((1, 4)), 1e-6)
    assert found.converged.all() and found.theta[0, :2].sum() == pytest.approx(0, abs=1e-9)
    assert 2 * found.theta[0, [0, 2]] == pytest.approx(np.log([4, 3 / 7]), abs=1e-4)
    tiny = minimise_pairs(Logistic(mean, share * 1e-9), np.zeros((1, 4)), 0.0, tolerance=1e-16)
    assert not tiny.converged.any()


def test_nobody_compared_anything():
    empty = FlippedWins(np.zeros((2, 1, 3)), np.array([9]), np.array([1.0]), 3, np.zeros((2, 1, 3)))
    found = fit(Debiased(m=3), empty)
    assert not found.converged.any() and (found.theta == 0).all()
    assert not fit(Debiased(m=3, lambda_scale=0.0), empty).converged.any()


@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6, 1e-9])
def test_means_far_outside_0_1(ridge):
    rng = np.random.default_rng(6)
    mean, share = (
        rng.normal(0.5, 20, (40, 28)),
        rng.uniform(0, 1, (40, 28)) * (rng.random((40, 28)) < 0.5),
    )
    found = minimise_pairs(Logistic(mean, share), np.zeros((40, 8)), ridge)
    assert found.converged.all()
    scale = 1e-9 + 1e-13 * np.abs(found.theta).max()
    for rep in range(5):
        assert np.abs(objective(found.theta[rep], mean[rep], share[rep], ridge)[1]).max() < scale


def test_unusable_input_is_a_status_and_stays_alone():
    rng = np.random.default_rng(7)
    mean, share = rng.uniform(0, 1, (5, 6)), np.ones((5, 6))
    expected = minimise_pairs(Logistic(mean, share), np.zeros((5, 4)), 0.1)
    mean[1, 2], mean[3, 0] = np.nan, np.inf
    found = minimise_pairs(Logistic(mean, share), np.zeros((5, 4)), 0.1)
    assert found.converged.tolist() == [True, False, True, False, True]
    assert np.isnan(found.theta[[1, 3]]).all()
    assert found.theta[[0, 2, 4]] == pytest.approx(expected.theta[[0, 2, 4]])
    for ridge in (np.nan, np.inf, -1.0):
        assert not minimise_pairs(Logistic(mean, share), np.zeros((5, 4)), ridge).converged.any()
    short = minimise_pairs(Logistic(mean, share), np.zeros((5, 4)), 0.1, iterations=1)
    assert not short.converged.any() and np.isfinite(short.theta[0]).all()


def test_the_gradient_and_the_curvature_are_derivatives():
    rng = np.random.default_rng(8)
    mean, share, gap = rng.normal(0.5, 2, (1, 6)), rng.uniform(0, 1, (1, 6)), rng.normal(0, 3, 6)
    loss = Logistic(mean, share)
    assert (
        check_grad(lambda d: loss(d[None]).value[0], lambda d: loss(d[None]).slope[0], gap) < 1e-6
    )
    for k in range(6):
        one = Logistic(mean[:, k : k + 1], share[:, k : k + 1])
        at = gap[k : k + 1]
        assert (
            check_grad(
                lambda d, f=one: f(d[None]).slope[0, 0],
                lambda d, f=one: f(d[None]).curvature[0],
                at,
            )
            < 1e-6
        )
    assert loss(np.zeros((1, 6))).value == pytest.approx([0], abs=1e-15)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 7),
    st.sampled_from([0.3, 2.0, np.inf]),
    st.sampled_from([0.1, 0.9]),
    st.sampled_from([Debiased, PlugIn, Weighted]),
)
def test_laws_of_the_incomplete_estimators(seed, m, epsilon, rate, kind):
    _, data = released(seed, 5, m, [7, 9], [epsilon, 1.0], rate=rate)
    estimator, order = kind(m=m), np.random.default_rng(seed).permutation(m)
    found = fit(estimator, data)
    assert (found.converged == data.linked).all() and np.abs(found.theta.sum(axis=1)).max() < 1e-8
    assert fit(estimator, take(data, slice(2, 3))).theta == pytest.approx(
        found.theta[2:3], rel=1e-9, abs=1e-9
    )
    assert fit(estimator, take(data, slice(None), order)).theta == pytest.approx(
        found.theta[:, order], abs=1e-7
    )


def test_slices_do_not_change_results(monkeypatch):
    _, data = released(9, 60, 8, [20, 30], [0.3, 2.0], rate=0.3)
    whole = fit(Weighted(m=8), data).theta
    monkeypatch.setattr("pipeline.problems.common.pairwise_newton.SLICE_BYTES", 7 * 8 * 64)
    assert fit(Weighted(m=8), data).theta == pytest.approx(whole, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "weights, expected", [(None, 25 / 100), ([1.0, 1.0], 25 / 100), ([1.0, 0.0], 10 / 60)]
)
def test_the_ridge_is_the_variance_of_the_mean(weights, expected):
    class Gains(FlippedWins):
        gain = np.array([10.0, 47.5])

    data = Gains(np.zeros((1, 2, 1)), np.array([60, 40]), np.ones(2), 2)
    v = None if weights is None else np.array(weights)
    assert ridge_of(1.0, data, v) == pytest.approx(expected)
