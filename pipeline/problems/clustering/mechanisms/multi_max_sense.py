"""Several private bits a user about disjoint sets of items: Multi-MaxSense."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit

from pipeline.privacy.attacks import Attack, FlippedBits
from pipeline.study.arrays import Array, Booleans, Floats, Integers
from pipeline.study.parameters import InvalidInput, parameter

from ..model import Users
from ..releases import ScoreSketches
from ..user_counts import UserCounts, hypergeometric
from .max_sense import Sensing

ENTRIES = 1 << 21  # of the shuffled items of a batch of users: fit the L2 cache, and amortise calls


@dataclass(frozen=True)
class MultiMaxSense(Sensing):
    """MaxSense with Q sets a user, disjoint, of N·θ/w items each (rounded, at least 1), and budget ε/Q a bit.

    Sets of a user are Q parts of a random partition. Her sketches are not quite independent, though the paper treats
    them so: an item that is rated in one set is in no other. Q: ⌈ε⌉ unless given.
    unit: all of a user's record, rated items and ratings. neighbours: that record replaced by any other.
    budget: pure ε-LDP a user, by composition of Q bits. Source: Banerjee, Hegde and Massoulié, Figure 3.
    """

    U: int = parameter("users", unit="users", default=1, low=1)
    Q: int | None = parameter("questions a user; null is ⌈ε⌉", default=None, low=1)

    budget: ClassVar[str] = "pure ε-LDP for a user's record: Q bits of budget ε/Q"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.Q is None and math.isinf(self.epsilon):
            raise InvalidInput("Q", self.Q, "must be given where epsilon is infinite")
        if self.questions * self.size > self.N:
            raise InvalidInput("Q", self.questions, f"{self.questions} disjoint sets of {self.size} items, N·θ/w, need "
                               f"more than the N={self.N} there are; give a smaller Q, epsilon or theta, or a larger w")

    @property
    def questions(self) -> int:
        """Q, the number of questions to a user."""
        return self.Q or math.ceil(self.epsilon)

    @property
    def size(self) -> int:
        """N·θ/w in whole items, the size of one sensing set."""
        return max(1, round(self.N * self.p))

    @cached_property
    def keep(self) -> float:
        """Probability that one bit is released as it is, at budget ε/Q."""
        return float(expit(self.epsilon / self.questions))

    def spent(self) -> dict[str, float]:
        """Budgets in nats: exactly of a user, of her by composition, of one of her bits.

        Records of w ratings differ in at most 2w sketches: less than ε is lost where Q > 2w.
        """
        one = self.epsilon / self.questions
        return {"a user's record": one * min(self.questions, 2 * self.w),
                "a user's record, by composition": self.epsilon, "one bit": one}

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one bit, and on a record: two records differ in at most 2w of a user's bits."""
        one = self.epsilon / self.questions
        return {"answer": FlippedBits(one, 1), "person": FlippedBits(one, min(self.questions, 2 * self.w))}

    def release(self, data: Users, rng: np.random.Generator) -> ScoreSketches:
        """Scores of a block: O(reps · U · Q · N θ/w), memory of one batch of users."""
        sums = np.zeros((len(data.truth.clusters), 2 * data.items), np.int64)
        batch = max(256, ENTRIES // data.items)
        kind = np.min_scalar_type(2 * data.items)
        order = np.tile(np.arange(data.items, dtype=kind)[:, None], batch)  # (item, user), shuffled again and again
        for total, clusters in zip(sums, data.truth.clusters, strict=True):
            for users, likes in zip(data.classes, data.b, strict=True):
                rated = self._rated(rng, users, data)
                for start in range(0, users, batch):
                    shuffled = order if users - start >= batch else order[:, : users - start].copy()
                    kinds = np.searchsorted(rated.count.cumsum(), np.arange(start, start + shuffled.shape[1]), "right")
                    _shuffle(rng, shuffled, self.questions * self.size)
                    ratings = [rated[f"rated_{q}"][kinds] for q in range(self.questions)]
                    self._add_bits(rng, shuffled, ratings, likes[clusters], total)
        by_bit = sums.reshape(-1, 2, data.items)
        return ScoreSketches(by_bit[:, 1], by_bit.sum(axis=1), self.keep, data.users)

    def _rated(self, rng: np.random.Generator, users: int, data: Users) -> UserCounts:
        """Users of a class by the numbers of rated items in their sets: columns rated_0, …, rated_{Q−1}."""
        counts, left, unseen = UserCounts({}, np.array([users])), np.array([data.w]), data.items
        for q in range(self.questions):
            unseen -= self.size
            counts = hypergeometric(rng, UserCounts({**counts.columns, "left": left}, counts.count), f"rated_{q}",
                                    np.full_like(left, self.size), np.full_like(left, unseen), left)
            left = counts["left"] - counts[f"rated_{q}"]
        return counts

    def _add_bits(
        self, rng: np.random.Generator, order: Array, rated: list[Integers], likes: Floats, total: Integers
    ) -> None:
        """Add the released bits of a batch of users to the scores of a replication.

        order: (items, users), whose first rows are the sensed sets, one after the other. rated: (users,) for each set,
        rated items in it. likes: (N,). total: (2 N,), how often an item was sensed by bits that are 0, then 1.
        """
        items = len(likes)
        for q in range(self.questions):
            sensed = order[q * self.size:(q + 1) * self.size]
            bit = self._bits(rng, sensed, rated[q], likes)
            sensed = sensed + np.where(bit, items, 0).astype(order.dtype)
            total += np.bincount(sensed.ravel(), minlength=2 * items)

    def _bits(self, rng: np.random.Generator, sensed: Array, rated: Integers, likes: Floats) -> Booleans:
        """(users,): released bits of one set each; sensed: (size, users) in random order, rated: (users,)."""
        bit = rng.random(rated.size) >= self.keep
        sketch = np.zeros(rated.size, bool)
        for row in range(int(rated.max(initial=0))):  # the order is random, so let the first items be the rated ones
            users = np.flatnonzero(rated > row)
            sketch[users] |= rng.random(users.size) < likes[sensed[row, users]]
        return bit ^ sketch

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 20.0 * self.questions * self.size * self.U


def _shuffle(rng: np.random.Generator, order: Array, heads: int) -> None:
    """Make the first rows of order, in each column, a uniform ordered sample of it without replacement.

    Fisher and Yates; the result does not depend on the order before. order: (items, users), contiguous.
    """
    items, users = order.shape
    flat, column = order.reshape(-1), np.arange(users)
    for row in range(heads):
        entry = rng.integers(row, items, users, np.int32).astype(np.intp)
        entry *= users
        entry += column
        picked = flat.take(entry)
        flat[entry] = order[row]
        order[row] = picked
