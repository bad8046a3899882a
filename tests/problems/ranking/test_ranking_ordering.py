"""Excess risk against many-digit arithmetic, the Kendall prediction against simulated scores, signals by hand."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.identity.registry import lookup
from pipeline.problems.ranking import derivations
from pipeline.problems.ranking.theory import ordering as btl_ranking
from pipeline.problems.ranking.theory import rates as btl
from pipeline.problems.ranking.theory import risk as btl_risk
from pipeline.study.parameters import InvalidInput, arguments, outcome
from tests.helpers.checks import mean_agrees


def thetas(reps, m, seed, spread=2.0):
    theta = np.random.default_rng(seed).uniform(-spread, spread, (reps, m))
    return theta - theta.mean(axis=1, keepdims=True)


def eq_4(gap, error):
    """One term of eq. (4), literally, with 120 digits: −σ(g)d + log(1 + e^(g+d)) − log(1 + e^g)."""
    with localcontext() as context:
        context.prec = 120
        g, d = Decimal(float(gap)), Decimal(float(error))
        return float(-d / (1 + (-g).exp()) + (1 + (g + d).exp()).ln() - (1 + g.exp()).ln())


ERRORS = [0.0, 1e-300, 1e-150, 1e-12, 1e-8, 1e-4, 0.0999, 0.1001, 0.7, 3.0, 40.0, 800.0]


@pytest.mark.parametrize("gap", [0.0, 1e-9, 0.3, 2.0, 10.0, 40.0, 100.0])
def test_divergence_of_two_comparisons_keeps_its_digits(gap):
    for g, error in ((s * gap, r * e) for e in ERRORS for s in (1, -1) for r in (1, -1)):
        found = float(btl_ranking.bernoulli_divergence(g, error))
        assert found >= 0
        if abs(error) > 1e-100:
            assert found == pytest.approx(eq_4(g, error), rel=1e-12, abs=0)
    # A negative control: eq. (4) in double precision is nothing but rounding at an error of 1e-8.
    direct = -1e-8 / (1 + np.exp(-0.3)) + np.log1p(np.exp(0.3 + 1e-8)) - np.log1p(np.exp(0.3))
    assert direct != pytest.approx(eq_4(0.3, 1e-8), rel=0.1, abs=0)


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 7), st.integers(0, 10**6), st.floats(-12, 1))
def test_excess_risk_against_loops(m, seed, log_error):
    theta = thetas(3, m, seed)
    estimate = theta + 10**log_error * np.random.default_rng(seed + 1).normal(size=theta.shape)
    found = btl_ranking.excess_risk(estimate, theta)
    for r in range(3):
        total = 0.0
        for i in range(m):
            for j in range(i + 1, m):
                gap = theta[r, i] - theta[r, j]
                total += eq_4(gap, (estimate[r, i] - theta[r, i]) - (estimate[r, j] - theta[r, j]))
        assert found[r] == pytest.approx(total / m**2, rel=1e-10, abs=1e-300)
    assert (found >= 0).all() and (btl_ranking.excess_risk(theta, theta) == 0).all()
    shifted = btl_ranking.excess_risk(
        estimate + 1, theta
    )  # whose roots change by rounding, of numbers below 100
    assert np.sqrt(shifted) == pytest.approx(np.sqrt(found), rel=1e-9, abs=1e-14)


def test_excess_risk_of_every_replication_by_itself():
    """The same bytes, however many there are."""
    theta = thetas(9, 12, 1)
    estimate = theta + np.random.default_rng(2).normal(0, 0.02, theta.shape)
    whole = btl_ranking.excess_risk(estimate, theta)
    assert all(
        btl_ranking.excess_risk(estimate[k : k + 1], theta[k : k + 1])[0] == whole[k]
        for k in range(9)
    )


@pytest.mark.parametrize(
    "spread, error",
    [
        (1, 1e-9),
        (1, 1e-3),
        (1, 0.02),
        (1, 0.04),
        (1, 1),
        (30, 1),
        (1, 40),
        (300, 40),
        (300, 150),
    ],
)
def test_excess_risk_is_the_sum_of_divergences(spread, error):
    """Whatever the size of its errors."""
    theta = thetas(11, 14, 1, spread)
    estimate = theta + np.random.default_rng(2).normal(0, error, theta.shape)
    first, second = np.triu_indices(14, 1)
    off = estimate - theta
    expected = btl_ranking.bernoulli_divergence(
        theta[:, first] - theta[:, second], off[:, first] - off[:, second]
    )
    found = btl_ranking.excess_risk(estimate, theta)
    apart = np.abs(found * 14**2 / expected.sum(axis=1) - 1).max()
    print(f"n={found.size} values, largest relative difference {apart:.1e}, bound 1e-12")
    assert apart <= 1e-12


def test_excess_risk_is_the_population_objective():
    """m⁻² times the objective of eq. (3) without ridge at mean comparisons σ, minus its least value."""
    theta, estimate = thetas(300, 20, 1), thetas(300, 20, 2)  # several slices
    first, second = np.triu_indices(20, 1)

    def objective(x):
        gap = x[:, first] - x[:, second]
        return (np.logaddexp(0, gap) - btl.win_probability(theta) * gap).sum(axis=1) / 400

    assert btl_ranking.excess_risk(estimate, theta) == pytest.approx(
        objective(estimate) - objective(theta)
    )
    p, q = btl.win_probability(theta), btl.win_probability(estimate)
    divergence = stats.entropy([p, 1 - p], [q, 1 - q], axis=0).sum(axis=1) / 400
    assert btl_ranking.excess_risk(estimate, theta) == pytest.approx(divergence)


@pytest.mark.parametrize(
    "epsilon, users, weights",
    [
        (1.0, 30, None),
        (0.3, 200, None),
        (np.inf, 20, None),
        (np.array([0.5, 2.0]), np.array([40, 20]), None),
        (np.array([0.5, 2.0]), np.array([40, 20]), np.array([0.1, 1.0])),
    ],
)
def test_kendall_prediction_against_simulated_scores(epsilon, users, weights):
    m, reps, theta = 6, 40_000, thetas(1, 6, 3, spread=0.5)[0]
    first, second = np.triu_indices(m, 1)
    p = btl.win_probability(theta)
    v = np.broadcast_to(1.0 if weights is None else weights, np.shape(users))
    each = btl_risk.debiased_variance(p, np.reshape(epsilon, (-1, 1)))
    spread = (np.reshape(users * v**2, (-1, 1)) * each).sum(axis=0) / np.sum(users * v) ** 2

    def distances(sd):
        noisy = p + sd * np.random.default_rng(5).standard_normal((reps, p.size))
        scores = np.zeros((reps, m))
        for k, (i, j) in enumerate(zip(first, second, strict=True)):
            scores[:, i] += noisy[:, k]
            scores[:, j] += 1 - noisy[:, k]
        right = np.sign(theta[first] - theta[second])
        return (right * (scores[:, first] - scores[:, second]) < 0).mean(axis=1)

    predicted = btl_ranking.kendall_prediction(theta[None], epsilon, users, weights)[0]
    assert mean_agrees(distances(np.sqrt(spread)), predicted, "Kendall distance of Gaussian scores")
    assert not mean_agrees(
        distances(1.05 * np.sqrt(spread)), predicted, "control: noise 5 % too large"
    )


def test_kendall_prediction_at_its_ends():
    theta = thetas(5, 8, 4)
    assert btl_ranking.kendall_prediction(np.zeros((2, 5)), 1.0, 50) == pytest.approx(0.5)
    assert btl_ranking.kendall_prediction(theta, 1e-8, 50) == pytest.approx(0.5, abs=1e-6)
    assert (
        btl_ranking.kendall_prediction(theta * 50, 1.0, 10**6) < 0.01
    ).all()  # gaps of up to 200 logits
    falling = [btl_ranking.kendall_prediction(theta, 1.0, n) for n in (10, 100, 1000)]
    assert (np.diff(falling, axis=0) < 0).all()
    many = np.concatenate([theta] * 400)  # several slices
    assert btl_ranking.kendall_prediction(many, 1.0, 10) == pytest.approx(
        np.tile(falling[0], 400), rel=1e-12
    )
    order = [3, 1, 0, 2, 7, 6, 5, 4]
    assert btl_ranking.kendall_prediction(theta[:, order], 1.0, 10) == pytest.approx(
        falling[0], rel=1e-12
    )


def test_signals_by_hand():
    epsilon = float(np.log(3))  # a = 2, G = 4
    assert derivations.size(epsilon, 10, 200) == pytest.approx(500)
    assert derivations.signal(epsilon, 10, 200, 0.1) == pytest.approx(5)
    assert derivations.signal_over_log(epsilon, 10, 200, 0.1) == pytest.approx(5 / np.log(2000))
    assert derivations.users_from_signal(5.0, 10, 0.1, epsilon) == 200
    assert derivations.users_from_size(500, 10, epsilon) == 200
    for asked in (-1.0, 0.0, 1e-9, np.inf, np.nan):
        with pytest.raises(InvalidInput, match="signal"):
            derivations.users_from_signal(asked, 10, 0.1, epsilon)
        with pytest.raises(InvalidInput, match="size"):
            derivations.users_from_size(asked, 10, epsilon)


@settings(deadline=None)
@given(st.floats(0.1, 100), st.integers(2, 50), st.floats(0.01, 1), st.floats(0.05, 10))
def test_users_bring_the_signal(signal, m, spacing, epsilon):
    assume(signal >= derivations.signal(epsilon, m, 1.01, spacing))  # one user is enough for less
    users = derivations.users_from_signal(signal, m, spacing, epsilon)
    assert type(users) is int and users >= 1
    one = derivations.signal(epsilon, m, 1, spacing)
    assert users == 1 or derivations.signal(epsilon, m, users, spacing) == pytest.approx(
        signal, abs=0.5001 * one
    )
    size = derivations.size(epsilon, m, 10**6)
    assert derivations.users_from_size(size, m, epsilon) == 10**6


@pytest.mark.parametrize("m, L, epsilon", [(2, 10**4, 1.0), (20, 10**6, 0.3)])
def test_gaps_bring_the_signal(m, L, epsilon):
    spacing = derivations.spacing_from_signal(8.0, m, L, epsilon)
    assert (
        m * L * (spacing * np.tanh(epsilon / 2)) ** 2
        == pytest.approx(8)
        == derivations.signal(epsilon, m, L, spacing)
    )


COORDINATES = [
    "signal",
    "signal_over_log",
    "size",
    "mean_gain",
    "information_share",
    "epsilon_user",
]


@pytest.mark.parametrize("name", COORDINATES)
def test_coordinates_say_what_they_are(name):
    said = outcome(lookup("ranking", "derivation", name))
    assert said["long_name"] and said["units"]


def test_inputs_that_only_a_derivation_knows_have_a_meaning():
    for name, known in (
        ("users_from_signal", "signal"),
        ("users_from_size", "size"),
        ("matched_budget", "matched"),
        ("matched_budget", "common_epsilon"),
    ):
        assert (
            arguments(lookup("ranking", "derivation", name))[known].metadata["meaning"]
            != "input of a derivation"
        )
