"""How much users tell of their ratings as they are: one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats

from ..model import BlockTruth
from ..releases import SeenRatings


@dataclass(frozen=True)
class RatingsSeen:
    """Ratings that were seen as they are, per user; 0 where all that is released are bits.

    Source: Banerjee, Hegde and Massoulié, §1.1, where one user in log₂ N tells her rating.
    """

    long_name: ClassVar[str] = "ratings seen as they are"
    units: ClassVar[str] = "ratings a user"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: BlockTruth, release: object, estimate: object) -> Floats:
        """One value per replication, (reps,). O(reps · N)."""
        if not isinstance(release, SeenRatings):
            return np.zeros(len(truth.clusters))
        per_user: Floats = release.seen.sum(axis=1) / release.users
        return per_user
