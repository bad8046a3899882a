"""Control variates of rankings: their exact means by enumeration and by simulation, and how much variance they take."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import pipeline as pl
from pipeline.problems.ranking import PROBLEM
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.metrics import controls
from pipeline.problems.ranking.model import BTL
from pipeline.problems.ranking.theory.linearised import squared_error
from pipeline.problems.ranking.theory.risk import sandwich_risk
from pipeline.problems.ranking.theory.score_order import wrong_order
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import mean_agrees


def outcomes(theta, groups):
    """Every release of three items, (wins of each group and pair, probability); groups: (users, ε)."""
    chances = [expit(theta[i] - theta[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    laws = [
        stats.binom.pmf(np.arange(n + 1), n, (flip := expit(-e)) + (1 - 2 * flip) * p)
        for n, e in groups
        for p in chances
    ]
    for wins in itertools.product(*(range(len(law)) for law in laws)):
        yield (
            np.reshape(wins, (len(groups), 3)),
            math.prod(law[w] for law, w in zip(laws, wins, strict=True)),
        )


@pytest.mark.parametrize("groups, ridge", [([(4, 1.0)], 0.3), ([(2, 0.7), (1, 2.0)], 0.05)])
def test_moments_of_the_first_order_error_by_enumeration(groups, ridge):
    theta = np.array([0.9, -0.2, -0.7])
    users, epsilon = np.array([n for n, _ in groups]), np.array([e for _, e in groups])
    gain = 1 / np.tanh(epsilon / 2)
    values, chances = [], []
    for wins, probability in outcomes(theta, groups):
        mean = 0.5 + (gain[:, None] * (wins - users[:, None] / 2)).sum(axis=0) / users.sum()
        values.append(mean)
        chances.append(probability)
    chances = np.array(chances)
    found = squared_error(np.tile(theta, (len(values), 1)), np.array(values), epsilon, users, ridge)
    expected = chances @ found.value
    assert found.mean[0] == pytest.approx(expected, rel=1e-10)
    assert found.mean[0] == pytest.approx(
        float(sandwich_risk(theta[None], epsilon, users, ridge)[0]), rel=1e-10
    )
    assert found.variance[0] == pytest.approx(chances @ (found.value - expected) ** 2, rel=1e-10)


def test_the_first_order_error_is_the_estimator_s_where_errors_are_small():
    theta = np.array([[0.6, 0.1, -0.2, -0.5]])
    model = RandomizedResponse(m=4, L=10**8, epsilon=3.0, draw="marginal")
    data = BTL(m=4, L=10**8).simulate(controls.Preferences(theta), np.random.default_rng(1))
    release = model.release(data, np.random.default_rng(2))
    estimate = Debiased(m=4, lambda_scale=1e5).fit(release, np.random.default_rng(3))
    first = squared_error(
        theta, release.debiased_mean(), release.epsilon, release.users, estimate.ridge
    )
    assert first.value[0] == pytest.approx(np.square(estimate.theta - theta).mean(), rel=0.01)


@pytest.mark.parametrize(
    "theta, users, epsilon",
    [([0.4, -0.1, -0.3], 5, 1.0), ([0.0, 0.0, 0.0], 4, 2.0), ([2.0, 0.5, -2.5], 6, 4.0)],
)
def test_orders_of_scores_by_enumeration(theta, users, epsilon):
    exact = np.zeros((3, 3))
    for ((a, b, c),), probability in outcomes(theta, [(users, epsilon)]):
        score = np.array([a + b, users - a + c, 2 * users - b - c])
        exact += probability * (1 - np.sign(score[:, None] - score)) / 2
    assert np.allclose(wrong_order(np.array(theta), epsilon, users), exact, rtol=0, atol=1e-12)


def test_orders_of_scores_of_many_items():
    """For 30 items only some points of the characteristic function are summed: rows and columns still complement."""
    theta = 0.1 * np.arange(30)[::-1]
    found = wrong_order(theta, 1.0, 400)
    assert np.allclose(found + found.T, 1, rtol=0, atol=1e-11)
    two = wrong_order(np.array([0.5, 0.0]), 1.0, 401)
    assert two[0, 1] == pytest.approx(
        stats.binom.cdf(200, 401, 0.5 + math.tanh(0.5) * (expit(0.5) - 0.5)), rel=1e-10
    )


ALL = (
    "noise_control",
    "noise_control_squared",
    "spread_control",
    "spread_control_fourth",
    "kendall_control",
    "top_k_control",
)


def simulated(metrics, mechanism=RandomizedResponse, reps=4000, **values):
    values = dict(m=6, L=60, epsilon=1.5, draw="marginal") | values
    truth_rng, data_rng, noise_rng = np.random.default_rng(7).spawn(3)
    model = build(BTL, values)
    truth = model.truth(truth_rng, reps, truth_rng)
    release = build(mechanism, values).release(model.simulate(truth, data_rng), noise_rng)
    estimate = build(Debiased, values).fit(release, noise_rng)
    made = {name: build(PROBLEM.part("metric", name), values) for name in metrics}
    return {name: metric(truth, release, estimate) for name, metric in made.items()}


def test_means_of_controls_are_what_they_say():
    for theta, known in (("redrawn", ALL[:4]), ("spaced", (*ALL[:2], *ALL[4:]))):
        for name, values in simulated(known, theta=theta).items():
            assert mean_agrees(values, 0, f"{name}, θ {theta}")
            assert not mean_agrees(
                values + 0.15 * values.std(), 0, "control: a tenth of a deviation off"
            )
    mixed = simulated(ALL, profile="0.5:1,0.5:2")
    assert all(mean_agrees(mixed[name], 0, name) for name in ALL[:4])
    assert all(np.isnan(mixed[name]).all() for name in ALL[4:])  # several budgets, and θ* anew
    assert all(
        np.isnan(values).all()
        for values in simulated((*ALL[:2], *ALL[4:]), Laplace, theta="spaced").values()
    )
    assert (simulated(ALL[2:4], theta="fixed")["spread_control"] == 0).all()
    with pytest.raises(InvalidInput, match="model=btl only"):
        controls.SpreadControl(m=5, model="recorded")


def test_controls_take_most_of_the_variance():
    """ℓ₂ errors ten times and more, Kendall distances wholly; the report's means are these."""
    for name, metric, used in (
        ("xu/scenario_1", "error_l2", ALL[:4]),
        ("xu/scenario_3", "kendall", ALL[4:5]),
    ):
        grid = {"L": [200], "m": [10]} | (
            {"epsilon": [2]} if name.endswith("1") else {"spacing": [0.1]}
        )
        found = pl.summarise(
            pl.simulate(name, grid=grid, metrics=[metric, *used], replications=1000, block=1000)
        )
        plain, with_controls = (
            float(found[f"{metric}{end}_mcse"].squeeze()) for end in ("", "_controlled")
        )
        apart = float((found[metric] - found[f"{metric}_controlled"]).squeeze())
        print(
            f"{metric}: {plain:.3g} to {with_controls:.3g}, means {apart / plain:.2f} standard errors apart"
        )
        assert with_controls < plain / math.sqrt(10) and abs(apart) < 4.9 * plain


def test_a_study_may_name_every_control():
    """A control takes values on both sides of 0, so that its range has no end there."""
    names = [name for name in PROBLEM.metrics if name.endswith("control")]
    study = pl.Study(
        "controls",
        "ranking",
        seed=1,
        replications=20,
        block=20,
        grid={"m": [8], "epsilon": [1.0]},
        metrics=tuple(names),
        parameters=dict(
            model="btl",
            theta="spaced",
            L=60,
            K=3,
            mechanism="randomized_response",
            estimator="debiased",
        ),
    )
    values = study.simulate({"m": 8, "epsilon": 1.0}, block=0)
    assert values["top_k_control"].min() < 0 < values["top_k_control"].max()
    for name in names:
        metric = PROBLEM.part("metric", name)
        assert getattr(metric, "least", -np.inf) < metric.expected < getattr(metric, "most", np.inf)
