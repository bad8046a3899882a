"""Who gets which questions: exact joint laws, by enumeration of all deals and sets."""

import collections
import itertools

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.common.assigned import assigned
from pipeline.study.parameters import InvalidInput
from pipeline.study.slices import ByCall, in_slices

ALPHA = 1e-6


def law_of_random(people, questions, kinds):
    """Law of all people's sets: independent, and equally likely."""
    sets = list(itertools.combinations(range(kinds), questions))
    everybody = list(itertools.product(sets, repeat=people))
    return dict.fromkeys(everybody, 1 / len(everybody))


def law_of_balanced(people, questions, kinds):
    """Law of all people's sets: all deals without repeats, then all orders of people.

    Of more than half of the questions, those that a person does not get are dealt.
    """
    if 2 * questions > kinds:
        law = law_of_balanced(people, kinds - questions, kinds)
        everything = set(range(kinds))
        return {
            tuple(tuple(sorted(everything - set(hand))) for hand in hands): chance
            for hands, chance in law.items()
        }
    packs = -(-people * questions // kinds)
    law = collections.Counter()
    for deal in itertools.product(itertools.permutations(range(kinds)), repeat=packs):
        cards = sum(deal, ())
        hands = [cards[k : k + questions] for k in range(0, people * questions, questions)]
        straddling = [cards[k : k + questions] for k in range(0, len(cards), questions)]
        if any(len(set(hand)) < len(hand) for hand in straddling):
            continue
        for order in itertools.permutations(hands):
            law[tuple(tuple(sorted(hand)) for hand in order)] += 1
    total = sum(law.values())
    return {hands: number / total for hands, number in law.items()}


def seen_of(gets):
    """How often all people's sets were drawn, by the sets; gets: (reps, people, kinds)."""
    people, kinds = gets.shape[1:]
    digit = 2 ** np.arange(people * kinds)
    codes, numbers = np.unique(gets.reshape(len(gets), -1) @ digit, return_counts=True)
    seen = collections.Counter()
    for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
        hands = (code & digit > 0).reshape(people, kinds)
        seen[tuple(tuple(np.flatnonzero(hand).tolist()) for hand in hands)] = number
    return seen


def p_value(gets, law):
    """Of a chi-square test of drawn assignments, (reps, people, kinds), against a law."""
    seen = seen_of(gets)
    assert set(seen) <= set(law)
    expected = np.array([law[hands] for hands in sorted(law)]) * len(gets)
    observed = np.array([seen[hands] for hands in sorted(law)])
    statistic = ((observed - expected) ** 2 / expected).sum()
    return statistic, len(law) - 1, stats.chi2.sf(statistic, len(law) - 1)


@pytest.mark.parametrize(
    "design, law, people, questions, kinds",
    [
        ("random", law_of_random, 2, 2, 4),
        ("random", law_of_random, 3, 2, 3),
        ("random", law_of_random, 2, 3, 4),
        ("balanced", law_of_balanced, 4, 1, 3),
        ("balanced", law_of_balanced, 3, 2, 3),
        ("balanced", law_of_balanced, 3, 2, 4),
        ("balanced", law_of_balanced, 3, 3, 4),
        ("balanced", law_of_balanced, 3, 2, 5),
    ],
)
def test_who_gets_what_has_its_joint_law(design, law, people, questions, kinds):
    reps = 20_000
    exact = law(people, questions, kinds)
    gets = assigned(design, people, questions, kinds, reps, np.random.default_rng(7))
    statistic, freedom, chance = p_value(gets, exact)
    print(f"n={reps}, chi-square {statistic:.1f} at {freedom}, p={chance:.2g}, α={ALPHA}")
    assert chance > ALPHA
    # The control: the other design has the same number of questions a person, and another law.
    (other,) = {"random", "balanced"} - {design}
    unlike = assigned(other, people, questions, kinds, reps, np.random.default_rng(7))
    assert not set(seen_of(unlike)) <= set(exact) or p_value(unlike, exact)[2] < ALPHA


@pytest.mark.parametrize("people", [1, 7, 40])
@pytest.mark.parametrize("questions, kinds", [(1, 6), (4, 6), (5, 21), (6, 7)])
def test_balanced_is_equal_up_to_one(people, questions, kinds):
    gets = assigned("balanced", people, questions, kinds, 30, np.random.default_rng(1))
    assert (gets.sum(axis=2) == questions).all()
    assert (np.ptp(gets.sum(axis=1), axis=1) <= 1).all()
    random = assigned("random", people + 30, questions, kinds, 30, np.random.default_rng(1))
    assert (random.sum(axis=2) == questions).all()
    assert (np.ptp(random.sum(axis=1), axis=1) > 1).any()  # the control


@pytest.mark.parametrize("design", ["balanced", "random"])
@pytest.mark.parametrize("questions, kinds", [(70, 3000), (200, 300)])
def test_large_sets_are_as_often_any(design, questions, kinds):
    """Numbers of people of pairs of neighbours, of which many are chosen with one random word."""
    people = 400
    gets = assigned(design, people, questions, kinds, 5, np.random.default_rng(3))
    both = int((gets & np.roll(gets, 1, axis=2)).sum())
    expected = gets.shape[0] * people * questions * (questions - 1) / (kinds - 1)
    error = abs(both - expected) / np.sqrt(expected)
    print(f"n={gets.size}, {both} neighbours, {error:.2f} deviations, bound 5, α=6e-7")
    assert error < 5
    block = np.arange(questions) + np.arange(people)[:, None]
    run = np.zeros(gets.shape, bool)
    np.put_along_axis(run, np.broadcast_to(block % kinds, (5, *block.shape)), True, axis=2)
    assert abs(int((run & np.roll(run, 1, axis=2)).sum()) - expected) / np.sqrt(expected) > 5


@pytest.mark.parametrize("design", ["balanced", "random"])
def test_slices_get_what_all_get(design):
    whole = assigned(design, 5, 3, 8, 7, np.random.default_rng(4))
    cuts = [slice(0, 3), slice(3, 7)]
    sliced = ByCall(np.random.default_rng(4), cuts)

    def step(number):
        reps = cuts[number].stop - cuts[number].start
        return assigned(design, 5, 3, 8, reps, sliced)

    parts = in_slices([sliced], 2, step)
    assert all(part.dtype == bool for part in parts)
    assert (np.concatenate(parts) == whole).all()


def test_all_questions_are_everybodys_and_other_designs_are_refused():
    for design in ("balanced", "random"):
        assert assigned(design, 3, 4, 4, 2, np.random.default_rng(0)).all()
    with pytest.raises(InvalidInput, match="balanced"):
        assigned("balancd", 3, 1, 2, 1, np.random.default_rng(0))
