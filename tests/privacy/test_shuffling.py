"""Shuffled answers of one person to several questions: against enumeration and dp-accounting."""

import itertools
import math

import numpy as np
import pytest
import scipy
from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions

from pipeline.privacy.composition import answer_budget, composed_delta
from pipeline.privacy.shuffling import (
    shuffled_answer_budget,
    shuffled_binary_delta,
    shuffled_person_delta,
)
from pipeline.study.parameters import InvalidInput


def law(answer, reports, ones, own):
    """Law of the number of ones among all reports, `ones` of the others' being true."""
    flip = 1 / (1 + math.exp(answer))
    of_ones = scipy.stats.binom.pmf(np.arange(ones + 1), ones, 1 - flip)
    zeros = reports - 1 - ones
    of_zeros = scipy.stats.binom.pmf(np.arange(zeros + 1), zeros, flip)
    others = np.convolve(of_ones, of_zeros)
    chance = 1 - flip if own else flip
    return np.convolve(others, [1 - chance, chance])


def enumerated_delta(person, answer, answers, reports):
    """The largest δ over everything that the others may have answered, and both directions."""
    worst = 0.0
    for others in itertools.product(range(reports), repeat=answers):
        for bits in itertools.product((0, 1), repeat=answers):
            true = np.ones(1)
            false = np.ones(1)
            for ones, bit in zip(others, bits, strict=True):
                true = np.outer(true, law(answer, reports, ones, bit)).ravel()
                false = np.outer(false, law(answer, reports, ones, 1 - bit)).ravel()
            worst = max(worst, float(np.maximum(true - math.exp(person) * false, 0).sum()))
    return worst


@pytest.mark.parametrize(("answers", "reports"), [(1, 2), (1, 9), (2, 2), (2, 5), (3, 3)])
@pytest.mark.parametrize("answer", [0.3, 1.5])
def test_delta_is_never_below_that_of_any_answers_of_the_others(answers, reports, answer):
    for share in (0.1, 0.4, 0.7):
        person = share * answers * answer
        exact = enumerated_delta(person, answer, answers, reports)
        ours = shuffled_person_delta(person, answer, answers, reports)
        assert ours >= exact - 1e-12
        # A little above, where the worst differs from loss to loss.
        assert ours <= 1.3 * exact + 2e-3
        assert ours <= composed_delta(person, answer, answers) + 1e-9
        # Control: among more reports an answer is hidden better.
        assert shuffled_person_delta(person, answer, answers, 40 * reports) < exact


def test_one_answer_is_the_exact_binary_account():
    for reports, answer in itertools.product((1, 2, 7, 40, 99), (0.3, 1.0, 3.0)):
        for share in (0.1, 0.5, 0.9):
            ours = shuffled_person_delta(share * answer, answer, 1, reports)
            assert ours == pytest.approx(
                shuffled_binary_delta(share * answer, answer, reports), abs=1e-10
            )


def test_composition_agrees_with_dp_accounting():
    """30 drawn cases, of which the peer is told what the others answered: never above ours."""
    rng = np.random.default_rng(5)
    nearest = math.inf
    for _ in range(30):
        answers = int(rng.integers(2, 20))
        reports = int(rng.integers(20, 90))
        answer = float(rng.uniform(0.3, 2))
        spread = 2 * math.sinh(answer / 2) / math.sqrt(reports / answers)
        person = float(rng.uniform(1, 3)) * spread
        ours = shuffled_person_delta(person, answer, answers, reports)
        theirs = 0.0
        for ones in (0, (reports - 1) // 2):
            pmf_one = law(answer, reports, ones, 1)
            pmf_zero = law(answer, reports, ones, 0)
            logs = [
                {total: math.log(chance) for total, chance in enumerate(pmf)}
                for pmf in (pmf_zero, pmf_one)
            ]
            peer = from_two_probability_mass_functions(
                *logs,
                pessimistic_estimate=False,
                value_discretization_interval=answer / 2000,
                symmetric=False,
            )
            composed = peer.self_compose(answers)
            theirs = max(theirs, composed.get_delta_for_epsilon(person))
        assert ours >= theirs * (1 - 1e-6) - 1e-12
        nearest = min(nearest, theirs / ours)
    print(f"n=30, least share of ours that the peer finds {nearest:.3f}, bound 0.5")
    assert nearest > 0.5


@pytest.mark.parametrize(
    ("person", "answers", "reports"), [(1.0, 1, 22), (1.0, 5, 1000), (0.3, 45, 4000)]
)
def test_budget_of_an_answer_is_the_largest_that_is_private(person, answers, reports):
    delta = 1e-6
    answer = shuffled_answer_budget(person, answers, delta, reports)
    assert shuffled_person_delta(person, answer, answers, reports) <= delta
    assert shuffled_person_delta(person, 1.003 * answer, answers, reports) > delta
    assert answer >= answer_budget(person, answers, delta)
    # Control: with half of the people the same answers are not private.
    assert shuffled_person_delta(person, answer, answers, max(1, reports // 2)) > delta


def test_more_people_never_allow_less():
    budgets = [shuffled_answer_budget(1.0, 3, 1e-6, reports) for reports in (1, 30, 99, 101, 5000)]
    assert budgets == sorted(budgets)
    assert budgets[0] == pytest.approx(answer_budget(1.0, 3, 1e-6))


def test_a_pure_promise_is_refused():
    with pytest.raises(InvalidInput, match="person_delta"):
        shuffled_answer_budget(1.0, 3, 0.0, 100)
    with pytest.raises(InvalidInput, match="answer"):
        shuffled_person_delta(1.0, 0.0, 3, 100)
