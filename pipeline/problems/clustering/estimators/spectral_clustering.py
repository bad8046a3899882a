"""Clusters of items from sketches of pairs, by the top eigenvectors: Pairwise-Preference."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.sparse.linalg import ArpackError, eigsh

from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput

from ..releases import PairSketches
from ..theory.inference import PairLaw
from .clustering import Clustering, ClusteringEstimate, adjust
from .k_means import split_points

DENSE = 200  # items up to which eigenvectors are computed from the whole matrix
FEW = 16  # released bits of an item, on average, below which eigenvalues may be equal
LEAST_GAP = 1e-10  # of the largest row sum, or entry: smaller differences are rounding


@dataclass(frozen=True)
class SpectralClustering(Clustering):
    """k-means, k = Lc, of the rows of Â projected on its Lc top eigenvectors.

    Â_ij: the released ones for a pair. Rows projected on eigenvectors x_r
    are λ_r x_r(i), whose noise has the same variance in all directions.
    Eigenvalues are the largest, as in Figure 1, not the largest in
    magnitude (Theorem 8): E Â is a Gram matrix but for its diagonal, and
    noise has large negative eigenvalues. The diagonal, about which no user
    is asked, is set to the mean of the rest: zeros there would lower all
    eigenvalues, where w ≪ N by more than the size of the informative ones.
    Lanczos' method where N > 200, to machine precision; k-means, 5 steps
    from each of 10 k-means++ starts, 30 more of the best. Not converged
    where Lanczos' method is not, k-means leaves a cluster empty, or pairs
    are so few that the Lc-th and the next eigenvalue are equal: then the
    eigenvectors are any, and how they are rounded decides. O(N²) a Lanczos
    step. Source: Banerjee, Hegde and Massoulié, Figure 1.
    """

    accepts: ClassVar[type] = PairSketches
    in_order: ClassVar[bool] = True

    def fit(self, release: PairSketches, rng: np.random.Generator) -> ClusteringEstimate:
        """Clusters of a block; the stream gives the starts of Lanczos' method and of k-means."""
        reps, items = release.agreements.shape[:2]
        clusters = np.zeros((reps, items), int)
        converged = np.zeros(reps, bool)
        for r in range(reps):  # each is large
            matrix = release.agreements[r].astype(float)
            if self.adjusted:
                matrix = adjust(matrix, release.probes[r].astype(float), items * (items - 1), None)
            np.fill_diagonal(matrix, 0)
            np.fill_diagonal(matrix, matrix.sum() / (items * (items - 1)))
            most = release.agreements[r].max()
            bits = release.probes[r].sum()
            is_flat = np.ptp(matrix) <= LEAST_GAP * most
            may_tie = is_flat or bits < FEW * items
            try:
                top = top_eigenvectors(matrix, min(self.vectors, items), rng)
                is_determined = not may_tie or has_gap(matrix, self.count)
            except ArpackError:
                continue
            clusters[r], is_split = self.split(matrix, top, rng)
            converged[r] = is_split and is_determined
        law = PairLaw(
            release.agreements,
            release.probes,
            clusters,
            self.count,
            keep=release.keep,
            both=release.both,
            users=release.users,
            adjusted=self.adjusted,
        )
        estimate = ClusteringEstimate(clusters, converged, law, self.about)
        return self.with_bootstrap(release, estimate, rng)

    @property
    def vectors(self) -> int:
        """Eigenvectors that are used."""
        return self.count

    def split(self, matrix: Floats, top: Floats, rng: np.random.Generator) -> tuple[Integers, bool]:
        """Clusters of the items, (N,), from eigenvectors (N, vectors), and whether none is empty.

        k-means of the rows of the matrix projected on the vectors: the same if these are turned
        within their span.
        """
        return split_points(matrix @ top, self.count, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        if self.N > DENSE:
            return 2.3e6 + 200 * self.N**2
        return 2.3e6 + 0.8 * self.N**3


class SpectralClusteringAdjusted(SpectralClustering):
    """The same of Â − r (n − n̄), n_ij the users of a pair, public, and r the mean released bit.

    Removes the noise of the number of users who were asked, a share r of
    all noise.
    """

    adjusted: ClassVar[bool] = True
    in_order: ClassVar[bool] = True


@dataclass(frozen=True)
class SpectralSigns(SpectralClustering):
    """Clusters by the signs of the log₂ Lc eigenvectors after the first, one sign a vector.

    Reads vectors one by one, as proofs do that follow each eigenvector: so equal eigenvalues
    matter, in whose space the vectors are turned at random. Lc must be a power of two, each
    vector telling one half of the clusters from the other. A textbook method, for comparison.
    """

    in_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count.bit_count() != 1:
            allowed = "must have 2, 4, 8, … shares: spectral_signs halves the items with each sign"
            raise InvalidInput("beta", self.beta, allowed)

    @property
    def vectors(self) -> int:
        """The first, which all items have in common, and one for each sign."""
        return self.count.bit_length()

    def split(self, matrix: Floats, top: Floats, rng: np.random.Generator) -> tuple[Integers, bool]:
        """Clusters of the items, (N,), by signs of the vectors, and whether none is empty."""
        signs = top[:, :-1] > 0  # the last one has the largest eigenvalue
        place = 2 ** np.arange(signs.shape[1])
        clusters: Integers = signs @ place
        return clusters, len(np.unique(clusters)) == self.count


def has_gap(matrix: Floats, count: int) -> bool:
    """Whether the `count` largest eigenvalues of a symmetric matrix (N, N) are apart from the next.

    If not, their eigenvectors are not determined. Rounding is no gap.

    >>> has_gap(np.ones((4, 4)), 1), has_gap(np.ones((4, 4)), 2)
    (True, False)
    """
    items = len(matrix)
    if count >= items:
        return True
    if items <= DENSE:
        next_one = items - count - 1
        last = items - 1
        values = eigvalsh(matrix, subset_by_index=(next_one, last))
    else:
        start = np.cos(np.arange(items))
        values = np.sort(eigsh(matrix, count + 1, which="LA", v0=start)[0])
    gap = values[1] - values[0]
    largest = np.abs(matrix).sum(axis=1).max()
    return bool(gap > LEAST_GAP * largest)


def top_eigenvectors(matrix: Floats, count: int, rng: np.random.Generator) -> Floats:
    """(N, count): eigenvectors of the largest eigenvalues of a symmetric matrix (N, N).

    Not the largest in magnitude. Dense up to N = 200, by Lanczos' method
    above, from a random start; ArpackError where that does not converge.
    """
    items = len(matrix)
    vectors: Floats
    if items <= DENSE:
        vectors = eigh(matrix, subset_by_index=(items - count, items - 1))[1]
    else:
        vectors = eigsh(matrix, count, which="LA", v0=rng.standard_normal(items))[1]
    return vectors
