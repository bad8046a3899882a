"""Crowds in which each worker labels some tasks, within a budget of all answers together."""

import collections
import itertools

import numpy as np
import pytest
from scipy import stats

import pipeline as pl
from pipeline.privacy.composition import answer_budget
from pipeline.problems.crowd.theory.vote_errors import vote_error
from pipeline.problems.crowd.theory.wisdom import private_ability
from pipeline.study.parameters import InvalidInput

ALPHA = 1e-6
Z = 4.9  # of a two-sided test at ALPHA


def released(model, seed=1, reps=400, **budget):
    people = pl.simulate_data(model, seed=seed, replications=reps)
    mechanism = pl.crowd.RandomizedResponse(
        n=model.n, m=model.m, questions=model.questions, **budget
    )
    return people, mechanism, pl.simulate_release(mechanism, people, seed=seed + 1)


def law_of_answers(abilities, labels, questions):
    """Law of all answers of two workers who get tasks at random: who answers what, and how."""
    sets = list(itertools.combinations(range(len(labels)), questions))
    law = collections.Counter()
    for hands in itertools.product(sets, repeat=len(abilities)):
        for right in itertools.product((True, False), repeat=questions * len(abilities)):
            table = [[0] * len(labels) for _ in abilities]
            chance = 1 / len(sets) ** len(abilities)
            for worker, hand in enumerate(hands):
                for k, task in enumerate(hand):
                    is_right = right[worker * questions + k]
                    says_one = (labels[task] == 1) == is_right
                    table[worker][task] = 1 if says_one else -1
                    chance *= abilities[worker] if is_right else 1 - abilities[worker]
            law[tuple(map(tuple, table))] += chance
    return law


def test_answers_have_their_joint_law():
    """Two experts at once, three tasks, two questions: against all answers that can be."""
    reps = 40_000
    model = pl.crowd.models.DawidSkene(
        n=2, m=3, questions=2, design="random", ability_low=0.8, ability_high=0.8, label_prior=1.0
    )
    answers = pl.simulate_data(model, seed=3, replications=reps).data.answers
    law = law_of_answers([0.8, 0.8], [1, 1, 1], 2)
    seen = collections.Counter(tuple(map(tuple, table)) for table in answers.tolist())
    assert set(seen) <= set(law) and sum(law.values()) == pytest.approx(1)

    def p_value(expected):
        observed = np.array([seen[table] for table in sorted(law)])
        chances = np.array([expected[table] for table in sorted(law)]) * reps
        return stats.chi2.sf(((observed - chances) ** 2 / chances).sum(), len(law) - 1)

    chance = p_value(law)
    print(f"n={reps}, p={chance:.2g}, α={ALPHA}")
    assert chance > ALPHA
    assert p_value(law_of_answers([0.8, 0.77], [1, 1, 1], 2)) < ALPHA  # the control


@pytest.mark.parametrize("design", ["balanced", "random"])
@pytest.mark.parametrize("questions", [1, 3])
def test_votes_err_as_often_as_exact_laws_say(design, questions):
    """The exact error of majority vote, given who answered what."""
    n, m, reps = 30, 8, 700
    model = pl.crowd.models.DawidSkene(n=n, m=m, questions=questions, design=design)
    people, mechanism, release = released(model, reps=reps, person=4.0)
    assert ((release.answers != 0).sum(axis=2) == questions).all()
    of_task = (release.answers != 0).sum(axis=1)
    assert (np.ptp(of_task, axis=1) <= 1).all() == (design == "balanced")
    truth = people.truth
    labels = pl.crowd.MajorityVote(n=n, m=m).fit(release).labels
    wrong = (labels != truth.labels).mean(axis=1)
    right = private_ability(truth.abilities, mechanism.answer_epsilon)

    def expected(answered):
        return np.mean(
            [
                vote_error(right[r][None], answered[r].T.astype(float), truth.labels[r] == 0).mean()
                for r in range(reps)
            ]
        )

    exact = expected(release.answers != 0)
    bound = Z * wrong.std() / np.sqrt(reps)
    print(f"n={reps}, error {wrong.mean():.4f}, exact {exact:.4f} ± {bound:.4f}")
    assert abs(wrong.mean() - exact) < bound
    # The control: everybody answers every task at this budget of an answer.
    everybody = vote_error(right, ties=0.5).mean()
    assert abs(wrong.mean() - everybody) > bound


def test_budget_of_an_answer_follows_from_the_workers():
    mechanism = pl.crowd.RandomizedResponse(n=9, m=10, questions=4, person=2.0)
    assert mechanism.answer_epsilon == 0.5
    assert mechanism.spent() == {"one answer": 0.5, "all answers of a worker": 2.0}
    promise = mechanism.promise()
    assert (promise.unit, promise.epsilon, promise.answers) == ("person", 2.0, 4)
    assert pl.crowd.RandomizedResponse(n=9, m=10, person=2.0).answer_epsilon == 0.2
    recorded = pl.crowd.RandomizedResponse(n=9, m=10, person=2.0, given=5)
    assert recorded.answer_epsilon == 0.4
    at_delta = pl.crowd.RandomizedResponse(n=9, m=10, person=2.0, person_delta=1e-6)
    assert at_delta.answer_epsilon == answer_budget(2.0, 10, 1e-6)
    assert at_delta.promise().epsilon == pytest.approx(2.0)
    per_answer = pl.crowd.RandomizedResponse(n=9, m=10, questions=4, epsilon=0.5)
    assert per_answer.promise().unit == "answer" and per_answer.promise().epsilon == 2.0


def test_without_a_curator_fewer_questions_help():
    """One nat a worker: few questions each, and the same workers need the fewest."""
    errors = []
    for questions in (1, 5, 20):
        model = pl.crowd.models.DawidSkene(n=400, m=20, questions=questions)
        people, _, release = released(model, person=1.0, reps=200)
        labels = pl.crowd.MajorityVote(n=400, m=20).fit(release).labels
        errors.append((labels != people.truth.labels).mean())
    print(errors)
    assert errors[0] < errors[1] - 0.05 and errors[1] < errors[2] - 0.05


@pytest.mark.parametrize("kind", ["DawidSkene", "KnownFlip", "MajorityVote", "VoteMixture"])
@pytest.mark.parametrize("questions", [1, 3, 12])
def test_estimators_take_incomplete_answers(kind, questions):
    """All do better than guessing, and are estimates of abilities that are there."""
    model = pl.crowd.models.DawidSkene(n=150, m=12, questions=questions, ability_low=0.6)
    people, _, release = released(model, person=3.0 * questions, reps=100)
    estimator = getattr(pl.crowd.estimators, kind)(n=150, m=12)
    estimate = estimator.fit(release)
    error = (estimate.labels != people.truth.labels).mean()
    print(f"n=100, error {error:.3f}, {estimate.converged.mean():.2f} converged")
    assert error < 0.25 and np.isfinite(estimate.abilities).all()
    # Of one answer each, a task with as many of both labels is a saddle point for EM: 85 % of 3,000
    # replications have none, and 67 % are five deviations of 100 fewer.
    assert estimate.converged.mean() > (0.67 if questions == 1 else 0.97)


def test_missing_answers_and_worlds_outside_the_model_have_questions_too():
    model = pl.crowd.models.DawidSkene(n=50, m=12, questions=6, answered=0.5)
    answers = pl.simulate_data(model, seed=5, replications=50).data.answers
    number = (answers != 0).sum(axis=2)
    assert number.max() <= 6 and 2.8 < number.mean() < 3.2
    other = pl.crowd.MisspecifiedCrowd(n=50, m=12, questions=6, left_out=0.5)
    answers = pl.simulate_data(other, seed=5, replications=50).data.answers
    assert 4.3 < (answers != 0).sum(axis=2).mean() < 4.7


def test_questions_leave_the_other_draws_as_they_are():
    everything = pl.crowd.models.DawidSkene(n=20, m=9)
    some = pl.crowd.models.DawidSkene(n=20, m=9, questions=4)
    plain = pl.simulate_data(everything, seed=2, replications=30).data.answers
    partial = pl.simulate_data(some, seed=2, replications=30).data.answers
    assert (partial[partial != 0] == plain[partial != 0]).all()


@pytest.mark.parametrize(
    "make, key, text",
    [
        (
            lambda: pl.crowd.models.DawidSkene(n=3, m=4, questions=5),
            "questions",
            "there are 4 tasks; must be 1 to 4",
        ),
        (
            lambda: pl.crowd.RandomizedResponse(n=3, m=4, questions=5, person=1.0),
            "questions",
            "must be 1 to 4",
        ),
        (lambda: pl.crowd.RandomizedResponse(n=3, m=4), "epsilon", "is needed by Randomized"),
        (
            lambda: pl.crowd.RandomizedResponse(n=3, m=4, epsilon=1.0, person=1.0),
            "epsilon",
            "makes it 0.25; leave out one of both",
        ),
    ],
)
def test_what_cannot_be_is_one_line(make, key, text):
    with pytest.raises(InvalidInput, match=text) as error:
        make()
    assert error.value.key == key


def test_nobody_is_charged_for_fewer_answers_than_he_gives():
    people = pl.simulate_data(pl.crowd.models.DawidSkene(n=20, m=6, questions=3), seed=1)
    mechanism = pl.crowd.RandomizedResponse(n=20, m=6, questions=2, person=1.0)
    with pytest.raises(InvalidInput, match="gave 3 answers"):
        pl.simulate_release(mechanism, people)
