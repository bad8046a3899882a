"""Laplace noise on single binary answers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import Bound, LaplaceShift
from pipeline.study.disclosure import Attack

from ..design import Budgets
from ..model import Comparisons
from ..releases import LaplaceWins, trials_of


@dataclass(frozen=True)
class Laplace(Budgets):
    """Every comparison, 0 or 1, leaves its user with Laplace noise of scale 1/ε added.

    The sum of n Laplace variables is the difference of two Gamma(n) variables, so
    nothing is drawn per user. Cost O(reps · groups · m²).
    Source: Xu, Sun and Cheng, Scenario V; Dwork, McSherry, Nissim and Smith (2006).
    """

    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = LaplaceWins
    by_replication: ClassVar[bool] = True

    def release(self, data: Comparisons, rng: np.random.Generator) -> LaplaceWins:
        """Noisy wins of a block, (reps, groups, pairs)."""
        self.check_charge(data.most_answers)
        compared = data.compared(self.users)
        raw = data.split(self.users, rng)
        trials = np.broadcast_to(trials_of(self.users, compared), raw.shape)
        noise = rng.standard_gamma(trials) - rng.standard_gamma(trials)
        noisy = raw + noise / self.budgets[:, None]
        return LaplaceWins(noisy, self.users, self.budgets, data.items, compared)

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one comparison, and a bound for all of a user (largest budget)."""
        largest = float(self.budgets.max())
        person = Bound(largest * self.composed_answers)
        return {"answer": LaplaceShift(largest), "person": person}

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 40 * self.m**2
