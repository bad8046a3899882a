"""No privacy: the reference arm of every study."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class NoPrivacy:
    """The data, released as they are. Budget: ε = ∞.

    Data that can be released so have `opened()`, and say in `opens` what that gives.
    """

    unit: ClassVar[str] = "none"
    neighbours: ClassVar[str] = "none"
    budget: ClassVar[str] = "ε = ∞: no protection"
    accepts: ClassVar[type] = object
    releases: ClassVar[type] = object  # what the data open to

    def release(self, data: Any, rng: np.random.Generator) -> Any:
        """The data themselves, in the form in which mechanisms release them."""
        return data.opened()

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's: none."""
        return 0.0
