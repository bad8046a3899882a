"""Who answers what: users, their groups and budgets; the base of mechanisms."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pipeline.privacy.budget_groups import groups_of
from pipeline.problems.common.rounding import largest_remainder
from pipeline.study.arrays import Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import Checked, InvalidInput, parameter


@dataclass(frozen=True)
class Budgets(Checked):
    """L users who compare all pairs of m items, their groups and the budgets of these.

    profile: groups of users as "share:multiple, …"; a group's budget is
    multiple · epsilon, its size share · L rounded so that sizes add up. "1:1" is one
    budget for all. given: comparisons of the user who made most, from which the budget
    of all his comparisons follows.
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
        return _shared_sizes(self.profile, self.L)

    @cached_property
    def budgets(self) -> Floats:
        """(groups,): budget of one comparison in each group."""
        return self.epsilon * multiples_of(self.profile)

    @property
    def answers(self) -> int:
        """Comparisons of the user who made most."""
        if self.given is not None:
            return self.given
        return self.m * (self.m - 1) // 2

    def memory(self) -> float:
        """Bytes of one replication: raw and released wins of all groups, and their sources."""
        return 16 * self.m**2 * len(self.users)

    def spent(self) -> dict[str, float]:
        """Largest budget of a user, in nats: of one comparison, and of all by basic composition."""
        largest = float(self.budgets.max())
        person = "a user" if self.given is None else "the user who made most"
        return {
            "one comparison": largest,
            f"all comparisons of {person}": largest * self.answers,
        }


def group_sizes(profile: str, L: int) -> Integers:
    """(groups,): how many of L users are in each group of a profile, by largest remainder.

    Raises `InvalidInput` for a bad profile, and where a group has no user.
    """
    shares = np.array([share for share, _ in groups_of(profile)])
    # Shares may miss 1 by rounding, sizes may not miss L.
    sizes = largest_remainder(shares / shares.sum() * L, L)
    if (sizes == 0).any():
        raise InvalidInput("profile", profile, f"a group has no user at L={L}; raise its share")
    return sizes


def multiples_of(profile: str) -> Floats:
    """(groups,): the multiple of ε that is the budget of each group of a profile."""
    return np.array([multiple for _, multiple in groups_of(profile)])


@lru_cache(maxsize=4096)
@read_only
def _shared_sizes(profile: str, L: int) -> Integers:
    return group_sizes(profile, L)
