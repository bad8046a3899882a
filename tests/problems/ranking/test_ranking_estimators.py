"""Estimators of the private ranking model: what they are fed, their ridge, and what more users bring."""

import numpy as np
import pytest
from scipy.special import expit

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.ranking.estimators.moments import Debiased, PlugIn, ridge_of
from pipeline.problems.ranking.estimators.newton import minimise, scores
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.model import Comparisons
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.ranking.theory.rates import win_probability
from pipeline.problems.ranking.theory.risk import sandwich_risk
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import mean_agrees

THETA = np.array([1.5, 0.8, 0.1, -0.9, -1.5])


def rng(seed):
    return np.random.default_rng(seed)


def release(L, epsilon, profile="1:1", reps=400, seed=1, theta=THETA):
    probability = win_probability(theta)
    data = Comparisons(
        np.broadcast_to(probability, (reps, probability.size)), L, theta.size, rng(seed)
    )
    mechanism = RandomizedResponse(m=3, L=L, epsilon=epsilon, profile=profile, draw="marginal")
    return mechanism.release(data, rng(seed + 1))


def errors(estimator, L, epsilon, **more):
    fit = estimator.fit(release(L, epsilon, **more), rng(0))
    assert fit.converged.all() and np.abs(fit.theta.sum(axis=1)).max() < 1e-6
    return np.sqrt(np.square(fit.theta - THETA).mean(axis=1))


@pytest.mark.parametrize("epsilon, profile", [(1.0, "1:1"), (0.5, "0.5:1,0.5:4")])
def test_debiased_is_consistent_and_the_plug_in_is_not(epsilon, profile):
    few, many = (
        [
            errors(kind(m=5), L, epsilon, profile=profile, reps=20_000).mean()
            for kind in (Debiased, PlugIn)
        ]
        for L in (4_000, 4_000_000)
    )
    print(f"debiased {few[0]:.3g} -> {many[0]:.3g}, plug-in {few[1]:.3g} -> {many[1]:.3g}")
    assert many[0] == pytest.approx(
        few[0] / np.sqrt(1000), rel=0.02
    )  # the rate 1/√L; means to 0.3 %
    assert many[1] > 0.9 * few[1] > 0.2  # a bias that no number of users removes


def test_the_plug_in_tends_to_the_shrunken_ranking():
    """Its limit is the fit to ½ + (σ − ½) t(ε), for which θ shrinks by about t(ε)."""
    epsilon = 1.0
    shrunken = 0.5 + (win_probability(THETA) - 0.5) * np.tanh(epsilon / 2)
    limit = minimise(scores(shrunken[None], 5), 0.0).theta[0]
    fit = PlugIn(m=5, lambda_scale=0.0).fit(release(10**8, epsilon), rng(0))
    assert np.abs(fit.theta - limit).max() < 0.002 < 0.5 < np.abs(limit - THETA).max()
    assert (np.abs(limit) < np.abs(THETA) + 1e-9).all()


def test_debiased_has_the_predicted_risk_and_a_wrong_twin_has_not():
    estimator, data = Debiased(m=5), release(20_000, 0.5, reps=4_000)
    fit = estimator.fit(data, rng(0))
    squared = np.square(fit.theta - THETA).mean(axis=1)
    predicted = float(np.mean(sandwich_risk(THETA[None], data.epsilon, data.users, fit.ridge)))
    assert mean_agrees(squared, predicted, "squared error")
    mistaken = FlippedWins(data.wins, data.users, data.epsilon * 1.1, data.items)
    control = np.square(estimator.fit(mistaken, rng(0)).theta - THETA).mean(axis=1)
    assert not mean_agrees(control, predicted, "squared error, debiased with 1.1 ε")


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    "epsilon, users", [([0.7], [5]), ([0.5, 2.0], [3, 7]), ([np.inf], [9]), ([1e-3], [9])]
)
def test_the_ridge_is_c_G_over_L(scale, epsilon, users):
    users, epsilon = np.array(users), np.array(epsilon)
    found = FlippedWins(np.zeros((1, len(users), 1)), users, epsilon, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        gain = np.where(np.isinf(epsilon), 1, (np.exp(epsilon) + 1) / np.expm1(epsilon))
    expected = scale * (users * gain**2).sum() / users.sum() / users.sum()
    assert ridge_of(scale, found) == pytest.approx(expected, rel=1e-9)
    fit = Debiased(m=2, lambda_scale=scale).fit(found, rng(0))
    assert fit.ridge == ridge_of(scale, found)


def test_personalised_users_are_weighted_by_their_amplification():
    """z̄ is the mean of every user's own debiased answer; G is their mean squared amplification."""
    released = release(6, 0.8, "0.5:1,0.5:4", reps=3)
    gain = 1 / np.tanh(np.array([0.8, 3.2]) / 2)
    for rep in range(3):
        for pair in range(10):
            groups = zip(gain, released.wins[rep, :, pair], strict=True)
            answers = [
                g * (bit - 0.5) + 0.5 for g, won in groups for bit in [1] * won + [0] * (3 - won)
            ]
            assert Debiased(m=5).mean(released)[rep, pair] == pytest.approx(np.mean(answers))
    assert ridge_of(1.0, released) * 6 == pytest.approx(np.mean(np.repeat(gain, 3) ** 2))


def test_the_debiased_mean_is_unbiased_and_the_raw_mean_is_not():
    released = release(40, 0.5, "0.25:1,0.75:3", reps=40_000)
    debiased, raw = Debiased(m=5).mean(released), PlugIn(m=5).mean(released)
    assert ((debiased < 0) | (debiased > 1)).any()  # out of [0, 1] as the paper says, and not cut
    for pair, probability in enumerate(win_probability(THETA)):
        assert mean_agrees(debiased[:, pair], probability, f"debiased mean of pair {pair}")
        assert not mean_agrees(raw[:, pair], probability, f"raw mean of pair {pair}")


def test_without_privacy_both_are_the_plain_estimator():
    data = Comparisons(np.broadcast_to(win_probability(THETA), (20, 10)), 50, 5, rng(1))
    plain = NoPrivacy().release(data, rng(2))
    first, second = (kind(m=5).fit(plain, rng(0)) for kind in (Debiased, PlugIn))
    assert first.theta == pytest.approx(second.theta, abs=1e-9) and first.ridge == 1 / 50
    # Stationary point of eq. (3), by its gradient: Σ_j (σ(θ_i − θ_j) − z̄_ij) + 2λθ_i.
    i, j = np.triu_indices(5, 1)
    pull = expit(first.theta[:, i] - first.theta[:, j]) - plain.raw_mean()
    gradient = 2 / 50 * first.theta
    for k in range(10):
        gradient[:, i[k]] += pull[:, k]
        gradient[:, j[k]] -= pull[:, k]
    assert np.abs(gradient).max() < 1e-7


def test_the_order_of_items_does_not_matter():
    data = release(30, 0.5, reps=20)
    order = np.array([3, 0, 4, 1, 2])
    square = np.zeros((20, 5, 5))
    i, j = np.triu_indices(5, 1)
    square[:, i, j] = data.wins[:, 0]
    square[:, j, i] = 30 - data.wins[:, 0]
    moved = FlippedWins(
        square[:, order][:, :, order][:, i, j][:, None], data.users, data.epsilon, 5
    )
    first, second = (Debiased(m=5).fit(d, rng(0)).theta for d in (data, moved))
    assert second == pytest.approx(first[:, order], abs=1e-7)


def test_hopeless_budgets_end_in_a_status_and_not_in_an_error():
    with np.errstate(all="ignore"):
        fit = Debiased(m=5).fit(release(10, 1e-320, reps=4), rng(0))
    assert not fit.converged.any() and fit.theta.shape == (4, 5)
    tiny = Debiased(m=5).fit(release(10, 1e-8, reps=4), rng(0))
    assert tiny.converged.all() and np.isfinite(tiny.theta).all()


@pytest.mark.parametrize("scale", [-1, np.nan, np.inf, "1", None])
def test_a_bad_ridge_is_refused(scale):
    with pytest.raises(InvalidInput, match="lambda_scale"):
        build(Debiased, {"m": 5, "lambda_scale": scale})
