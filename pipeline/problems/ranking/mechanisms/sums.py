"""Sums of comparisons with a curator's noise: one charge, law and variance for
studies and releases.

A study draws seeded noise of this width (`curator`), and `task=release` draws
OpenDP's (`data.release`); neither has a charge, a law or a variance of its own.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from pipeline.privacy.published_counts import PublishedCounts, count_sensitivity
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.curator_sums import PromisedNoise, changed_by_person
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS, promised
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Integers

from ..design import WORDS
from ..theory.score_sensitivity import listed_score_sensitivity


@dataclass(frozen=True)
class ProtectedSums(PromisedNoise, Abstract):
    """Integers that sum up comparisons of people, and the noise that protects
    these.

    With person_delta = 0 noise is discrete Laplace, and pure ε-DP; otherwise it is
    discrete Gaussian, ρ-zCDP, and (ε, δ)-DP.
    Source: Canonne, Kamath and Steinke (2020); Ghosh, Roughgarden and Sundararajan
    (2009).
    """

    person: float = promised(WORDS)
    person_delta: float = PERSON_DELTA
    neighbours_are: str = changed_by_person("a user's comparisons")
    rounds: int = ROUNDS

    @abstractmethod
    def sensitivity(self, m: int, questions: int, named: bool = True) -> Sensitivity:
        """What neighbours can change in these sums of comparisons of m items.

        questions: comparisons of a person that count. named: whether a list of the
        comparisons names people; where it does not, a comparison is a unit by
        itself.
        """

    @abstractmethod
    def sums(self, counts: Integers) -> Integers:
        """What gets noise. counts: (…, pairs, 2), how often the first won, and the
        second.
        """

    def charge(self, m: int, questions: int, named: bool = True) -> int:
        """The sensitivity that the noise hides."""
        return self.noise.charge(self.sensitivity(m, questions, named))

    def width(self, m: int, questions: int, named: bool = True) -> float:
        """Width of the noise; raises InvalidInput where it cannot be drawn."""
        charge = self.charge(m, questions, named)
        self.noise.checked_width("person", self.person, charge, f" at m={m}")
        return self.noise.width(charge)

    def publish(self, counts: Integers, most: int, named: bool) -> PublishedCounts:
        """The sums of real people's comparisons, once, each with OpenDP's noise.

        counts: (pairs, 2). most: comparisons of a person that count. Raises
        InvalidInput for a budget whose noise is too wide or none, and without
        OpenDP.
        """
        pairs = len(counts)
        m = items_of(pairs)
        questions = min(most, pairs)
        self.width(m, questions, named)
        charge = self.charge(m, questions, named)
        released = self.noise.publish(self.sums(counts), charge)
        sensitivity = self.sensitivity(m, questions, named)
        return PublishedCounts(released.counts, released.noise, sensitivity, released.spent)


def items_of(pairs: int) -> int:
    """How many items have so many pairs.

    >>> items_of(45)
    10
    """
    return (1 + math.isqrt(1 + 8 * pairs)) // 2


@dataclass(frozen=True)
class ProtectedCounts(ProtectedSums):
    """How often each item of a pair won: two numbers a pair."""

    def sensitivity(self, m: int, questions: int, named: bool = True) -> Sensitivity:
        """That of a table of counts: see `published_counts.CountNoise`."""
        return count_sensitivity(questions, named, self.neighbours_are)

    def sums(self, counts: Integers) -> Integers:
        """The counts themselves."""
        return counts


@dataclass(frozen=True)
class ProtectedScores(ProtectedSums):
    """Wins minus losses of each item: one number an item."""

    def sensitivity(self, m: int, questions: int, named: bool = True) -> Sensitivity:
        """See `theory.score_sensitivity`."""
        return listed_score_sensitivity(m, questions, named, self.neighbours_are)

    def sums(self, counts: Integers) -> Integers:
        """(…, m): scores."""
        return scores_of(counts[..., 0] - counts[..., 1])


def scores_of(lead: Integers) -> Integers:
    """(…, m): wins minus losses of each item. lead: (…, pairs), those of the first
    of a pair.
    """
    m = items_of(lead.shape[-1])
    first, second = np.triu_indices(m, 1)
    scores = np.zeros((*lead.shape[:-1], m), np.int64)
    for item in range(m):
        scores[..., item] = lead[..., first == item].sum(axis=-1)
        scores[..., item] -= lead[..., second == item].sum(axis=-1)
    return scores
