"""Block model: classes of users rate clusters of items. Users are never held: they are counted as they stream by."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.models.block_counts import Rows, hypergeometric, spread
from pipeline.parameters import InvalidInput, parameter
from pipeline.theory.blocks_values import proportions, rating_probabilities, sizes

BATCH = 1 << 18  # users at a time, where so many clusters split them that hardly two are alike
FEW = 3  # clusters, up to which users who are alike are few kinds


@dataclass(frozen=True)
class BlockTruth:
    """clusters: (reps, N) int, cluster of each item, 0 to count − 1. count: Lc. sizes: (reps, Lc), items in each."""

    clusters: np.ndarray
    count: int

    @cached_property
    def sizes(self) -> np.ndarray:
        """(reps, Lc): items in each cluster."""
        return (self.clusters[:, :, None] == np.arange(self.count)).sum(axis=1)


@dataclass(frozen=True)
class SeenRatings:
    """Ratings of single items that were seen as they are.

    positive, seen: (reps, N), positive ratings and ratings of each item. users: U. asked: (reps,), users who were
    asked, fewer than U where a scheme was done earlier.
    """

    positive: np.ndarray
    seen: np.ndarray
    users: int
    asked: np.ndarray


class Users:
    """U users of a block of replications, counted by what they have in common; nothing about a single one is held.

    truth: clusters of items. classes: (K,), users in each class. w: rated items a user. b: (K, Lc). Users are
    exchangeable within a class, so how many of them rated w_1, …, w_Lc items of the clusters is all that is drawn
    here; mechanisms draw the rest by its law given these. A pass starts the stream afresh and meets the same users.
    """

    opens = SeenRatings

    def __init__(self, truth: BlockTruth, classes: np.ndarray, w: int, b: np.ndarray, rng: np.random.Generator):
        self.truth, self.classes, self.w, self.b = truth, classes, w, b
        self._address = rng.bit_generator.seed_seq.spawn(1)[0]

    @property
    def items(self) -> int:
        """N"""
        return self.truth.clusters.shape[1]

    @property
    def users(self) -> int:
        """U"""
        return int(self.classes.sum())

    def generator(self) -> np.random.Generator:
        """The users' own stream, from its start."""
        return np.random.Generator(np.random.Philox(self._address))

    def batches(self) -> Iterator[Rows]:
        """Batches of users, alike ones in one row: columns rep, user_class, rated_0, …, rated_{Lc−1}; and count.

        rated: multivariate hypergeometric, w of N items without replacement. At most one row a user; up to 3
        clusters, a number of rows that does not grow with U.
        """
        rng, (reps, clusters) = self.generator(), self.truth.sizes.shape
        for users in _portions(self.classes, reps, None if clusters <= FEW else BATCH):
            rows = users
            for cluster in range(clusters):
                size = self.truth.sizes[rows["rep"]]
                left = self.w - sum((rows[f"rated_{c}"] for c in range(cluster)), np.zeros(len(size), int))
                rows = hypergeometric(rng, rows, f"rated_{cluster}", size[:, cluster],
                                      size[:, cluster + 1:].sum(axis=1), left)
            yield rows

    def opened(self) -> SeenRatings:
        """All ratings as they are, without privacy, counted by item: what a coupon collector sees. O(N) draws."""
        rng, (reps, clusters) = self.generator(), self.truth.sizes.shape
        classes = len(self.classes)
        found = [(row["rep"] * classes + row["user_class"], c, row[f"rated_{c}"], row.count)
                 for row in self.batches() for c in range(clusters)]
        seen = spread(rng, self.truth.clusters.repeat(classes, axis=0), clusters, found)
        seen = seen.reshape(reps, classes, self.items)
        likes = self.b[:, self.truth.clusters].swapaxes(0, 1)
        return SeenRatings(rng.binomial(seen, likes).sum(axis=1), seen.sum(axis=1), self.users,
                           np.full(reps, self.users))


@dataclass(frozen=True)
class Blocks:
    """User of class k rates item of cluster l positively with probability b_kl; w items each, uniform, no replacement.

    Classes have exact sizes α_k U, clusters exact sizes β_l N in random order (both by largest remainder), as the
    paper assumes; `clusters: random` draws the cluster of each item independently with law β, as its lower bounds do.
    A list is written `0.5, 0.5`, a matrix `0.9, 0.1; 0.2, 0.8`, a row for each class.
    Source: Banerjee, Hegde and Massoulié, §2.1.
    """

    U: int = parameter("users", unit="users", low=1, high=10**9)
    N: int = parameter("items", unit="items", low=2, high=10**5)
    w: int = parameter("items that a user has rated", unit="items", low=1)
    b: str = parameter("probabilities b_kl of a positive rating, a row for each class of users")
    alpha: str = parameter("shares of the classes of users", default="1")
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")
    clusters: str = parameter("sizes of clusters exactly β_l N, or items in them at random",
                              default="exact", choices=("exact", "random"))

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Users

    def __post_init__(self):
        if self.w > self.N:
            raise InvalidInput("w", self.w, f"nobody can rate more items than there are, N={self.N}")
        if len(proportions("beta", self.beta)) > self.N:
            raise InvalidInput("beta", self.beta, f"has more clusters than items, N={self.N}")
        _ = self.users_by_class, self.items_by_cluster, self.probability

    @cached_property
    def users_by_class(self) -> np.ndarray:
        """(K,)"""
        return sizes("alpha", self.alpha, self.U)

    @cached_property
    def items_by_cluster(self) -> np.ndarray:
        """(Lc,): in the mean only where clusters are random."""
        return sizes("beta", self.beta, self.N)

    @cached_property
    def probability(self) -> np.ndarray:
        """(K, Lc): b"""
        return rating_probabilities(self.b, len(self.users_by_class), len(self.items_by_cluster))

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> BlockTruth:
        """Clusters of the items, (reps, N), anew in every replication."""
        count = len(self.items_by_cluster)
        if self.clusters == "random":
            return BlockTruth(rng.choice(count, (reps, self.N), p=proportions("beta", self.beta)), count)
        ordered = np.repeat(np.arange(count), self.items_by_cluster)
        return BlockTruth(rng.permuted(np.tile(ordered, (reps, 1)), axis=1), count)

    def simulate(self, truth: BlockTruth, rng: np.random.Generator) -> Users:
        """Users of a block, none of them drawn yet."""
        return Users(truth, self.users_by_class, self.w, self.probability, rng)

    def work(self) -> float:
        """Predicted cost of one replication beyond the mechanism's, in steps of about a nanosecond."""
        return 30 * self.N + 1e5


def _portions(classes, reps, most):
    """Rows of columns rep and user_class with counts, at most `most` users of a class and replication at a time."""
    left = np.tile(classes, reps)
    rep, user_class = np.divmod(np.arange(left.size), len(classes))
    while left.any():
        part = left if most is None else np.minimum(left, max(1, most // left.size))
        yield Rows(dict(rep=rep, user_class=user_class), part).some()
        left = left - part
