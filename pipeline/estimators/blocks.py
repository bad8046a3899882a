"""Clusterings of items: of scores on a line, exactly; of sketches of pairs, by the top eigenvectors."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.cluster.vq import ClusterError, kmeans2, vq
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

from pipeline.mechanisms.blocks_releases import PairSketches, ScoreSketches
from pipeline.parameters import parameter
from pipeline.theory.blocks_values import proportions

RESTARTS = 10  # of k-means from k-means++ seeds
STEPS, MORE = 5, 30  # of each, and of the best
DENSE = 200  # items up to which all of a matrix is reduced


@dataclass(frozen=True)
class BlockEstimate:
    """clusters: (reps, N) int, 0 to Lc − 1, of no meaning as numbers. converged: (reps,)."""

    clusters: np.ndarray
    converged: np.ndarray


@dataclass(frozen=True)
class _Clustering:
    """What clusterings share: the number of clusters is known, their shares are not used."""

    N: int = parameter("items", unit="items", low=2)
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")

    adjusted: ClassVar[bool] = False

    @cached_property
    def count(self) -> int:
        """Lc"""
        return len(proportions("beta", self.beta))


@dataclass(frozen=True)
class ScoreClustering(_Clustering):
    """k-means, k = Lc, of the scores B_i = Σ_u H_ui S_u on the line: the exact optimum.

    Scores are sums, not shares of the times that an item was sensed, as in the paper. Not converged where fewer than
    Lc scores differ. Source: Banerjee, Hegde and Massoulié, Figures 2 and 3.
    """

    accepts: ClassVar[type] = ScoreSketches

    def fit(self, release: ScoreSketches, rng: np.random.Generator) -> BlockEstimate:
        """Clusters of a block; see `split_line`."""
        scores = np.asarray(release.scores, float)
        if self.adjusted:
            scores = _adjust(scores, np.asarray(release.sensed, float), scores.shape[1], 1)
        distinct = 1 + (np.diff(np.sort(scores, axis=1), axis=1) > 0).sum(axis=1)
        return BlockEstimate(split_line(scores, self.count), distinct >= self.count)

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 100 * self.N + 2 * max(0, self.count - 2) * self.N**2


class ScoreClusteringAdjusted(ScoreClustering):
    """The same of B_i − r (h_i − h̄): h_i times that item i was sensed, r the mean released bit, h̄ the mean of h.

    h is public and says nothing about clusters, but its noise makes up a share π of that of B_i, π = P(S_u = 1): half
    at small ε. To first order B_i/h_i, without a division.
    """

    adjusted: ClassVar[bool] = True


@dataclass(frozen=True)
class SpectralClustering(_Clustering):
    """k-means, k = Lc, of the rows of Â projected on its Lc top eigenvectors, Â_ij the released ones for a pair.

    Rows projected on eigenvectors x_r are λ_r x_r(i): noise is alike in all directions. Eigenvalues are the largest, as
    in Figure 1, not the largest in magnitude (Theorem 8): E Â is a Gram matrix but for its diagonal, and noise has
    large negative eigenvalues. The diagonal, which nobody is asked about, is set to the mean of the rest: at 0 it moves
    all eigenvalues down, by more than the telling one where w ≪ N. Lanczos' method where N > 200, to machine precision;
    k-means from SciPy, 5 steps from each of 10 k-means++ starts, 30 more of the best. Not converged where Lanczos'
    method is not, or k-means leaves a cluster empty. Source: Banerjee, Hegde and Massoulié, Figure 1. O(N²) a Lanczos
    step.
    """

    accepts: ClassVar[type] = PairSketches

    def fit(self, release: PairSketches, rng: np.random.Generator) -> BlockEstimate:
        """Clusters of a block; the stream gives the starts of Lanczos' method and of k-means."""
        reps, items = release.agreements.shape[:2]
        clusters, converged = np.zeros((reps, items), int), np.zeros(reps, bool)
        for r in range(reps):  # each is large
            matrix = release.agreements[r].astype(float)
            if self.adjusted:
                matrix = _adjust(matrix, release.probes[r].astype(float), items * (items - 1), None)
            np.fill_diagonal(matrix, 0)
            np.fill_diagonal(matrix, matrix.sum() / (items * (items - 1)))
            try:
                top = _top(matrix, min(self.count, items), rng)
            except ArpackError:
                continue
            clusters[r], converged[r] = split_points(matrix @ top, self.count, rng)
        return BlockEstimate(clusters, converged)

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 3e6 + (100 * self.N**2 if self.N > DENSE else 2 * self.N**3)


class SpectralClusteringAdjusted(SpectralClustering):
    """The same of Â − r (n − n̄): n_ij users asked about a pair, public, and r the mean released bit.

    Takes out the noise of the number of users who were asked: a share r of it all.
    """

    adjusted: ClassVar[bool] = True


def _adjust(ones, asked, entries, axis):
    """ones − r (asked − mean of asked), r = Σ ones/Σ asked; along an axis, None is all; means of so many entries."""
    total = asked.sum(axis=axis, keepdims=True)
    return ones - ones.sum(axis=axis, keepdims=True) / np.maximum(total, 1) * (asked - total / entries)


def _top(matrix, count, rng):
    """(N, count): eigenvectors of the largest eigenvalues."""
    items = len(matrix)
    if items <= DENSE:
        return eigh(matrix, subset_by_index=(items - count, items - 1))[1]
    return eigsh(matrix, count, which="LA", v0=rng.standard_normal(items))[1]


def split_points(points: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, bool]:
    """(items,) clusters of points (items, dimensions) by k-means, and whether it gave `count` clusters."""
    if len(np.unique(points, axis=0)) < count:
        return np.zeros(len(points), int), False
    least, centres = np.inf, None
    for _ in range(RESTARTS):
        try:
            tried, _ = kmeans2(points, count, iter=STEPS, minit="++", missing="raise", rng=rng)
        except ClusterError:
            continue
        if (spread := np.square(vq(points, tried)[1]).sum()) < least:
            least, centres = spread, tried
    if centres is None:
        return np.zeros(len(points), int), False
    found = kmeans2(points, centres, iter=MORE, minit="matrix", missing="warn")[1]
    return found, len(np.unique(found)) == count


def split_line(values: np.ndarray, count: int) -> np.ndarray:
    """(reps, N) int: clusters of values (reps, N) of least sum of squares within, `count` ≤ N of them, lowest first.

    The optimum is contiguous, so it is found by dynamic programming over sorted values: the best c parts of the first j
    have the largest Σ (sum of part)²/(size of part). O(N log N) for two clusters, O((count − 2) N²) more for others.
    """
    reps, items = values.shape
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    sums = np.zeros((reps, items + 1))
    np.cumsum(ordered - ordered.mean(axis=1, keepdims=True), axis=1, out=sums[:, 1:])
    place = np.arange(items + 1)
    gain = np.square(sums) / np.maximum(place, 1)
    starts = []  # of the last part, for each layer and end
    for parts in range(2, count + 1):
        ends = range(items, items + 1) if parts == count else range(parts, items + 1)
        start, better = np.zeros((reps, items + 1), int), np.full((reps, items + 1), -np.inf)
        for end in ends:
            before = slice(parts - 1, end)
            total = gain[:, before] + np.square(sums[:, end, None] - sums[:, before]) / (end - place[before])
            start[:, end] = total.argmax(axis=1) + parts - 1
            better[:, end] = total.max(axis=1)
        gain = better
        starts.append(start)
    rank, end = np.zeros((reps, items), int), np.full(reps, items)
    for start in reversed(starts):
        end = start[np.arange(reps), end]
        rank += place[:-1] >= end[:, None]
    clusters = np.empty((reps, items), int)
    np.put_along_axis(clusters, order, rank, axis=1)
    return clusters
