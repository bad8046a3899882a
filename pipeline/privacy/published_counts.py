"""Tables of counts of real people's answers, released once with OpenDP's
noise.

A person's share is bounded first.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.privacy.budgeted_noise import BudgetedNoise, GaussianNoise, LaplaceNoise
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.study.arrays import Integers
from pipeline.study.parameters import Checked, parameter

# Counts that one answer of a person may change, by 1 each.
CHANGED = {"replace_one": 2, "add_remove": 1}
# What one row can change where rows carry names: see `CountNoise`.
ONE_ROW = {"replace_one": Sensitivity(4, 8), "add_remove": Sensitivity(2, 2)}


class PublishedCounts(NamedTuple):
    """counts: (groups, 2), noisy. noise: parameter of its law. spent:
    budgets.
    """

    counts: Integers
    noise: dict[str, float]
    sensitivity: Sensitivity
    spent: dict[str, float]


def bounded_counts(
    person: Sequence[str] | None,
    group: Integers,
    side: Integers,
    times: Integers,
    groups: int,
    most: int,
) -> Integers:
    """(groups, 2): answers by group and side, of each person the first
    `most` groups.

    First in the order of the rows. person: (rows,), names, or None where
    rows name no person: then every answer counts. group, side, times:
    (rows,), which of `groups`, 0 or 1, and how many answers a row stands
    for, 1 where persons are named. Of several answers of a person in one
    group the first counts. So a person adds 1 to `most` of the counts at
    most. O(rows).

    >>> group, side, times = np.array([0, 0, 1]), np.array([1, 0, 1]), np.ones(3, int)
    >>> bounded_counts(["u", "u", "u"], group, side, times, groups=2, most=1).tolist()
    [[0, 1], [0, 0]]
    """
    counts = np.zeros((groups, 2), np.int64)
    if person is not None:
        rows = _first_groups(person, group, most)
        group = group[rows]
        side = side[rows]
        times = times[rows]
    np.add.at(counts, (group, side), times)
    return counts


def _first_groups(person: Sequence[str], group: Integers, most: int) -> list[int]:
    """The rows that count: of each person the first of each of the first
    `most` groups.
    """
    groups_of: dict[str, set[int]] = {}
    rows = []
    for row, (name, number) in enumerate(zip(person, group.tolist(), strict=True)):
        counted = groups_of.setdefault(name, set())
        if number not in counted and len(counted) < most:
            counted.add(number)
            rows.append(row)
    return rows


@dataclass(frozen=True)
class CountNoise(Checked, ABC):
    """Integer noise on every count of a table, in which a person adds 1 to
    at most k of the counts.

    k is the number of groups, or `most` if that is less. Where rows name no
    person, one answer is the unit: it adds 1 to one count. Where they do,
    neighbours differ in all rows of one name, which are replaced by others
    of that name or of a new one (there or not, with
    neighbours_are=add_remove), or in any one row, whatever name stands in
    it afterwards. For `bounded_counts`:

    - All rows of a name: k counts less and k others more by 1, so that both
      sums are at most 2k, or k where they are there or not.
    - One row less of a name takes at most one count from it, A, and lets at
      most one other in, B: the next row of the same group, or else the
      first of the next group. One row more is the same in reverse: +N − C.
      So one row there or not changes both sums by at most 2.
    - One row replaced by another name's is one less of the one, −A + B, and
      one more of the other, N − C. Absolute values add up to at most 4,
      squares to 8, where A = C and B = N.

    What is charged is the larger, and is attained: max(2k, 4) in absolute
    values and max(2k, 8) in squares, or max(k, 2) in both. What is spent is
    by OpenDP's own map, which rounds up.
    """

    epsilon_user: float = parameter(
        "privacy budget of all answers of a person", unit="nats", above=0
    )
    neighbours_are: str = parameter(
        "what differs between neighbours: the answers are replaced, or present or absent",
        default="replace_one",
        choices=tuple(CHANGED),
    )

    @property
    @abstractmethod
    def noise(self) -> BudgetedNoise:
        """Law of the noise on every count, and what it spends."""

    def publish(self, counts: Integers, most: int, named: bool) -> PublishedCounts:
        """The counts, (groups, 2), each with its own noise, once; 10 µs a
        count.

        most: groups in which one person is counted, 1 where rows name none.
        named: whether they do. Raises InvalidInput for a budget whose noise
        is too wide or none, and without OpenDP.
        """
        sensitivity = self.sensitivity(min(most, len(counts)), named)
        charge = self.noise.charge(sensitivity)
        self.noise.checked_width("epsilon_user", self.epsilon_user, charge)
        released = self.noise.publish(counts, charge)
        return PublishedCounts(released.counts, released.noise, sensitivity, released.spent)

    def sensitivity(self, most: int, named: bool) -> Sensitivity:
        """What neighbours can change: `count_sensitivity`."""
        return count_sensitivity(most, named, self.neighbours_are)


def count_sensitivity(most: int, named: bool, neighbours_are: str) -> Sensitivity:
    """What neighbours can change in a table of counts, see `CountNoise`.

    most: counts to which one person adds 1. named: whether rows name
    persons. neighbours_are: `replace_one` or `add_remove`.

    >>> count_sensitivity(5, True, "replace_one")
    Sensitivity(absolute=10, squared=10)
    """
    persons = CHANGED[neighbours_are] * most
    if not named:
        return Sensitivity(persons, persons)
    row = ONE_ROW[neighbours_are]
    return Sensitivity(max(persons, row.absolute), max(persons, row.squared))


@dataclass(frozen=True)
class GaussianCounts(CountNoise):
    """Discrete Gaussian noise of variance Δ²/(2ρ): ρ-zCDP, hence (ε, δ)-DP.

    For all answers of a person.
    Source: Canonne, Kamath and Steinke (2020), Theorem 4.
    """

    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-6, above=0, below=1)
    conversion: str = parameter(
        "how ε at δ becomes zCDP", default="tight", choices=("tight", "bun_steinke")
    )

    @property
    def noise(self) -> BudgetedNoise:
        """Its law and what it spends."""
        return GaussianNoise(self.epsilon_user, self.delta, self.conversion)


@dataclass(frozen=True)
class LaplaceCounts(CountNoise):
    """Discrete Laplace noise of scale Δ/ε: pure ε-DP for all answers of a
    person.

    Source: Ghosh, Roughgarden and Sundararajan (2009).
    """

    @property
    def noise(self) -> BudgetedNoise:
        """Its law and what it spends."""
        return LaplaceNoise(self.epsilon_user)
