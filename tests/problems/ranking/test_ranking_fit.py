"""The fit that is the truth of recorded data, against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from pipeline.problems.ranking.estimators.newton import minimise, scores
from pipeline.problems.ranking.theory.fit import weighted_fit


def peer(wins, compared, m, ridge):
    i, j = np.triu_indices(m, 1)

    def objective(theta):
        gap = theta[i] - theta[j]
        return (compared * np.logaddexp(0, gap) - wins * gap).sum() + ridge * (theta @ theta)

    def gradient(theta):
        pull = compared / (1 + np.exp(-(theta[i] - theta[j]))) - wins
        return np.bincount(i, pull, m) - np.bincount(j, pull, m) + 2 * ridge * theta

    return minimize(
        objective, np.zeros(m), jac=gradient, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    ).x


@settings(max_examples=40)
@given(st.integers(2, 9), st.floats(1e-3, 1), st.floats(0, 1), st.integers(0, 2**32))
def test_it_is_the_minimum(m, ridge, absent, seed):
    rng = np.random.default_rng(seed)
    pairs = m * (m - 1) // 2
    compared = np.where(rng.random(pairs) < absent, 0, rng.random(pairs))
    wins = compared * np.round(rng.random(pairs), 1)
    theta = weighted_fit(wins, compared, m, ridge)
    assert abs(theta.sum()) < 1e-9 and np.abs(theta - peer(wins, compared, m, ridge)).max() < 1e-5
    control = weighted_fit(wins, compared, m, 1.1 * ridge)
    assert np.abs(theta).max() < 0.01 or np.abs(theta - control).max() > 1e-5


def test_with_all_comparisons_made_it_is_eq_2():
    rng = np.random.default_rng(1)
    mean = rng.random((1, 66))
    found = minimise(scores(mean, 12), 0.01)
    assert np.abs(weighted_fit(mean[0], np.ones(66), 12, 0.01) - found.theta[0]).max() < 1e-8


def test_two_items_by_hand():
    theta = weighted_fit([3.0], [4.0], 2, 1e-12)
    assert theta == pytest.approx([np.log(3) / 2, -np.log(3) / 2])


@pytest.mark.parametrize("ridge", [1e-2, 1e-5, 1e-9])
def test_items_that_never_lose_are_no_obstacle(ridge):
    wins, m = np.ones(15), 6
    theta = weighted_fit(wins, wins, m, ridge)
    chance = 1 / (1 + np.exp(theta - theta[:, None]))
    gradient = chance.sum(axis=1) - 0.5 - np.arange(m)[::-1] + 2 * ridge * theta
    assert np.abs(gradient).max() < 1e-8 and (np.diff(theta) < 0).all()


def test_what_cannot_be_fitted_is_said():
    with pytest.raises(ArithmeticError, match="did not converge"):
        weighted_fit([np.nan], [1.0], 2, 0.1)
