"""Responses that are not as Rasch says: guessed, of less able persons, or left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pipeline.problems.common.sampling import bernoulli
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter

from .model import ItemParameters, Part, Rasch, Responses
from .sampling.pair_counts import slices


@dataclass(frozen=True)
class SilencedItems(ItemParameters):
    """Truth of the model.

    silent: (reps, m), s, chance that a wrong response to the item is left out.
    """

    silent: Annotated[Floats, "reps", "m"]


class MisspecifiedResponses(Responses):
    """Raw responses of a block.

    truth: θ, β and s. p: chance that a person meets an item. g: that the response
    is guessed.
    """

    def __init__(self, truth: SilencedItems, p: float, g: float, rng: np.random.Generator):
        super().__init__(truth.ability, truth.theta, p, rng)
        self._silent = truth.silent
        self._g = g

    def _draw(self) -> Iterator[Part]:
        with np.errstate(over="ignore"):
            skills = np.exp(self._ability)[:, :, None]
            difficulty = np.exp(self._theta)[:, None]
        for rows, people in slices(len(self._ability), self.persons, self.items):
            skill = skills[rows, people]
            observed = None
            probability = (1 - self._g) * skill / (skill + difficulty[rows]) + self._g / 2
            part = bernoulli(probability, probability.shape, self._rng)
            if not self.complete:
                shown = part | bernoulli(1 - self._silent[rows, None], part.shape, self._rng)
                observed = shown & bernoulli(self._p, part.shape, self._rng)
                part &= observed
            yield rows, people, part, observed


@dataclass(frozen=True)
class MisspecifiedRasch(Rasch):
    """`rasch` whose responses are partly guessed, and missing not at random.

    P(X_li = 1) = (1 − g) σ(θ_l + shift − β_i) + g/2. A wrong response to item i is
    left out with probability s_i, uniform on [0, left_out] and anew in every
    replication. At g = 0 the odds of what is told are those of a Rasch model with
    difficulties β_i + log(1 − s_i): the wrong ones. Missing data: Rubin, Biometrika
    63 (1976).
    """

    at_random: float = parameter(
        "probability g that a response is a fair coin's", default=0.0, low=0, high=1
    )
    ability_shift: float = parameter(
        "by how much all persons are abler than items are difficult",
        unit="logits",
        default=0.0,
        low=-50,
        high=50,
    )
    left_out: float = parameter(
        "greatest probability that a wrong response to an item is left out; needs p < 1",
        default=0.0,
        low=0,
        high=0.99,
    )

    in_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.left_out and self.p == 1:
            allowed = "needs missing responses, p < 1, such as p=0.999"
            raise InvalidInput("left_out", self.left_out, allowed)

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> SilencedItems:
        """β* (reps, m) and θ* (reps, n) of `rasch`, moved; s (reps, m)."""
        plain = super().truth(rng, reps, population)
        silent = rng.uniform(0, self.left_out, plain.theta.shape)
        return SilencedItems(plain.theta, plain.ability + self.ability_shift, silent)

    def simulate(self, truth: ItemParameters, rng: np.random.Generator) -> Responses:
        """Responses of n persons to m items; cost as of `rasch`."""
        if not isinstance(truth, SilencedItems):
            truth = SilencedItems(truth.theta, truth.ability, np.zeros_like(truth.theta))
        return MisspecifiedResponses(truth, self.p, self.at_random, rng)
