"""Yes/no questions that depend on the answers before: learning items one after the other."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Integers
from pipeline.study.guarantee import Guarantee, unprotected
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseMechanism

from ..model import Users
from ..releases import SeenRatings


@dataclass(frozen=True)
class Adaptive(BaseMechanism):
    """Without privacy: "did you rate item i so?" until somebody did, then about the next item.

    Which rating is asked for is a fair coin, so any user says yes with probability
    w/(2N), whatever b is; N items take 2 N² answers/w users in the mean. There is
    no logarithm in it, because an item is not asked about once it is known.
    unit: none, nothing is protected.
    Source: Banerjee, Hegde and Massoulié, §4.2, after Theorem 10.
    """

    N: int = parameter("items", unit="items", low=2)
    answers: int = parameter(
        "times that the answer is to be yes, for each item", default=1, low=1, high=10**4
    )

    guarantee: ClassVar[Guarantee] = unprotected("ε = ∞: one bit, but no protection")
    accepts: ClassVar[type] = Users
    releases: ClassVar[type] = SeenRatings

    def release(self, data: Users, rng: np.random.Generator) -> SeenRatings:
        """Ratings learned of a block, in the order of the items' numbers.

        Users up to the next yes are geometric; those who say yes are of classes
        drawn without replacement. O(reps · N · answers) draws.
        """
        clusters = data.truth.clusters
        answers = self.N * self.answers
        waited = rng.geometric(data.w / (2 * data.items), (len(clusters), answers))
        user = waited.cumsum(axis=1)  # who says yes
        yes = user <= data.users
        user_class = np.zeros(user.shape, int)
        if len(data.classes) > 1:
            for classes, said_yes in zip(user_class, yes, strict=True):
                classes[said_yes] = _classes_of(data, int(said_yes.sum()), rng)
        likes = data.b[user_class, clusters.repeat(self.answers, axis=1)]
        positive = yes & (rng.random(user.shape) < likes)
        by_item = (len(clusters), self.N, self.answers)
        return SeenRatings(
            positive.reshape(by_item).sum(axis=2),
            yes.reshape(by_item).sum(axis=2),
            data.users,
            np.minimum(user[:, -1], data.users),
        )

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 100 * self.N * self.answers


def _classes_of(data: Users, users: int, rng: np.random.Generator) -> Integers:
    """Classes of so many users, (users,), drawn without replacement, in random order."""
    counts = rng.multivariate_hypergeometric(data.classes, users, method="marginals")
    return rng.permutation(np.arange(len(counts)).repeat(counts))
