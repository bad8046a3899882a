"""Groups of users that share a budget: the base of mechanisms with personalised budgets."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pipeline.privacy.budget_groups import groups_of
from pipeline.study.arrays import Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import Checked, parameter

from .theory.rates import epsilon_user, group_sizes


@lru_cache(maxsize=4096)
@read_only
def _users(profile: str, L: int) -> Integers:
    return group_sizes(profile, L)


@dataclass(frozen=True)
class Budgets(Checked):
    """L users, their groups and the budgets of these.

    profile: groups of users as "share:multiple, …"; a group's budget is multiple · epsilon, its size
    share · L rounded so that sizes add up. "1:1" is one budget for all.
    given: comparisons of the user who made most, from which the budget of all his comparisons follows.
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1)
    epsilon: float = parameter(
        "privacy budget of one comparison; mechanism=none is for no privacy", unit="nats", above=0
    )
    profile: str = parameter("groups of users, share:multiple of epsilon", default="1:1")
    given: int | None = parameter(
        "comparisons of the user who made most; null is every pair once",
        unit="comparisons",
        default=None,
        low=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.users  # raises InvalidInput

    @cached_property
    def users(self) -> Integers:
        """(groups,): users in each group, by largest remainder."""
        return _users(self.profile, self.L)

    @cached_property
    def budgets(self) -> Floats:
        """(groups,): budget of one comparison in each group."""
        return self.epsilon * np.array([multiple for _, multiple in groups_of(self.profile)])

    @property
    def answers(self) -> int:
        """Comparisons of the user who made most."""
        return self.m * (self.m - 1) // 2 if self.given is None else self.given

    def memory(self) -> float:
        """Bytes of one replication: raw and released wins of all pairs in all groups, and what they are made from."""
        return 16 * self.m**2 * len(self.users)

    def spent(self) -> dict[str, float]:
        """Largest budget of a user, in nats: of one comparison, and of all by basic composition."""
        one = float(self.budgets.max())
        if self.given is not None:
            return {
                "one comparison": one,
                "all comparisons of the user who made most": self.given * one,
            }
        return {"one comparison": one, "all comparisons of a user": epsilon_user(one, self.m)}
