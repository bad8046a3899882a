"""What users tell, of their ratings as they are and in bits: one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats

from ..model import BlockTruth
from ..releases import PairSketches, ScoreSketches, SeenRatings


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


@dataclass(frozen=True)
class OnesReleased:
    """Share of ones among the bits that are released, each counted with the items that it is about.

    NaN where no bit is released.
    """

    long_name: ClassVar[str] = "ones among released bits"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: BlockTruth, release: object, estimate: object) -> Floats:
        """One value per replication, (reps,). O(reps · N²)."""
        if isinstance(release, ScoreSketches):
            ones, bits = release.scores.sum(axis=1), release.sensed.sum(axis=1)
        elif isinstance(release, PairSketches):
            ones, bits = release.agreements.sum(axis=(1, 2)), release.probes.sum(axis=(1, 2))
        else:
            return np.full(len(truth.clusters), np.nan)
        share: Floats = np.where(bits > 0, ones / np.maximum(bits, 1), np.nan)
        return share
