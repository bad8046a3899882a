"""Yes/no questions that depend on the answers before: learning the items of a block model one after the other."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.models.blocks import SeenRatings, Users
from pipeline.parameters import parameter


@dataclass(frozen=True)
class Adaptive:
    """Without privacy: users are asked "did you rate item i so?" until somebody did, then about the next item.

    Which rating is asked for is a fair coin, so any user says yes with probability w/(2N), whatever b is; N items take
    2 N² answers/w users in the mean. No logarithm: no item is asked about once it is known.
    unit: none, nothing is protected. Source: Banerjee, Hegde and Massoulié, §4.2, after Theorem 10.
    """

    N: int = parameter("items", unit="items", low=2)
    answers: int = parameter("times that the answer is to be yes, for each item", default=1, low=1, high=10**4)

    unit: ClassVar[str] = "none"
    neighbours: ClassVar[str] = "none"
    budget: ClassVar[str] = "ε = ∞: one bit, but no protection"
    accepts: ClassVar[type] = Users
    releases: ClassVar[type] = SeenRatings

    def release(self, data: Users, rng: np.random.Generator) -> SeenRatings:
        """Ratings learned of a block, in the order of the items' numbers. O(reps · N · answers) draws.

        Users up to the next yes are geometric; those who say yes are of classes drawn without replacement.
        """
        clusters, wanted = data.truth.clusters, self.N * self.answers
        when = rng.geometric(data.w / (2 * data.items), (len(clusters), wanted)).cumsum(axis=1)
        yes = when <= data.users
        user_class = np.zeros(when.shape, int)
        if len(data.classes) > 1:
            for classes, said in zip(user_class, yes, strict=True):
                of = rng.multivariate_hypergeometric(data.classes, np.count_nonzero(said), method="marginals")
                classes[said] = rng.permutation(np.arange(len(of)).repeat(of))
        likes = data.b[user_class, clusters.repeat(self.answers, axis=1)]
        positive = yes & (rng.random(when.shape) < likes)
        positive, seen = (x.reshape(len(clusters), self.N, self.answers).sum(axis=2) for x in (positive, yes))
        return SeenRatings(positive, seen, data.users, np.minimum(when[:, -1], data.users))

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 100 * self.N * self.answers
