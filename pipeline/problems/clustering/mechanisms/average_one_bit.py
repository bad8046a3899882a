"""One bit of communication on average: few users report a whole rating, the others nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.guarantee import Guarantee, unprotected
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseMechanism

from ..model import Users
from ..releases import SeenRatings


@dataclass(frozen=True)
class AverageOneBit(BaseMechanism):
    """Without privacy: a user tells her rating with probability 1/log₂ N, and else nothing.

    She says which item she has rated, and how. So her item costs one bit on
    average, and users of order N log² N are enough, against N² where every answer
    is one bit.
    unit: none, nothing is protected.
    Source: Banerjee, Hegde and Massoulié, §1.1.
    """

    N: int = parameter("items", unit="items", low=3)
    w: int = parameter("items that a user has rated", unit="items", low=1, high=1)

    guarantee: ClassVar[Guarantee] = unprotected("ε = ∞: one bit on average, but no protection")
    accepts: ClassVar[type] = Users
    releases: ClassVar[type] = SeenRatings

    def release(self, data: Users, rng: np.random.Generator) -> SeenRatings:
        """Ratings reported of a block; each is of another user, as w = 1. O(reps · N) draws."""
        seen = data.release_plainly()
        share = 1 / np.log2(self.N)
        positive = rng.binomial(seen.positive, share)
        negative = rng.binomial(seen.seen - seen.positive, share)
        return SeenRatings(positive, positive + negative, data.users, seen.users_asked)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 1e3 * self.N
