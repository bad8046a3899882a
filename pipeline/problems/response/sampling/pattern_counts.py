"""How many persons gave which answers to which items, of persons who answer one or two each.

These numbers say all that is known of persons whose abilities are
drawn alike and independently. Their number costs nothing: not
persons are drawn, but sums.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from pipeline.study.arrays import Booleans, Floats, Integers

CELLS = 1 << 20  # chances at a time: of replications, abilities and items
RIGHT, WRONG = 0, 1


@dataclass(frozen=True)
class PatternCounts:
    """Persons by the items that they were asked, and by what they answered.

    sets: (sets, k), items, k = 1 or 2. items: m. counts: (reps,
    sets, kinds) for k = 1 and (reps, sets, kinds, kinds) for k =
    2, how many persons who were asked a set gave its items
    answers of these kinds: right, wrong and, where answers may be
    missing, none.
    """

    counts: Annotated[Integers, "reps"]
    sets: Integers
    items: int

    @property
    def persons(self) -> int:
        """Number of persons n."""
        return int(self.counts[0].sum())

    @property
    def has_pairs(self) -> bool:
        """Whether a person answers two items."""
        return bool(self.sets.shape[1] == 2)

    def differences(self) -> Integers:
        """Y, persons who have item i right and j wrong, (reps, m, m); 0 for one item each."""
        total = np.zeros((len(self.counts), self.items, self.items), np.int64)
        if self.has_pairs:
            first, second = self.sets.T
            total[:, first, second] = self.counts[:, :, RIGHT, WRONG]
            total[:, second, first] = self.counts[:, :, WRONG, RIGHT]
        return total

    def pairs(self) -> Integers:
        """Persons who answered both items, (reps, m, m); on the diagonal, one."""
        answered = self.answered
        total = np.zeros((len(answered), self.items, self.items), np.int64)
        if self.has_pairs:
            first, second = self.sets.T
            both = self.counts[:, :, : WRONG + 1, : WRONG + 1].sum(axis=(2, 3))
            total[:, first, second] = both
            total[:, second, first] = both
        np.einsum("rii->ri", total)[...] = answered
        return total

    def right_pairs(self) -> Integers:
        """Persons who have both items right, (reps, m, m); on the diagonal, one."""
        right = self.right
        total = np.zeros((len(right), self.items, self.items), np.int64)
        if self.has_pairs:
            first, second = self.sets.T
            both = self.counts[:, :, RIGHT, RIGHT]
            total[:, first, second] = both
            total[:, second, first] = both
        np.einsum("rii->ri", total)[...] = right
        return total

    @cached_property
    def answered(self) -> Integers:
        """Persons who answered an item, (reps, m)."""
        return self._with_answer(RIGHT) + self._with_answer(WRONG)

    @property
    def right(self) -> Integers:
        """Persons who have an item right, (reps, m)."""
        return self._with_answer(RIGHT)

    def _with_answer(self, kind: int) -> Integers:
        total = np.zeros((len(self.counts), self.items))
        for place, of_kind in enumerate(self._by_place(kind)):
            is_item = self.sets[:, place, None] == np.arange(self.items)
            total += of_kind.astype(float) @ is_item.astype(float)  # whole numbers below 2⁵³
        return total.astype(np.int64)

    def _by_place(self, kind: int) -> Iterator[Integers]:
        """Persons with that answer to the first item of a set, and to the second; (reps, sets)."""
        if not self.has_pairs:
            yield self.counts[:, :, kind]
            return
        yield self.counts[:, :, kind].sum(axis=2)
        yield self.counts[:, :, :, kind].sum(axis=2)

    def flipped(self, rng: np.random.Generator, flip: float) -> "PatternCounts":
        """The counts after every answer was flipped with chance `flip`: right to wrong, and back.

        Those who gave one answer and keep it are binomial, given
        everybody's answers to the other item. O(reps · sets).
        """
        counts = self.counts.copy()
        for place in range(2, counts.ndim):
            by_answer = np.moveaxis(counts, place, 0)  # shares memory
            right_again = rng.binomial(by_answer[RIGHT], 1 - flip)
            wrong_flipped = rng.binomial(by_answer[WRONG], flip)
            answering = by_answer[RIGHT] + by_answer[WRONG]
            by_answer[RIGHT] = right_again + wrong_flipped
            by_answer[WRONG] = answering - by_answer[RIGHT]
        return PatternCounts(counts, self.sets, self.items)

    def rows(self) -> tuple[Booleans, Booleans]:
        """Answers and which are observed, (reps, n, m) both.

        Persons come in the order of their sets and answers, which
        tells nothing more.
        """
        reps = len(self.counts)
        answers = np.zeros((reps, self.persons, self.items), bool)
        observed = np.zeros_like(answers)
        shape = self.counts.shape[1:]
        person = np.arange(self.persons)
        for rep in range(reps):
            cell = np.repeat(np.arange(self.counts[rep].size), self.counts[rep].ravel())
            number, *kinds = np.unravel_index(cell, shape)
            for place, kind in enumerate(kinds):
                item = self.sets[number, place]
                answers[rep, person, item] = kind == RIGHT
                observed[rep, person, item] = kind <= WRONG
        return answers, observed


def draw_patterns(
    rng: np.random.Generator,
    times: Integers,
    sets: Integers,
    kinds_of: Callable[[slice], Floats],
    weights: Floats,
) -> PatternCounts:
    """Answers of persons, `times` of whom were asked each set, (reps, sets).

    kinds_of: gives for some replications (kinds, reps, points,
    m), the chance of each kind of answer at some abilities.
    weights: (points,), shares of these abilities. Multinomial
    given the times.
    """
    reps = len(times)
    parts = []
    length = max(1, CELLS // (len(weights) * (int(sets.max()) + 1)))
    for start in range(0, reps, length):
        rows = slice(start, start + length)
        kinds = kinds_of(rows)
        items = kinds.shape[3]
        chances = pattern_chances(sets, kinds, weights)
        flat = chances.reshape(len(chances), len(sets), -1)
        counts = rng.multinomial(times[rows], flat / flat.sum(axis=2, keepdims=True))
        parts.append(counts.reshape(chances.shape))
    return PatternCounts(np.concatenate(parts), sets, items)


def pattern_chances(sets: Integers, kinds: Floats, weights: Floats) -> Floats:
    """Chances of what a person answers to each set, (reps, sets, kinds) or twice kinds.

    Answers are independent given the ability. sets: (sets, 1 or
    2). kinds: (kinds, reps, points, m). weights: (points,).
    """
    if sets.shape[1] == 1:
        single = np.einsum("krgi,g->rik", kinds, weights)
        return np.ascontiguousarray(single[:, sets[:, 0]])
    first, second = sets.T
    number = len(kinds)
    chances = np.empty((kinds.shape[1], len(sets), number, number))
    for of_first in range(number):
        weighted = kinds[of_first] * weights[:, None]
        for of_second in range(number):
            both = weighted.mT @ kinds[of_second]
            chances[:, :, of_first, of_second] = both[:, first, second]
    return chances
