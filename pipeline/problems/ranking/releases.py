"""What mechanisms release of comparisons: noisy win counts."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np

from pipeline.privacy.randomized_response_laws import amplification, laplace_equivalent
from pipeline.problems.common.bootstrap import AnyEstimate, RedrawnRelease
from pipeline.problems.common.heavy_tails import NoiseParts
from pipeline.problems.common.laplacians import laplacian_of
from pipeline.study.arrays import Array, Booleans, Floats, Integers

PART_BYTES = 1 << 24  # of what noise of some pairs does to all items


def trials_of(users: Integers, compared: Integers | None) -> Integers:
    """Comparisons made of each pair in each group, broadcast against (reps, groups, pairs).

    users: (groups,). compared: as in `ReleasedWins`; None where all users
    compared all pairs.
    """
    return users[:, None] if compared is None else compared


def privacy_variance(epsilon: Floats) -> Floats:
    """1/(4 sinh²(ε/2)), what randomized response adds to the variance of a debiased comparison.

    0 at ε = ∞. Source: Xu, Sun and Cheng, Lemma 2.
    """
    variance: Floats = np.exp(-epsilon) / np.expm1(-epsilon) ** 2
    return variance


@dataclass(frozen=True)
class ReleasedWins(RedrawnRelease):
    """What the public sees: noisy win counts of each group of users that share a budget.

    A mechanism of one's own derives a release with two properties, `slope`
    and `equivalent_epsilon`: estimators know of a mechanism no more than
    how to make its comparisons unbiased, and how noisy they then are.

    wins: (reps, groups, pairs). users: (groups,), sizes of the groups.
    epsilon: (groups,), budget of one comparison. items: m. compared: (reps,
    groups, pairs), comparisons made, or None where all users made all:
    which pairs somebody compared is public, what he answered is not.
    """

    wins: Annotated[Array, "reps", "groups", "pairs"]
    users: Annotated[Array, "groups"]
    epsilon: Annotated[Floats, "groups"]
    items: int
    compared: Annotated[Array | None, "reps", "groups", "pairs"] = None

    @property
    def m(self) -> int:
        """Items, by the name that parts have for them."""
        return self.items

    @property
    def pairs(self) -> int:
        """Pairs of items, m(m−1)/2."""
        return self.items * (self.items - 1) // 2

    @property
    def trials(self) -> Integers:
        """Comparisons made of each pair in each group, broadcast against `wins`."""
        return trials_of(self.users, self.compared)

    @cached_property
    def linked(self) -> Booleans | bool:
        """Whether the comparisons made link all items, (reps or 1,).

        If not, no gap between some items is identified. Decided once for
        replications that share one array; only those without some pair are
        examined, O(m²) each.
        """
        if self.compared is None:
            return True
        shares_one_array = self.compared.strides[0] == 0
        designs = self.compared[:1] if shares_one_array else self.compared
        is_compared: Booleans = np.any(designs, axis=1)
        linked: Booleans = np.all(is_compared, axis=1)
        if not linked.all():
            linked[~linked] = _connected(is_compared[~linked], self.items)
        return linked

    @property
    @abstractmethod
    def slope(self) -> Floats:
        """(groups,): factor that makes the lean of a released comparison unbiased."""

    @property
    @abstractmethod
    def equivalent_epsilon(self) -> Floats:
        """(groups,): budget at which randomized response would add the same variance."""

    def drawn_again(
        self, estimate: AnyEstimate, row: int, times: int, rng: np.random.Generator
    ) -> Self:
        """Releases of people with the estimated scores, of the pairs that were compared."""
        theta = estimate.theta[row]
        first, second = np.triu_indices(self.items, 1)
        chance = estimate.link.win(theta[first] - theta[second])
        compared = None
        if self.compared is not None:
            of_replication = self.compared[min(row, len(self.compared) - 1)]
            compared = np.broadcast_to(of_replication, (times, *of_replication.shape))
        trials = trials_of(self.users, compared)
        shape = (times, len(self.users), self.pairs)
        wins = self.wins_again(np.broadcast_to(trials, shape), chance, rng)
        return replace(self, wins=wins, compared=compared)

    def wins_again(self, trials: Integers, chance: Floats, rng: np.random.Generator) -> Array:
        """Released wins of so many comparisons, (times, groups, pairs), which are unbiased.

        chance: (pairs,), that the first of a pair wins. Noise is normal, of the variance that
        privacy adds; mechanisms whose law the release tells do better.
        """
        mean_slope = self.slope[:, None]
        clean = rng.binomial(trials, chance)
        spread = np.sqrt(trials * privacy_variance(self.equivalent_epsilon)[:, None])
        noisy = clean + spread * rng.standard_normal(trials.shape)
        return np.asarray(trials / 2 + (noisy - trials / 2) / mean_slope)

    @property
    def gain(self) -> Floats:
        """(groups,): variance of a debiased comparison of equal items, over a fair coin's ¼."""
        return amplification(self.equivalent_epsilon) ** 2

    @property
    def added_variance(self) -> Floats:
        """(reps or 1, groups, pairs or 1): what privacy adds to the variance of slope · wins.

        Each of n comparisons gets 1/(4 sinh²(ε/2)), ε the equivalent budget, independent of the
        comparison's own variance. Source: Xu, Sun and Cheng, Lemma 2.
        """
        of_comparison = privacy_variance(self.equivalent_epsilon)
        variance: Floats = self.trials * of_comparison[:, None]
        return variance.reshape(-1, *variance.shape[-2:])

    def raw_mean(self) -> Floats:
        """(reps, pairs): mean released comparison as it is; ½ where there is none."""
        alike = np.ones(len(self.users))
        return self._mean(alike, alike)

    def debiased_mean(self, weights: Floats | None = None) -> Floats:
        """(reps, pairs): z̄ = ½ + Σ_g v_g a_g (wins_g − n_g/2)/Σ_g v_g n_g.

        It is unbiased, and may be outside [0, 1]. a_g: `slope`. weights v:
        (groups,), all 1 if None. n_g: comparisons made in the group; ½
        where there is none. Source: Xu, Sun and Cheng, eq. (1), averaged
        over users.
        """
        if weights is None:
            weights = np.ones(len(self.users))
        return self._mean(self.slope, weights)

    def _mean(self, slope: Floats, weights: Floats) -> Floats:
        mean: Floats = (
            self.wins - self.trials / 2
        )  # in place from here on: at m = 500 it is gigabytes
        mean *= (slope * weights)[:, None]
        mean = mean[:, 0] if len(self.users) == 1 else mean.sum(axis=1)
        total = (self.trials * weights[:, None]).sum(axis=-2)
        mean /= np.where(total > 0, total, 1)
        mean += 0.5
        return mean


def _connected(is_compared: Booleans, m: int) -> Booleans:
    """(reps,): whether the pairs that are compared link all m items; is_compared: (reps, pairs).

    All replications are one graph, of which each is a part.
    """
    from scipy.sparse import coo_array  # slow to import, and needed here only
    from scipy.sparse.csgraph import connected_components

    first, second = np.triu_indices(m, 1)
    rep, pair = np.nonzero(is_compared)
    ends = (rep * m + first[pair], rep * m + second[pair])
    nodes = len(is_compared) * m
    graph = coo_array((np.ones(len(rep), bool), ends), shape=(nodes, nodes))
    _, label = connected_components(graph, directed=False)
    label = label.reshape(-1, m)
    return np.asarray((label == label[:, :1]).all(axis=1))


@dataclass(frozen=True)
class FlippedWins(ReleasedWins):
    """Win counts after randomized response: Binomial, with P(ỹ = 1) = ½ + (p − ½) t(ε)."""

    @property
    def slope(self) -> Floats:
        """(groups,): a(ε). Source: Xu, Sun and Cheng, eq. (1)."""
        return amplification(self.epsilon)

    @property
    def equivalent_epsilon(self) -> Floats:
        """(groups,): the budget itself."""
        return self.epsilon

    def wins_again(self, trials: Integers, chance: Floats, rng: np.random.Generator) -> Array:
        """Binomial, after flips."""
        released = 0.5 + (chance - 0.5) / self.slope[:, None]
        return np.asarray(rng.binomial(trials, released))


@dataclass(frozen=True)
class LaplaceWins(ReleasedWins):
    """Win counts plus Laplace noise on every comparison: real numbers, unbiased as they are."""

    @property
    def slope(self) -> Floats:
        """(groups,): 1."""
        return np.ones(len(self.users))

    @property
    def equivalent_epsilon(self) -> Floats:
        """(groups,): 2 arsinh(ε/√8)."""
        return laplace_equivalent(self.epsilon)

    def wins_again(self, trials: Integers, chance: Floats, rng: np.random.Generator) -> Array:
        """Binomial, with a sum of Laplace noise for each comparison, a difference of two gammas."""
        clean = rng.binomial(trials, chance)
        up = rng.standard_gamma(trials)
        down = rng.standard_gamma(trials)
        return np.asarray(clean + (up - down) / self.epsilon[:, None])


@dataclass(frozen=True)
class NoisyWins(ReleasedWins):
    """Win counts of all users with noise that a curator added: unbiased as they are.

    variance: of the noise in the wins of a pair. epsilon: not of one
    comparison, which has no budget of its own, but what
    `equivalent_epsilon` says. fourth: the fourth cumulant of that noise, 0
    of normal noise.
    """

    variance: float = 0.0
    fourth: float = 0.0

    @property
    def slope(self) -> Floats:
        """(groups,): 1."""
        return np.ones(len(self.users))

    @property
    def added_variance(self) -> Floats:
        """That of the curator's noise, whatever the number of comparisons; 0 where there is none.

        (1, 1, 1) where all users compared all pairs, else (reps or 1, 1, pairs).
        """
        if self.compared is None:
            return np.full((1, 1, 1), self.variance)
        shares_one_array = self.compared.strides[0] == 0
        compared = self.compared[:1] if shares_one_array else self.compared
        return np.where(compared > 0, self.variance, 0.0)

    @property
    def equivalent_epsilon(self) -> Floats:
        """(groups,): budget at which randomized response adds as much to a pair's mean.

        It adds 1/(4 sinh²(ε/2)) to each of n comparisons, and here is
        variance/n for each.
        """
        trials = float(np.mean(self.trials))
        spread = np.sqrt(self.variance / trials)
        with np.errstate(divide="ignore"):  # without noise it is ∞
            equivalent = 2 * np.arcsinh(1 / (2 * spread))
        return np.full(len(self.users), equivalent)

    def noise_parts(
        self, weights: Floats, rows: slice, factors: Floats | None = None
    ) -> Iterator[NoiseParts]:
        """How much of each draw of noise is in Σ_i w_ki s_i, in a few parts; draws: of pairs.

        s_i is what noise adds to the wins of item i less its losses, over two. weights: w, (reps
        of these rows, k, m). factors: of wins of pairs, symmetric, (reps of these rows, m, m); 1
        if None. O(reps · k · m²).
        """
        first, second = np.triu_indices(self.items, 1)
        length = max(1, PART_BYTES // (8 * weights[..., 0].size))
        for start in range(0, len(first), length):
            pairs = slice(start, start + length)
            one = first[pairs]
            other = second[pairs]
            shares = weights[..., one] - weights[..., other]
            if factors is not None:
                shares *= factors[:, None, one, other]
            fourth = np.full((1, len(one)), self.fourth)
            if self.compared is not None:
                fourth = np.where(self.compared[rows, 0, pairs] > 0, fourth, 0.0)
            yield NoiseParts(shares, fourth)

    def wins_again(self, trials: Integers, chance: Floats, rng: np.random.Generator) -> Array:
        """Binomial, with normal noise of the curator's variance."""
        clean = rng.binomial(trials, chance)
        noise = np.sqrt(self.variance) * rng.standard_normal(trials.shape)
        return np.asarray(clean + np.where(trials > 0, noise, 0.0))


@dataclass(frozen=True)
class NoisyScoreWins(NoisyWins):
    """Wins with noisy scores: on pairs that were compared, so that each item has its score.

    variance: of independent noise in the wins of all pairs that gives scores, whose sum is known,
    the same covariance. fourth: the fourth cumulant of the noise in half a score.
    """

    @property
    def added_variance(self) -> Floats:
        """(1, 1, 1): of all pairs, compared or not; only its sums for items have a meaning."""
        return np.full((1, 1, 1), self.variance)

    def noise_parts(
        self, weights: Floats, rows: slice, factors: Floats | None = None
    ) -> Iterator[NoiseParts]:
        """Of independent noise in each item's score: draws are of items. factors: none."""
        yield NoiseParts(weights, np.full((1, weights.shape[-1]), self.fourth))

    def wins_again(self, trials: Integers, chance: Floats, rng: np.random.Generator) -> Array:
        """Binomial wins, of which no more is kept than their scores, with normal noise."""
        clean = (2 * rng.binomial(trials, chance) - trials)[:, 0]
        first, second = np.triu_indices(self.items, 1)
        lead = np.zeros((len(clean), self.items, self.items))
        lead[:, first, second] = clean
        scores = lead.sum(axis=2) - lead.sum(axis=1)
        width = np.sqrt(4 * self.items * self.variance)
        noisy = scores + width * rng.standard_normal(scores.shape)
        leads = leads_of(noisy, None if self.compared is None else trials[:, 0])
        return np.asarray((trials + leads[:, None]) / 2)


def leads_of(scores: Array, compared: Integers | None) -> Floats:
    """Wins less losses of pairs, (reps, pairs), whose sums are these scores of items, (reps, m).

    (x_i − x_j), with x = s/m where all pairs are compared, else K⁺s. compared: comparisons of
    pairs, (reps, pairs), or None where all are alike.
    """
    m = scores.shape[1]
    first, second = np.triu_indices(m, 1)
    leads: Floats = (scores[:, first] - scores[:, second]) / m
    if compared is None:
        return leads
    is_compared = np.broadcast_to(compared > 0, leads.shape)
    is_sparse = ~np.all(is_compared, axis=1)
    heights = _heights(scores[is_sparse], is_compared[is_sparse])
    leads[is_sparse] = heights[:, first] - heights[:, second]
    return leads


def _heights(scores: Array, is_compared: Booleans) -> Floats:
    """x, (reps, m), whose differences over pairs that were compared sum up to these scores.

    is_compared: (reps, pairs). Of items that no pairs link each part's scores are taken to sum to
    0.
    """
    m = scores.shape[1]
    first, second = np.triu_indices(m, 1)
    edges = np.zeros((len(scores), m, m))
    edges[:, first, second] = is_compared
    edges[:, second, first] = is_compared
    heights: Floats = np.matvec(np.linalg.pinv(laplacian_of(edges), hermitian=True), scores)
    return heights
