"""People who hold one of k values each."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import Checked, parameter

from .releases import Supports
from .theory.reports import TRUTHFUL


@dataclass(frozen=True)
class Frequencies:
    """Truth of the model. frequencies: (reps, k), of the people, or of the law that they are drawn
    from; sum 1.
    """

    frequencies: Annotated[Floats, "reps", "k"]


@dataclass(frozen=True)
class Values:
    """People's values, as counts: reports depend on nothing else of them. counts: (reps, k), sum n."""

    counts: Annotated[Integers, "reps", "k"]

    plain_release: ClassVar[type] = Supports

    def release_plainly(self) -> Supports:
        """The counts as they are, without privacy."""
        return Supports(self.counts, int(self.counts[0].sum()), TRUTHFUL)


@dataclass(frozen=True)
class People(Checked):
    """n people with values 0, …, k − 1, drawn from a law.

    The numbers who hold each value are multinomial.

    What is to be learned is either the frequencies among these people, as Wang et al. have it, or
    the law, as Ye and Barg have it.
    """

    n: int = parameter("people", unit="people", low=1, high=10**8)
    k: int = parameter("values", unit="values", low=2, high=10**5)
    law: str = parameter(
        "law of the values: uniform; half, uniform on the first half, nobody holds the others; "
        "zipf, like 1/(v + 1)^exponent; point, all hold the first",
        default="uniform",
        choices=("uniform", "half", "zipf", "point"),
    )
    exponent: float = parameter("exponent of the law, if zipf", default=1.0, low=0, high=100)
    target: str = parameter(
        "what is learned: frequencies among the people, or the law of the population",
        default="people",
        choices=("people", "population"),
    )

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Values

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> Frequencies:
        """Frequencies (reps, k) of a block of replications."""
        if self.target == "population":
            return Frequencies(np.tile(self.probabilities(), (reps, 1)))
        return Frequencies(rng.multinomial(self.n, self.probabilities(), reps) / self.n)

    def simulate(self, truth: Frequencies, rng: np.random.Generator) -> Values:
        """Numbers of people who hold each value. O(reps · k)."""
        if self.target == "people":
            return Values(np.rint(truth.frequencies * self.n).astype(np.int64))
        return Values(rng.multinomial(self.n, truth.frequencies))

    def probabilities(self) -> Floats:
        """(k,): the law of the values."""
        v = np.arange(self.k)
        weights = {
            "uniform": np.ones(self.k),
            "half": (v < (self.k + 1) // 2).astype(float),
            "zipf": (v + 1.0) ** -self.exponent,
            "point": (v == 0).astype(float),
        }[self.law]
        law: Floats = weights / weights.sum()
        return law

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 60.0 * self.k
