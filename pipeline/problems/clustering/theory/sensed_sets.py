"""How likely the sketch of a sensed set is 1, given that one or two items are in the set.

Users are alike: each rates w of N items, uniform, and likes an item of cluster
l with chance b_l. Everything is computed for all replications at once, as sizes
and chances are estimates. Arrays: sizes, chances (reps, Lc); a result (reps,).

The sketch is 0 where no item of the set is rated and liked. Items that are
known to be in the set are rated or not, each subset J of them with a chance
that depends on |J| alone, and

    P(0) = Σ_J P(J) Π_{i∈J} (1 − b_i) F_{v−|J|},

F_v the mean of a product of factors over a uniform v-subset of the other items:
of MaxSense v = w rated items, of which each is in the set with chance p, and
factors 1 − p b; of Multi-MaxSense v = r rated items in a set of s, r
hypergeometric, and factors 1 − b. With one item known it is
`theory.sketch_means`.

Source: first principles; Banerjee, Hegde and Massoulié, Figures 2 and 3.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
from scipy import special

from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Floats


class SensedSets(Abstract):
    """Law of the sets that users are asked about, and of sketches given these."""

    @property
    @abstractmethod
    def pair(self) -> float:
        """P(two certain items are in one set)."""

    @abstractmethod
    def chance(self, sizes: Array, likes: Floats, known: tuple[int, ...]) -> Floats:
        """P(sketch = 1 | an item of each of these clusters is in the set), (reps,)."""


@dataclass(frozen=True)
class IndependentSets(SensedSets):
    """MaxSense: each item is in the set with chance p. rated: w."""

    items: int
    rated: int
    p: float

    @property
    def pair(self) -> float:
        """p²."""
        return self.p**2

    def chance(self, sizes: Array, likes: Floats, known: tuple[int, ...]) -> Floats:
        """See the module."""
        others = _without(sizes, known)
        means = subset_means(others, 1 - self.p * likes, self.rated)
        silent = np.zeros(len(likes))
        for chosen in _subsets(known):
            left = self.rated - len(chosen)
            if left < 0:
                continue
            weight = _chance_of_subset(len(chosen), self.items, self.rated, len(known))
            disliked = np.prod(1 - likes[:, chosen], axis=1)
            silent += weight * disliked * means[:, left]
        return 1 - silent


@dataclass(frozen=True)
class FixedSets(SensedSets):
    """Multi-MaxSense: sets are of `size` items, uniform. rated: w."""

    items: int
    rated: int
    size: int

    @property
    def pair(self) -> float:
        """s (s − 1)/(N (N − 1))."""
        return self.size * (self.size - 1) / (self.items * (self.items - 1))

    def chance(self, sizes: Array, likes: Floats, known: tuple[int, ...]) -> Floats:
        """See the module."""
        others = _without(sizes, known)
        most = min(self.size, self.rated)
        means = subset_means(others, 1 - likes, most)
        law = scipy.stats.hypergeom.pmf(np.arange(most + 1), self.items, self.rated, self.size)
        silent = np.zeros(len(likes))
        for chosen in _subsets(known):
            disliked = np.prod(1 - likes[:, chosen], axis=1)
            for rated in range(len(chosen), most + 1):
                weight = _chance_of_subset(len(chosen), self.size, rated, len(known))
                if weight == 0:
                    continue
                mean = means[:, rated - len(chosen)]
                silent += law[rated] * weight * disliked * mean
        return 1 - silent


@dataclass(frozen=True)
class GuessedSets(SensedSets):
    """The one-bit sketch without privacy: guesses are fair coins, one rating is compared."""

    items: int

    @property
    def pair(self) -> float:
        """¼."""
        return 0.25

    def chance(self, sizes: Array, likes: Floats, known: tuple[int, ...]) -> Floats:
        """½ + Σ (2b − 1)/(2N): a guess of the rating that is compared is right with chance b."""
        lead: Floats = (2 * likes[:, known] - 1).sum(axis=1) / (2 * self.items)
        return 0.5 + lead


def subset_means(sizes: Array, factors: Floats, most: int) -> Floats:
    """F_v, v = 0 to `most`, (reps, most + 1): mean of the product of factors over a v-subset.

    sizes: (reps, Lc), items of each cluster. The coefficient of z^v in Π_l (1 + z f_l)^n_l over
    C(n, v), by Fourier transforms of binomial numbers, at the z where v = most is likely. 0 where v
    exceeds n. Relative error some 1e-10 where v is likely; O(reps · Lc · most · log).

    >>> subset_means(np.array([[2, 1]]), np.array([[0.5, 0.2]]), 2).round(6).tolist()
    [[1.0, 0.4, 0.15]]
    """
    sizes = np.asarray(sizes, float)
    total = sizes.sum(axis=1)
    odds = most / np.maximum(total - most, 0.5)
    length = scipy.fft.next_fast_len(2 * (most + 1) * sizes.shape[1], real=True)
    transform = np.ones((len(sizes), length // 2 + 1), complex)
    count = np.arange(most + 1)
    for cluster in range(sizes.shape[1]):
        chance = _binomial(sizes[:, cluster], odds, count)
        series = chance * factors[:, cluster, None] ** count
        transform *= np.fft.rfft(series, length, axis=1)
    sums = np.fft.irfft(transform, length, axis=1)[:, : most + 1]
    level = _binomial(total, odds, count)
    means: Floats = np.divide(sums, level, out=np.zeros_like(sums), where=level > 0)
    return means


def _binomial(number: Floats, odds: Floats, count: Array) -> Floats:
    """P(Binomial(number, odds/(1 + odds)) = count), (reps, counts); 0 beyond the number."""
    size = number[:, None]
    is_possible = count <= size
    left = np.where(is_possible, size - count, 0.0)
    log = special.gammaln(size + 1) - special.gammaln(count + 1) - special.gammaln(left + 1)
    log = log + special.xlogy(count, odds[:, None]) - size * np.log1p(odds)[:, None]
    return np.where(is_possible, np.exp(log), 0.0)


def _without(sizes: Array, known: tuple[int, ...]) -> Floats:
    """Sizes of the clusters without the known items."""
    left = np.array(sizes, float)
    for cluster in known:
        left[:, cluster] -= 1
    return np.asarray(np.maximum(left, 0))


def _subsets(known: tuple[int, ...]) -> list[list[int]]:
    """All subsets of the known items, by their clusters."""
    subsets: list[list[int]] = []
    for number in range(len(known) + 1):
        subsets += [list(chosen) for chosen in combinations(known, number)]
    return subsets


def _chance_of_subset(chosen: int, items: int, rated: int, known: int) -> float:
    """P(of the known items exactly certain `chosen` ones are among `rated` of `items`)."""
    law = scipy.stats.hypergeom.pmf(chosen, items, rated, known)
    return float(law / special.comb(known, chosen))
