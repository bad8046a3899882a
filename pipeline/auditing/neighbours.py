"""Level 4: neighbours from a declared relation, and the search for the pair that tells most.

The search climbs on samples of one stream; what it finds is certified on fresh ones.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair, Plan, strength
from pipeline.auditing.subject import Raised, Subject
from pipeline.study.arrays import Array
from pipeline.study.parameters import Checked, parameter

RELATIONS = ("replace_one", "add_remove", "one_answer")
STEPS = 60
TRIED = 2_000  # samples of either data set, by which pairs are compared
PATIENCE = 15  # steps without a better pair, after which the search ends


@runtime_checkable
class Relation(Protocol):
    """Neighbours of a kind: where to start, and how to change a pair a little."""

    def starts(self) -> Sequence[Pair]:
        """Pairs to begin with, extremes among them."""

    def moved(self, pair: Pair, rng: np.random.Generator) -> Pair | None:
        """A pair near another one; None where there are no others than the starts."""


@dataclass(frozen=True)
class Neighbours(Checked):
    """Arrays (people, answers) of numbers between two ends, of which one person's row differs.

    relation: `replace_one`, the row replaced by any other; `add_remove`, there or not;
    `one_answer`, one number of it replaced. flat: arrays (people,), of one answer each.

    >>> [pair.name for pair in Neighbours(people=3, answers=1).starts()][0]
    'all 0, one person 1'
    """

    people: int = parameter("people", unit="people", low=1)
    answers: int = parameter("answers of a person", default=1, low=1)
    low: float = parameter("least answer", default=0.0)
    high: float = parameter("greatest answer", default=1.0)
    relation: str = parameter("what differs", default="replace_one", choices=RELATIONS)
    whole: bool = parameter("whether answers are whole numbers", default=True)
    flat: bool = parameter("arrays (people,) in place of (people, answers)", default=False)

    def starts(self) -> Sequence[Pair]:
        """Extremes: all low or high or in turns, and one person opposite, one answer or all."""
        pairs = list(self._extremes())
        return [self._shaped(pair) for pair in pairs]

    def moved(self, pair: Pair, rng: np.random.Generator) -> Pair | None:
        """One number of the others changed, or of the person who differs."""
        first = np.array(pair.first, float).reshape(-1, self.answers)
        second = np.array(pair.second, float).reshape(-1, self.answers)
        column = rng.integers(self.answers)
        value = self._value(rng)
        others = len(second) - 1 if self.relation != "add_remove" else len(second)
        if others > 0 and rng.random() < 0.5:
            row = rng.integers(others)
            first[row, column] = value
            second[row, column] = value
        elif self.relation == "add_remove":
            first[-1, column] = value
        elif self.relation == "one_answer":
            differs = first[-1] != second[-1]
            first[-1, column] = value
            second[-1, ~differs] = first[-1, ~differs]
        elif rng.random() < 0.5:
            first[-1, column] = value
        else:
            second[-1, column] = value
        return self._shaped(Pair(f"found by climbing from {_origin(pair)}", first, second))

    def _value(self, rng: np.random.Generator) -> float:
        if rng.random() < 0.5:
            return float(rng.choice([self.low, self.high]))
        value = rng.uniform(self.low, self.high)
        return float(np.round(value)) if self.whole else float(value)

    def _extremes(self) -> Iterator[Pair]:
        shape = (self.people, self.answers)
        turns = np.where(np.indices(shape).sum(axis=0) % 2, self.low, self.high)
        bases = {
            f"all {self.low:g}": np.full(shape, self.low),
            f"all {self.high:g}": np.full(shape, self.high),
            "in turns": turns,
        }
        for name, base in bases.items():
            opposite = self.low + self.high - base[-1]
            if self.relation == "add_remove":
                yield Pair(f"{name}, one person less", base, base[:-1].copy())
                continue
            changes = {"one answer": opposite.copy()}
            changes["one answer"][1:] = base[-1, 1:]
            if self.relation == "replace_one":
                changes = {f"one person {opposite[0]:g}": opposite, **changes}
                half = opposite.copy()
                half[self.answers // 2 :] = base[-1, self.answers // 2 :]
                changes["half of the answers"] = half
            for change, row in changes.items():
                second = base.copy()
                second[-1] = row
                yield Pair(f"{name}, {change}", base, second)

    def _shaped(self, pair: Pair) -> Pair:
        if not self.flat:
            return pair
        return Pair(pair.name, np.ravel(pair.first), np.ravel(pair.second))


def _origin(pair: Pair) -> str:
    return pair.name.removeprefix("found by climbing from ")


def worst(
    subject: Subject, pairs: Sequence[Pair], promise: Promise, plan: Plan, relation: Relation | None
) -> list[tuple[float, Pair]]:
    """Pairs by how much of the promise they seem to spend, the most first, by few samples each.

    With a relation that moves pairs, the best one is changed a little, again and again, and kept
    where it is better on the same stream.
    """
    ranked = [(_tried(subject, pair, promise, plan), pair) for pair in pairs]
    ranked.sort(key=lambda entry: -entry[0])
    if relation is None:
        return ranked
    rng = np.random.default_rng([plan.seed, 4])
    most, best = ranked[0]
    since = 0
    for _ in range(STEPS):
        if since > PATIENCE or time.monotonic() > plan.deadline:
            break
        candidate = relation.moved(best, rng)
        if candidate is None:
            break
        since += 1
        share = _tried(subject, candidate, promise, plan)
        if share > most:
            most = share
            best = candidate
            since = 0
    if best is not ranked[0][1]:
        ranked.insert(0, (most, best))
    return ranked


def _tried(subject: Subject, pair: Pair, promise: Promise, plan: Plan) -> float:
    try:
        return strength(subject, pair, promise, TRIED, plan.seed)
    except Raised:
        return float("inf")  # it fails on this pair: to be looked at first


def same_data(first: object, second: object) -> bool:
    """Whether two arrays, texts, sets, mappings or frames are equal, or two others the same object."""
    if isinstance(first, str | bytes | set | frozenset | dict) or hasattr(first, "equals"):
        return _same(first, second)
    if not isinstance(first, np.ndarray | list | tuple | int | float | np.number):
        return first is second
    try:
        ours: Array = np.asarray(first)
        theirs: Array = np.asarray(second)
    except ValueError:  # rows of several lengths
        return first is second
    return ours.shape == theirs.shape and bool((ours == theirs).all())


def _same(first: Any, second: Any) -> bool:  # noqa: ANN401 - data sets of any type
    """Whether two objects say that they are equal."""
    try:
        if hasattr(first, "equals"):
            return bool(first.equals(second))
        return bool(first == second)
    except Exception:  # whatever an object says to that; arrays in a mapping say nothing
        return first is second
