"""Bradley–Terry–Luce model: every user compares every pair of items once."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.parameters import parameter
from pipeline.theory.btl import amplification, laplace_equivalent, win_probability


@dataclass(frozen=True)
class Preferences:
    """Truth of the model. theta: (reps, m), each row sums to 0."""

    theta: np.ndarray


class Comparisons:
    """Raw comparisons of a block, drawn when first asked for; asking again gives the same numbers.

    probability: (reps, pairs), P(i beats j) for i < j in the order of `numpy.triu_indices(m, 1)`.
    users: L. items: m. Given the truth users are exchangeable, so counts are sufficient.
    Data of another origin offer the same; their probability is None where the law is not known.
    """

    def __init__(self, probability: np.ndarray, users: int, items: int, rng: np.random.Generator):
        self.probability, self.users, self.items, self._rng = probability, users, items, rng

    def compared(self, sizes: np.ndarray) -> np.ndarray | None:
        """(reps, groups, pairs): comparisons made within the groups of `split`; None if all users made all."""
        return None

    def opened(self) -> "FlippedWins":
        """Raw win counts without privacy, as one group with an infinite budget."""
        users = np.array([self.users])
        return FlippedWins(self.wins[:, None], users, np.array([np.inf]), self.items, self.compared(users))

    @cached_property
    def wins(self) -> np.ndarray:
        """(reps, pairs): number of users who prefer i to j; Binomial(L, P(i beats j))."""
        return self._rng.binomial(self.users, self.probability)

    def split(self, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(reps, groups, pairs): wins within disjoint groups of users of the given sizes.

        Given the total, the wins of a group of exchangeable users are hypergeometric: exact in law.
        """
        if len(sizes) == 1:
            return self.wins[:, None]
        left, users = self.wins, self.users
        parts = []
        for size in sizes[:-1]:
            part = rng.hypergeometric(left, users - left, int(size))
            parts.append(part)
            left, users = left - part, users - int(size)
        return np.stack([*parts, left], axis=1)


@dataclass(frozen=True)
class ReleasedWins:
    """What the public sees: noisy win counts of each group of users that share a budget.

    wins: (reps, groups, pairs). users: (groups,), sizes of the groups. epsilon: (groups,), budget of one
    comparison. items: m. compared: (reps, groups, pairs), comparisons made, or None where all users made all:
    which pairs somebody compared is public, what he answered is not.
    """

    wins: np.ndarray
    users: np.ndarray
    epsilon: np.ndarray
    items: int
    compared: np.ndarray | None = None

    @property
    def slope(self) -> np.ndarray:
        """(groups,): factor that makes the lean of a released comparison unbiased."""
        raise NotImplementedError

    @property
    def equivalent_epsilon(self) -> np.ndarray:
        """(groups,): budget at which randomized response would add as much variance to a debiased comparison."""
        raise NotImplementedError

    @property
    def gain(self) -> np.ndarray:
        """(groups,): variance of a debiased comparison of two equal items, in units of a fair coin's, ¼."""
        return amplification(self.equivalent_epsilon) ** 2

    def raw_mean(self) -> np.ndarray:
        """(reps, pairs): mean released comparison as it is; ½ where there is none."""
        return self._mean(np.ones(len(self.users)), np.ones(len(self.users)))

    def debiased_mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        """(reps, pairs): z̄ = ½ + Σ_g v_g a_g (wins_g − n_g/2)/Σ_g v_g n_g, unbiased and possibly outside [0, 1].

        a_g: `slope`. weights v: (groups,), all 1 if None. n_g: comparisons made in the group; ½ where there is none.
        Source: Xu, Sun and Cheng, eq. (1), averaged over users.
        """
        return self._mean(self.slope, np.ones(len(self.users)) if weights is None else weights)

    def _mean(self, slope, weights):
        made = self.users[:, None] if self.compared is None else self.compared
        mean = self.wins - made / 2  # in place from here on: at m = 500 it is gigabytes
        mean *= (slope * weights)[:, None]
        mean = mean.sum(axis=1)
        total = (made * weights[:, None]).sum(axis=-2)
        mean /= np.where(total > 0, total, 1)
        mean += 0.5
        return mean


@dataclass(frozen=True)
class FlippedWins(ReleasedWins):
    """Win counts after randomized response: Binomial, with P(ỹ = 1) = ½ + (p − ½) t(ε)."""

    @property
    def slope(self) -> np.ndarray:
        """(groups,): a(ε). Source: Xu, Sun and Cheng, eq. (1)."""
        return amplification(self.epsilon)

    @property
    def equivalent_epsilon(self) -> np.ndarray:
        """(groups,): the budget itself."""
        return self.epsilon


Comparisons.opens = FlippedWins


@dataclass(frozen=True)
class LaplaceWins(ReleasedWins):
    """Win counts plus Laplace noise on every comparison: real numbers, unbiased as they are."""

    @property
    def slope(self) -> np.ndarray:
        """(groups,): 1."""
        return np.ones(len(self.users))

    @property
    def equivalent_epsilon(self) -> np.ndarray:
        """(groups,): 2 arsinh(ε/√8)."""
        return laplace_equivalent(self.epsilon)


@dataclass(frozen=True)
class BTL:
    """P(i beats j) = σ(θ_i − θ_j), Σθ = 0; L users compare all m(m−1)/2 pairs.

    Source: Xu, Sun and Cheng, §2 and §5.1.
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1, high=10**9 - 1)
    spread: float = parameter("half-width of the law of θ*, before it is centred", unit="logits", default=2.0, low=0,
                              high=50)
    theta: str = parameter("θ* anew in every replication, one for all, evenly spaced, or two groups at ±spread",
                           default="redrawn", choices=("redrawn", "fixed", "spaced", "two_groups"))
    spacing: float = parameter("gap Δ between neighbours in θ* if evenly spaced", unit="logits", default=0.1,
                               above=0, high=50)

    population: ClassVar[tuple[str, ...]] = ("m", "spread")
    produces: ClassVar[type] = Comparisons

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> Preferences:
        """θ* of a block of replications, (reps, m), centred; evenly spaced ones and groups in random order."""
        if self.theta in ("spaced", "two_groups"):  # the order is random because ties are resolved by an item's number
            rank = np.arange(self.m) - (self.m - 1) / 2
            theta = self.spacing * rank if self.theta == "spaced" else self.spread * np.sign(rank)
            return Preferences(rng.permuted(np.tile(theta, (reps, 1)), axis=1))
        fixed = self.theta == "fixed"
        theta = (population if fixed else rng).uniform(
            -self.spread, self.spread, (1 if fixed else reps, self.m)
        )
        theta -= theta.mean(axis=1, keepdims=True)
        return Preferences(np.broadcast_to(theta, (reps, self.m)))

    def simulate(self, truth: Preferences, rng: np.random.Generator) -> Comparisons:
        """Comparisons of L users; cost O(reps · m²), whatever L."""
        return Comparisons(win_probability(truth.theta), self.L, self.m, rng)

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 50 * self.m**2
