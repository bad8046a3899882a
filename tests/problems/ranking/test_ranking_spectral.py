"""Rank centrality against the definition, eigenvectors and the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.problems.common.stationary import stationary
from pipeline.problems.ranking.estimators.spectral import RankCentrality
from pipeline.problems.ranking.releases import FlippedWins, LaplaceWins
from pipeline.problems.ranking.theory.rates import win_probability
from tests.helpers.checks import mean_agrees
from tests.problems.common.test_pairwise_newton import fit, released, take


@pytest.mark.parametrize("m", [2, 3, 10, 60])
@pytest.mark.parametrize("epsilon", [0.5, np.inf])
def test_exact_probabilities_give_the_truth(m, epsilon):
    theta = np.random.default_rng(1).uniform(-2, 2, (5, m))
    theta -= theta.mean(axis=1, keepdims=True)
    users = np.array([10**6])
    wins = users[0] * released_probability(win_probability(theta), epsilon)[:, None]
    compared = np.zeros(wins.shape)
    i, j = np.triu_indices(m, 1)
    compared[..., (j - i) % m <= 2] = 10**6  # reversible, so pairs may be missing
    for release in (
        FlippedWins(wins, users, np.array([epsilon]), m),
        FlippedWins(np.where(compared > 0, wins, 0), users, np.array([epsilon]), m, compared),
    ):
        found = fit(RankCentrality(m=m), release)
        assert found.converged.all() and found.theta == pytest.approx(theta, abs=1e-9)
    control = FlippedWins(
        wins, users, np.array([epsilon if np.isinf(epsilon) else 1.2 * epsilon]), m
    )
    assert np.isinf(epsilon) or fit(RankCentrality(m=m), control).theta != pytest.approx(
        theta, abs=0.01
    )


def test_the_stationary_law_is_the_left_eigenvector():
    rng = np.random.default_rng(2)
    rates = rng.exponential(size=(20, 7, 7)) ** 3
    rates[:, 0, 3] = 0  # not reversible
    law = stationary(rates.copy())
    law /= law.sum(axis=1, keepdims=True)
    for chain, pi in zip(rates, law, strict=True):
        np.fill_diagonal(chain, 0)
        generator = chain - np.diag(chain.sum(axis=1))
        expected = np.linalg.lstsq(np.vstack([generator.T, np.ones(7)]), np.eye(8)[7], rcond=None)[
            0
        ]
        assert pi == pytest.approx(expected, rel=1e-8, abs=1e-12)
        assert pi != pytest.approx(
            np.linalg.lstsq(np.vstack([generator, np.ones(7)]), np.eye(8)[7])[0], rel=0.01
        )


def test_two_items_are_log_odds_cut_at_half_a_comparison():
    users = np.array([10])
    wins = np.array([[[-3.0]], [[0.0]], [[0.2]], [[3.0]], [[10.0]], [[99.0]]])
    for compared in (None, np.full(wins.shape, 10)):
        found = fit(RankCentrality(m=2), LaplaceWins(wins, users, np.array([1.0]), 2, compared))
        share = np.array([0.05, 0.05, 0.05, 0.3, 0.95, 0.95])
        assert found.theta[:, 0] * 2 == pytest.approx(np.log(share / (1 - share)))


def test_items_that_nobody_connects_are_a_status():
    compared = np.full((3, 1, 6), 10)
    compared[1, 0, [0, 1, 2]] = 0  # nobody met item 0
    compared[2, 0, [1, 2, 3, 4]] = 0  # 01 and 23
    found = fit(
        RankCentrality(m=4),
        FlippedWins(compared * 0.3, np.array([10]), np.array([np.inf]), 4, compared),
    )
    assert found.converged.tolist() == [True, False, False]
    assert np.isfinite(found.theta[0]).all() and np.isnan(found.theta[1:]).all()


def test_wide_preferences_keep_their_digits():
    """Six items whose stationary shares span 65 decades, along a path."""
    theta = np.linspace(75, -75, 6)[None]
    i, j = np.triu_indices(6, 1)
    path = j - i == 1
    users = np.array([10**15])
    wins, compared = (
        np.where(path, win_probability(theta) * 10**15, 0)[:, None],
        np.where(path, 10**15, 0)[None, None],
    )
    found = fit(RankCentrality(m=6), FlippedWins(wins, users, np.array([np.inf]), 6, compared))
    assert found.theta == pytest.approx(theta, abs=0.01) and found.converged.all()


def test_more_users_bring_it_to_the_truth():
    theta = np.array([[1.0, 0.3, -0.3, -1.0]])
    p = released_probability(win_probability(theta), 1.0)[:, None]
    error = []
    for users in (40_000, 4_000_000):
        wins = np.random.default_rng(3).binomial(users, p, (20_000, 1, 6))
        found = fit(RankCentrality(m=4), FlippedWins(wins, np.array([users]), np.ones(1), 4))
        error.append(np.sqrt(np.square(found.theta - theta).mean()))
        assert users < 100_000 or mean_agrees(found.theta[:, 0], 1.0, "θ̂ of the best item")
    assert error[1] == pytest.approx(error[0] / 10, rel=0.02)  # each to 0.3 %


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 8),
    st.sampled_from([0.05, 1.0, np.inf]),
    st.sampled_from([None, 0.5]),
)
def test_laws(seed, m, epsilon, rate):
    _, data = released(seed, 5, m, [8, 30], [epsilon, 1.0], rate=rate)
    estimator, order = RankCentrality(m=m), np.random.default_rng(seed).permutation(m)
    found = fit(estimator, data)
    assert found.converged.all() and np.abs(found.theta.sum(axis=1)).max() < 1e-9
    assert fit(estimator, take(data, slice(2, 3))).theta == pytest.approx(
        found.theta[2:3], rel=1e-12, abs=1e-12
    )
    assert fit(estimator, take(data, slice(None), order)).theta == pytest.approx(
        found.theta[:, order], abs=1e-9
    )
