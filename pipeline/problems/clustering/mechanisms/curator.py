"""Noise that a trusted curator adds to sums over whole records."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.published_counts import PublishedCounts
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.curator_sums import CuratorSums, changed_by_person
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS
from pipeline.study.arrays import Integers
from pipeline.study.guarantee import CURATOR, ONE_PERSON, Guarantee
from pipeline.study.parameters import InvalidInput, parameter

from ..model import Users
from ..releases import NoisyPairSums
from ..sampling.records import co_occurrences, symmetric
from ..theory.co_occurrence_sensitivity import listed_co_occurrence_sensitivity


@dataclass(frozen=True)
class NoisyCoOccurrences(CuratorSums):
    """How often each two items are rated alike, less how often they are
    not, with a curator's noise.

    Users hand their records to a curator, who adds integer noise to the
    sums over users and releases only these. reading: what a record adds
    to a pair of items that it rates, `signed`, 1 where the ratings are
    alike and −1 where they are not; or `agree`, 1 and 0. Clusters differ
    twice as much in the first, at the same charge but for few items. With
    person_delta = 0 noise is discrete Laplace and the release is pure
    ε-DP, otherwise it is discrete Gaussian, ρ-zCDP, and (ε, δ)-DP. Of
    several `rounds` each has an equal part of the budget. It is
    made for exactly what a record of w ratings at most can change, and for
    what one row of a file can: `theory.co_occurrence_sensitivity`. So
    `task=release` of a file, by this object, costs what its study says.
    Source: Canonne, Kamath and Steinke (2020); Ghosh, Roughgarden and
    Sundararajan (2009).
    """

    N: int = parameter("items", unit="items", low=2)
    w: int = parameter("items that a user has rated, at most", unit="items", low=1)
    person: float = parameter("privacy budget of a user's record", unit="nats", above=0)
    person_delta: float = PERSON_DELTA
    U: int = parameter("users", unit="users", default=1, low=1)
    reading: str = parameter(
        "what a record adds to a pair that it rates: 1 if alike, and −1 or 0 if not",
        default="signed",
        choices=("signed", "agree"),
    )
    neighbours_are: str = changed_by_person("a user's record")
    rounds: int = ROUNDS

    covered = "a user's record"
    absent = "one user's record there or not there"
    guarantee: ClassVar[Guarantee] = Guarantee(
        trust=CURATOR,
        unit=ONE_PERSON,
        protects="all of a user's record: which items are rated, and how",
        neighbours="one user's record replaced by any other",
        public=(
            "the number of users, how many items a user has rated at most, the law of the noise"
        ),
        budget="pure ε-DP for a user's record; ρ-zCDP, hence (ε, δ)-DP, with person_delta > 0",
        composition="all that a user tells is changed at once",
    )
    accepts: ClassVar[type] = Users
    releases: ClassVar[type] = NoisyPairSums
    in_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.w > self.N:
            allowed = f"a user can rate no more items than there are, N={self.N}"
            raise InvalidInput("w", self.w, allowed)
        if self.w < 2:
            allowed = "must be 2 or more: a record of one item tells nothing of pairs"
            raise InvalidInput("w", self.w, allowed)
        self.noise.checked_width("person", self.person, self.charge, f" at w={self.w}")

    @property
    def answers(self) -> int:
        """Items that a user has rated, at most."""
        return self.w

    @property
    def sensitivity(self) -> Sensitivity:
        """What one user's record can change, or one row of a file of
        ratings if that is more.
        """
        return listed_co_occurrence_sensitivity(self.N, self.w, self.reading, self.neighbours_are)

    def release(self, data: Users, rng: np.random.Generator) -> NoisyPairSums:
        """Noisy sums of a block.

        InvalidInput where users have rated more than is charged. O(reps ·
        (U · w² + N²)).
        """
        if data.w > self.w:
            allowed = (
                f"each user of these data has rated {data.w:,} items, all of which cost budget"
            )
            raise InvalidInput("w", self.w, allowed)
        pairs = data.items * (data.items - 1) // 2
        noisy = np.empty((len(data.truth.clusters), pairs), np.int64)
        for r, of_replication in enumerate(noisy):  # each is large
            unlike, alike = co_occurrences(rng, data, r)
            sums = self.summed(unlike, alike)
            of_replication[:] = sums + self.noise.draw(rng, self.width, pairs)
        return self.released(noisy, data.items, data.users)

    def summed(self, unlike: Integers, alike: Integers) -> Integers:
        """What records add up to, of how many rated a pair otherwise, and
        how many alike.
        """
        if self.reading == "agree":
            return alike
        signed: Integers = alike - unlike
        return signed

    def released(self, noisy: Integers, items: int, users: int) -> NoisyPairSums:
        """What is released, of noisy sums (reps, pairs)."""
        answers = symmetric(np.full(noisy.shape, users), items)
        variance = self.noise.variance(self.width)
        return NoisyPairSums(symmetric(noisy, items), answers, 1.0, users, variance=variance)

    def publish(self, unlike: Integers, alike: Integers) -> PublishedCounts:
        """Noisy sums of real people's records, once, each with OpenDP's
        noise.

        unlike, alike: (pairs,), how many rated both items otherwise, and
        alike. 10 µs a pair. Raises InvalidInput without OpenDP.
        """
        released = self.noise.publish(self.summed(unlike, alike), self.charge)
        return PublishedCounts(released.counts, released.noise, self.sensitivity, released.spent)

    def memory(self) -> float:
        """Bytes of one replication: counts of pairs, noise, and what is
        released.
        """
        return 48 * self.N**2

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a
        nanosecond.

        Records of all users, noise of all pairs.
        """
        each = 20 + 10 * self.w + 2 * self.w**2
        return 1e4 + 60 * self.N**2 + each * self.U
