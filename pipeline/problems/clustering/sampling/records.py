"""Whole records of users, drawn one after the other: compiled.

Several bits about one record depend on each other, and so do a curator's
sums over it: there, the counts of users that single bits need do not
suffice. Memory does not grow with the users.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from pipeline.kernels.loader import function
from pipeline.study.arrays import Integers

from ..model import Users

READINGS = ("agree", "positive", "equal")  # as the compiled code numbers them
RECORDS = """
    bits: generator
    n: size; 1 <= n < 2**31
    clusters: i8[n] below width
    classes: size; classes >= 1
    left: out i8[classes]; left >= 0 and left.sum() < 2**31
    width: size
    likes: f8[classes, width]
    w: size; w <= n
"""
_sense = function(
    __file__,
    "sense",
    f"""{RECORDS}
    questions: size
    size_law: f8[n + 1]
    keep: f8
    counts: out i8[2, n]
""",
)
_ask_pairs = function(
    __file__,
    "ask_pairs",
    f"""{RECORDS}
    questions: size; questions <= (w * (w - 1) // 2 if known else n * (n - 1) // 2) and n < 2**16
    first: i8[n * (n - 1) // 2] below n
    second: i8[n * (n - 1) // 2] below n
    dealt: size; dealt <= 1
    order: i8[n * (n - 1) // 2] below n * (n - 1) // 2
    known: size; known <= 1
    reading: size; reading <= 2
    keep: f8
    counts: out i8[2, n * (n - 1) // 2]
""",
)
_co_occur = function(
    __file__,
    "co_occur",
    f"""{RECORDS}
    counts: out i8[2, n, n]
""",
)


@dataclass(frozen=True)
class PairQuestions:
    """What each user is asked: `count` different pairs of items, one bit about each.

    reading: when the sketch of a pair is 1, see `PairwisePreference`.
    is_dealt: pairs are dealt out round and round, in a random order; else
    every user gets random ones. of_rated: pairs are of the items that the
    user has rated. keep: probability that a bit is released as it is.
    """

    count: int
    reading: str
    is_dealt: bool
    of_rated: bool
    keep: float


def bits_of_sets(
    rng: np.random.Generator, data: Users, chance: float, questions: int, keep: float
) -> Integers:
    """(reps, 2, N): of how many sets with a bit 0, and with a bit 1, an item is a member.

    Each user answers about so many sets, which are independent of each
    other; an item is in a set with that chance. The sketch of a set is
    whether the user likes an item of it. O(reps · U · (w + questions · N
    · chance)).
    """
    items = data.items
    counts = np.zeros((len(data.truth.clusters), 2, items), np.int64)
    size_law = special.bdtr(np.arange(items + 1), items, chance)
    for r, of_replication in enumerate(counts):
        _sense(*_record_law(rng, data, r), questions, size_law, keep, of_replication)
    return counts


def bits_of_pairs(rng: np.random.Generator, data: Users, questions: PairQuestions) -> Integers:
    """(reps, 2, pairs): how many bits about a pair are 0, and how many are 1.

    Pairs are in the order of `numpy.triu_indices`. O(reps · U ·
    questions²), and w more where pairs are of rated items.
    """
    first, second = np.triu_indices(data.items, 1)
    pairs = first.size
    order = np.arange(pairs)
    counts = np.zeros((len(data.truth.clusters), 2, pairs), np.int64)
    for r, of_replication in enumerate(counts):
        if questions.is_dealt:
            order = rng.permutation(pairs)
        _ask_pairs(
            *_record_law(rng, data, r),
            questions.count,
            first,
            second,
            int(questions.is_dealt),
            order,
            int(questions.of_rated),
            READINGS.index(questions.reading),
            questions.keep,
            of_replication,
        )
    return counts


def co_occurrences(rng: np.random.Generator, data: Users, r: int) -> Integers:
    """(2, pairs): how many users of replication r rated both items otherwise, and how many alike.

    Pairs are in the order of `numpy.triu_indices`. O(U · w²).
    """
    items = data.items
    counts = np.zeros((2, items, items), np.int64)
    _co_occur(*_record_law(rng, data, r), counts)
    first, second = np.triu_indices(items, 1)
    of_pairs: Integers = counts[:, first, second]
    return of_pairs


def symmetric(of_pairs: Integers, items: int) -> Integers:
    """(reps, N, N): numbers (reps, pairs) at both places of each pair, 0 on the diagonal.

    >>> symmetric(np.array([[1, 2, 3]]), 3)[0].tolist()
    [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    """
    first, second = np.triu_indices(items, 1)
    matrix = np.zeros((len(of_pairs), items, items), np.int64)
    matrix[:, first, second] = of_pairs
    matrix[:, second, first] = of_pairs
    return matrix


def _record_law(rng: np.random.Generator, data: Users, r: int) -> tuple[object, ...]:
    """What every kernel needs to draw the records of replication r."""
    return (
        rng.bit_generator,
        data.items,
        np.ascontiguousarray(data.truth.clusters[r], np.int64),
        len(data.classes),
        np.array(data.classes, np.int64),
        data.truth.count,
        np.ascontiguousarray(data.b, np.float64),
        data.w,
    )
