"""Rankings in which each person compares some pairs, within a budget of all of them together."""

import numpy as np
import pytest

import pipeline as pl
from pipeline.privacy.composition import answer_budget
from pipeline.problems.ranking.theory.risk import sandwich_risk
from pipeline.study.parameters import InvalidInput

M = 5
PAIRS = M * (M - 1) // 2


def released(questions, design, L=400, reps=1500, **changes):
    budgets = {"person": 2.0} | changes
    model = pl.ranking.BTL(m=M, L=L, questions=questions, design=design)
    people = pl.simulate_data(model, seed=3, replications=reps)
    mechanism = pl.ranking.RandomizedResponse(m=M, L=L, questions=questions, **budgets)
    return people, mechanism, pl.simulate_release(mechanism, people, seed=4)


def test_budget_of_an_answer_follows_from_the_persons():
    mechanism = pl.ranking.RandomizedResponse(m=M, L=9, questions=4, person=2.0)
    assert mechanism.budgets.tolist() == [0.5]
    assert mechanism.spent() == {"one comparison": 0.5, "all comparisons of a user": 2.0}
    everything = pl.ranking.RandomizedResponse(m=M, L=9, person=2.0)
    assert everything.budgets.tolist() == [0.2]
    at_delta = pl.ranking.Laplace(m=M, L=9, person=2.0, person_delta=1e-6)
    assert at_delta.budgets.tolist() == [answer_budget(2.0, PAIRS, 1e-6)]
    groups = pl.ranking.RandomizedResponse(
        m=M, L=10, questions=4, person=1.0, profile="0.5:1, 0.5:4"
    )
    assert groups.budgets.tolist() == [0.25, 1.0]


@pytest.mark.parametrize("design", ["balanced", "random"])
@pytest.mark.parametrize("questions", [1, 3])
def test_errors_are_those_of_theory(design, questions):
    """The ridge-free fit against the sandwich of as many users as compare a pair on average."""
    L, reps = 4000, 1500
    people, mechanism, release = released(questions, design, L, reps, person=3.0)
    assert (release.trials.sum(axis=-1) == L * questions).all()
    theta = people.truth.theta
    estimate = pl.ranking.Debiased(m=M, lambda_scale=0.0).fit(release)
    errors = ((estimate.theta - theta) ** 2).mean(axis=1)
    epsilon = float(mechanism.budgets[0])
    ratio = errors.mean() / sandwich_risk(theta, epsilon, L * questions / PAIRS).mean()
    spread = errors.std() / errors.mean() / np.sqrt(reps)
    bound = 0.06 + 5 * spread  # second order, and chance at α = 6e-7
    print(f"n={reps}, ratio {ratio:.3f}, bound 1 ± {bound:.3f}")
    assert abs(ratio - 1) < bound
    # The control: everybody compares all pairs at the same budget of an answer.
    everybody = errors.mean() / sandwich_risk(theta, epsilon, L).mean()
    assert abs(everybody - 1) > bound


def test_one_question_needs_far_fewer_people_than_all_pairs():
    """m = 10, one nat a person, Kendall ≤ 0.1: 1,080 people with one question, 41,976 with all."""

    def kendall(L, questions, reps=800):
        people = pl.simulate_data(
            pl.ranking.BTL(m=10, L=L, questions=questions), seed=1, replications=reps
        )
        mechanism = pl.ranking.RandomizedResponse(m=10, L=L, questions=questions, person=1.0)
        release = pl.simulate_release(mechanism, people, seed=2)
        estimate = pl.ranking.Debiased(m=10).fit(release).theta
        truth = people.truth.theta
        signs = np.sign(truth[:, :, None] - truth[:, None]) * np.sign(
            estimate[:, :, None] - estimate[:, None]
        )
        return (signs < 0).sum(axis=(1, 2)).mean() / 90

    one, everything, many = kendall(1080, 1), kendall(1080, None), kendall(41_976, None)
    print(f"n=800, Kendall {one:.3f}, {everything:.3f}, {many:.3f}")
    assert abs(one - 0.1) < 0.006 and abs(many - 0.1) < 0.006 and everything > 0.3


def test_wins_are_asked_again_alike_and_fall_into_groups():
    model = pl.ranking.BTL(m=M, L=30, questions=3, design="random")
    data = pl.simulate_data(model, seed=5, replications=7).data
    one_group = np.array([30])
    assert (data.compared(one_group) == data.compared(one_group)).all()
    assert (data.wins == data.split(one_group, np.random.default_rng(0))[:, 0]).all()
    groups = np.array([10, 20])
    compared = data.compared(groups)
    assert (compared.sum(axis=2) == groups * 3).all()
    assert (data.split(groups, np.random.default_rng(0)) <= compared).all()
    plain = data.release_plainly()
    assert (plain.trials.sum(axis=-1) == 90).all()


def test_missing_answers_are_fewer_comparisons():
    model = pl.ranking.MisspecifiedBTL(m=M, L=300, questions=4, left_out=0.9)
    data = pl.simulate_data(model, seed=5, replications=50).data
    made = data.compared(np.array([300])).sum(axis=2)
    assert (made < 1200).all() and (made > 200).all()


@pytest.mark.parametrize(
    "make, key, text",
    [
        (lambda: pl.ranking.BTL(m=4, L=3, questions=7), "questions", "must be 1 to 6"),
        (
            lambda: pl.ranking.RandomizedResponse(m=4, L=3, questions=7, person=1.0),
            "questions",
            "there are 6 pairs of m=4 items",
        ),
        (lambda: pl.ranking.RandomizedResponse(m=4, L=3), "epsilon", "or person"),
        (
            lambda: pl.ranking.RandomizedResponse(m=4, L=3, epsilon=1.0, person=1.0),
            "epsilon",
            "makes it 0.166667; leave out one of both",
        ),
        (
            lambda: pl.ranking.TiltedBTL(m=4, L=3, questions=2, theta="spaced"),
            "questions",
            "model=tilted",
        ),
    ],
)
def test_what_cannot_be_is_one_line(make, key, text):
    with pytest.raises(InvalidInput, match=text) as error:
        make()
    assert error.value.key == key


def test_nobody_is_charged_for_fewer_answers_than_he_gives():
    people = pl.simulate_data(pl.ranking.BTL(m=4, L=50, questions=3), seed=1)
    mechanism = pl.ranking.RandomizedResponse(m=4, L=50, questions=2, person=1.0)
    with pytest.raises(InvalidInput, match="made 3 comparisons"):
        pl.simulate_release(mechanism, people)
