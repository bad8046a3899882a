"""Which questions each single person gets: the designs of `questions`, person by person.

Where people differ, as workers of a crowd do, sums over
people are not enough. The numbers of people of each
question have the law of `times_asked`.
"""

import math

import numpy as np

from pipeline.study.arrays import Array, Booleans, Integers
from pipeline.study.parameters import InvalidInput, nearest

from .questions import DESIGNS


def assigned(
    design: str, people: int, questions: int, kinds: int, reps: int, rng: np.random.Generator
) -> Booleans:
    """(reps, people, kinds): whether a person gets a question, `questions` of them each.

    `balanced`: packs of all questions are dealt out one
    after the other, and all deals in which nobody gets a
    question twice are equally likely; then hands are given
    to people at random. So numbers of people of two
    questions differ by one at most. Where a person gets
    more than half of the questions, those are dealt that
    the person does not get. `random`: all sets of so many
    questions are equally likely, person by person. O(reps ·
    people · kinds). Raises InvalidInput for another design.

    >>> gets = assigned("balanced", 5, 2, 3, 1, np.random.default_rng(0))
    >>> gets.sum(axis=2).tolist(), sorted(gets.sum(axis=1)[0].tolist())
    ([[2, 2, 2, 2, 2]], [3, 3, 4])
    """
    if design not in DESIGNS:
        raise InvalidInput("design", design, nearest(design, DESIGNS))
    if questions == kinds:
        return np.ones((reps, people, kinds), bool)
    if 2 * questions > kinds:
        return ~assigned(design, people, kinds - questions, kinds, reps, rng)
    gets = np.zeros((reps, people, kinds), bool)
    if design == "random":
        _add_subsets(gets, questions, rng)
    else:
        hands = _hands(people, questions, kinds, reps, rng)
        np.put_along_axis(gets, hands, True, axis=2)
    return gets


def _add_subsets(gets: Booleans, questions: int, rng: np.random.Generator) -> None:
    """Mark independent sets of so many questions in (reps, people, kinds), by Floyd's algorithm.

    The j-th of the drawn numbers is below kinds − questions
    + j; where that question is there already, the last of
    those takes its place.
    """
    reps, people, kinds = gets.shape
    last = np.arange(kinds - questions, kinds)
    drawn = rng.integers(0, last + 1, (reps, people, questions))
    for number in range(questions):
        question = drawn[:, :, number, None]
        is_there = np.take_along_axis(gets, question, axis=2)
        new = np.where(is_there, last[number], question)
        np.put_along_axis(gets, new, True, axis=2)


def _hands(
    people: int, questions: int, kinds: int, reps: int, rng: np.random.Generator
) -> Integers:
    """(reps, people, questions): the questions that each person is dealt.

    A pack may end within a hand, whose rest then comes from
    the next pack. After a chain of packs none does, so that
    chains are independent of each other.
    """
    packs = -(-people * questions // kinds)
    chain = min(questions // math.gcd(questions, kinds), packs)
    shape = (reps, -(-packs // chain), chain, kinds)
    pack = np.broadcast_to(np.arange(kinds, dtype=np.int32), shape)
    dealt = rng.permuted(pack, axis=3)
    if chain > 1:
        wanted = rng.permuted(pack, axis=3)
        for number in range(1, chain):
            taken = number * kinds % questions
            in_hand = dealt[:, :, number - 1, kinds - taken :]
            rest = _others(wanted[:, :, number], in_hand, questions - taken)
            dealt[:, :, number] = _to_front(dealt[:, :, number], rest)
    hands = dealt.reshape(reps, -1)[:, : people * questions].reshape(reps, people, questions)
    person = np.broadcast_to(np.arange(people), (reps, people))
    order = rng.permuted(person, axis=1)
    return np.take_along_axis(hands, order[:, :, None], axis=1)


def _others(wanted: Integers, in_hand: Integers, number: int) -> Integers:
    """(…, number): the first questions of `wanted`, (…, kinds), that are not in a hand."""
    is_in_hand = np.zeros(wanted.shape, bool)
    np.put_along_axis(is_in_hand, in_hand, True, axis=-1)
    return _sorted_by(wanted, is_in_hand)[..., :number]


def _to_front(pack: Integers, first: Integers) -> Integers:
    """(…, kinds): the pack with some questions first, and all others in their order."""
    is_later = np.ones(pack.shape, bool)
    np.put_along_axis(is_later, first, False, axis=-1)
    return _sorted_by(pack, is_later)


def _sorted_by(pack: Integers, flags: Array) -> Integers:
    """A pack (…, kinds), questions without a flag first; flags: (…, kinds), by question."""
    flagged = np.take_along_axis(flags, pack, axis=-1)
    order = np.argsort(flagged, axis=-1, kind="stable")
    return np.take_along_axis(pack, order, axis=-1)
