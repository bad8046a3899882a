"""Randomized response on single binary answers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import FlippedBits
from pipeline.privacy.randomized_response_laws import flip_probability, released_probability
from pipeline.study.disclosure import Attack
from pipeline.study.parameters import parameter

from ..design import Budgets
from ..model import Comparisons
from ..releases import FlippedWins, trials_of
from ..sampling.binomial import binomial


@dataclass(frozen=True)
class RandomizedResponse(Budgets):
    """Every comparison is flipped with probability 1/(1 + e^ε) before it leaves its user.

    Classic and debiased randomized response have the same release: debiasing is
    post-processing, done by the estimator. draw: `conditional` flips the raw wins, so
    that mechanisms can be compared on the same data; `marginal` draws the released
    wins straight from their law (Lemma 1) where that is known, three times cheaper,
    equal in law. Cost O(reps · groups · m²), whatever L.
    Source: Xu, Sun and Cheng, §3; Warner (1965).
    """

    draw: str = parameter(
        "law of the release: given the data, or at once",
        default="conditional",
        choices=("conditional", "marginal"),
    )

    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = FlippedWins
    by_replication: ClassVar[bool] = True

    def release(self, data: Comparisons, rng: np.random.Generator) -> FlippedWins:
        """Released wins of a block, (reps, groups, pairs)."""
        budgets = self.budgets[:, None]
        self.check_charge(data.most_answers)
        compared = data.compared(self.users)
        trials = trials_of(self.users, compared)
        if self.draw == "marginal" and data.probability is not None:
            chance = released_probability(data.probability[:, None], budgets)
            wins = binomial(rng, trials, chance)
        else:
            raw = data.split(self.users, rng)
            flip = flip_probability(budgets)
            wins_told_truly = binomial(rng, raw, 1 - flip)
            losses_flipped = binomial(rng, trials - raw, flip)
            wins = wins_told_truly + losses_flipped
        return FlippedWins(wins, self.users, self.budgets, data.items, compared)

    def attacks(self) -> dict[str, Attack]:
        """The best attacks on one comparison and on all of a user, at the largest budget."""
        largest = float(self.budgets.max())
        person = FlippedBits(largest, self.composed_answers)
        return {"answer": FlippedBits(largest, 1), "person": person}

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond.

        Two draws a group, and what divides users among groups.
        """
        if self.draw == "marginal":
            return 0.0
        return (80.0 * len(self.users) - 45) * self.m**2
