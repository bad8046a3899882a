"""Certified bounds, exact laws, and the curves that promises allow."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import special, stats

from pipeline.auditing.bounds import EXACT, RULES, Bounded, Counts, certified, rho_at_least
from pipeline.auditing.exact import epsilon_at, hockey_stick
from pipeline.auditing.integers import gaussian_epsilon
from pipeline.auditing.promise import Promise
from pipeline.auditing.verdict import Audited
from pipeline.privacy.accounting import discrete_gaussian_delta
from pipeline.study.parameters import InvalidInput


def test_both_bounds_hold_as_often_as_they_say():
    rng = np.random.default_rng(1)
    hit, alarm, n, error = 0.3, 0.1, 200, 0.05
    missed = 0
    audits = 2_000
    for _ in range(audits):
        counts = Counts(int(rng.binomial(n, hit)), n, int(rng.binomial(n, alarm)), n)
        bounded = certified(counts, error)
        missed += bounded.hit > hit or bounded.false_alarm < alarm
    most = stats.binom.isf(1e-6, audits, error)
    print(f"n={audits} missed={missed} bound={most}")
    assert 0 < missed <= most
    assert audits * 0.2 > most  # the control: bounds at a fifth of the confidence would be seen


def test_epsilon_mu_and_rho_of_a_coin():
    bounded = Bounded(0.75, 0.25, 1.0)
    assert bounded.epsilon(0) == pytest.approx(math.log(3))
    assert bounded.epsilon(0.25) == pytest.approx(math.log(2))
    assert bounded.mu == pytest.approx(2 * special.ndtri(0.75))
    kullback_leibler = 0.75 * math.log(3) + 0.25 * math.log(1 / 3)
    assert kullback_leibler <= bounded.rho * 1.001
    assert bounded.rho <= math.log(3) ** 2 / 2  # of pure ε-DP; Bun and Steinke


def test_no_rho_is_certified_of_a_gaussian_that_it_does_not_have():
    """Every half-line of a Gaussian shift of μ needs at most ρ = μ²/2."""
    for mu in (0.1, 1.0, 3.0):
        thresholds = np.linspace(-4, 4 + mu, 60)
        needed = [
            rho_at_least(float(special.ndtr(mu - at)), float(special.ndtr(-at)))
            for at in thresholds
        ]
        assert max(needed) <= mu**2 / 2
        assert max(needed) > mu**2 / 4


def test_epsilon_at_delta_inverts_the_hockey_stick():
    rng = np.random.default_rng(2)
    for _ in range(20):
        chances, others = rng.dirichlet(np.ones(6), 2)
        for delta in (0.0, 0.01, 0.2):
            epsilon = epsilon_at(chances, others, delta)
            assert hockey_stick(chances, others, epsilon) <= delta + 1e-12
            if epsilon > 0:
                assert hockey_stick(chances, others, epsilon - 1e-6) > delta


def test_epsilon_of_integer_noise_is_that_of_its_hockey_stick():
    for variance, delta in ((4.0, 1e-5), (50.0, 1e-3)):
        epsilon = gaussian_epsilon(np.array([1.0, 0.0]), variance, delta)
        assert discrete_gaussian_delta(epsilon, variance) == pytest.approx(delta, rel=1e-6)


def test_epsilon_of_several_integers_is_that_of_the_sum_over_all_of_them():
    """Shifts 1 and 2: against the sum over the plane."""
    variance, delta = 3.0, 1e-3
    noise = np.arange(-40, 41)
    law = np.exp(-(noise**2) / (2 * variance))
    law /= law.sum()
    first = np.outer(np.roll(law, 1), np.roll(law, 2)).ravel()
    second = np.outer(law, law).ravel()
    assert gaussian_epsilon(np.array([1.0, -2.0]), variance, delta) == pytest.approx(
        epsilon_at(first, second, delta), abs=1e-6
    )


@pytest.mark.parametrize("promise", [Promise(1.0), Promise(1.0, 0.01), Promise(mu=1.0)], ids=str)
def test_what_a_promise_allows_is_broken_just_beyond_it(promise):
    alarms = np.linspace(0.05, 0.95, 19)
    for alarm, power in zip(alarms, promise.trade_off(alarms), strict=True):
        beyond = min(power + 0.01, 1.0)
        event = Bounded(beyond, alarm, 1.0)
        otherwise = Bounded(1 - alarm, 1 - beyond, 1.0)  # that it does not happen
        assert promise.broken_by(event) or promise.broken_by(otherwise)
        assert not promise.broken_by(Bounded(power - 0.01, alarm, 1.0))


@pytest.mark.parametrize(
    "budgets, message",
    [
        ({}, "epsilon=null: is needed"),
        ({"epsilon": 0}, "epsilon=0: must be a number > 0"),
        ({"epsilon": math.inf}, "epsilon=inf: must be a number > 0"),
        ({"epsilon": True}, "epsilon=true: must be"),
        ({"epsilon": 1, "delta": 1}, "delta=1: must be a number ≥ 0"),
        ({"rho": -1}, "rho=-1: must be"),
    ],
)
def test_a_budget_that_is_none(budgets, message):
    with pytest.raises(InvalidInput, match=message):
        Promise(**budgets)


def test_every_rule_certifies_something_of_a_rare_event():
    """Also rules whose corners are sixty deviations away, where error probabilities are 0 as floats."""
    counts = Counts(3_314, 14_000, 14, 14_000)
    for rule in RULES:
        epsilon = rule.bounded(counts, 4e-4).epsilon(0)
        assert 2.5 < epsilon < math.log(3_314 / 14)


def test_ends_go_on_beyond_the_least_error_probability():
    """Ends of Chernoff are a little wider than those of Clopper and Pearson, and never end."""
    deviations = np.array([36.9, 37.1, 60.0])
    for count in (0, 14, 7_000):
        ends = EXACT.most(count, 14_000, deviations)
        assert count / 14_000 < ends[0] < ends[1] < ends[2] < 1
        assert ends[1] < 1.2 * ends[0]
    assert EXACT.most(14_000, 14_000, deviations).tolist() == [1.0, 1.0, 1.0]


def test_a_bound_that_is_a_little_more_than_promised_says_so():
    answer = Audited("violates", "m", Promise(1.0), 1.0003, None, None, 0.999, "samples", "", "", 9)
    assert answer.bound.startswith("ε ≥ 1.0003 (")
    assert dataclasses.replace(answer, epsilon_lower=1.2).bound.startswith("ε ≥ 1.2 (")
    assert dataclasses.replace(answer, verdict="not refuted").bound.startswith("ε ≥ 1 (")
