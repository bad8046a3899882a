"""Comparisons whose messages are shuffled: budgets, laws, refusals."""

import math

import numpy as np
import pytest

import pipeline as pl
from pipeline.privacy.composition import answer_budget
from pipeline.privacy.shuffling import shuffled_answer_budget, shuffled_person_delta
from pipeline.problems.ranking.model import Comparisons
from pipeline.problems.ranking.theory.risk import sandwich_risk
from pipeline.study.parameters import InvalidInput

PROMISE = {"person": 1.0, "person_delta": 1e-6}


@pytest.mark.parametrize("questions", [1, 4, None])
def test_the_promise_of_a_person_is_kept_by_the_flips_and_hardly_more(questions):
    mechanism = pl.ranking.ShuffledResponse(m=6, L=3000, questions=questions, **PROMISE)
    answers = questions or 15
    assert mechanism.reports == 3000 * answers // 15
    answer = mechanism.answer_epsilon
    assert answer == shuffled_answer_budget(1.0, answers, 1e-6, mechanism.reports)
    assert shuffled_person_delta(1.0, answer, answers, mechanism.reports) <= 1e-6
    # Control: half of the messages.
    assert shuffled_person_delta(1.0, answer, answers, mechanism.reports // 2) > 1e-6
    assert answer > 2 * answer_budget(1.0, answers, 1e-6)
    promise = mechanism.promise()
    assert (promise.trust, promise.epsilon, promise.delta) == ("shuffler", 1.0, 1e-6)
    attacks = mechanism.attacks()
    for level in (0.01, 0.2):
        assert attacks["answer"].power(level) <= attacks["person"].power(level) + 1e-9


@pytest.mark.parametrize("draw", ["conditional", "marginal"])
def test_its_cost_takes_no_account(draw, monkeypatch):
    """A search asks hundreds of sizes for their cost, and an account takes long."""

    def account(*sizes):
        raise AssertionError("an account is made")

    shuffled = pl.ranking.ShuffledResponse(m=6, L=3000, draw=draw, **PROMISE)
    shared = "pipeline.problems.common.shuffled_answers"
    monkeypatch.setattr(f"{shared}.shuffled_answer_budget", account)
    flips = pl.ranking.RandomizedResponse(m=6, L=3000, epsilon=3.0, draw=draw)
    assert shuffled.cost() == flips.cost()
    with pytest.raises(AssertionError, match="an account is made"):
        shuffled.attacks()


@pytest.mark.parametrize("draw", ["conditional", "marginal"])
@pytest.mark.parametrize("questions", [2, None])
def test_errors_are_those_of_flips_at_that_budget(questions, draw):
    m, L, reps = 6, 2000, 1000
    people = pl.simulate_data(
        pl.ranking.BTL(m=m, L=L, questions=questions), seed=1, replications=reps
    )
    mechanism = pl.ranking.ShuffledResponse(m=m, L=L, questions=questions, draw=draw, **PROMISE)
    release = pl.simulate_release(mechanism, people, seed=2)
    estimate = pl.ranking.Debiased(m=m, lambda_scale=0.0).fit(release)
    errors = ((estimate.theta - people.truth.theta) ** 2).mean(axis=1)
    users = L if questions is None else L * questions / 15
    predicted = sandwich_risk(people.truth.theta, mechanism.answer_epsilon, users).mean()
    unshuffled = answer_budget(1.0, questions or 15, 1e-6)
    without = sandwich_risk(people.truth.theta, unshuffled, users).mean()
    ratio = errors.mean() / predicted
    bound = 0.1 + 5 * errors.std() / errors.mean() / math.sqrt(reps)
    print(f"n={reps}, risk over prediction {ratio:.3f}, bound 1 ± {bound:.3f}")
    assert abs(ratio - 1) < bound
    assert errors.mean() / without < 0.2  # the control: what the promise allows without a shuffler


def test_recorded_data_say_among_how_many_messages_a_comparison_hides():
    """Pairs that nobody compared have no message to hide."""
    wins = np.array([[0, 3, 0], [1, 0, 0], [0, 0, 0]])
    data = Comparisons.from_array(wins)
    hidden = pl.ranking.ShuffledResponse(m=3, L=4, questions=1, messages=4, **PROMISE)
    assert hidden.reports == 4
    assert hidden.answer_epsilon == shuffled_answer_budget(1.0, 1, 1e-6, 4)
    released = hidden.release(data, np.random.default_rng(1))
    assert released.wins.shape == (1, 1, 3) and (released.wins[0, 0, 1:] == 0).all()
    too_many = pl.ranking.ShuffledResponse(m=3, L=4, questions=1, messages=5, **PROMISE)
    with pytest.raises(ValueError, match="a pair was compared 4 times, fewer than the 5"):
        too_many.release(data, np.random.default_rng(1))


def test_what_hides_nobody_is_refused():
    with pytest.raises(InvalidInput, match="design"):
        pl.ranking.ShuffledResponse(m=6, L=100, questions=2, design="random", **PROMISE)
    whole = pl.ranking.ShuffledResponse(m=6, L=100, design="random", **PROMISE)
    assert whole.reports == 100
    with pytest.raises(InvalidInput, match="person_delta"):
        pl.ranking.ShuffledResponse(m=6, L=100, person=1.0, person_delta=0.0)
    with pytest.raises(InvalidInput, match="at least 15"):
        pl.ranking.ShuffledResponse(m=6, L=14, questions=1, **PROMISE)
    mechanism = pl.ranking.ShuffledResponse(m=6, L=200, questions=2, **PROMISE)
    everything = pl.simulate_data(pl.ranking.BTL(m=6, L=200), seed=1, replications=2)
    with pytest.raises(InvalidInput, match="questions"):
        pl.simulate_release(mechanism, everything, seed=2)
    few = pl.simulate_data(
        pl.ranking.BTL(m=6, L=200, questions=2, design="random"), seed=1, replications=2
    )
    with pytest.raises(InvalidInput, match="fewer than"):
        pl.simulate_release(mechanism, few, seed=2)


def test_many_people_who_answer_everything_are_as_good_as_a_curator():
    """Numbers of flipped answers are as noisy as a curator's noise must be, but for its tails."""
    shuffled = pl.ranking.ShuffledResponse(m=6, L=50_000, **PROMISE)
    curator = pl.ranking.NoisyCounts(m=6, L=50_000, **PROMISE)
    flips = 50_000 / (4 * math.sinh(shuffled.answer_epsilon / 2) ** 2)
    noise = curator.noise.variance(curator.width) / 2
    print(f"variance of a pair's wins: {flips:.0f} shuffled, {noise:.0f} with a curator")
    assert 0.7 < flips / noise < 1.3
