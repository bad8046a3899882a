"""Tasks of unequal difficulty: the model's chances, the exact vote by enumeration, the oracle by hand."""

import itertools

import numpy as np
import pytest

from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.metrics.task_difficulty import (
    label_error_expected,
    task_error_bound,
    task_oracle_error,
    task_vote_error,
)
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.problems.crowd.task_difficulty import DifficultyTruth, TaskDifficulty
from pipeline.problems.crowd.theory.task_difficulty import vote_error_by_task
from pipeline.study.parameters import InvalidInput


@pytest.mark.parametrize("workers", [4, 5])
def test_the_exact_vote_is_that_of_all_outcomes(workers):
    """Every subset of workers who are right; ties, of four workers, either way."""
    rng = np.random.default_rng(1)
    leans = rng.uniform(-0.2, 1, (1, workers))
    easiness = rng.uniform(0, 1, (1, 6))
    ties_wrong = np.array([[True, False] * 3])
    found = vote_error_by_task(leans, easiness, ties_wrong)[0]
    for j, (e, wrong) in enumerate(zip(easiness[0], ties_wrong[0], strict=True)):
        right = 0.5 + e * leans[0] / 2
        error = 0.0
        for outcome in itertools.product((0, 1), repeat=workers):
            chance = np.where(outcome, right, 1 - right).prod()
            lead = 2 * sum(outcome) - workers
            error += chance * (lead < 0 or (lead == 0 and wrong))
        assert found[j] == pytest.approx(error, abs=1e-9)


def test_answers_are_right_as_often_as_the_model_says():
    """n · m = 40,000 answers: |z| of a mean given its chances, 4.9; without easiness it is seen."""
    rng = np.random.default_rng(2)
    crowd = TaskDifficulty(n=100, m=400, ability_low=0.9, ability_high=1.0)
    truth = crowd.truth(rng, 1, rng)
    signs = 2 * truth.labels[:, None] - 1
    right = crowd.simulate(truth, rng).answers * signs == 1
    chance = 0.5 + truth.easiness[:, None] * (truth.on_easy[:, :, None] - 0.5)
    error = np.sqrt((chance * (1 - chance)).sum())
    z = (right - chance).sum() / error
    of_hard = truth.easiness[0] < 0.2
    hard = (right - chance)[:, :, of_hard].sum() / np.sqrt(of_hard.sum() * 25)
    print(f"n = {right.size}, z = {z:.2f}, of hard tasks {hard:.2f}, bound 4.9")
    assert abs(z) < 4.9 and abs(hard) < 4.9
    alike = (right - truth.abilities[:, :, None])[:, :, of_hard].sum()
    assert alike < -4.9 * error
    assert truth.abilities == pytest.approx(chance.mean(axis=2))
    with pytest.raises(InvalidInput, match="easiness_low"):
        TaskDifficulty(n=3, m=4, easiness_low=0.9, easiness_high=0.5)


def test_metrics_by_hand():
    """Two able workers and an abler one, who is outvoted on the easy task by the oracle too."""
    truth = DifficultyTruth(
        np.array([[0.7, 0.7, 0.8]]),
        np.array([[1, 0]], np.int8),
        np.array([[1.0, 0.0]]),
        np.array([[0.9, 0.9, 0.95]]),
    )
    answers = np.array([[[-1, 1], [-1, 1], [1, 1]]], np.int8)
    release = ReleasedAnswers(answers, 0.0)
    assert task_oracle_error()(truth, release, None) == 1  # 2 · log 9 > log 19; no lead says 1
    alone = ReleasedAnswers(answers * [[[0], [1], [1]]], 0.0)
    assert task_oracle_error()(truth, alone, None) == 0.5
    bound = (2 * np.exp(-(0.8**2 + 0.8**2 + 0.9**2) / 2) + 2) / 2
    assert task_error_bound()(truth, release, None) == pytest.approx(bound)
    all_wrong = 0.1**2 * 0.05
    two_wrong = 0.1**2 * 0.95 + 2 * 0.1 * 0.9 * 0.05
    vote = (all_wrong + two_wrong + 0.5) / 2
    assert task_vote_error()(truth, release, None) == pytest.approx(vote)
    fit = DawidSkene(3, 2, iterations=3).fit(release, np.random.default_rng(0))
    doubt = np.minimum(fit.posterior, 1 - fit.posterior).mean()
    assert label_error_expected()(truth, release, fit) == pytest.approx(doubt)
