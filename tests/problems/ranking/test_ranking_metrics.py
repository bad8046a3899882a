"""Metrics of the private ranking model: what they are fed, by hand, and against simulation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from pipeline.privacy import randomized_response_laws
from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.common.recovery import HammingTopK, kendall
from pipeline.problems.ranking import derivations
from pipeline.problems.ranking.estimators.moments import Debiased, PlugIn, PreferenceEstimate
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.metrics.ordering import (
    excess_risk,
    kendall_predicted,
    lean_next,
    lean_two_apart,
)
from pipeline.problems.ranking.metrics.yardsticks import (
    cramer_rao_risk,
    error_debiased_squared,
    information,
    lean_debiased,
    lean_released,
    lean_true,
    lean_true_squared,
    log_condition,
    mean_gain,
    minimax_bound,
    sandwich_risk,
)
from pipeline.problems.ranking.model import BTL, Comparisons, Preferences
from pipeline.problems.ranking.releases import FlippedWins, LaplaceWins
from pipeline.problems.ranking.theory import ordering as btl_ranking
from pipeline.problems.ranking.theory import rates as btl
from pipeline.problems.ranking.theory import risk as btl_risk
from tests.helpers.checks import mean_agrees

MIXED = "0.5:1,0.5:4"
THETA = np.array([0.7, 0.3, 0.0, -0.4, -0.6])


def rng(seed):
    return np.random.default_rng(seed)


def chain(mechanism, theta=THETA, reps=4000, seed=1, estimator=None):
    """(truth, release, estimate) of a mechanism on data with this θ*."""
    truth = Preferences(np.broadcast_to(theta, (reps, len(theta))))
    users = getattr(mechanism, "L", 2_000)
    data = Comparisons(btl.win_probability(truth.theta), users, len(theta), rng(seed))
    release = mechanism.release(data, rng(seed + 1))
    return truth, release, (estimator or Debiased(len(theta), 1e-3)).fit(release, rng(0))


def squared_error(truth, estimate):
    return np.square(estimate.theta - truth.theta).mean(axis=1)


# Truths and constants.
@pytest.mark.parametrize("m, spacing", [(2, 0.1), (5, 0.05), (10, 1.0)])
def test_evenly_spaced_truths(m, spacing):
    theta = BTL(m=m, L=1, theta="spaced", spacing=spacing).truth(rng(1), 500, rng(2)).theta
    assert theta.shape == (500, m) and np.abs(theta.sum(axis=1)).max() < 1e-12
    assert np.diff(np.sort(theta, axis=1)) == pytest.approx(spacing)
    assert len({tuple(row) for row in np.argsort(theta, axis=1)}) > 1  # in random order
    assert log_condition()(Preferences(theta), None, None) == pytest.approx((m - 1) * spacing)
    best = np.bincount(theta.argmax(axis=1), minlength=m)
    assert best.min() > 0 and best.max() < 500 * (1 / m + 6 * np.sqrt(1 / m / 500))


@pytest.mark.parametrize("m", [2, 5, 10])
def test_two_groups_of_truths(m):
    theta = BTL(m=m, L=1, theta="two_groups", spread=1.5).truth(rng(1), 500, rng(2)).theta
    assert (np.sort(theta, axis=1) == [-1.5] * (m // 2) + [0.0] * (m % 2) + [1.5] * (m // 2)).all()
    assert len(np.unique(theta, axis=0)) > 1  # in random order


def test_constants_of_a_release():
    epsilon = float(np.log(3))  # a = 2, t = ½, G = 4
    given = chain(RandomizedResponse(m=5, L=40, epsilon=epsilon), reps=3)
    assert information()(*given).tolist() == pytest.approx([10] * 3) and mean_gain()(
        *given
    ) == pytest.approx([4] * 3)
    given = chain(RandomizedResponse(m=5, L=40, epsilon=epsilon, profile=MIXED), reps=3)
    t = np.tanh(np.repeat([epsilon, 4 * epsilon], 20) / 2)
    assert information()(*given) == pytest.approx([(t**2).sum()] * 3)
    assert mean_gain()(*given) == pytest.approx([(1 / t**2).mean()] * 3)
    assert mean_gain()(*given)[0] == pytest.approx(derivations.mean_gain(epsilon, MIXED, 40))
    assert information()(*given)[0] == pytest.approx(
        40 * derivations.information_share(epsilon, MIXED, 40)
    )
    given = chain(Laplace(m=5, L=40, epsilon=epsilon), reps=3)  # variance ¼ + 2/ε² in units of ¼
    assert mean_gain()(*given) == pytest.approx([1 + 8 / epsilon**2] * 3)
    assert information()(*given) == pytest.approx([40 / (1 + 8 / epsilon**2)] * 3)


# Lemmas 1 and 2.
def test_leans_and_the_error_of_comparisons_by_hand():
    """Four users with a = 2 and six with a = 1; items 0 and 1 are equal, item 2 is better: σ is ½, ¼, ¼."""
    gap = float(np.log(3))
    truth = Preferences(np.array([[0.0, 0.0, gap]]))
    wins = np.array(
        [[[3, 1, 2], [2, 1, 3]]]
    )  # z̄ = ½ + [2(1, −1, 0) + (−1, −2, 0)]/10, and raw ½ + (0, −3, 0)/10
    release = FlippedWins(wins, np.array([4, 6]), np.array([gap, np.inf]), 3)
    assert lean_true()(truth, release, None) == pytest.approx(0.5 / 3)
    assert lean_true_squared()(truth, release, None) == pytest.approx(2 / 16 / 3)
    assert lean_released()(truth, release, None) == pytest.approx(
        0.3 / 3
    )  # equal items have no better one
    assert lean_debiased()(truth, release, None) == pytest.approx(0.4 / 3)
    assert error_debiased_squared()(truth, release, None) == pytest.approx(
        10 * (0.1**2 + 0.15**2 + 0.25**2) / 3
    )


def test_lemmas_1_and_2_hold_of_simulated_releases():
    """Leans E t·|σ − ½| and |σ − ½|, variance mean(a²)/4 − (σ − ½)² of one debiased comparison."""
    given = chain(RandomizedResponse(m=5, L=40, epsilon=0.5, profile=MIXED))
    t = np.tanh(np.array([0.25, 1.0]))
    lean = np.abs(expit(np.subtract.outer(THETA, THETA)[np.triu_indices(5, 1)]) - 0.5)
    assert mean_agrees(
        lean_released()(*given), t.mean() * lean.mean(), "lean of released comparisons"
    )
    assert mean_agrees(lean_debiased()(*given), lean.mean(), "lean of debiased comparisons")
    variance = (1 / t**2).mean() / 4 - (lean**2).mean()
    assert mean_agrees(
        error_debiased_squared()(*given), variance, "variance of one debiased comparison"
    )
    assert not mean_agrees(
        error_debiased_squared()(*given), (1 / t).mean() ** 2 / 4, "control: square of the mean a"
    )


# Example 1.
def test_released_wins_by_rank():
    theta = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])  # ranks 2 1 3 and 3 2 1
    wins = np.array([[[2, 7, 9]], [[2, 7, 9]]], float)  # of pairs 01, 02, 12, out of 10
    release = FlippedWins(wins, np.array([10]), np.array([1.0]), 3)
    truth = Preferences(theta)
    # row 0: 1 over 0 is 1 − .2, 0 over 2 is .7, 1 over 2 is .9; row 1: 2 over 1 is .1, 1 over 0 is .8, 2 over 0 is .3
    assert lean_next()(truth, release, None) == pytest.approx([0.75, 0.45])
    assert lean_two_apart()(truth, release, None) == pytest.approx([0.9, 0.3])
    pair = FlippedWins(wins[:, :, :1], np.array([10]), np.array([1.0]), 2)
    assert np.isnan(lean_two_apart()(Preferences(theta[:, :2]), pair, None)).all()


@settings(deadline=None)
@given(st.integers(2, 7), st.integers(0, 10**6))
def test_released_wins_by_rank_against_loops(m, seed):
    theta = rng(seed).normal(size=(2, m))
    wins = rng(seed + 1).integers(0, 11, (2, 1, m * (m - 1) // 2)).astype(float)
    release, first, second = (
        FlippedWins(wins, np.array([10]), np.array([1.0]), m),
        *np.triu_indices(m, 1),
    )
    for metric, apart in ((lean_next(), 1), (lean_two_apart(), 2)):
        found = metric(Preferences(theta), release, None)
        for r in range(2):
            share = {(i, j): w / 10 for i, j, w in zip(first, second, wins[r, 0], strict=True)}
            share |= {(j, i): 1 - w for (i, j), w in share.items()}
            order = np.argsort(-theta[r])
            values = [share[order[k], order[k + apart]] for k in range(m - apart)]
            assert found[r] == pytest.approx(np.mean(values)) if values else np.isnan(found[r])


def test_example_1_is_no_btl_model():
    """Flipped with probability ⅓, items log 2 apart win 5/9 and 3/5: odds 5/4 and 3/2, not 5/4 squared."""
    gap = float(np.log(2))
    given = chain(
        RandomizedResponse(m=3, L=100, epsilon=gap, draw="marginal"), gap * np.array([1, 0, -1])
    )
    near, far = lean_next()(*given), lean_two_apart()(*given)
    assert mean_agrees(near, 5 / 9, "next item") and mean_agrees(far, 3 / 5, "two apart")
    assert not mean_agrees(far, 25 / 41, "odds (5/4)²")


# Risk and its predictions.
def test_excess_risk_is_that_of_the_estimate():
    given = chain(RandomizedResponse(m=5, L=10**6, epsilon=2.0, draw="marginal"), reps=50)
    truth, _, fit = given
    found = excess_risk()(*given)
    assert (
        found == pytest.approx(btl_ranking.excess_risk(fit.theta, truth.theta))
        and (found > 0).all()
    )
    # Near θ*: half the error's square in the curvature, over m².
    first, second = np.triu_indices(5, 1)
    p = expit(truth.theta[:, first] - truth.theta[:, second])
    error = (fit.theta - truth.theta)[:, first] - (fit.theta - truth.theta)[:, second]
    assert found == pytest.approx((p * (1 - p) * error**2).sum(axis=1) / 50, rel=0.02)
    broken = PreferenceEstimate(np.full((50, 5), np.nan), np.zeros(50, bool), 0.0)
    assert np.isnan(excess_risk()(truth, None, broken)).all()


@pytest.mark.parametrize(
    "mechanism, control",
    [
        (RandomizedResponse(m=5, L=20_000, epsilon=0.5), None),
        (Laplace(m=5, L=20_000, epsilon=0.5), "ε itself"),
        (Laplace(m=5, L=20_000, epsilon=1.0, profile=MIXED), "ε itself"),
        (NoPrivacy(), None),
    ],
)
def test_the_sandwich_predicts_the_error_of_every_release(mechanism, control):
    given = chain(mechanism)
    truth, release, fit = given
    predicted = sandwich_risk()(*given)
    assert np.ptp(predicted) < 1e-9 * predicted[0]
    assert mean_agrees(squared_error(truth, fit), predicted[0], "squared error")
    if control:
        as_is = btl_risk.sandwich_risk(truth.theta[:1], release.epsilon, release.users, fit.ridge)
        assert not mean_agrees(squared_error(truth, fit), as_is[0], f"control: {control}")


@pytest.mark.parametrize(
    "mechanism, control",
    [
        (RandomizedResponse(m=5, L=400, epsilon=0.5), 0.6),
        (Laplace(m=5, L=400, epsilon=0.5), 0.5),
        (RandomizedResponse(m=5, L=100, epsilon=0.5, profile=MIXED), 0.6),
    ],
)
def test_the_kendall_distance_is_predicted(mechanism, control):
    given = chain(mechanism, reps=8000)
    _, release, _ = given
    predicted = kendall_predicted()(*given)
    assert mean_agrees(kendall()(*given), predicted[0], "Kendall distance")
    other = btl_ranking.kendall_prediction(
        THETA[None], control * release.epsilon / release.epsilon[0], release.users
    )
    assert not mean_agrees(kendall()(*given), other[0], f"control: ε = {control} as if flipped")


def test_weights_of_the_estimator_enter_its_yardsticks():
    truth, release, fit = chain(RandomizedResponse(m=5, L=60, epsilon=0.5, profile=MIXED), reps=3)
    weights = randomized_response_laws.attenuation(release.epsilon) ** 2
    weighted = PreferenceEstimate(fit.theta, fit.converged, fit.ridge, weights)
    for metric, reference, ridge in (
        (sandwich_risk(), btl_risk.sandwich_risk, (fit.ridge,)),
        (kendall_predicted(), btl_ranking.kendall_prediction, ()),
    ):
        plain, found = (metric(truth, release, x) for x in (fit, weighted))
        assert found == pytest.approx(
            reference(truth.theta, release.epsilon, release.users, *ridge, weights)
        )
        assert plain == pytest.approx(
            reference(truth.theta, release.epsilon, release.users, *ridge)
        )
        assert (found < plain).all()


def test_estimators_on_one_release_share_their_yardsticks(monkeypatch):
    """Each is computed once for what it depends on, and anew for another truth, release or ridge."""
    truth, release, fit = chain(RandomizedResponse(m=5, L=60, epsilon=0.5), reps=3)
    stronger = PreferenceEstimate(fit.theta, fit.converged, 2 * fit.ridge)
    other = type(truth)(1.1 * truth.theta)
    again = FlippedWins(release.wins, release.users, 2 * release.epsilon, 5)
    calls = []
    for name in ("sandwich_risk", "cramer_rao_risk"):
        function = getattr(btl_risk, name)
        monkeypatch.setattr(
            btl_risk, name, lambda *asked, f=function, n=name: calls.append(n) or f(*asked)
        )
    for metric, anew in ((sandwich_risk(), 4), (cramer_rao_risk(), 3)):
        calls.clear()
        asked = [
            (truth, release, fit),
            (truth, release, replace(fit, theta=-fit.theta)),
            (truth, release, stronger),
            (other, release, stronger),
            (other, again, stronger),
        ]
        values = [metric(*parts) for parts in asked]
        assert len(calls) == anew
        for parts, value in zip(asked[::-1], values[::-1], strict=True):
            assert np.array_equal(metric(*parts), value)
        assert not np.array_equal(values[2], values[3]) and not np.array_equal(values[3], values[4])


def test_yardsticks_speak_only_where_their_formulas_hold():
    truth, release, fit = chain(RandomizedResponse(m=5, L=60, epsilon=0.5), reps=3)
    some = FlippedWins(release.wins, release.users, release.epsilon, 5, np.full((3, 1, 10), 60))
    for metric in (sandwich_risk(), cramer_rao_risk(), kendall_predicted(), minimax_bound()):
        assert np.isfinite(metric(truth, release, fit)).all()
        assert np.isnan(metric(truth, some, fit)).all() and metric(truth, some, fit).shape == (3,)
    noisy = LaplaceWins(release.wins, release.users, release.epsilon, 5)
    assert (
        np.isnan(cramer_rao_risk()(truth, noisy, fit)).all()
        and np.isnan(minimax_bound()(truth, noisy, fit)).all()
    )
    assert np.isfinite(sandwich_risk()(truth, noisy, fit)).all()


# Rankings are those of the scores.
@settings(deadline=None, max_examples=40)
@given(
    st.integers(2, 8),
    st.integers(1, 300),
    st.floats(0.05, 6),
    st.floats(0.01, 10),
    st.integers(0, 10**6),
)
def test_with_one_budget_debiasing_and_the_ridge_change_no_ranking(m, L, epsilon, scale, seed):
    theta = rng(seed).uniform(-1, 1, m)
    truth, release, fit = chain(
        RandomizedResponse(m=m, L=L, epsilon=epsilon), theta, 20, seed, Debiased(m, scale)
    )
    square = np.zeros((20, m, m))
    first, second = np.triu_indices(m, 1)
    square[:, first, second] = release.wins[:, 0]
    square[:, second, first] = L - release.wins[:, 0]
    by_score = PreferenceEstimate(square.sum(axis=2), fit.converged, 0.0)
    others = (PlugIn(m, scale), Debiased(m, 1.0), PlugIn(m, 3.0))
    for other in (by_score, *(estimator.fit(release, rng(0)) for estimator in others)):
        for metric in (kendall(), HammingTopK(m)):
            assert metric(truth, release, other).tolist() == metric(truth, release, fit).tolist()


def test_with_two_budgets_debiasing_changes_the_ranking():
    given = chain(RandomizedResponse(m=5, L=60, epsilon=0.5, profile=MIXED))
    truth, release, fit = given
    debiased, plug_in = (
        kendall()(*given),
        kendall()(truth, release, PlugIn(5, 1e-3).fit(release, rng(0))),
    )
    print(f"Kendall {debiased.mean():.4f} debiased, {plug_in.mean():.4f} plug-in")
    assert (debiased != plug_in).mean() > 0.5
