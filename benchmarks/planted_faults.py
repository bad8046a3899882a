"""Faults that are planted in right mechanisms, and how many of them audits find.

Nine mechanisms, each with the kinds of faults of `pipeline.auditing.faults` that can be planted in
it, and with faults of its own code. Answers are kept in outputs/audits/planted_faults.json, so that
the same command goes on. `python -m benchmarks.planted_faults 5` stops after five new ones.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from benchmarks.kept_answers import Kept
from pipeline.auditing.audit import Case, Options, audit
from pipeline.auditing.faults import FAULTS, Site, planted
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Subject

OPTIONS = Options(samples=3_000_000, repeats=0, seconds=900.0)
EPSILON = 1.0
FLIP = 1 / (1 + np.exp(EPSILON))
BAR = 0.95
Dataset: TypeAlias = Any  # each mechanism has a kind of its own
Output: TypeAlias = Any
Mechanism = Callable[[Dataset, int, np.random.Generator], Output]


@dataclass(frozen=True)
class Right:
    """A right mechanism, its promise of ε = 1, and a pair of neighbours that is hard to tell."""

    name: str
    mechanism: Mechanism
    first: Dataset
    second: Dataset
    epsilon: float = EPSILON
    spent: float = EPSILON  # on this pair, exactly


def flips(chance: float) -> Mechanism:
    """Every bit is flipped with a chance."""

    def mechanism(bits: Dataset, samples: int, rng: np.random.Generator) -> Output:
        values = np.asarray(bits, bool)
        return (rng.random((samples, values.size)) < chance) ^ values

    return mechanism


def sums(scale: float, law: str = "geometric", step: float = 1.0) -> Mechanism:
    """The sum of numbers, with integer noise of a scale, or other noise on a grid."""

    def mechanism(numbers: Dataset, samples: int, rng: np.random.Generator) -> Output:
        total = np.sum(numbers)
        if law == "geometric":
            stop = 1 - np.exp(-1 / scale)
            return total + rng.geometric(stop, samples) - rng.geometric(stop, samples)
        return np.round((total + rng.laplace(scale=scale, size=samples)) / step) * step

    return mechanism


def histogram(scale: float) -> Mechanism:
    """Counts of each of three answers, with integer noise; a replaced person changes two."""

    def mechanism(answers: Dataset, samples: int, rng: np.random.Generator) -> Output:
        counts = np.bincount(answers, minlength=3)
        stop = 1 - np.exp(-1 / scale)
        size = (samples, 3)
        return counts + rng.geometric(stop, size) - rng.geometric(stop, size)

    return mechanism


def choice(budget: float) -> Mechanism:
    """The exponential mechanism for qualities that change by 1."""

    def mechanism(qualities: Dataset, samples: int, rng: np.random.Generator) -> Output:
        weights = np.exp(budget * np.asarray(qualities, float) / 2)
        return rng.choice(weights.size, samples, p=weights / weights.sum())

    return mechanism


def maximum(scale: float) -> Mechanism:
    """Which count is largest after noise."""

    def mechanism(counts: Dataset, samples: int, rng: np.random.Generator) -> Output:
        values = np.asarray(counts, float)
        return np.argmax(values + rng.laplace(scale=scale, size=(samples, values.size)), axis=1)

    return mechanism


def unary(chance: float) -> Mechanism:
    """One of four answers as four bits, each flipped; two of them differ."""

    def mechanism(answer: Dataset, samples: int, rng: np.random.Generator) -> Output:
        return (rng.random((samples, 4)) < chance) ^ (np.arange(4) == answer)

    return mechanism


def of_many(keep: float) -> Mechanism:
    """One of four answers, kept with a chance, else another one."""

    def mechanism(answer: Dataset, samples: int, rng: np.random.Generator) -> Output:
        law = np.full(4, (1 - keep) / 3)
        law[answer] = keep
        return rng.choice(4, samples, p=law)

    return mechanism


HALF_FLIP = 1 / (1 + np.exp(EPSILON / 2))
KEEP = np.exp(EPSILON) / (np.exp(EPSILON) + 3)
QUALITIES = ([1, 0, 0, 0], [0, 1, 1, 1])
ROOT = np.exp(EPSILON / 2)
SPENT = float(np.log(ROOT * (1 + 3 * ROOT) / (ROOT + 3)))  # by a choice among four
RIGHT = [
    Right("one bit", flips(FLIP), [0], [1]),
    Right("three bits", flips(FLIP), [0, 1, 1], [0, 1, 0]),
    Right("a count", sums(1.0), [1, 0], [1, 1]),
    Right("a sum of answers to 4", sums(4.0), [1, 0], [1, 4]),
    Right("a sum on a grid", sums(1.0, "laplace", 1 / 64), [1, 0], [1, 1]),
    Right("a histogram", histogram(2.0), [0, 1, 2, 2], [0, 1, 2, 1]),
    Right("a choice", choice(EPSILON), *QUALITIES, spent=SPENT),
    Right("one of four answers", of_many(KEEP), 0, 1),
    Right("four bits for an answer", unary(HALF_FLIP), 0, 1),
]
OWN_FAULTS: dict[str, list[tuple[str, Mechanism]]] = {
    "one bit": [("flipped too rarely", flips(FLIP * 0.8))],
    "three bits": [("flipped too rarely", flips(FLIP * 0.8))],
    "a count": [("scale × 0.8", sums(0.8)), ("scale × 0.5", sums(0.5))],
    "a sum of answers to 4": [("sensitivity 1", sums(1.0)), ("sensitivity 3", sums(3.0))],
    "a sum on a grid": [("scale × 0.8", sums(0.8, "laplace", 1 / 64))],
    "a histogram": [("sensitivity 1", histogram(1.0))],
    "a choice": [("half of the sensitivity", choice(2 * EPSILON))],
    "one of four answers": [("kept too often", of_many(KEEP * 1.2))],
    "four bits for an answer": [("the whole budget twice", unary(FLIP))],
}


def wrong_ones() -> Iterator[tuple[str, Case]]:
    """Name of a mechanism and a fault -> what is to be audited."""
    for right in RIGHT:
        promise = Promise(right.epsilon)
        subject = Subject.of(right.mechanism)
        pair = Pair("two neighbours", right.first, right.second)
        yield from _named_kinds(right, subject, promise, pair)
        for fault, mechanism in OWN_FAULTS[right.name]:
            yield f"{right.name}, {fault}", Case(Subject.of(mechanism), promise, [pair])


def _named_kinds(
    right: Right, subject: Subject, promise: Promise, pair: Pair
) -> Iterator[tuple[str, Case]]:
    site = Site.of(subject, pair, promise, right.spent)
    for fault in FAULTS:
        spoiled = planted(fault, site)
        if spoiled is not None:
            yield f"{right.name}, {fault}", Case(spoiled, promise, [pair])


def main(most: int | None = None) -> None:
    """Audit those that were not audited, so many at most, and print which were not found."""
    kept = Kept("planted_faults")
    every = list(wrong_ones())
    for name, case in kept.missing(every, most):
        answer = audit(case, OPTIONS)
        kept.add(name, answer.violates)
        print(f"  {name}: {answer.verdict}, by {answer.level}", flush=True)
    known = {name: kept.answers[name] for name, _ in every if name in kept.answers}
    missed = [name for name, is_found in known.items() if not is_found]
    found = len(known) - len(missed)
    print(f"{found} of {len(known)} faults found, {len(every)} in all; bar {BAR:.0%}")
    for name in missed:
        print(f"  not found: {name}")


if __name__ == "__main__":
    words: Sequence[str] = sys.argv[1:]
    main(int(words[0]) if words else None)
