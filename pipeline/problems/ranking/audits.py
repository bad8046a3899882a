"""Rankings in audits: few items, and one user whose comparisons are replaced."""

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from pipeline.problems.common.stated_noise import stated
from pipeline.study.arrays import Integers
from pipeline.study.audits import Audits, Neighbouring, StatedNoise
from pipeline.study.guarantee import THERE_OR_NOT
from pipeline.study.parameters import InvalidInput

from .design import Budgets
from .mechanisms.curator import CuratorNoise, NoisyCounts
from .mechanisms.shuffled import ShuffledResponse
from .model import Comparisons, CountedComparisons

MOST_ANSWERS = 4  # comparisons of a user, up to which all pairs of users are compared
Mechanism: TypeAlias = Budgets | CuratorNoise | ShuffledResponse
Row: TypeAlias = tuple[int, ...]


def pairs(mechanism: Mechanism) -> Sequence[Neighbouring]:
    """Data sets in which one user's comparisons are replaced by others of the same pairs.

    All others prefer the item with the smaller number. All replacements of few
    comparisons; of many the opposite of all and of one.
    """
    count = mechanism.m * (mechanism.m - 1) // 2
    answered = min(mechanism.answers, count)
    if mechanism.promise().relation == THERE_OR_NOT:
        allowed = "cannot be audited: how often pairs are compared is public, and differs"
        raise InvalidInput("neighbours_are", "add_remove", f"{allowed}; audit replace_one")
    rows = _rows(answered)
    datasets = [_data(mechanism, np.array(row), count) for row in rows]
    named = []
    for i, j in _both(answered, len(rows)):
        name = f"a user's comparisons {_text(rows[i])} replaced by {_text(rows[j])}"
        named.append(Neighbouring(name, datasets[i], datasets[j]))
    return named


def _rows(answered: int) -> list[Row]:
    """All outcomes of so many comparisons; of many all, none, all but one, in turns."""
    if answered <= MOST_ANSWERS:
        return list(product((1, 0), repeat=answered))
    most = (1,) * answered
    turns = tuple(number % 2 for number in range(answered))
    opposite = tuple(1 - number for number in turns)
    return [most, (0,) * answered, (0, *most[1:]), turns, opposite]


def _both(answered: int, rows: int) -> list[tuple[int, int]]:
    """Numbers of the rows that are compared: all of few, else opposites and one comparison."""
    if answered <= MOST_ANSWERS:
        return [(i, j) for i in range(rows) for j in range(i)]
    return [(0, 1), (0, 2), (3, 4)]


def _text(row: Row) -> str:
    return "".join(map(str, row))


def _data(mechanism: Mechanism, row: Integers, count: int) -> CountedComparisons:
    """Users of a balanced survey who won all comparisons, and a last one with a row of her own."""
    wins = np.zeros((1, count), int)
    trials = np.zeros((1, count), int)
    answered = len(row)
    for user in range(mechanism.L):
        compared = (user * answered + np.arange(answered)) % count
        trials[0, compared] += 1
        wins[0, compared] += 1 if user < mechanism.L - 1 else row
    return CountedComparisons(wins, trials, mechanism.m)


def repeated(data: CountedComparisons, reps: int) -> CountedComparisons:
    """The same comparisons in so many replications."""
    wins = np.broadcast_to(data.wins, (reps, data.wins.shape[1]))
    return CountedComparisons(wins, data.trials, data.m)


def noise(mechanism: Mechanism) -> StatedNoise | None:
    """The integer noise on the wins of each pair; None where what is released mixes several."""
    if not isinstance(mechanism, NoisyCounts) or mechanism.compared_are != "public":
        return None
    return stated(mechanism.noise, mechanism.width)


AUDITS = Audits(
    Comparisons,
    pairs,
    repeated,
    parameters={"m": 3, "L": 1},
    particular={"shuffled_response": {"L": 3}},
    noise=noise,
)
