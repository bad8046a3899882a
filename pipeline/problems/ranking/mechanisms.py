"""Randomized response on single binary answers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import Attack, Bound, FlippedBits, LaplaceShift
from pipeline.privacy.randomized_response_laws import flip_probability, released_probability
from pipeline.study.parameters import parameter

from .binomial import binomial
from .budgets import Budgets
from .model import Comparisons
from .releases import FlippedWins, LaplaceWins


@dataclass(frozen=True)
class RandomizedResponse(Budgets):
    """Every comparison is flipped with probability 1/(1 + e^ε) before it leaves its user.

    unit: one comparison of one user. neighbours: that comparison replaced by its opposite.
    budget: pure ε-LDP per comparison; all m(m−1)/2 comparisons of a user compose to ε·m(m−1)/2.
    Classic and debiased randomized response have the same release: debiasing is post-processing, done by the estimator.
    draw: `conditional` flips the raw wins, so that mechanisms can be compared on the same data; `marginal`
    draws the released wins straight from their law (Lemma 1) where that is known, three times cheaper, equal
    in law.
    Source: Xu, Sun and Cheng, §3; Warner (1965). Cost O(reps · groups · m²), whatever L.
    """

    draw: str = parameter(
        "law of the release: given the data, or at once",
        default="conditional",
        choices=("conditional", "marginal"),
    )

    unit: ClassVar[str] = "one comparison of one user"
    neighbours: ClassVar[str] = "that comparison replaced by its opposite"
    budget: ClassVar[str] = "pure ε-LDP per comparison; ε·m(m−1)/2 for all comparisons of a user"
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = FlippedWins
    by_replication: ClassVar[bool] = True

    def release(self, data: Comparisons, rng: np.random.Generator) -> FlippedWins:
        """Released wins of a block, (reps, groups, pairs)."""
        budgets, compared = self.budgets[:, None], data.compared(self.users)
        made = self.users[:, None] if compared is None else compared
        if self.draw == "marginal" and data.probability is not None:
            wins = binomial(rng, made, released_probability(data.probability[:, None], budgets))
        else:
            raw, flip = data.split(self.users, rng), flip_probability(budgets)
            wins = binomial(rng, raw, 1 - flip) + binomial(rng, made - raw, flip)
        return FlippedWins(wins, self.users, self.budgets, data.items, compared)

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one comparison, and on all of a user, of those with the largest budget."""
        one = float(self.budgets.max())
        return {"answer": FlippedBits(one, 1), "person": FlippedBits(one, self.answers)}

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond; two draws a group, and
        what divides users among groups.
        """
        return 0.0 if self.draw == "marginal" else (80.0 * len(self.users) - 45) * self.m**2


@dataclass(frozen=True)
class Laplace(Budgets):
    """Every comparison, 0 or 1, leaves its user with Laplace noise of scale 1/ε added.

    unit: one comparison of one user. neighbours: that comparison replaced by its opposite (sensitivity 1).
    budget: pure ε-LDP per comparison; all m(m−1)/2 comparisons of a user compose to ε·m(m−1)/2.
    The sum of n Laplace variables is the difference of two Gamma(n) variables, so nothing is drawn per user.
    Source: Xu, Sun and Cheng, Scenario V; Dwork, McSherry, Nissim and Smith (2006). Cost O(reps · groups · m²).
    """

    unit: ClassVar[str] = "one comparison of one user"
    neighbours: ClassVar[str] = "that comparison replaced by its opposite"
    budget: ClassVar[str] = "pure ε-LDP per comparison; ε·m(m−1)/2 for all comparisons of a user"
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = LaplaceWins
    by_replication: ClassVar[bool] = True

    def release(self, data: Comparisons, rng: np.random.Generator) -> LaplaceWins:
        """Noisy wins of a block, (reps, groups, pairs)."""
        compared, raw = data.compared(self.users), data.split(self.users, rng)
        made = np.broadcast_to(self.users[:, None] if compared is None else compared, raw.shape)
        noise = (rng.standard_gamma(made) - rng.standard_gamma(made)) / self.budgets[:, None]
        return LaplaceWins(raw + noise, self.users, self.budgets, data.items, compared)

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one comparison, of those with the largest budget, and a bound for all of a user."""
        one = float(self.budgets.max())
        return {"answer": LaplaceShift(one), "person": Bound(one * self.answers)}

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 40 * self.m**2
