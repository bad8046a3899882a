"""Clusters of items from scores of sensed sets: MaxSense, Multi-MaxSense and the one-bit sketch."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..releases import ScoreSketches
from ..theory.inference import ItemAnswers, SetLaw
from .clustering import Clustering, ClusteringEstimate, adjusted_scores
from .k_means import split_line


@dataclass(frozen=True)
class ScoreClustering(Clustering):
    """k-means, k = Lc, of the scores B_i = Σ_u H_ui S_u on the line: the exact optimum.

    Scores are sums, not shares of the times that an item was sensed, as in
    the paper. Not converged where fewer than Lc scores differ. Source:
    Banerjee, Hegde and Massoulié, Figures 2 and 3.
    """

    accepts: ClassVar[type] = ScoreSketches

    def fit(self, release: ScoreSketches, rng: np.random.Generator) -> ClusteringEstimate:
        """Clusters of a block; see `split_line`."""
        scores = release.scores
        scale = np.ones((len(scores), 1))
        if self.adjusted:
            scores = adjusted_scores(release.scores, release.sensed)
            scale = np.maximum(release.sensed.sum(axis=1, keepdims=True), 1)
        distinct = 1 + (np.diff(np.sort(scores, axis=1), axis=1) > 0).sum(axis=1)
        clusters = split_line(scores.astype(float) / scale, self.count)
        law = SetLaw(
            ItemAnswers(release.scores, release.sensed, clusters, self.count),
            keep=release.keep,
            users=release.users,
            per_user=release.per_user,
            sets=release.sets,
            adjusted=self.adjusted,
        )
        estimate = ClusteringEstimate(clusters, distinct >= self.count, law, self.about)
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 100 * self.N + 2 * max(0, self.count - 2) * self.N**2


class ScoreClusteringAdjusted(ScoreClustering):
    """The same of B_i − r (h_i − h̄): less the noise of how often each item was sensed.

    h_i: times that item i was sensed, h̄ their mean, r the mean released
    bit. h is public and says nothing about clusters, but its noise makes up
    a share π of that of B_i, π = P(S_u = 1): half at small ε. To first
    order B_i/h_i, without a division.
    """

    adjusted: ClassVar[bool] = True
