"""Who answers which items: each person k of the m, by one of two designs.

`random`: each person has a subset of k items, all subsets equally
likely. `balanced`: items are dealt out round and round, so that
each is answered equally often, ± 1. The order is drawn anew as
soon as all items had their turn equally often, so that a person's
subset is as likely as any other, too. With k = 2 every pair of
items is dealt out equally often as well, ± 1.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pipeline.kernels.loader import function
from pipeline.problems.common.assigned import assigned
from pipeline.problems.common.questions import times_asked
from pipeline.study.arrays import Booleans, Integers
from pipeline.study.frozen import read_only

from .pair_counts import SLICE_CELLS

_thin = function(
    __file__,
    "thin",
    """
    bits: generator
    rows: size
    m: size; 1 <= m < 2**31
    k: size; k <= m
    present: b1[rows, m]
    chosen: out b1[rows, m]
""",
)
_deal = function(
    __file__,
    "deal",
    """
    bits: generator
    reps: size
    people: size
    m: size; 1 <= m < 2**31
    k: size; k <= m
    period: size; period >= 1
    chosen: out b1[reps, people, m]
""",
)


class Survey(NamedTuple):
    """Who answers what. questions: items of a person. design: `balanced` or `random`."""

    questions: int
    design: str

    def persons_of_a_round(self, m: int) -> int:
        """Persons after whom all m items had their turn equally often."""
        if self.design == "random":
            return 1
        return m // math.gcd(m, self.questions)

    def slices(self, reps: int, n: int, m: int) -> Iterator[tuple[slice, slice]]:
        """Replications and persons that are drawn at a time; no round of a deal is cut."""
        period = self.persons_of_a_round(m)
        length = max(1, SLICE_CELLS // max(1, n * m))
        width = max(1, SLICE_CELLS // m // period) * period
        for row in range(0, reps, length):
            for person in range(0, n, width):
                yield slice(row, row + length), slice(person, person + width)

    def items(self, rng: np.random.Generator, reps: int, people: int, m: int) -> Booleans:
        """Which items each person is asked, (reps, people, m), from the first of a round on.

        O(reps · people · m), a nanosecond or two each.
        """
        if self.design == "random":
            return assigned("random", people, self.questions, m, reps, rng)
        chosen = np.empty((reps, people, m), bool)
        period = self.persons_of_a_round(m)
        _deal(rng.bit_generator, reps, people, m, self.questions, period, chosen)
        return chosen

    def sets(self, m: int) -> Integers:
        """All sets of items that a person may be asked, one or two, (sets, questions)."""
        if self.questions == 1:
            return np.arange(m)[:, None]
        return np.stack(np.triu_indices(m, 1), axis=1)

    def times(self, rng: np.random.Generator, reps: int, n: int, m: int) -> Integers:
        """How many of n persons are asked each of `sets`, (reps, sets); O(reps · sets), whatever n.

        Joint law of all numbers, of one or two questions.
        """
        if self.questions == 2 and self.design == "balanced" and m > 2:
            return _pairs_dealt(rng, reps, n, m)
        everybody = np.array([n])
        sets = len(self.sets(m))
        return times_asked(self.design, everybody, 1, sets, reps, rng)[:, 0]


def thinned(rng: np.random.Generator, present: Booleans, most: int) -> Booleans:
    """Of the items that each person could answer, `most` at random, or all if they are no more.

    present: (..., m). All choices are equally likely. O(size),
    two nanoseconds each.

    >>> thinned(np.random.default_rng(0), np.ones((3, 5), bool), 2).sum(axis=1).tolist()
    [2, 2, 2]
    """
    m = present.shape[-1]
    rows = present.size // m
    chosen = np.empty(present.shape, bool)
    least = min(most, m)
    _thin(
        rng.bit_generator,
        rows,
        m,
        least,
        np.ascontiguousarray(present).reshape(rows, m),
        chosen.reshape(rows, m),
    )
    return chosen


def _pairs_dealt(rng: np.random.Generator, reps: int, n: int, m: int) -> Integers:
    """How many persons have each pair, (reps, pairs), where pairs are dealt out in turn.

    Items change their names at random in each replication.
    """
    turns = _turns(m)
    rounds, rest = divmod(n, len(turns))
    times = np.full((reps, len(turns)), rounds)
    name = rng.permuted(np.tile(np.arange(m), (reps, 1)), axis=1)
    of_turn = np.sort(name[:, turns[:rest]], axis=2)
    first = of_turn[:, :, 0]
    second = of_turn[:, :, 1]
    number = first * (2 * m - first - 1) // 2 + second - first - 1
    np.put_along_axis(times, number, rounds + 1, axis=1)
    return times


@lru_cache(maxsize=64)
@read_only
def _turns(m: int) -> Integers:
    """All pairs of m items, (pairs, 2), in an order of which every beginning has each item
    equally often, ± 1.

    Even m: rounds in which every item has one partner. Odd m:
    rings of all items, each dealt out two items at a time, twice
    around.
    Source: Walecki (Lucas, 1892); Alspach (2008).

    >>> _turns(4).tolist()
    [[3, 0], [1, 2], [3, 1], [2, 0], [3, 2], [0, 1]]
    """
    if m % 2 == 0:
        return np.array(_rounds(m))
    return np.array(_rings(m))


def _rounds(m: int) -> list[tuple[int, int]]:
    """Of even m: the last item meets one of the others, and these meet around it."""
    pairs = []
    others = m - 1
    for middle in range(others):
        pairs.append((others, middle))
        pairs.extend(
            ((middle + away) % others, (middle - away) % others) for away in range(1, m // 2)
        )
    return pairs


def _rings(m: int) -> list[tuple[int, int]]:
    """Of odd m: a zigzag through all items but the last, which closes the ring, and its turns."""
    pairs: list[tuple[int, int]] = []
    others = m - 1
    zigzag = [0]
    for away in range(1, others // 2 + 1):
        zigzag += [away, others - away]
    zigzag = zigzag[:others]
    for turn in range(others // 2):
        ring = [(item + turn) % others for item in zigzag]
        ring.append(others)
        pairs.extend((ring[first % m], ring[(first + 1) % m]) for first in range(0, 2 * m, 2))
    return pairs
