"""Rankings in audits: few items, and one user whose comparisons are replaced."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from pipeline.study.arrays import Integers
from pipeline.study.audits import Audits, Neighbouring
from pipeline.study.guarantee import THERE_OR_NOT
from pipeline.study.parameters import InvalidInput

from .design import Budgets
from .mechanisms.curator import CuratorNoise
from .model import Comparisons, CountedComparisons

MOST_ANSWERS = 4  # comparisons of a user, up to which all pairs of users are compared


def pairs(mechanism: Budgets | CuratorNoise) -> Sequence[Neighbouring]:
    """Data sets in which one user's comparisons are replaced by others of the same pairs.

    All others prefer the item with the smaller number. All replacements of few
    comparisons; of many the opposite of all and of one.
    """
    count = mechanism.m * (mechanism.m - 1) // 2
    answered = min(mechanism.answers, count)
    if mechanism.promise().relation == THERE_OR_NOT:
        allowed = "cannot be audited: how often pairs are compared is public, and differs"
        raise InvalidInput("neighbours_are", "add_remove", f"{allowed}; audit replace_one")
    if answered <= MOST_ANSWERS:
        rows = [np.array(row) for row in product((1, 0), repeat=answered)]
        both = [(rows[i], rows[j]) for i in range(len(rows)) for j in range(i)]
    else:
        most = np.ones(answered, int)
        but_one = most.copy()
        but_one[0] = 0
        turns = np.arange(answered) % 2
        both = [(most, 1 - most), (most, but_one), (turns, 1 - turns)]
    named = []
    for first, second in both:
        name = f"a user's comparisons {_text(first)} replaced by {_text(second)}"
        datasets = [_data(mechanism, row, count) for row in (first, second)]
        named.append(Neighbouring(name, *datasets))
    return named


def _text(row: Integers) -> str:
    return "".join(map(str, row.tolist()))


def _data(mechanism: Budgets | CuratorNoise, row: Integers, count: int) -> CountedComparisons:
    """L − 1 users who won all comparisons that they made, and one with a row of her own."""
    wins = np.zeros((1, count), int)
    trials = np.zeros((1, count), int)
    answered = min(mechanism.answers, count)
    wins[:, :answered] = mechanism.L - 1
    trials[:, :answered] = mechanism.L
    wins[:, :answered] += row
    return CountedComparisons(wins, trials, mechanism.m)


def repeated(data: CountedComparisons, reps: int) -> CountedComparisons:
    """The same comparisons in so many replications."""
    wins = np.broadcast_to(data.wins, (reps, data.wins.shape[1]))
    return CountedComparisons(wins, data.trials, data.m)


AUDITS = Audits(Comparisons, pairs, repeated, parameters={"m": 3, "L": 1})
