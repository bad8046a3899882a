"""What users disclose, of their ratings as they are and in bits: one value per replication."""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..model import BlockTruth
from ..releases import NoisyPairSums, PairSketches, ScoreSketches, SeenRatings


@metric("ratings seen as they are", units="ratings a user", least=0.0)
def ratings_seen(truth: BlockTruth, release: object) -> Floats:
    """Ratings that were seen as they are, per user; 0 where all that is released are bits.

    (reps,). O(reps · N). Source: Banerjee, Hegde and Massoulié, §1.1, where
    one user in log₂ N tells her rating.
    """
    if not isinstance(release, SeenRatings):
        return np.zeros(len(truth.clusters))
    per_user: Floats = release.seen.sum(axis=1) / release.users
    return per_user


@metric("ones among released bits", least=0.0, most=1.0)
def ones_released(truth: BlockTruth, release: object) -> Floats:
    """Share of ones among the bits that are released, each counted with the items that it is about.

    (reps,); NaN where no bit is released. O(reps · N²).
    """
    if isinstance(release, ScoreSketches):
        one_bits = release.scores.sum(axis=1)
        bits = release.sensed.sum(axis=1)
    elif isinstance(release, PairSketches) and not isinstance(release, NoisyPairSums):
        one_bits = release.agreements.sum(axis=(1, 2))
        bits = release.probes.sum(axis=(1, 2))
    else:
        return np.full(len(truth.clusters), np.nan)
    share: Floats = np.where(bits > 0, one_bits / np.maximum(bits, 1), np.nan)
    return share
