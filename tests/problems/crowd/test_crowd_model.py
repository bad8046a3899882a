"""One-coin crowds: laws of abilities and answers against enumeration, initial vectors, missing answers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.problems.common.sampling import bernoulli
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.model import CrowdTruth, DawidSkene
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree, mean_agrees

REPS = 60_000


def rng(seed):
    return np.random.default_rng(seed)


def model(**values):
    return build(DawidSkene, dict(n=4, m=5) | values)


def truth_of(abilities, labels, reps=REPS):
    return CrowdTruth(
        np.tile(np.array(abilities, float), (reps, 1)),
        np.tile(np.array(labels, np.int8), (reps, 1)),
    )


@pytest.mark.parametrize("answered", [1.0, 0.6])
@pytest.mark.parametrize("labels", [(0, 1), (1, 1)])
def test_answers_have_the_law_of_the_model(labels, answered):
    """Two workers, two tasks: all 81 outcomes."""
    abilities = 0.8, 0.35
    found = model(n=2, m=2, answered=answered).simulate(truth_of(abilities, labels), rng(1)).answers
    assert found.dtype == np.int8 and found.shape == (REPS, 2, 2)

    def law(abilities, labels):
        one = [
            {2 * y - 1: answered * p, 1 - 2 * y: answered * (1 - p), 0: 1 - answered}
            for p, y in itertools.product(abilities, labels)
        ]
        return [
            math.prod(cell[x] for cell, x in zip(one, out, strict=True))
            for out in itertools.product((-1, 0, 1), repeat=4)
        ]

    counts = np.bincount((found.reshape(REPS, 4) + 1) @ [27, 9, 3, 1], minlength=81)
    assert counts[np.array(law(abilities, labels)) == 0].sum() == 0
    assert counts_agree(counts, law(abilities, labels), f"answers, labels {labels}")
    assert not counts_agree(counts, law(abilities[::-1], labels), "control: workers exchanged")
    assert not counts_agree(
        counts, law(abilities, (1 - labels[0], labels[1])), "control: a label turned"
    )


@pytest.mark.parametrize(
    "law, frozen",
    [
        (dict(ability_law="uniform", ability_low=0.4, ability_high=0.9), stats.uniform(0.4, 0.5)),
        (dict(ability_law="beta", ability_a=3.0, ability_b=1.5), stats.beta(3, 1.5)),
    ],
)
def test_abilities_have_their_law(law, frozen):
    found = model(**law).truth(rng(1), REPS // 4, None).abilities
    assert found.shape == (REPS // 4, 4)
    edges, even = frozen.ppf(np.linspace(0, 1, 21)), np.full(20, 1 / 20)
    bins = np.histogram(found, edges)[0]
    assert bins.sum() == found.size and counts_agree(bins, even, "quantiles")
    assert not counts_agree(np.histogram(found**1.05, edges)[0], even, "control: a little lower")


def test_experts_come_first_and_spammers_are_fair_coins():
    crowd = model(n=100, m=3, ability_law="experts", expert_exponent=0.4, expert_ability=0.9)
    found = crowd.truth(rng(1), 7, None).abilities
    assert (
        found.shape == (7, 100) and (found[:, :7] == 0.9).all() and (found[:, 7:] == 0.5).all()
    )  # ⌈100^0.4⌉ = 7


def test_labels_have_their_prior_and_are_anew_in_every_replication():
    labels = model(label_prior=0.3).truth(rng(1), REPS, None).labels
    assert labels.dtype == np.int8 and set(np.unique(labels)) == {0, 1} and mean_agrees(labels, 0.3)
    assert not mean_agrees(labels, 0.31, "control")
    assert (model(label_prior=1).truth(rng(1), 50, None).labels == 1).all()


def test_sure_workers_are_sure():
    labels = rng(1).integers(0, 2, (REPS, 5))
    truth = CrowdTruth(np.tile([1.0, 0.0], (REPS, 1)), labels.astype(np.int8))
    answers = model(n=2).simulate(truth, rng(2)).answers
    assert (answers[:, 0] == 2 * labels - 1).all() and (answers[:, 1] == 1 - 2 * labels).all()


def test_workers_and_tasks_without_answers_are_kept():
    data = model(answered=0.05).simulate(truth_of([0.7] * 4, [1] * 5, 2000), rng(1))
    assert data.answers.shape == (2000, 4, 5) and (data.answers == 0).all(axis=1).any()
    assert mean_agrees(data.answers != 0, 0.05)


def test_initial_vectors_have_an_exact_error_in_nested_random_places():
    labels = rng(1).integers(0, 2, (4000, 7)).astype(np.int8)
    truth, before, answers = (
        CrowdTruth(np.full((4000, 4), 0.7), labels),
        np.zeros((4000, 7), bool),
        [],
    )
    for error, flipped in ((0.0, 0), (0.1, 1), (0.3, 2), (0.5, 4), (1.0, 7)):
        data = model(m=7, initial_error=error).simulate(truth, rng(2))
        wrong = data.start != labels
        assert data.start.dtype == float and set(np.unique(data.start)) <= {0, 1}
        assert (wrong.sum(axis=1) == flipped).all() and (wrong >= before).all()
        assert (
            counts_agree(wrong.sum(axis=0), np.full(7, 1 / 7), f"places at {error}") or not flipped
        )
        before = wrong
        answers.append(data.answers)
    assert all((a == answers[0]).all() for a in answers)
    without = model(m=7).simulate(truth, rng(2))
    assert (
        without.start is None
        and (without.answers == answers[0]).all()
        and without.release_plainly().start is None
    )


@settings(max_examples=40)
@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 4),
    st.floats(0.1, 1),
    st.integers(0, 2**32),
)
def test_blocks_are_what_they_say(n, m, reps, answered, seed):
    crowd = model(n=n, m=m, answered=answered, initial_error=0.5)
    truth = crowd.truth(rng(seed), reps, None)
    data = crowd.simulate(truth, rng(seed + 1))
    assert truth.abilities.shape == (reps, n) and truth.labels.shape == data.start.shape == (
        reps,
        m,
    )
    assert (
        data.answers.shape == (reps, n, m)
        and np.isin(data.answers, (-1, 0, 1)).all()
        and crowd.cost() > 0
    )
    assert answered < 1 or (data.answers != 0).all()


@pytest.mark.parametrize("probability", [0.001, 0.3, 127.9 / 256, 0.5, 0.9999])
def test_draws_are_exact_across_bytes(probability):
    found = bernoulli(probability, (1000, 999), rng(1))
    counts = [found.sum(), found.size - found.sum()]
    assert found.dtype == bool and counts_agree(
        counts, [probability, 1 - probability], f"Bernoulli {probability}"
    )
    control = probability + (0.003 if probability < 0.5 else -0.003)
    assert not counts_agree(counts, [control, 1 - control], "control: 0.003 off")


def test_draws_follow_a_probability_that_broadcasts():
    found = bernoulli(np.array([0.0, 0.2, 1.0])[:, None], (50_000, 3, 1), rng(1))[:, :, 0]
    assert not found[:, 0].any() and found[:, 2].all() and mean_agrees(found[:, 1], 0.2)


@pytest.mark.parametrize(
    "bad, key",
    [
        (dict(ability_low=0.9, ability_high=0.8), "ability_low"),
        (dict(ability_high=1.2), "ability_high"),
        (dict(expert_ability=-0.1), "expert_ability"),
        (dict(answered=0.0), "answered"),
        (dict(n=0), "n"),
        (dict(initial_error=1.5), "initial_error"),
        (dict(ability_law="normal"), "ability_law"),
    ],
)
def test_bad_parameters_are_refused(bad, key):
    with pytest.raises(InvalidInput, match=f"^{key}="):
        model(**bad)


def test_ends_are_two_abilities_alike_often():
    crowd = DawidSkene(n=400, m=2, ability_law="ends", ability_low=0.1, ability_high=0.7)
    abilities = crowd.truth(rng(3), 50, rng(3)).abilities
    assert set(np.unique(abilities)) == {0.1, 0.7}
    assert mean_agrees(abilities == 0.1, 0.5, "share of the lower end")


@pytest.mark.parametrize(
    "law",
    [{}, dict(ability_law="ends", ability_low=0.0), dict(ability_law="ends", ability_low=1.0)],
    ids=["uniform", "liars", "all right"],
)
@pytest.mark.parametrize("private", [True, False])
def test_the_labels_that_most_released_answers_are_right_about_are_flipped_first(law, private):
    """Against a sort by hand, liars' answers turned; the share is that of random flips, and so are the answers.

    It takes more from the leads of workers than random flips: where all answers agree, only released ones can.
    """
    given = dict(n=7, m=300, initial_error=0.2) | law
    crowd = DawidSkene(**given, initial_flips="agreed")
    truth = crowd.truth(rng(4), 5, rng(4))
    data, plain = crowd.simulate(truth, rng(5)), DawidSkene(**given).simulate(truth, rng(5))
    assert (data.answers == plain.answers).all()
    mechanism = RandomizedResponse(n=7, m=300, epsilon=1.0)
    ours, theirs = (
        mechanism.release(one, rng(6)) if private else one.release_plainly()
        for one in (data, plain)
    )
    assert (ours.answers == theirs.answers).all()
    for answers, abilities, labels, start in zip(
        ours.answers, truth.abilities, truth.labels, ours.start, strict=True
    ):
        turned = np.where(abilities[:, None] > 0.5, answers, -answers)
        right = (turned == 2 * labels - 1).sum(axis=0)
        flipped = start != labels
        assert flipped.sum() == 60 and right[flipped].min() >= right[~flipped].max()
    leads = [np.abs(np.matvec(one.answers, 2 * one.start - 1)).sum() for one in (ours, theirs)]
    if private or not law:
        assert leads[0] < 0.97 * leads[1]
