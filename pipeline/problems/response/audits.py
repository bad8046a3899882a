"""Responses in audits: few items, and one person whose row is replaced."""

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import TypeAlias

import numpy as np

from pipeline.problems.common.stated_noise import stated
from pipeline.study.audits import Audits, Neighbouring, StatedNoise
from pipeline.study.guarantee import THERE_OR_NOT

from .mechanisms.noisy_differences import NoisyDifferences
from .mechanisms.randomized_response import RandomizedResponse
from .mechanisms.shuffled import ShuffledResponse
from .model import GivenResponses, Responses

PERSONS = 2
MOST_ITEMS = 4  # that a person answers, up to which all rows are compared with all others
MOST_ROWS = 20
Mechanism: TypeAlias = NoisyDifferences | RandomizedResponse | ShuffledResponse
Row: TypeAlias = tuple[float, ...]


def pairs(mechanism: Mechanism) -> Sequence[Neighbouring]:
    """Data sets in which one person's row is replaced by another, or by one without answers.

    A person answers as many items as the mechanism charges: the same ones before and after, also
    others where it protects which they are.
    """
    persons = getattr(mechanism, "n", PERSONS)
    answered = mechanism.answers
    if mechanism.promise().relation == THERE_OR_NOT:
        return _there_or_not(mechanism.m, persons, answered)
    rows = _rows(mechanism, persons)
    datasets = [_data(row, persons, answered) for row in rows]
    named = []
    for i, j in _both(answered, len(rows)):
        name = f"a person's answers {_text(rows[i])} replaced by {_text(rows[j])}"
        named.append(Neighbouring(name, datasets[i], datasets[j]))
    return named


def _rows(mechanism: Mechanism, persons: int) -> list[Row]:
    """Rows that a person may have: all answers to few items; of many half of them, and extremes."""
    answered = mechanism.answers
    if answered <= MOST_ITEMS:
        chosen = [_items_of(persons - 1, answered, mechanism.m)]
        if isinstance(mechanism, NoisyDifferences):
            chosen = list(combinations(range(mechanism.m), answered))
        answers = list(product((1.0, 0.0), repeat=answered))
        return [_row(items, row, mechanism.m) for items in chosen for row in answers][:MOST_ROWS]
    items = _items_of(persons - 1, answered, mechanism.m)
    half = tuple(float(item < answered // 2) for item in range(answered))
    opposite = tuple(1 - answer for answer in half)
    right = (1.0,) * answered
    wrong = (0.0,) * answered
    but_one = (0.0, *right[1:])
    return [_row(items, row, mechanism.m) for row in (half, opposite, right, wrong, but_one)]


def _both(answered: int, rows: int) -> list[tuple[int, int]]:
    """Numbers of the rows that are compared: all of few items, else opposites and one answer."""
    if answered <= MOST_ITEMS:
        return [(i, j) for i in range(rows) for j in range(i)]
    return [(0, 1), (2, 3), (2, 4)]


def _items_of(person: int, answered: int, items: int) -> Sequence[int]:
    """The items that a person of a balanced survey answers."""
    return [(person * answered + k) % items for k in range(answered)]


def _row(items: Sequence[int], answers: Row, count: int) -> Row:
    row = np.full(count, math.nan)
    row[list(items)] = answers
    return tuple(row.tolist())


def _there_or_not(items: int, persons: int, answered: int) -> Sequence[Neighbouring]:
    absent = _data((math.nan,) * items, persons, answered)
    named = []
    for split in range(1, answered):
        answers = tuple(float(item < split) for item in range(answered))
        row = _row(range(answered), answers, items)
        name = f"a person's answers {_text(row)} or none"
        named.append(Neighbouring(name, _data(row, persons, answered), absent))
    return named


def _text(row: Row) -> str:
    return "".join("·" if math.isnan(answer) else str(int(answer)) for answer in row)


def _data(row: Row, persons: int, answered: int) -> GivenResponses:
    """Persons who are right wherever they are asked, and a last one with a row of her own."""
    answers = np.full((persons, len(row)), math.nan)
    for person in range(persons - 1):
        answers[person, _items_of(person, answered, len(row))] = 1.0
    answers[-1] = row
    return Responses.from_array(answers)


def repeated(data: GivenResponses, reps: int) -> GivenResponses:
    """The same responses in so many replications."""
    answers = np.repeat(data.answers, reps, axis=0)
    if data.observed is None:
        return GivenResponses(answers, None)
    return GivenResponses(answers, np.repeat(data.observed, reps, axis=0))


def noise(mechanism: Mechanism) -> StatedNoise | None:
    """The integer noise on all counts of pairs; None where a random graph decides on it."""
    if not isinstance(mechanism, NoisyDifferences) or mechanism.p0 < 1:
        return None
    return stated(mechanism.noise, mechanism.noise_width)


AUDITS = Audits(
    Responses,
    pairs,
    repeated,
    parameters={"m": 3, "n": PERSONS},
    particular={"randomized_response": {"n": 1}, "shuffled_response": {"n": 3}},
    lent=("linked", "inclusion"),
    noise=noise,
)
