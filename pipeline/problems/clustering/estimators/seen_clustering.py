"""Clusterings of items from ratings that were seen as they are: the references without privacy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.study.parameters import parameter

from ..design import proportions
from ..releases import SeenRatings
from ..theory.inference import ItemAnswers, SeenLaw
from .clustering import ABOUT, ClusteringEstimate
from .k_means import split_line


@dataclass(frozen=True)
class SeenClustering(Bootstrapped):
    """k-means, k = Lc, on the line, of the share of positive ratings of each item among those seen.

    An item without ratings counts as the mean of the others, and goes to a
    cluster drawn at random: so all N are right only if all were seen, or by
    luck. Not converged where fewer than Lc shares differ. Source: Banerjee,
    Hegde and Massoulié, §1.1 (coupon collector) and §4.2.
    """

    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")
    about: str = ABOUT
    bootstrap: int = BOOTSTRAP

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
        converged = seen.any(axis=1) & (1 + new.sum(axis=1) >= count)
        law = None
        if release.are_ratings:
            law = SeenLaw(ItemAnswers(release.positive, release.seen, clusters, count))
        estimate = ClusteringEstimate(clusters, converged, law, self.about)
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 1e4
