"""How sure chances of ratings are that were learned with a clustering, from the release alone.

Where all items are in their right clusters with a probability near 1, the rates
of clusters vary as if the clusters were known: with i in cluster l,

    r_l = Σ_{i∈l} k_i/Σ_{i∈l} n_i,

n_i answers about an item, k_i those that are 1. Where so many items are expected
to be in a wrong cluster that this is not so (`MOST_MISPLACED`), errors are NaN:
below the transition there is no limit law, and rates of clusters that were cut
out of noise are apart though nothing is. Sizes have no regular limit at all: they
are right, or differ by a few whole items. The bootstrap is for these.

- **Ratings that were seen** are independent given that they were seen: r_l
  estimates b_l, the chance of a positive rating averaged over users, and Var r_l
  = b_l (1 − b_l)/n_l. With several classes of users of fixed sizes it is at most
  that, as classes are then sampled without replacement.
- **Bits about sensed sets** are shared by all items of a set. With H_l the items of
  cluster l in a user's set, the part of one answer is ψ_l = H_l (S − π_l), and

      E ψ_l ψ_l' = [l = l'] n_l p π_l (1 − π_l) + (n_l n_l' − [l = l'] n_l) p₂ c_ll',
      c_ll' = π_ll' (1 − π_l − π_l') + π_l π_l',

  p, p₂ the chances that one item, and two, are in a set, π_l and π_ll' those of a
  released 1 given that (`theory.sensed_sets`). Several sets of one user are taken
  as independent given what they contain: disjoint ones nearly are, and where an
  item is liked in one it is liked in no other, which makes errors rather too
  large. b solves f + t q(b) = r, f and t of the flips, q the chance of a sketch if
  users are alike; Cov b = G⁻¹ Cov(r) G⁻ᵀ/t², G = ∂q/∂b.
- **Bits about pairs** are independent given which pairs are asked about, which is
  public: with one pair a user r of pairs within clusters and of pairs between
  them has the variance Σ n π(1 − π)/(Σ n)² over blocks of clusters, and (r −
  f)/(t ρ), ρ the chance that both items are rated, is the chance that two ratings
  are alike. Chances b themselves are not identified by these.

Source: first principles; van der Vaart (1998), Asymptotic Statistics, §3.1; for
clusters as if they were known: Bickel, Choi, Chang and Zhang (2013), Asymptotic
normality of maximum likelihood and its variational approximation for stochastic
blockmodels, Annals of Statistics 41.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import special

from pipeline.problems.common.bootstrap import BootstrapScores
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Booleans, Floats, Integers

from .sensed_sets import SensedSets
from .success import pair_success

MOST_MISPLACED = 0.2  # items expected in a wrong cluster, up to which clusters count as known
STEPS = 50  # of Newton's method
NEAR = 1e-10  # chance of a sketch that is reached
DIFFERENCE = 1e-5  # of chances, for slopes


class ClusterLaw(Abstract):
    """Rates of a clustering, and how they vary.

    quantity: name of what is estimated, in estimates and truths alike. sizes: name of the numbers
    of items, in the order of the clusters that is meant. count: Lc.
    """

    quantity: ClassVar[str]
    sizes: ClassVar[str]

    if TYPE_CHECKING:  # a field of some classes

        @property
        def count(self) -> int: ...

    @property
    @abstractmethod
    def estimated(self) -> Floats:
        """(reps, k)."""

    @property
    @abstractmethod
    def covariance(self) -> Floats:
        """(reps, k, k), if the clusters are right."""

    @property
    @abstractmethod
    def misplaced(self) -> Floats:
        """(reps,): how many items are expected to be in a wrong cluster."""

    @cached_property
    def scores(self) -> BootstrapScores:
        """The estimate and how it varies; NaN where clusters are not right, or have no spread."""
        estimated = self.estimated
        matrix = self.covariance.copy()
        variance = np.einsum("rii->ri", matrix)
        is_regular = np.all(variance > 0, axis=1) & (self.misplaced <= MOST_MISPLACED)
        matrix[~is_regular] = np.nan
        with np.errstate(invalid="ignore"):
            errors = np.sqrt(np.einsum("rii->ri", matrix))
        centre = np.where(is_regular[:, None], estimated, np.nan)
        return BootstrapScores(centre, errors, matrix)


@dataclass(frozen=True)
class ItemAnswers:
    """Answers about items, by cluster. ones, answers: (reps, N). clusters: (reps, N), in order of
    their rates. count: Lc.
    """

    ones: Integers
    answers: Integers
    clusters: Integers
    count: int

    def of_clusters(self, values: Array) -> Floats:
        """Sums over the items of each cluster, (reps, Lc); values (reps, N)."""
        sums = np.empty((len(self.clusters), self.count))
        for cluster in range(self.count):
            sums[:, cluster] = np.where(self.clusters == cluster, values, 0).sum(axis=1)
        return sums

    @cached_property
    def sizes(self) -> Floats:
        """(reps, Lc): items of each cluster."""
        return self.of_clusters(np.ones(self.clusters.shape))

    @cached_property
    def asked(self) -> Floats:
        """(reps, Lc): answers about each cluster."""
        return self.of_clusters(self.answers)

    @cached_property
    def rates(self) -> Floats:
        """(reps, Lc): r; NaN of a cluster without answers."""
        ones = self.of_clusters(self.ones)
        unknown = np.full(ones.shape, np.nan)
        rates: Floats = np.divide(ones, self.asked, out=unknown, where=self.asked > 0)
        return rates

    def misplaced(self, variances: Floats) -> Floats:
        """Items beyond the middle to the next cluster, (reps,), of normal rates with these
        variances, (reps, N, Lc).
        """
        gaps = np.diff(self.rates, axis=1) / 2
        half = np.full((len(gaps), self.count, 2), np.inf)
        half[:, :-1, 0] = gaps
        half[:, 1:, 1] = gaps
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = half[:, None] / np.sqrt(variances)[..., None]
            wrong = special.ndtr(-reach).sum(axis=3)
        own = np.take_along_axis(wrong, self.clusters[:, :, None], axis=2)[..., 0]
        return np.asarray(own.sum(axis=1))


@dataclass(frozen=True)
class SeenLaw(ClusterLaw):
    """Of ratings that were seen as they are: b_l, least first."""

    answers: ItemAnswers

    quantity: ClassVar[str] = "chances"
    sizes: ClassVar[str] = "ordered_sizes"

    @property
    def count(self) -> int:
        """Lc."""
        return self.answers.count

    @property
    def estimated(self) -> Floats:
        """r."""
        return self.answers.rates

    @cached_property
    def covariance(self) -> Floats:
        """Diagonal, b (1 − b)/n."""
        rates = self.answers.rates
        variance = rates * (1 - rates) / np.maximum(self.answers.asked, 1)
        return np.asarray(variance[:, :, None] * np.eye(variance.shape[1]))

    @cached_property
    def misplaced(self) -> Floats:
        """Of binomial numbers, taken as normal; an item that was not seen may be anywhere."""
        rates = self.answers.rates
        seen = self.answers.answers
        variance = (rates * (1 - rates))[:, None] / np.maximum(seen, 1)[:, :, None]
        wrong = self.answers.misplaced(variance)
        return np.asarray(wrong + (seen == 0).sum(axis=1))


@dataclass(frozen=True)
class SetLaw(ClusterLaw):
    """Of bits about sensed sets: b_l, least first, if users are alike.

    keep: chance that a bit is as it was. users: U. per_user: sets of a user. sets: their law; None
    where it is not known. adjusted: whether items were clustered by scores less the noise of how
    often they were sensed.
    """

    answers: ItemAnswers
    keep: float
    users: int
    per_user: int
    sets: SensedSets | None
    adjusted: bool

    quantity: ClassVar[str] = "chances"
    sizes: ClassVar[str] = "ordered_sizes"

    @property
    def count(self) -> int:
        """Lc."""
        return self.answers.count

    @cached_property
    def estimated(self) -> Floats:
        """b of f + t q(b) = r, by Newton's method; NaN where there is none."""
        rates = self.answers.rates
        if self.sets is None or self.keep <= 0.5:
            return np.full(rates.shape, np.nan)
        wanted = (rates - (1 - self.keep)) / (2 * self.keep - 1)
        likes = np.full(rates.shape, 0.5)
        for _ in range(STEPS):
            lack = wanted - self._sketches(likes)
            if not np.any(np.abs(lack) > NEAR):
                break
            step = _solved(self._slopes(likes), lack)
            likes = np.clip(likes + step, -1, 2)
        is_reached = np.all(np.abs(lack) <= NEAR, axis=1)
        return np.where(is_reached[:, None], likes, np.nan)

    @cached_property
    def covariance(self) -> Floats:
        """G⁻¹ Cov(r) G⁻ᵀ/t²."""
        likes = self.estimated
        if self.sets is None:
            return np.full((*likes.shape, likes.shape[1]), np.nan)
        slopes = self._slopes(likes) * (2 * self.keep - 1)
        half = _solved(slopes, self.rate_covariance)
        covariance: Floats = _solved(slopes, half.mT)
        return covariance

    @cached_property
    def rate_covariance(self) -> Floats:
        """Cov(r), (reps, Lc, Lc): U E ψψᵀ over the answers about the clusters."""
        answers = self.answers
        rates = answers.rates
        sizes = answers.sizes
        count = answers.count
        shared = np.empty((len(rates), count, count))
        for first in range(count):
            for second in range(first, count):
                both = self._released(self.estimated, (first, second))
                apart = both * (1 - rates[:, first] - rates[:, second])
                moment = apart + rates[:, first] * rates[:, second]
                shared[:, first, second] = shared[:, second, first] = moment
        pairs = sizes[:, :, None] * sizes[:, None] - sizes[:, :, None] * np.eye(count)
        answered = self.users * self.per_user
        covariance = answered * self._pair * pairs * shared
        single = answers.asked * rates * (1 - rates)
        covariance += single[:, :, None] * np.eye(count)
        asked = np.maximum(answers.asked, 1)
        rate_covariance: Floats = covariance / (asked[:, :, None] * asked[:, None])
        return rate_covariance

    @cached_property
    def misplaced(self) -> Floats:
        """By the noise of scores around what all of them have in common: `theory.success`."""
        answers = self.answers
        rates = answers.rates
        cover = answers.answers.mean(axis=1, keepdims=True) / self.users
        sensing = cover / self.per_user
        if self.adjusted:
            noise = rates * (1 - rates) * (1 - sensing)
        else:
            noise = rates * (1 - sensing - (cover - sensing) * rates)
        variance = noise / np.maximum(self.users * cover, 1e-300)
        every_item = np.broadcast_to(variance[:, None], (*answers.answers.shape, answers.count))
        return answers.misplaced(every_item)

    @property
    def _pair(self) -> float:
        return 0.0 if self.sets is None else self.sets.pair

    def _released(self, likes: Floats, known: tuple[int, ...]) -> Floats:
        """π given known items, (reps,)."""
        if self.sets is None:
            return np.full(len(likes), np.nan)
        sketch = self.sets.chance(self.answers.sizes, likes, known)
        return 1 - self.keep + (2 * self.keep - 1) * sketch

    def _sketches(self, likes: Floats) -> Floats:
        """q(b), (reps, Lc)."""
        count = self.answers.count
        released = [self._released(likes, (cluster,)) for cluster in range(count)]
        sketches = (np.stack(released, axis=1) - (1 - self.keep)) / (2 * self.keep - 1)
        return np.asarray(sketches)

    def _slopes(self, likes: Floats) -> Floats:
        """G, (reps, Lc, Lc): [:, l, m] is ∂q_l/∂b_m, by central differences."""
        slopes = np.empty((*likes.shape, likes.shape[1]))
        for cluster in range(likes.shape[1]):
            change = np.zeros(likes.shape[1])
            change[cluster] = DIFFERENCE
            rise = self._sketches(likes + change) - self._sketches(likes - change)
            slopes[:, :, cluster] = rise / (2 * DIFFERENCE)
        return slopes


@dataclass(frozen=True)
class PairLaw(ClusterLaw):
    """Of bits about pairs: the chance that two ratings are alike, within clusters and between.

    agreements, probes: (reps, N, N). clusters: (reps, N). keep: chance that a bit is as it was.
    both: chance that both items of a pair are rated; None where bits depend on each other, or
    answer another question. users: U.
    """

    agreements: Integers
    probes: Integers
    clusters: Integers
    count: int
    keep: float
    both: float | None
    users: int
    adjusted: bool

    quantity: ClassVar[str] = "alike"
    sizes: ClassVar[str] = "numbered_sizes"

    @cached_property
    def blocks(self) -> tuple[Floats, Floats]:
        """Ones and answers about pairs of two clusters, (reps, Lc, Lc), each pair of items twice."""
        member = (self.clusters[:, :, None] == np.arange(self.count)).astype(float)
        ones = member.mT @ self.agreements @ member
        answers = member.mT @ self.probes @ member
        return ones, answers

    @cached_property
    def rates(self) -> Floats:
        """(reps, Lc, Lc): released ones of pairs of two clusters; NaN of those not asked about."""
        ones, answers = self.blocks
        unknown = np.full(ones.shape, np.nan)
        rates: Floats = np.divide(ones, answers, out=unknown, where=answers > 0)
        return rates

    @cached_property
    def estimated(self) -> Floats:
        """(r − f)/(t ρ) within clusters and between, (reps, 2)."""
        ones, answers = self.blocks
        pooled = _within_and_between(ones) / np.maximum(_within_and_between(answers), 1)
        if self.both is None or self.keep <= 0.5:
            return np.full(pooled.shape, np.nan)
        return (pooled - (1 - self.keep)) / self._slope

    @cached_property
    def covariance(self) -> Floats:
        """Diagonal, (reps, 2, 2)."""
        _, answers = self.blocks
        rates = np.nan_to_num(self.rates)
        spread = _within_and_between(answers * rates * (1 - rates)) / 2
        asked = np.maximum(_within_and_between(answers) / 2, 1)
        if self.both is None:
            spread = np.full(spread.shape, np.nan)
        variance = spread / (asked * self._slope) ** 2
        return np.asarray(variance[:, :, None] * np.eye(2))

    @cached_property
    def misplaced(self) -> Floats:
        """−log P(every item right), as `theory.success` predicts it at the rates."""
        expected = np.full(len(self.clusters), np.inf)
        if self.both is None:
            return expected
        sizes = (self.clusters[:, :, None] == np.arange(self.count)).sum(axis=1)
        for row, rates in enumerate(self.rates):  # each is large
            if np.isnan(rates).any() or not sizes[row].all():
                continue
            answers = float(self.probes[row].sum()) / 2
            success = pair_success(answers, np.inf, sizes[row], rates, self.adjusted)
            expected[row] = -np.log(max(success, 1e-300))
        return expected

    @property
    def _slope(self) -> float:
        """t ρ."""
        both = np.nan if self.both is None else self.both
        return (2 * self.keep - 1) * both


def _within_and_between(blocks: Floats) -> Floats:
    """(reps, 2): sums over blocks of one cluster, and of two."""
    within = np.einsum("rii->r", blocks)
    return np.stack([within, blocks.sum(axis=(1, 2)) - within], axis=1)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """matrix⁻¹ right of each replication, (reps, k) or (reps, k, k); NaN where it is singular."""
    determinant = np.linalg.det(matrix)
    is_regular: Booleans = np.isfinite(determinant) & (np.abs(determinant) > 0)
    safe = np.where(is_regular[:, None, None], matrix, np.eye(matrix.shape[1]))
    columns = right if right.ndim > 2 else right[:, :, None]
    solved = np.linalg.solve(safe, columns)
    solved[~is_regular] = np.nan
    return np.asarray(solved.reshape(right.shape))
