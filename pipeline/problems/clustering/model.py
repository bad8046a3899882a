"""Block model: classes of users rate clusters of items. Users are counted, never stored singly."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.problems.common.subset_sums import SubsetCounts, subset_sums
from pipeline.problems.common.user_counts import UserCounts, hypergeometric
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseModel

from .design import BlockLaw, proportions, rating_probabilities, sizes
from .releases import SeenRatings

FEW = 3  # clusters, up to which there are few kinds of users
FEW_KINDS = 128  # ways to spread ratings over more clusters, up to which there are few kinds, too
BATCH = 1 << 18  # users at a time, where there are so many clusters that few users are alike


@dataclass(frozen=True)
class BlockTruth:
    """Truth of the model.

    clusters: (reps, N) int, cluster of each item, 0 to count − 1. count:
    Lc. law: classes of users and what they like, where it is known.
    """

    clusters: Annotated[Integers, "reps", "N"]
    count: int
    law: BlockLaw | None = None

    @cached_property
    def sizes(self) -> Integers:
        """(reps, Lc): items in each cluster."""
        items: Integers = (self.clusters[:, :, None] == np.arange(self.count)).sum(axis=1)
        return items

    @cached_property
    def chances(self) -> Floats:
        """(reps, Lc): chances of a positive rating, averaged over users, least first."""
        return np.asarray(np.tile(np.sort(self._likes), (len(self.clusters), 1)))

    @cached_property
    def ordered_sizes(self) -> Floats:
        """(reps, Lc): items in each cluster, the least liked one first."""
        return self.sizes[:, np.argsort(self._likes, kind="stable")].astype(float)

    @cached_property
    def numbered_sizes(self) -> Floats:
        """(reps, Lc): items in each cluster, that of the first item first: `numbered`."""
        return sizes_of(numbered(self.clusters), self.count)

    @cached_property
    def alike(self) -> Floats:
        """(reps, 2): chance that a user rates two items alike, of one cluster, and of two.

        Averaged over all such pairs.
        """
        if self.law is None:
            return np.full((len(self.clusters), 2), np.nan)
        positive = (self.law.alpha[:, None] * self.law.b).T @ self.law.b
        mixed = self._likes[:, None] + self._likes
        chance = 1 - mixed + 2 * positive
        pairs = self.sizes[:, :, None] * (self.sizes[:, None] - np.eye(self.count))
        within = np.einsum("rii->ri", pairs)
        between = pairs.sum(axis=(1, 2)) - within.sum(axis=1)
        alike_within = within @ np.diagonal(chance)
        alike_between = (pairs * chance).sum(axis=(1, 2)) - alike_within
        with np.errstate(invalid="ignore"):
            return np.stack([alike_within / within.sum(axis=1), alike_between / between], axis=1)

    @cached_property
    def _likes(self) -> Floats:
        """(Lc,): b averaged over users."""
        if self.law is None:
            return np.full(self.count, np.nan)
        return np.asarray(self.law.alpha @ self.law.b)


def numbered(clusters: Integers) -> Integers:
    """Clusters numbered from 0 in the order of their first items, (reps, N).

    >>> numbered(np.array([[2, 0, 2, 1]])).tolist()
    [[0, 1, 0, 2]]
    """
    count = int(clusters.max(initial=0)) + 1
    member = clusters[:, :, None] == np.arange(count)
    first = np.where(member.any(axis=1), member.argmax(axis=1), clusters.shape[1])
    rank = np.argsort(np.argsort(first, axis=1, kind="stable"), axis=1, kind="stable")
    return np.take_along_axis(rank, clusters, axis=1)


def sizes_of(clusters: Integers, count: int) -> Floats:
    """(reps, count): items in each cluster."""
    items: Integers = (clusters[:, :, None] == np.arange(count)).sum(axis=1)
    return items.astype(float)


class Users:
    """U users of a block of replications, as counts of users with equal properties.

    No single user is ever stored. truth: clusters of items. classes: (K,),
    users in each class. w: rated items a user. b: (K, Lc). Users are
    exchangeable within a class, so how many of them rated w_1, …, w_Lc
    items of the clusters is all that is drawn here; mechanisms draw the
    rest by its law given these. Each call of `batches` starts the users'
    own stream anew and so draws the same users: of all replications
    together, those of one kind at once, so that units that need them cannot
    be cut into slices.
    """

    plain_release: ClassVar[type] = SeenRatings

    def __init__(
        self, truth: BlockTruth, classes: Integers, w: int, b: Floats, rng: np.random.Generator
    ):
        self.truth = truth
        self.classes = classes
        self.w = w
        self.b = b
        self._rng = rng

    @property
    def items(self) -> int:
        """N, the number of items."""
        return int(self.truth.clusters.shape[1])

    @property
    def users(self) -> int:
        """U, the number of users."""
        return int(self.classes.sum())

    @cached_property
    def _streams(self) -> list[np.random.Generator]:
        """Of how many users rated what, and of which items these are."""
        return self._rng.spawn(2)

    def portions(self) -> Iterator[UserCounts]:
        """All users by columns rep and user_class.

        In batches where there are so many clusters and ratings that
        few users are alike, else all at once.
        """
        clusters = self.truth.count
        kinds = math.comb(self.w + clusters - 1, self.w)
        are_alike = clusters <= FEW or kinds <= FEW_KINDS
        most = None if are_alike else BATCH
        return _portions(self.classes, len(self.truth.clusters), most)

    def batches(self) -> Iterator[UserCounts]:
        """Batches of users, those of one kind in one row.

        Columns rep, user_class, rated_0, …, rated_{Lc−1}. rated:
        multivariate hypergeometric, w of N items without replacement. At
        most one row a user; up to 3 clusters, and where a user has rated
        few items, a number of rows that does not grow with U.
        """
        rng = copy.deepcopy(self._streams[0])
        names = [f"rated_{cluster}" for cluster in range(self.truth.count)]
        for batch in self.portions():
            users = batch
            for cluster, name in enumerate(names):
                size = self.truth.sizes[users["rep"]]
                others = size[:, cluster + 1 :].sum(axis=1)
                left = self.w - users.total(*names[:cluster])
                users = hypergeometric(rng, users, name, size[:, cluster], others, left)
            yield users

    def release_plainly(self) -> SeenRatings:
        """All ratings as they are, without privacy, counted by item: what a coupon collector sees.

        O(N) draws.
        """
        rng = copy.deepcopy(self._streams[1])
        reps = len(self.truth.clusters)
        classes = len(self.classes)
        rated: list[SubsetCounts] = []
        for users in self.batches():
            group = users["rep"] * classes + users["user_class"]
            for cluster in range(self.truth.count):
                sizes_of_subsets = (users[f"rated_{cluster}"],)
                rated.append(SubsetCounts(group, cluster, sizes_of_subsets, users.count))
        clusters = self.truth.clusters.repeat(classes, axis=0)
        (seen_by_group,) = subset_sums(rng, clusters, self.truth.count, rated)
        seen = seen_by_group.reshape(reps, classes, self.items)
        likes = self.b[:, self.truth.clusters].swapaxes(0, 1)
        positive = rng.binomial(seen, likes).sum(axis=1)
        everybody = np.full(reps, self.users)
        return SeenRatings(positive, seen.sum(axis=1), self.users, everybody)


@dataclass(frozen=True)
class BlockModel(BaseModel):
    """User of class k rates item of cluster l positively with probability b_kl.

    Each rates w items, uniform, without replacement. Classes have exact
    sizes α_k U, clusters exact sizes β_l N in random order (both by largest
    remainder), as the paper assumes; `clusters: random` draws the cluster
    of each item independently with law β, as its lower bounds do. A list is
    written `0.5, 0.5`, a matrix `0.9, 0.1; 0.2, 0.8`, a row for each class.
    Source: Banerjee, Hegde and Massoulié, §2.1.
    """

    U: int = parameter("users", unit="users", low=1, high=10**9)
    N: int = parameter("items", unit="items", low=2, high=10**5)
    w: int = parameter("items that a user has rated", unit="items", low=1)
    b: str = parameter("probabilities b_kl of a positive rating, a row for each class of users")
    alpha: str = parameter("shares of the classes of users", default="1")
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")
    clusters: str = parameter(
        "sizes of clusters exactly β_l N, or items in them at random",
        default="exact",
        choices=("exact", "random"),
    )

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Users
    in_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.w > self.N:
            allowed = f"a user can rate no more items than there are, N={self.N}"
            raise InvalidInput("w", self.w, allowed)
        if len(proportions("beta", self.beta)) > self.N:
            raise InvalidInput("beta", self.beta, f"has more clusters than items, N={self.N}")
        _ = self.users_by_class, self.items_by_cluster, self.probability

    @cached_property
    def users_by_class(self) -> Integers:
        """(K,): users in each class."""
        return sizes("alpha", self.alpha, self.U)

    @cached_property
    def items_by_cluster(self) -> Integers:
        """(Lc,): items in each cluster; their means where clusters are random."""
        return sizes("beta", self.beta, self.N)

    @cached_property
    def probability(self) -> Floats:
        """(K, Lc): b, chances of a positive rating."""
        return rating_probabilities(self.b, len(self.users_by_class), len(self.items_by_cluster))

    @property
    def law(self) -> BlockLaw:
        """Shares of users and of clusters, whole users and items, and what users like."""
        return BlockLaw(
            self.users_by_class / self.U, self.items_by_cluster / self.N, self.probability
        )

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> BlockTruth:
        """Clusters of the items, (reps, N), anew in every replication."""
        count = len(self.items_by_cluster)
        if self.clusters == "random":
            shares = proportions("beta", self.beta)
            return BlockTruth(rng.choice(count, (reps, self.N), p=shares), count, self.law)
        ordered = np.repeat(np.arange(count), self.items_by_cluster)
        clusters = rng.permuted(np.tile(ordered, (reps, 1)), axis=1)
        return BlockTruth(clusters, count, self.law)

    def simulate(self, truth: BlockTruth, rng: np.random.Generator) -> Users:
        """Users of a block, none of them drawn yet."""
        return Users(truth, self.users_by_class, self.w, self.probability, rng)

    def cost(self) -> float:
        """Predicted cost of one replication beyond the mechanism's, in steps of a nanosecond."""
        return 100 * self.N + 1e4


def _portions(classes: Integers, reps: int, most: int | None) -> Iterator[UserCounts]:
    """Users by columns rep and user_class, at most `most` in all at a time; None is all at once."""
    left = np.tile(classes, reps)
    rep, user_class = np.divmod(np.arange(left.size), len(classes))
    while left.any():
        part = left
        if most is not None:
            part = np.minimum(left, max(1, most // left.size))
        columns = {"rep": rep, "user_class": user_class}
        yield UserCounts(columns, part).without_empty()
        left = left - part
