"""What advice says of crowds in persons: sentences, unknowns, and where it begins to look."""

import numpy as np
import pytest

import pipeline as pl
from pipeline.advice.question import read
from pipeline.problems.crowd.advice import label_error, survey

N, M = 300, 10
ASKED = {"problem": "crowd", "target": "label_error<=0.1", "m": M}


@pytest.mark.parametrize(
    "changes, text",
    [
        ({}, "each of 300 workers labels all 10 tasks, yes or no"),
        (
            {"questions": 1},
            "each of 300 workers labels one of the 10 tasks, yes or no, so that every task is "
            "labelled equally often",
        ),
        (
            {"questions": 4, "design": "random", "answered": 0.5},
            "each of 300 workers labels 4 of the 10 tasks, yes or no, drawn at random for each "
            "worker, each with probability 0.5",
        ),
        (
            {"answered": 0.5},
            "each of 300 workers labels any of 10 tasks, yes or no, with probability 0.5",
        ),
    ],
)
def test_a_survey_says_who_labels_what(changes, text):
    model = pl.crowd.models.DawidSkene(n=N, m=M, **changes)
    assert survey(model, pl.crowd.NoPrivacy()) == f"{text}; answers are seen as they are"
    alone = pl.crowd.RandomizedResponse(n=N, m=M, person=1.0)
    assert (
        survey(model, alone) == f"{text}; every answer is made private before it leaves the worker"
    )
    curator = pl.crowd.NoisyVotes(n=N, m=M, person=1.0)
    assert "trusts a curator, who adds noise to the votes" in survey(model, curator)
    shuffler = pl.crowd.ShuffledResponse(n=N, m=M, person=1.0)
    assert "who trusts a shuffler" in survey(model, shuffler)


@pytest.mark.parametrize(
    "known, word",
    [
        ({"n": N, "questions": 1, "unknown": "person"}, "person"),
        ({"person": 1.0, "questions": 1}, "people"),
        ({"n": N, "person": 1.0, "unknown": "questions"}, "questions"),
        ({"person": 1.0, "mechanism": "noisy_votes"}, "people"),
        ({"n": N, "mechanism": "shuffled_response"}, "person"),
    ],
)
def test_questions_in_persons_are_understood(known, word):
    question = read({**ASKED, **known})
    assert question.word == word
    level = 1.0 if word == "person" else N if word == "people" else 2
    assert question.parts(level).mechanism.promise().unit == "person"


@pytest.mark.parametrize(
    "mechanism, kind, questions, person",
    [
        ("randomized_response", pl.crowd.RandomizedResponse, 1, 1.0),
        ("shuffled_response", pl.crowd.ShuffledResponse, 5, 0.5),
        ("noisy_votes", pl.crowd.NoisyVotes, None, 0.3),
    ],
)
def test_theory_says_about_where_to_begin(mechanism, kind, questions, person):
    delta = 1e-6
    reps = 300
    people = pl.simulate_data(
        pl.crowd.models.DawidSkene(n=N, m=M, questions=questions), seed=1, replications=reps
    )
    part = kind(n=N, m=M, questions=questions, person=person, person_delta=delta)
    release = pl.simulate_release(part, people, seed=2)
    labels = pl.crowd.MajorityVote(n=N, m=M).fit(release).labels
    error = (labels != people.truth.labels).mean()
    predicted = label_error(
        N, M, person=person, person_delta=delta, questions=questions, mechanism=mechanism
    )
    many = label_error(
        16 * N, M, person=person, person_delta=delta, questions=questions, mechanism=mechanism
    )
    print(f"n={reps}, error {error:.3f}, predicted {predicted:.3f}, of 16 times as many {many:.3f}")
    assert 0.02 < error and 0.4 < predicted / error < 1.5
    assert not 0.4 < many / error < 1.5  # the control
    assert np.isnan(label_error(N, M))  # without a budget
