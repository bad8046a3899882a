"""Mechanisms on one value of each person.

They release how many reports support each value, drawn from its exact law.

A person's report depends on the own value only, so the supports of all reports follow from the
numbers of people who hold each value: no mechanism goes person by person. Wang et al.: USENIX
Security (2017). Ye and Barg: IEEE Transactions on Information Theory 64 (2018).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Integers
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import Checked, parameter

from .model import Values
from .releases import Supports
from .subsets import in_sets
from .theory import reports
from .theory.reports import Support


@dataclass(frozen=True)
class Local(Checked):
    """What all mechanisms here have in common: k values, and the budget ε of the one report of a
    person.

    The budget is attained: some report is e^ε times as likely from one value as from another.
    """

    k: int = parameter("values", unit="values", low=2, high=10**5)
    epsilon: float = parameter(
        "privacy budget of one person; mechanism=none is for no privacy",
        unit="nats",
        low=1e-6,
        high=50,
    )

    guarantee: ClassVar[Guarantee] = Guarantee(
        trust="nobody",
        unit="person",
        protects="the value of one person",
        neighbours="that value replaced by any other of the k",
        budget="pure ε-LDP per person",
        composition="a person gives one report",
    )
    accepts: ClassVar[type] = Values
    releases: ClassVar[type] = Supports

    def release(self, data: Values, rng: np.random.Generator) -> Supports:
        """How many reports support each value, (reps, k)."""
        return Supports(self._supports(data.counts, rng), int(data.counts[0].sum()), self.support())

    def support(self) -> Support:
        """How likely a report is to support a value."""
        raise NotImplementedError

    def _supports(self, counts: Integers, rng: np.random.Generator) -> Integers:
        """(reps, k), from counts (reps, k): each person supports every value independently of the
        others.
        """
        held, other = self.support()
        rest = counts.sum(axis=1, keepdims=True) - counts
        supports: Integers = rng.binomial(counts, held) + rng.binomial(rest, other)
        return supports

    def spent(self) -> dict[str, float]:
        """Budget, in nats."""
        return {"the report of one person": self.epsilon}

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 200.0 * self.k


@dataclass(frozen=True)
class RandomizedResponse(Local):
    """The value with probability e^ε/(e^ε + k − 1), each other with 1/(e^ε + k − 1).

    Equally: the value with probability (e^ε − 1)/(e^ε + k − 1), else a uniform one; so
    supports are drawn. O(reps · k). Source: Warner (1965); Kairouz, Oh and Viswanath (2014); DE of
    Wang et al..
    """

    def support(self) -> Support:
        """How likely a report is to support a value."""
        return reports.randomized_response(self.k, self.epsilon)

    def _supports(self, counts: Integers, rng: np.random.Generator) -> Integers:
        kept = rng.binomial(counts, self.support().lean)
        uniform = (counts - kept).sum(axis=1)
        supports: Integers = kept + rng.multinomial(uniform, np.full(self.k, 1 / self.k))
        return supports


@dataclass(frozen=True)
class SymmetricUnary(Local):
    """SUE, basic RAPPOR: k bits, 1 at the value; each is flipped with probability 1/(e^(ε/2) + 1).

    Another value changes two bits, and ε/2 is spent on each of the two. O(reps · k). Source: Erlingsson,
    Pihur and Korolova (2014); SUE of Wang et al..
    """

    def support(self) -> Support:
        """How likely a report is to support a value."""
        return reports.symmetric_unary(self.epsilon)


@dataclass(frozen=True)
class OptimisedUnary(Local):
    """OUE: k bits, at the value 1 with probability ½, elsewhere with probability 1/(e^ε + 1).

    O(reps · k). Source: Wang et al., OUE.
    """

    def support(self) -> Support:
        """How likely a report is to support a value."""
        return reports.optimised_unary(self.epsilon)


@dataclass(frozen=True)
class LocalHashing(Local):
    """OLH: a hash function of one's own to g = ⌊e^ε⌉ + 1 values, which is public, and randomized
    response on its value.

    The hash functions are ideal: every value has each hash value with probability 1/g,
    independently. A report then supports its person's value with probability e^ε/(e^ε + g − 1), and
    every other one independently with 1/g. O(reps · k). Source: Wang et al., OLH.
    """

    def support(self) -> Support:
        """How likely a report is to support a value."""
        return reports.local_hashing(self.epsilon)


@dataclass(frozen=True)
class SubsetSelection(Local):
    """A set of d values, e^ε times as likely if the person's own is among them.

    D is about k/(e^ε + 1).

    Equally: with probability (e^ε − 1)d/((e^ε − 1)d + k) a uniform set that has the own
    value, else a uniform set; so supports are drawn. O(reps · k · d). Source: Ye and Barg (2018);
    Wang et al. (2016), arXiv 1607.08025.
    """

    def support(self) -> Support:
        """How likely a report is to support a value."""
        return reports.subset_selection(self.k, self.epsilon)

    def _supports(self, counts: Integers, rng: np.random.Generator) -> Integers:
        size = reports.subset_size(self.k, self.epsilon)
        weight = np.expm1(self.epsilon) * size
        own = rng.binomial(counts, weight / (weight + self.k))
        return in_sets(own, (counts - own).sum(axis=1), size, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 200.0 * self.k + 150.0 * self.k * reports.subset_size(self.k, self.epsilon)
