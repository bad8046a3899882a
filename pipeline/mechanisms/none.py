"""No privacy: the reference arm of every study."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.models.btl import Comparisons, FlippedWins


@dataclass(frozen=True)
class NoPrivacy:
    """Raw win counts, released as they are. Budget: ε = ∞."""

    unit: ClassVar[str] = "none"
    neighbours: ClassVar[str] = "none"
    budget: ClassVar[str] = "ε = ∞: no protection"
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = FlippedWins

    def release(self, data: Comparisons, rng: np.random.Generator) -> FlippedWins:
        """The data themselves, as one group with an infinite budget."""
        users = np.array([data.users])
        return FlippedWins(data.wins[:, None], users, np.array([np.inf]), data.items, data.compared(users))

    def spent(self) -> dict[str, float]:
        """Budgets without a limit."""
        return {"one comparison": np.inf, "all comparisons of a user": np.inf}

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's: none."""
        return 0.0
