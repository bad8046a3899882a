"""What mechanisms release about the items: ratings, sums of private bits, noisy sums."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np

from pipeline.problems.common.bootstrap import RedrawnRelease
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Floats, Integers

from .theory.sensed_sets import SensedSets


class Redrawing(Abstract):
    """Who draws releases of a mechanism again."""

    @abstractmethod
    def again(
        self, clusters: Array, likes: Floats, users: int, times: int, rng: np.random.Generator
    ) -> Any:  # noqa: ANN401  (a release of the mechanism)
        """`times` releases, as replications, of as many users who are alike.

        clusters: (N,). likes: (Lc,), chances of a positive rating.
        """


@dataclass(frozen=True)
class SeenRatings(RedrawnRelease):
    """Ratings of single items that were seen as they are.

    positive, seen: (reps, N), positive ratings and ratings of each item.
    users: U. users_asked: (reps,), users to whom a question was put, fewer
    than U where a scheme was done earlier. are_ratings: not so where
    `positive` only says what items were taken to be.
    """

    positive: Annotated[Integers, "reps", "N"]
    seen: Annotated[Integers, "reps", "N"]
    users: int
    users_asked: Annotated[Integers, "reps"]
    are_ratings: bool = True

    def drawn_again(
        self,
        estimate: Any,  # noqa: ANN401  (a clustering)
        row: int,
        times: int,
        rng: np.random.Generator,
    ) -> Self | None:
        """As many ratings of each item, positive with its cluster's chance."""
        if not self.are_ratings:
            return None
        likes = estimate.chances[row][estimate.clusters[row]]
        seen = np.tile(self.seen[row], (times, 1))
        asked = np.full(times, self.users_asked[row])
        positive = rng.binomial(seen, np.nan_to_num(likes))
        return replace(self, positive=positive, seen=seen, users_asked=asked)


@dataclass(frozen=True)
class PairSketches(RedrawnRelease):
    """Released bits about pairs of items. users: U.

    agreements: (reps, N, N) int64, Â_ij, released ones among the users
    asked about {i, j}; symmetric, 0 on the diagonal. probes: (reps, N, N)
    int64, users asked about {i, j}: public, with mean U/C(N, 2) for every
    pair; the paper's estimator does not use them. keep: probability that a
    bit is released as it is. both: chance that both items of a pair are
    rated, where a bit says that their ratings are alike and no user
    releases two; else None.
    """

    agreements: Annotated[Integers, "reps", "N", "N"]
    probes: Annotated[Integers, "reps", "N", "N"]
    keep: float
    users: int
    both: float | None = None

    def drawn_again(
        self,
        estimate: Any,  # noqa: ANN401  (a clustering)
        row: int,
        times: int,
        rng: np.random.Generator,
    ) -> Self | None:
        """Bits about the same pairs, 1 with the rate of the clusters of both items."""
        if self.both is None:
            return None
        clusters = estimate.clusters[row]
        rates = np.nan_to_num(estimate.law.rates[row])[clusters[:, None], clusters]
        first, second = np.triu_indices(len(clusters), 1)
        probes = self.probes[row]
        drawn = rng.binomial(probes[first, second], rates[first, second], (times, len(first)))
        agreements = np.zeros((times, *probes.shape), np.int64)
        agreements[:, first, second] = drawn
        agreements[:, second, first] = drawn
        return replace(self, agreements=agreements, probes=np.tile(probes, (times, 1, 1)))


@dataclass(frozen=True)
class NoisyPairSums(PairSketches):
    """Sums over records about pairs of items, with a curator's noise.

    agreements: (reps, N, N), the noisy sums, which may be negative. probes: all users, for every
    pair. keep: 1, as no bit is flipped. variance: of the noise.
    """

    variance: float = 0.0


@dataclass(frozen=True)
class ScoreSketches(RedrawnRelease):
    """Released bits about sensed sets of items, added up by item. users: U.

    scores: (reps, N) int64, B_i = Σ_u H_ui S_u over all released bits S_u
    with sensing vectors H_u. sensed: (reps, N) int64, Σ_u H_ui, public; the
    paper's estimator does not use them. keep: probability that a bit is
    released as it is. sets: law of the sets, of which each user has
    `per_user`; None where bits of one user depend on each other. origin:
    the mechanism, which draws such releases again.
    """

    scores: Annotated[Integers, "reps", "N"]
    sensed: Annotated[Integers, "reps", "N"]
    keep: float
    users: int
    sets: SensedSets | None = None
    per_user: int = 1
    origin: Redrawing | None = None

    def drawn_again(
        self,
        estimate: Any,  # noqa: ANN401  (a clustering)
        row: int,
        times: int,
        rng: np.random.Generator,
    ) -> Any:  # noqa: ANN401  (of the mechanism)
        """Of users who are alike and like each cluster as often as was estimated."""
        likes = estimate.chances[row]
        if self.origin is None or not np.isfinite(likes).all():
            return None
        return self.origin.again(estimate.clusters[row], likes, self.users, times, rng)
