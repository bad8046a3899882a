"""Metrics that claims on crowds compare with, and leads and strengths, against direct computation."""

import numpy as np
import pytest

from pipeline.problems.crowd.data.files import load
from pipeline.problems.crowd.data.recorded import RecordedCrowd
from pipeline.problems.crowd.derivations import (
    crowd_strength,
    initial_error_from_lead,
    lead_realised,
)
from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene as Fit
from pipeline.problems.crowd.estimators.majority_vote import MajorityVote
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.metrics import abilities, answers, labels
from pipeline.problems.crowd.metrics import recorded as crowd_recorded
from pipeline.problems.crowd.model import Answers, DawidSkene
from pipeline.problems.crowd.theory.wisdom import wisdom
from pipeline.study.parameters import InvalidInput

REPS, N, M, EPSILON = 6, 9, 30, 1.5


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(1)
    model = DawidSkene(N, M, answered=0.7)
    truth = model.truth(rng, REPS, rng)
    release = RandomizedResponse(N, M, EPSILON).release(model.simulate(truth, rng), rng)
    return truth, release, MajorityVote(N, M).fit(release, rng)


def test_against_loops(crowd):
    truth, release, fit = crowd
    flip = 1 / (1 + np.exp(EPSILON))
    for r in range(REPS):
        given = [(i, j) for i in range(N) for j in range(M) if release.answers[r, i, j]]
        wrong = sum(release.answers[r, i, j] != 2 * truth.labels[r, j] - 1 for i, j in given) / len(
            given
        )
        assert answers.answers_wrong()(*crowd)[r] == pytest.approx(wrong)
        expected = np.mean([p * flip + (1 - p) * (1 - flip) for p in truth.abilities[r]])
        assert answers.answers_wrong_expected()(*crowd)[r] == pytest.approx(expected)
        agreed = [
            np.mean(
                [release.answers[r, i, j] == 2 * fit.labels[r, j] - 1 for k, j in given if k == i]
            )
            for i in range(N)
        ]
        plain = np.abs(agreed - truth.abilities[r]).max()
        assert abilities.ability_error_inf_plain()(*crowd)[r] == pytest.approx(plain, abs=1e-6)


def test_labels_come_out_flipped():
    rng = np.random.default_rng(2)
    truth = DawidSkene(2, 4).truth(rng, 3, rng)
    right = truth.labels.copy()
    right[1] = 1 - right[1]
    right[2, :2] = 1 - right[2, :2]
    fit = type("Fit", (), {"labels": right})
    assert labels.label_flipped()(truth, None, fit).tolist() == [0, 1, 0.5]


@pytest.mark.parametrize("n", [39, 20])
def test_unlike_the_fit_without_privacy(n):
    rng = np.random.default_rng(3)
    model = RecordedCrowd(n, 108)
    truth = model.truth(rng, 4, rng)
    release = RandomizedResponse(n, 108, EPSILON).release(model.simulate(truth, rng), rng)
    fit = Fit(n, 108, iterations=10_000).fit(release, rng)
    labels = crowd_recorded.LabelsUnlikePlain("recorded")(truth, release, fit)
    abilities = crowd_recorded.AbilitiesUnlikePlain("recorded")(truth, release, fit)
    for r in range(4):
        one = Answers(load(None, None).answers[truth.chosen[r : r + 1]]).release_plainly()
        plain = Fit(n, 108, iterations=10_000).fit(one, rng)
        assert labels[r] == (plain.labels[0] != fit.labels[r]).mean() > 0
        assert abilities[r] == pytest.approx(
            np.sqrt(np.mean((plain.abilities[0] - fit.abilities[r]) ** 2))
        )


def test_only_recorded_workers_have_a_fit_without_privacy():
    with pytest.raises(InvalidInput, match="recorded"):
        crowd_recorded.LabelsUnlikePlain("dawid_skene")


def test_lead_and_strength():
    for m, lead in ((100, 3), (400, 0), (25, 5)):
        r = initial_error_from_lead(lead, m)
        assert (1 - 2 * r) * np.sqrt(m) == pytest.approx(lead)
        assert lead_realised(r, m) == pytest.approx(lead)  # these are whole labels
    assert lead_realised(initial_error_from_lead(0.25, 200), 200) == pytest.approx(
        4 / 200**0.5
    )  # 98 of 200 flipped
    for lead in (-1, 5.01):
        with pytest.raises(InvalidInput, match="lead"):
            initial_error_from_lead(lead, 25)
    abilities = np.random.default_rng(4).uniform(0.4, 0.9, 10**6)
    assert crowd_strength(50, 800, 1.0, 0.4, 0.9, 0.3) == pytest.approx(
        0.3 * wisdom(abilities, 1.0) * np.sqrt(50 * 800), rel=0.01
    )


def test_the_strength_is_of_the_spectrum():
    """At strength 3 the leading eigenvector knows the labels, at ⅓ it does not."""
    rng, n, m = np.random.default_rng(5), 400, 800
    for strength, low, high in ((3, 0.6, 1), (1 / 3, 0, 0.2)):
        p = 0.5 + np.sqrt(strength / np.sqrt(n * m)) / 2
        labels = rng.choice([-1, 1], m)
        answers = np.where(rng.random((n, m)) < p, labels, -labels)
        assert crowd_strength(n, m, 50.0, p, p, 1.0) == pytest.approx(strength)
        agreement = abs(np.linalg.svd(answers)[2][0] @ labels) / np.sqrt(m)
        assert low <= agreement <= high
