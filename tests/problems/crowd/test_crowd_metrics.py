"""Metrics of crowds: by hand, against enumeration and simulation, and controls that must fail."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import pipeline as pl
from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.estimators.majority_vote import MajorityVote
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.metrics import abilities, answers, labels, yardsticks
from pipeline.problems.crowd.model import CrowdTruth
from pipeline.problems.crowd.model import DawidSkene as Crowd
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.problems.crowd.theory import vote_errors
from pipeline.problems.crowd.theory import wisdom as crowd_wisdom
from tests.helpers.checks import mean_agrees

TRUTH = CrowdTruth(
    np.array([[0.9, 0.4], [0.6, 0.5]]), np.array([[1, 0, 1, 0], [1, 1, 0, 0]], np.int8)
)
FOUND = SimpleNamespace(
    labels=np.array([[0, 1, 0, 0], [1, 1, 0, 0]], np.int8),
    posterior=np.array([[0.25, 0.5, 0, 0], [1, 0.75, 0.5, 0]]),
    start=np.array([[1, 0.5, 1, 0], [0.5, 0.5, 0.5, 0.5]]),
    abilities=np.array([[0.2, 0.7], [0.6, 0.7]]),
)


@pytest.mark.parametrize(
    "metric, wanted",
    [
        (labels.label_error, [0.75, 0]),
        (labels.label_error_flip, [0.25, 0]),
        (labels.label_recovered, [0, 1]),
        (labels.soft_label_error, [2.25 / 4, 0.75 / 4]),
        (labels.start_error, [0.125, 0.5]),
        (abilities.ability_error_inf, [0.7, 0.2]),
        (abilities.ability_error_inf_flip, [0.1, 0.2]),
        (abilities.ability_error_l2, [np.sqrt((0.49 + 0.09) / 2), np.sqrt(0.02)]),
        (abilities.ability_error_l2_flip, [0.1, np.sqrt(0.02)]),
    ],
)
def test_by_hand(metric, wanted):
    assert np.allclose(metric()(TRUTH, None, FOUND), wanted)


# Labels 1, 0, 1, 0 and 1, 1, 0, 0; in the second replication the second worker has left out a task.
RELEASED = ReleasedAnswers(
    np.array([[[1, 1, -1, -1], [-1, 1, 1, -1]], [[1, 1, 1, 1], [1, -1, -1, 0]]], np.int8), 0.2
)


@pytest.mark.parametrize(
    "metric, wanted",
    [
        (answers.answers_wrong, [4 / 8, 3 / 7]),
        (answers.ones_wrong, [2 / 4, 1 / 4]),
        (answers.zeros_wrong, [2 / 4, 2 / 3]),
        (answers.wrong_together, [3 / 10, 1 / 8]),
        (answers.ability_mean, [0.65, 0.55]),
        (answers.ability_variance, [0.25**2, 0.05**2]),
        (answers.right_by_ability, [0.25 * (0.5 - 0.5) / 2, 0.05 * (0.5 - 2 / 3) / 2]),
        (answers.wisdom_released, [(-1 / 3 - 1 / 3) / 2, (-1 / 3 + (3 / 9 - 1) / 2) / 2]),
    ],
)
def test_released_answers_by_hand(metric, wanted):
    assert metric()(TRUTH, RELEASED, None) == pytest.approx(wanted)


def test_labels_that_no_task_has_and_workers_of_one_answer_have_no_number():
    truth = CrowdTruth(np.full((1, 2), 0.8), np.ones((1, 3), np.int8))
    release = ReleasedAnswers(np.array([[[1, 1, 1], [-1, 0, 0]]], np.int8), 0.2)
    assert (
        np.isnan(answers.zeros_wrong()(truth, release, None))
        and answers.ones_wrong()(truth, release, None) == 1 / 4
    )
    assert np.isnan(answers.wisdom_released()(truth, release, None))


def test_released_answers_show_wisdom_without_bias():
    truth, release = simulated(8, 400, 10, 20, epsilon=0.8)
    seen = answers.wisdom_released()(truth, release, None)
    wisdom = crowd_wisdom.wisdom(truth.abilities, 0.8)
    assert mean_agrees(seen - wisdom, 0, "wisdom of released answers")
    square = seen + (1 - seen) / 20
    assert not mean_agrees(square - wisdom, 0, "control: mean squares of leads as they are")


def simulated(seed, reps, n, m, epsilon=None, **law):
    rng, crowd = np.random.default_rng(seed), Crowd(n=n, m=m, **law)
    truth = crowd.truth(rng, reps, rng)
    data = crowd.simulate(truth, rng)
    if epsilon is None:
        return truth, data.release_plainly()
    return truth, RandomizedResponse(n=n, m=m, epsilon=epsilon).release(data, rng)


def test_wisdom_and_bound_are_the_theorys_at_the_releases_budget():
    truth, release = simulated(1, 5, 30, 20, epsilon=1.3)
    wisdom = crowd_wisdom.wisdom(truth.abilities, 1.3)
    assert np.allclose(yardsticks.wisdom()(truth, release, None), wisdom)
    assert np.allclose(
        yardsticks.label_error_bound()(truth, release, None), 2 * np.exp(-15 * wisdom)
    )


def test_theorem_2_holds_where_tasks_are_very_many():
    m, n = 10**6, 20
    truth = CrowdTruth(np.ones((1, n)), np.ones((1, m), np.int8))
    release = ReleasedAnswers(np.broadcast_to(np.int8(1), (1, n, m)), 0.0)
    found = SimpleNamespace(start=np.ones((1, m)))
    assert yardsticks.theorem_2_holds(projection=0.08)(truth, release, found).all()
    assert not yardsticks.theorem_2_holds(projection=0.001)(truth, release, found).any()
    bad_start = SimpleNamespace(start=np.full((1, m), 0.9))
    assert not yardsticks.theorem_2_holds(projection=0.08)(truth, release, bad_start).any()


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("missing", [False, True])
def test_exact_error_of_majority_is_that_of_all_outcomes(n, missing):
    rng, m, flip = np.random.default_rng(2), 6, 0.2
    truth = CrowdTruth(rng.uniform(size=(2, n)), rng.integers(0, 2, (2, m)).astype(np.int8))
    given = rng.random((2, n, m)) < (0.6 if missing else 1)
    found = yardsticks.majority_error_exact()(
        truth, ReleasedAnswers(given.astype(np.int8), flip), None
    )
    right = 0.5 + (1 - 2 * flip) * (truth.abilities - 0.5)
    for r in range(2):
        wanted = 0.0
        for j, outcome in product(range(m), product([-1, 1], repeat=n)):
            outcome = np.array(outcome)  # 1: right
            chance = np.where(outcome == 1, right[r], 1 - right[r]).prod()
            lean = (outcome * given[r, :, j]).sum() * (1 if truth.labels[r, j] else -1)
            wanted += chance * ((lean >= 0) != truth.labels[r, j]) / m
        assert found[r] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("answered", [1.0, 0.5])
def test_simulated_majority_has_its_exact_error(answered):
    truth, release = simulated(3, 200, 10, 60, epsilon=1.0, answered=answered, label_prior=0.3)
    error = labels.label_error()(truth, release, MajorityVote(n=10, m=60).fit(release, None))
    exact = yardsticks.majority_error_exact()(truth, release, None)
    assert mean_agrees(error - exact, 0, "majority vote")
    unaware = yardsticks.majority_error_exact()(truth, ReleasedAnswers(release.answers, 0.0), None)
    assert not mean_agrees(error - unaware, 0, "control: without the flips")


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_simulated_oracle_has_its_exact_error(epsilon):
    """Experts and spammers, whose exact error theory enumerates; without privacy the experts never err."""
    law = dict(ability_law="experts", expert_exponent=0.4, expert_ability=0.9)
    truth, release = simulated(4, 300, 20, 50, epsilon=epsilon, **law)
    experts = crowd_wisdom.experts(20, 0.4)
    right = [0.5 + (1 - 2 * release.flip) * 0.4]
    wanted = vote_errors.oracle_error(right, [experts])
    error = yardsticks.oracle_error()(truth, release, None)
    assert mean_agrees(error, wanted, "oracle")
    assert not mean_agrees(
        yardsticks.majority_error_exact()(truth, release, None), wanted, "control: majority"
    )


def test_who_cannot_err_decides_alone():
    truth = CrowdTruth(np.array([[1.0, 0.999, 0.999, 0.0]]), np.array([[1, 0]], np.int8))
    answers = np.array([[[1, 0], [-1, -1], [-1, -1], [0, 1]]], np.int8)
    assert yardsticks.oracle_error()(truth, ReleasedAnswers(answers, 0.0), None) == 0
    assert yardsticks.oracle_error()(truth, ReleasedAnswers(answers, 0.1), None) == 0.5


def test_ties_of_the_oracle_are_labelled_1():
    """Two workers of one ability who disagree, nobody at all, and only one who guesses: right for label 1 alone."""
    truth = CrowdTruth(np.array([[0.8, 0.8, 0.5]]), np.array([[1, 0, 1, 0, 1, 0, 0]], np.int8))
    answers = np.array(
        [[[1, 1, 0, 0, 0, 0, 1], [-1, -1, 0, 0, 0, 0, 0], [0, 0, 0, 0, -1, -1, -1]]], np.int8
    )
    error = yardsticks.oracle_error()(truth, ReleasedAnswers(answers, 0.1), None)
    assert error == pytest.approx(
        4 / 7
    )  # the three tied tasks of label 0, and the one of a wrong answer
    without_zeros = CrowdTruth(truth.abilities, np.ones((1, 7), np.int8))
    assert yardsticks.oracle_error()(without_zeros, ReleasedAnswers(answers, 0.1), None) == 0


def test_nobody_beats_the_oracle_on_average():
    truth, release = simulated(5, 300, 20, 100, epsilon=1.0)
    oracle = yardsticks.oracle_error()(truth, release, None).mean()
    for kind in (DawidSkene, MajorityVote):
        found = kind(n=20, m=100).fit(release, None)
        assert labels.label_error()(truth, release, found).mean() > oracle


def test_the_vote_s_control_has_mean_0_and_takes_the_error_of_a_vote():
    found = pl.simulate(
        "wang/labels",
        grid={"n": [20], "wanted_wisdom": [3], "estimator": ["majority_vote"]},
        parameters={"m": 50, "iterations": None},
        replications=2000,
        block=2000,
        metrics=["label_error", "vote_control", "majority_error_exact"],
    )
    assert mean_agrees(found["vote_control"], 0, "vote_control")
    assert not mean_agrees(
        found["label_error"] - 0.9 * found["majority_error_exact"], 0, "control: a mean 10 % off"
    )
    means = pl.summarise(found)
    gain = float((means["label_error_mcse"] / means["label_error_controlled_mcse"]).squeeze()) ** 2
    print(f"variance {gain:.1f} times smaller")
    assert gain > 2
