"""The Laplace mechanism on single binary answers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.mechanisms.budgets import Budgets
from pipeline.models.btl import Comparisons, LaplaceWins


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

    def release(self, data: Comparisons, rng: np.random.Generator) -> LaplaceWins:
        """Noisy wins of a block, (reps, groups, pairs)."""
        compared, raw = data.compared(self.users), data.split(self.users, rng)
        made = np.broadcast_to(self.users[:, None] if compared is None else compared, raw.shape)
        noise = (rng.standard_gamma(made) - rng.standard_gamma(made)) / self.budgets[:, None]
        return LaplaceWins(raw + noise, self.users, self.budgets, data.items, compared)

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 40 * self.m**2
