"""Responses that are not as Rasch says: guessed, of less able persons, or left out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.special import expit

from pipeline.problems.common.sampling import bernoulli
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter

from .model import Asked, ItemParameters, Part, Rasch, Responses


@dataclass(frozen=True)
class SilencedItems(ItemParameters):
    """Truth of the model.

    silent: (reps, m), s, chance that a wrong response to the item
    is left out.
    """

    silent: Annotated[Floats, "reps", "m"]


class MisspecifiedResponses(Responses):
    """Raw responses of a block.

    truth: θ, β and s. p: chance that a person meets an item. g:
    that the response is guessed.
    """

    def __init__(
        self,
        truth: SilencedItems,
        p: float,
        g: float,
        rng: np.random.Generator,
        people_asked: Asked | None = None,
    ):
        super().__init__(truth.ability, truth.theta, p, rng, people_asked)
        self._silent = truth.silent
        self._g = g

    def _draw(self) -> Iterator[Part]:
        with np.errstate(over="ignore"):
            skills = np.exp(self._ability)
            difficulty = np.exp(self._theta)[:, None]
        for rows, people in self._slices():
            skill = self._skill(skills, rows, people)[:, :, None]
            observed = None
            probability = (1 - self._g) * skill / (skill + difficulty[rows]) + self._g / 2
            part = bernoulli(probability, probability.shape, self._rng)
            if not self.complete:
                shown = part | bernoulli(1 - self._silent[rows, None], part.shape, self._rng)
                observed = shown & self._seen(part.shape)
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

    in_order = Rasch.in_order  # said by each class for itself

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
        if self.counts_persons:
            return self.counted(truth, rng)
        return MisspecifiedResponses(truth, self.p, self.at_random, rng, self.people_asked)

    @property
    def people_asked(self) -> Asked | None:
        """Persons who are drawn one by one, and asked some of the items."""
        plain = super().people_asked
        if plain is None:
            return None
        return replace(plain, shift=self.ability_shift)

    def kinds(self, truth: ItemParameters, rows: slice, points: Floats) -> Floats:
        """Chances of right, wrong and, for p < 1, missing answers, (kinds, reps, points, m)."""
        above = points[:, None] + self.ability_shift - truth.theta[rows, None]
        by_coin = self.at_random / 2
        right = (1 - self.at_random) * expit(above) + by_coin
        wrong = (1 - self.at_random) * expit(-above) + by_coin
        if self.p == 1:
            return np.stack([right, wrong])
        shown = np.ones((len(right), 1, self.m))
        if isinstance(truth, SilencedItems):
            shown -= truth.silent[rows, None]
        seen_right = self.p * right
        seen_wrong = self.p * shown * wrong
        return np.stack([seen_right, seen_wrong, 1 - seen_right - seen_wrong])
