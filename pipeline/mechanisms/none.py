"""No privacy: the reference arm of every study."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.models.btl import Comparisons, ReleasedWins


@dataclass(frozen=True)
class NoPrivacy:
    """Raw win counts, released as they are. Budget: ε = ∞."""

    unit: ClassVar[str] = "none"
    neighbours: ClassVar[str] = "none"
    budget: ClassVar[str] = "ε = ∞: no protection"
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = ReleasedWins

    def release(self, data: Comparisons, rng: np.random.Generator) -> ReleasedWins:
        """The data themselves, as one group with an infinite budget."""
        return ReleasedWins(data.wins[:, None], np.array([data.users]), np.array([np.inf]), data.items)

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's: none."""
        return 0.0
