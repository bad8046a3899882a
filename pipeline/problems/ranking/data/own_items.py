"""All comparisons of a person's own file, none drawn: privacy's effect alone."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from pipeline.privacy.budget_groups import groups_of
from pipeline.problems.common.components import unconnected
from pipeline.problems.common.own_items import of_item, ranks, with_all
from pipeline.problems.common.rating_files import Ratings
from pipeline.study.arrays import Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, parameter, shorten
from pipeline.study.parts import BaseModel

from ..model import Comparisons, Preferences
from ..theory.fit import weighted_fit
from . import stand_in
from .choices import Choices
from .files import load

MOST_VERDICTS = 10**9  # users × pairs of items held at once, a byte each

Path = Annotated[DataFile | None, "comparisons or ratings of real people; null is a stand-in"]
Items = Annotated[DataFile | None, "names of all items that may be compared, one a line"]
Most = Annotated[int, "items at most: those compared most"]


class Pool(NamedTuple):
    """Comparisons by everybody.

    won, compared: (pairs,), wins of i over j and comparisons, i < j. theta:
    θ*, (m,), the fit without privacy. names: (m,). times: (m,), comparisons
    of an item. users: L. most: comparisons of one user at most. source: a
    sentence.
    """

    won: Integers
    compared: Integers
    theta: Floats
    names: tuple[str, ...]
    times: Integers
    users: int
    most: int
    source: str


@lru_cache(maxsize=8)
@read_only
def pool_of(path: DataFile | None, items: DataFile | None, most_items: int) -> Pool:
    """Everybody's comparisons in a file.

    InvalidInput where they cannot be read or do not connect all items. In a
    file of ratings, two unequal ratings of a user make a comparison.
    O(rows); with ratings O(users · m²).
    """
    if path is None and items is not None:
        raise InvalidInput("data_items", items.path, "goes with data.path only; give that too")
    records = stand_in.ratings() if path is None else load(path, items, other_ratings=True)
    m = min(most_items, len(records.names))
    if m < 2:
        allowed = f"there are {len(records.names)} items; needs two at least"
        raise InvalidInput("most_items", most_items, allowed)
    chosen = np.sort(np.argsort(-records.popularity, kind="stable")[:m])
    names = tuple(records.names[k] for k in chosen)
    if isinstance(records, Choices):
        won, compared = records.pooled(chosen)
        most = records.most
    else:
        won, compared, most = _pooled_ratings(records, chosen, most_items)
    first, second = np.triu_indices(m, 1)
    apart = unconnected(first[compared > 0], second[compared > 0], m, names)
    if apart:
        key, value = ("data_path", path.path) if path else ("most_items", most_items)
        raise InvalidInput(
            key,
            value,
            "no comparisons link these items to the others: "
            f"{shorten(', '.join(apart), LISTED)}; leave them out, or give a smaller "
            "parameters.most_items",
        )
    users = records.users
    theta = weighted_fit(won / users, compared / users, m, 1 / users)
    times = np.bincount(first, compared, m) + np.bincount(second, compared, m)
    source = records.source
    if m < len(records.names):
        total = int(compared.sum())
        whole = source.rstrip(".")
        source = f"{whole}; the {m} items compared most, and {total:,} comparisons of these."
    return Pool(won, compared, theta, names, times.astype(np.int64), users, max(most, 1), source)


def _pooled_ratings(
    ratings: Ratings, chosen: Integers, most_items: int
) -> tuple[Integers, Integers, int]:
    """Wins of i over j, comparisons of the pair, (pairs,) both, and the most of one user."""
    m = len(chosen)
    if ratings.users * m * (m - 1) // 2 > MOST_VERDICTS:
        raise InvalidInput(
            "most_items",
            most_items,
            f"{ratings.users:,} users and all pairs of {m:,} items are "
            "too many to hold; must be smaller",
        )
    verdict, is_rated = ratings.verdicts(chosen)
    verdict *= is_rated
    is_decided = verdict != 0
    won = (verdict > 0).sum(axis=0)
    return won, is_decided.sum(axis=0), int(is_decided.sum(axis=1).max())


@dataclass(frozen=True)
class PooledPreferences(Preferences):
    """Truth: the ranking without privacy. names: (m,), of the items."""

    names: tuple[str, ...]


class PooledComparisons(Comparisons):
    """The comparisons of a file, the same in every replication.

    A user may have made any number of them.
    """

    def __init__(self, pool: Pool, reps: int, rng: np.random.Generator):
        super().__init__(None, pool.users, len(pool.names), rng)
        self._pool = pool
        self._reps = reps

    def compared(self, sizes: Integers) -> Integers:
        """(reps, 1, pairs): comparisons made by all users, who are one group."""
        compared = self._pool.compared
        return np.broadcast_to(compared, (self._reps, 1, len(compared)))

    @cached_property
    def wins(self) -> Integers:
        """(reps, pairs): comparisons in which i beat j."""
        return np.broadcast_to(self._pool.won, (self._reps, len(self._pool.won)))


@dataclass(frozen=True)
class Pooled(BaseModel):
    """All comparisons of a file, in every replication: only what privacy adds is random.

    θ*: the fit of `debiased` without privacy, argmin of eq. (3) with λ =
    1/L, L the users of the file; so that `mechanism: none` gives it back.
    Files: all of `files`, also those without users, whose comparisons each
    count as another user's. `derive: {m: file_items, L: file_users, given:
    file_answers}` takes sizes from the file, `grid: {item: file_names}` the
    names. Source: Xu, Sun and Cheng, eq. (2) and (3).
    """

    m: int = parameter("items of the file", unit="items", low=2)
    L: int = parameter("users of the file", unit="users", low=1)
    data_path: "DataFile | None" = parameter(
        "comparisons or ratings of real people; null is a stand-in", default=None
    )
    data_items: "DataFile | None" = parameter(
        "names of all items that may be compared, one a line", default=None
    )
    most_items: int = parameter(
        "items at most: those compared most", unit="items", default=100, low=2, high=2000
    )
    profile: str = parameter("groups of users, share:multiple of epsilon", default="1:1")

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Comparisons

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_size("m", self.m, len(self._pool.names))
        self._check_size("L", self.L, self._pool.users)
        if len(groups_of(self.profile)) > 1:
            raise InvalidInput(
                "profile", self.profile, "pooled comparisons have one budget for all; must be 1:1"
            )

    def _check_size(self, name: str, size: int, actual: int) -> None:
        if size != actual:
            raise InvalidInput(name, size, f"the file has {actual:,}; leave it to derive.{name}")

    @property
    def _pool(self) -> Pool:
        return pool_of(self.data_path, self.data_items, self.most_items)

    @property
    def source(self) -> str:
        """One sentence for the report: what data, how many, their hash.

        Or it says that they are made up.
        """
        return self._pool.source

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> PooledPreferences:
        """θ* of everybody, the same in every replication, (reps, m)."""
        return PooledPreferences(
            np.broadcast_to(self._pool.theta, (reps, self.m)), self._pool.names
        )

    def simulate(self, truth: PooledPreferences, rng: np.random.Generator) -> Comparisons:
        """The comparisons of the file."""
        return PooledComparisons(self._pool, len(truth.theta), rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond.

        Of fits too, whose pairs have weights.
        """
        return 350 * self.m**2


def file_items(
    data_path: Path, data_items: Items, most_items: Most
) -> Annotated[int, "items of the file", "items"]:
    """Number of items in a file of comparisons."""
    return len(pool_of(data_path, data_items, most_items).names)


def file_users(
    data_path: Path, data_items: Items, most_items: Most
) -> Annotated[int, "users of the file", "users"]:
    """Number of users in a file of comparisons; without users, of comparisons."""
    return pool_of(data_path, data_items, most_items).users


def file_answers(
    data_path: Path, data_items: Items, most_items: Most
) -> Annotated[int, "comparisons of the user who made most", "comparisons"]:
    """Largest number of comparisons of one user; 1 where users have no names."""
    return pool_of(data_path, data_items, most_items).most


def file_names(data_path: Path, data_items: Items, most_items: Most) -> tuple[str, ...]:
    """Levels of the axis `item`: all items, then each, by its rank without privacy."""
    pool = pool_of(data_path, data_items, most_items)
    best_first = np.argsort(-pool.theta, kind="stable")
    return with_all(tuple(pool.names[k] for k in best_first))


def rank(
    item: str, data_path: Path, data_items: Items, most_items: Most
) -> Annotated[float, "rank without privacy", "1"]:
    """Place of an item in the ranking without privacy, 1 is the best; of all items their mean."""
    pool = pool_of(data_path, data_items, most_items)
    return of_item(item, pool.names, ranks(pool.theta[None])[0])


def score(
    item: str, data_path: Path, data_items: Items, most_items: Most
) -> Annotated[float, "score without privacy", "logits"]:
    """θ* of an item; of all items their mean, 0."""
    pool = pool_of(data_path, data_items, most_items)
    return of_item(item, pool.names, pool.theta)


def times_compared(
    item: str, data_path: Path, data_items: Items, most_items: Most
) -> Annotated[float, "comparisons of the item", "1"]:
    """Comparisons of an item with others; of all items their mean."""
    pool = pool_of(data_path, data_items, most_items)
    return of_item(item, pool.names, pool.times)


def epsilon_person(
    epsilon: float, given: int
) -> Annotated[float, "privacy budget of all answers of the person who gave most", "nats"]:
    """ε times the answers of a person, by basic composition, which is attained."""
    return epsilon * given
