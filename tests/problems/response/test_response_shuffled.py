"""Responses whose messages are shuffled: budgets, laws, refusals."""

import math

import numpy as np
import pytest

import pipeline as pl
from pipeline.privacy.composition import answer_budget
from pipeline.privacy.shuffling import shuffled_answer_budget, shuffled_person_delta
from pipeline.problems.response.advice import survey
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import counts_agree

PROMISE = {"person": 1.0, "person_delta": 1e-6}


@pytest.mark.parametrize("questions", [1, 3, None])
def test_the_promise_of_a_person_is_kept_by_the_flips_and_hardly_more(questions):
    mechanism = pl.response.ShuffledResponse(n=2000, m=6, questions=questions, **PROMISE)
    answers = questions or 6
    assert mechanism.reports == 2000 * answers // 6
    answer = mechanism.answer_epsilon
    assert answer == shuffled_answer_budget(1.0, answers, 1e-6, mechanism.reports)
    assert shuffled_person_delta(1.0, answer, answers, mechanism.reports) <= 1e-6
    # The control: half of the messages.
    assert shuffled_person_delta(1.0, answer, answers, mechanism.reports // 2) > 1e-6
    assert answer > 2 * answer_budget(1.0, answers, 1e-6)
    promise = mechanism.promise()
    assert (promise.trust, promise.epsilon, promise.delta) == ("shuffler", 1.0, 1e-6)
    attacks = mechanism.attacks()
    assert attacks["answer"].power(0.05) <= attacks["person"].power(0.05) + 1e-9


def test_messages_have_their_law():
    """Four people, one answer each to one of two items: numbers that say right, given the answers."""
    reps = 20_000
    right = np.tile(np.array([[2.0, 0.0]]), (reps, 1))
    answered = np.full((reps, 2), 2.0)

    class Known(pl.response.Rasch.produces):
        most_answers, items = 1, 2

        def __init__(self):
            pass

        def item_counts(self):
            return right, answered

    mechanism = pl.response.ShuffledResponse(n=4, m=2, questions=1, person=2.0)
    release = mechanism.release(Known(), np.random.default_rng(1))
    code = (3 * release.right[:, 0] + release.right[:, 1]).astype(int)
    flip = 1 / (1 + math.exp(mechanism.answer_epsilon))
    alone = np.array([flip**2, 2 * flip * (1 - flip), (1 - flip) ** 2])
    law = np.outer(alone, alone[::-1])
    assert counts_agree(np.bincount(code, minlength=9), law, "messages")
    assert not counts_agree(np.bincount(code, minlength=9), np.outer(alone, alone), "control")


def test_errors_are_those_of_flips_at_that_budget():
    m, n, reps = 6, 3000, 400
    people = pl.simulate_data(pl.response.Rasch(n=n, m=m, questions=1), seed=1, replications=reps)
    estimator = pl.response.ItemShares(m=m)

    def risk(mechanism):
        estimate = estimator.fit(pl.simulate_release(mechanism, people, seed=2))
        return float(np.square(estimate.theta - people.truth.theta).mean())

    shuffled = pl.response.ShuffledResponse(n=n, m=m, questions=1, **PROMISE)
    at_once = dict(n=n, m=m, questions=1)
    same = pl.response.RandomizedResponse(person=shuffled.answer_epsilon, **at_once)
    alone = pl.response.RandomizedResponse(person=1.0, **at_once)
    ratio = risk(shuffled) / risk(same)
    print(f"n={reps}, risk over that of flips {ratio:.3f}, bound 1 ± 0.15; 5 σ are 0.14")
    assert abs(ratio - 1) < 0.15
    assert risk(shuffled) < 0.5 * risk(alone)  # the control: what is allowed without a shuffler


def test_what_hides_nobody_is_refused():
    make = pl.response.ShuffledResponse
    for changes, key, text in (
        ({"design": "random", "questions": 2}, "design", "must be balanced"),
        ({"p": 0.9}, "p", "must be 1"),
        ({"n": 5, "questions": 1}, "n", "at least 6"),
        ({"person_delta": 0.0}, "person_delta", "> 0"),
    ):
        with pytest.raises(InvalidInput, match=text) as error:
            make(**(dict(n=100, m=6, **PROMISE) | changes))
        assert error.value.key == key
    mechanism = make(n=100, m=6, questions=2, **PROMISE)
    everything = pl.simulate_data(pl.response.Rasch(n=100, m=6), seed=1)
    with pytest.raises(InvalidInput, match="questions"):
        pl.simulate_release(mechanism, everything, seed=2)
    drawn = pl.response.Rasch(n=100, m=6, questions=2, design="random")
    with pytest.raises(InvalidInput, match="fewer than"):
        pl.simulate_release(mechanism, pl.simulate_data(drawn, seed=1, replications=5), seed=2)
    model = pl.response.Rasch(n=100, m=6, questions=2)
    assert "a shuffler mixes the messages" in survey(model, mechanism)
