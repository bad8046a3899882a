"""Clusterings of items from ratings that were seen as they are: the references without privacy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseEstimator

from ..design import proportions
from ..releases import SeenRatings
from .clustering import ClusteringEstimate
from .k_means import split_line


@dataclass(frozen=True)
class SeenClustering(BaseEstimator):
    """k-means, k = Lc, on the line, of the share of positive ratings of each item among those seen.

    An item without ratings counts as the mean of the others, and goes to a
    cluster drawn at random: so all N are right only if all were seen, or by
    luck. Not converged where fewer than Lc shares differ. Source: Banerjee,
    Hegde and Massoulié, §1.1 (coupon collector) and §4.2.
    """

    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")

    accepts: ClassVar[type] = SeenRatings

    def fit(self, release: SeenRatings, rng: np.random.Generator) -> ClusteringEstimate:
        """Clusters of a block; see `split_line`."""
        count = len(proportions("beta", self.beta))
        seen = release.seen > 0
        share = np.where(seen, release.positive / np.maximum(release.seen, 1), 0)
        mean = share.sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)
        clusters_of_seen = split_line(np.where(seen, share, mean), count)
        distinct = np.sort(np.where(seen, share, np.inf), axis=1)  # items without ratings last
        with np.errstate(invalid="ignore"):
            new = np.isfinite(distinct[:, 1:]) & (np.diff(distinct, axis=1) > 0)
        clusters = np.where(seen, clusters_of_seen, rng.integers(0, count, seen.shape))
        return ClusteringEstimate(clusters, seen.any(axis=1) & (1 + new.sum(axis=1) >= count))

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 1e4
