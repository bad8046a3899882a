"""No privacy: the mechanism that all others are compared with."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.guarantee import UNPROTECTED, Guarantee
from pipeline.study.parts import BaseMechanism
from pipeline.study.protocols import PlainData, Release


@dataclass(frozen=True)
class NoPrivacy(BaseMechanism):
    """The data, released as they are. Budget: ε = ∞.

    They must be `PlainData`: not every model's are.
    """

    guarantee: ClassVar[Guarantee] = UNPROTECTED
    accepts: ClassVar[type] = object
    releases: ClassVar[type] = object  # depends on the data: their `plain_release`
    by_replication: ClassVar[bool] = True

    def release(self, data: PlainData, rng: np.random.Generator) -> Release:
        """The data themselves, in the form in which mechanisms release
        them.
        """
        return data.release_plainly()

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's: none."""
        return 0.0
