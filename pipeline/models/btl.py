"""Bradley–Terry–Luce model: every user compares every pair of items once."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.parameters import parameter
from pipeline.theory.btl import amplification, win_probability


@dataclass(frozen=True)
class Preferences:
    """Truth of the model. theta: (reps, m), each row sums to 0."""

    theta: np.ndarray


class Comparisons:
    """Raw comparisons of a block, drawn when first asked for; asking again gives the same numbers.

    probability: (reps, pairs), P(i beats j) for i < j in the order of `numpy.triu_indices(m, 1)`.
    users: L. items: m. Given the truth users are exchangeable, so counts are sufficient.
    """

    def __init__(self, probability: np.ndarray, users: int, items: int, rng: np.random.Generator):
        self.probability, self.users, self.items, self._rng = probability, users, items, rng

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
    comparison. items: m.
    """

    wins: np.ndarray
    users: np.ndarray
    epsilon: np.ndarray
    items: int

    def raw_mean(self) -> np.ndarray:
        """(reps, pairs): mean released comparison, biased towards ½."""
        return self.wins.sum(axis=1) / self.users.sum()

    def debiased_mean(self) -> np.ndarray:
        """(reps, pairs): z̄ = ½ + Σ_g a(ε_g)(wins_g − L_g/2)/L, unbiased and possibly outside [0, 1].

        Source: Xu, Sun and Cheng, eq. (1), averaged over users.
        """
        mean = self.wins - self.users[:, None] / 2  # in place from here on: at m = 500 it is gigabytes
        mean *= amplification(self.epsilon)[:, None]
        mean = mean.sum(axis=1)
        mean /= self.users.sum()
        mean += 0.5
        return mean


@dataclass(frozen=True)
class BTL:
    """P(i beats j) = σ(θ_i − θ_j), Σθ = 0; L users compare all m(m−1)/2 pairs.

    Source: Xu, Sun and Cheng, §2 and §5.1.
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1, high=10**9 - 1)
    spread: float = parameter("θ* is Uniform(−spread, spread), then centred", default=2.0, low=0, high=50)
    theta: str = parameter("θ* anew in every replication, or one for all", default="redrawn",
                           choices=("redrawn", "fixed"))

    population: ClassVar[tuple[str, ...]] = ("m", "spread")
    produces: ClassVar[type] = Comparisons

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> Preferences:
        """θ* of a block of replications, (reps, m), centred."""
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
