"""MaxSense: one private bit of each user about a random set of items."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.problems.common.subset_sums import SubsetCounts, subset_sums
from pipeline.problems.common.user_counts import UserCounts, binomial
from pipeline.study.arrays import Integers
from pipeline.study.parameters import InvalidInput, parameter

from ..design import block_law, proportions, sizes
from ..model import BlockModel, Users
from ..redrawing import Origin
from ..releases import ScoreSketches
from ..sampling.records import bits_of_sets
from ..theory.sensed_sets import IndependentSets, SensedSets
from ..theory.sketch_means import maxsense_means
from .one_bit import QUESTIONS, RepeatedBits

SAME = 1e-12  # difference of means, over the largest, up to which they are equal but for rounding


@dataclass(frozen=True, kw_only=True)
class Sensing(RepeatedBits):
    """Base of MaxSense and Multi-MaxSense: each item is sensed with probability θ/w."""

    w: int = parameter("items that a user has rated", unit="items", low=1)
    theta: float = parameter("θ, sensing probability of an item times w", default=1.0, above=0)
    U: int = parameter("users", unit="users", default=1, low=1)
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")

    releases: ClassVar[type] = ScoreSketches

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta > self.w:
            allowed = f"θ/w is the chance that an item is sensed: at most w={self.w}"
            raise InvalidInput("theta", self.theta, allowed)

    @property
    def p(self) -> float:
        """θ/w, the probability that an item is sensed."""
        return self.theta / self.w

    @property
    def share(self) -> float:
        """Share of the items that one bit is about, on average."""
        return self.p

    @abstractmethod
    def sets(self, rated: int) -> SensedSets | None:
        """Law of the sets of users who have rated so many items; None where bits depend on each
        other.
        """

    def released(self, scores: Integers, sensed: Integers, data: Users) -> ScoreSketches:
        """What is released, of scores and of how often items were sensed, (reps, N)."""
        return ScoreSketches(
            scores,
            sensed,
            self.keep,
            data.users,
            sets=self.sets(data.w),
            per_user=self.answers,
            origin=Origin(self, data.w),
        )

    def remark(self, model: BlockModel) -> str | None:
        """A warning for readers of the plan and the report where two clusters have one mean score.

        None where all differ.
        """
        law = block_law(model.alpha, model.beta, model.b)
        items = sizes("beta", model.beta, model.N)
        means = np.sort(law.alpha @ maxsense_means(model.w, self.share, items, law.b))
        if np.diff(means).min(initial=np.inf) > SAME * means.max():
            return None
        return (
            "the scores of two clusters have the same mean, as these are liked equally "
            "often, or every item is sensed; no number of users distinguishes them; "
            "pairwise_preference may"
        )


@dataclass(frozen=True)
class MaxSense(Sensing):
    """A user says whether she likes any item of a random set, each in it with probability θ/w.

    Her sketch is the largest of her ratings in the set, 0 where she has none; she
    releases it as one private bit. Q: sets of a user, independent of each
    other, about each of which she releases a bit. As all of them are about one
    record, an item that she likes may decide every bit. Disjoint sets are those of
    Multi-MaxSense. Sets are public.
    Source: Banerjee, Hegde and Massoulié, Figure 2, with one set a user.
    """

    Q: int = QUESTIONS

    @property
    def answers(self) -> int:
        """Sets that each user is asked about."""
        return self.Q

    def sets(self, rated: int) -> SensedSets | None:
        """Independent ones; several of a user may hold one item that she likes."""
        if self.answers > 1:
            return None
        return IndependentSets(self.N, rated, self.p)

    def release(self, data: Users, rng: np.random.Generator) -> ScoreSketches:
        """Scores of a block, exact in joint law.

        With one set a user, up to 3 clusters, the number of draws does not depend on
        U. Users are grouped by how many items of each cluster they rated and how
        many sensed items they like, which determines their sketch. Given those,
        sensed items that are not liked are binomial, independently in each cluster,
        and which items they are is uniform: `subset_sums`. Several bits about one
        record depend on each other, so that records are drawn: `bits_of_sets`.
        """
        if self.answers > 1:
            bits = bits_of_sets(rng, data, self.p, self.answers, self.keep)
            return self.released(bits[:, 1], bits.sum(axis=1), data)
        sensed: list[SubsetCounts] = []
        for users in data.batches():
            for group in self._released(rng, users, data):
                parts = [self._sensed(rng, group, c, data) for c in range(data.truth.count)]
                sensed += [part for part in parts if part.users.size]
        clusters = data.truth.clusters.repeat(2, axis=0)
        (sums,) = subset_sums(rng, clusters, data.truth.count, sensed)
        sums = sums.reshape(-1, 2, data.items)
        return self.released(sums[:, 1], sums.sum(axis=1), data)

    def _released(
        self, rng: np.random.Generator, users: UserCounts, data: Users
    ) -> tuple[UserCounts, UserCounts]:
        """Users whose released bit is 0, and those whose bit is 1.

        Columns liked_c, and group = 2 rep + bit.
        """
        clusters = range(data.truth.count)
        for c in clusters:
            chance = self.p * data.b[users["user_class"], c]
            users = binomial(rng, users, f"liked_{c}", users[f"rated_{c}"], chance)
        sketch = np.any([users[f"liked_{c}"] > 0 for c in clusters], axis=0)
        one_bits = rng.binomial(users.count, np.where(sketch, self.keep, 1 - self.keep))
        group = 2 * users["rep"]
        with_zero = UserCounts(users.columns | {"group": group}, users.count - one_bits)
        with_one = UserCounts(users.columns | {"group": group + 1}, one_bits)
        return with_zero.without_empty(), with_one.without_empty()

    def _sensed(
        self, rng: np.random.Generator, users: UserCounts, c: int, data: Users
    ) -> SubsetCounts:
        """Users of a released bit by the number of items of cluster c that they sense."""
        users = users.merged("group", "user_class", f"rated_{c}", f"liked_{c}")
        likes = data.b[users["user_class"], c]
        # Chance that a rated item is sensed, if it is not sensed and liked.
        disliked = self.p * (1 - likes) / np.maximum(1 - self.p * likes, 1e-300)
        not_liked = users[f"rated_{c}"] - users[f"liked_{c}"]
        users = binomial(rng, users, "other", not_liked, disliked)
        sensed = users[f"liked_{c}"] + users["other"]
        group = users["group"]
        unrated = data.truth.sizes[group // 2, c] - users[f"rated_{c}"]
        # Unrated items that all of a group have are left to the end, where kinds of
        # users are few.
        common = np.full(2 * len(data.truth.clusters), data.items)
        np.minimum.at(common, group, unrated)
        columns = {"group": group, "sensed": sensed, "unrated": unrated - common[group]}
        users = UserCounts(columns, users.count).merged(*columns)
        users = self._sensed_more(rng, users, users["unrated"]).merged("group", "sensed")
        users = self._sensed_more(rng, users, common[users["group"]])
        return SubsetCounts(users["group"], c, (users["sensed"],), users.count)

    def _sensed_more(
        self, rng: np.random.Generator, users: UserCounts, unrated: Integers
    ) -> UserCounts:
        """Users by the items sensed, among so many unrated ones too: columns group and sensed."""
        chance = np.full(users.count.size, self.p)
        users = binomial(rng, users, "more", unrated, chance)
        columns = {"group": users["group"], "sensed": users["sensed"] + users["more"]}
        return UserCounts(columns, users.count)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond.

        Of items, and of kinds of users; of users with several bits.
        """
        if self.answers > 1:
            each = 4 * self.w + self.answers * (20 + 6 * self.N * self.p)
            return 1e5 + each * self.U
        kinds = math.comb(self.w + len(proportions("beta", self.beta)) - 1, self.w)
        return 1e5 + 1.4e4 * self.N + 4e3 * min(self.U, kinds)
