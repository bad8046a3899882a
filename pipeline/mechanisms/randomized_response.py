"""Randomized response on single binary answers."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.models.btl import Comparisons, ReleasedWins
from pipeline.parameters import InvalidInput, parameter
from pipeline.theory.btl import flip_probability, released_probability


@dataclass(frozen=True)
class RandomizedResponse:
    """Every comparison is flipped with probability 1/(1 + e^ε) before it leaves its user.

    unit: one comparison of one user. neighbours: that comparison replaced by its opposite.
    budget: pure ε-LDP per comparison; all m(m−1)/2 comparisons of a user compose to ε·m(m−1)/2.
    profile: groups of users as "share:multiple, …"; a group's budget is multiple · epsilon, its size
    share · L rounded so that sizes add up. "1:1" is one budget for all.
    draw: `conditional` flips the raw wins, so that mechanisms can be compared on the same data; `marginal`
    draws the released wins straight from their law (Lemma 1), three times cheaper, equal in law.
    Source: Xu, Sun and Cheng, §3; Warner (1965). Cost O(reps · groups · m²), whatever L.
    """

    L: int = parameter("users", unit="users", low=1)
    epsilon: float = parameter("privacy budget of one comparison", above=0, infinite=True)
    profile: str = parameter("groups of users, share:multiple of epsilon", default="1:1")
    draw: str = parameter("law of the release: given the data, or at once", default="conditional",
                          choices=("conditional", "marginal"))

    unit: ClassVar[str] = "one comparison of one user"
    neighbours: ClassVar[str] = "that comparison replaced by its opposite"
    budget: ClassVar[str] = "pure ε-LDP per comparison; ε·m(m−1)/2 for all comparisons of a user"
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = ReleasedWins

    def __post_init__(self):
        if (self.users == 0).any():
            raise InvalidInput("profile", self.profile, f"a group has no user at L={self.L}; raise its share")

    @cached_property
    def _groups(self) -> tuple[tuple[float, float], ...]:
        allowed = 'must be "share:multiple, …", shares and multiples > 0, shares adding up to 1'
        try:
            groups = tuple(tuple(float(x) for x in part.split(":")) for part in self.profile.split(","))
        except ValueError:
            raise InvalidInput("profile", self.profile, allowed) from None
        if not all(len(g) == 2 and all(0 < x < math.inf for x in g) for g in groups) or not math.isclose(
            sum(share for share, _ in groups), 1, abs_tol=1e-9
        ):
            raise InvalidInput("profile", self.profile, allowed)
        return groups

    @cached_property
    def users(self) -> np.ndarray:
        """(groups,): users in each group, by largest remainder."""
        shares = np.array([share for share, _ in self._groups])
        exact = shares / shares.sum() * self.L  # shares may miss 1 by rounding, sizes may not miss L
        sizes = np.floor(exact + 1e-9).astype(int)
        sizes[np.argsort(sizes - exact, kind="stable")[: self.L - sizes.sum()]] += 1
        return sizes

    @cached_property
    def budgets(self) -> np.ndarray:
        """(groups,): budget of one comparison in each group."""
        return self.epsilon * np.array([multiple for _, multiple in self._groups])

    def release(self, data: Comparisons, rng: np.random.Generator) -> ReleasedWins:
        """Released wins of a block, (reps, groups, pairs)."""
        sizes, budgets = self.users[:, None], self.budgets[:, None]
        if self.draw == "marginal":
            wins = rng.binomial(sizes, released_probability(data.probability[:, None], budgets))
        else:
            raw, flip = data.split(self.users, rng), flip_probability(budgets)
            wins = rng.binomial(raw, 1 - flip) + rng.binomial(sizes - raw, flip)
        return ReleasedWins(wins, self.users, self.budgets, data.items)

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's: counted there."""
        return 0.0
