"""Comparisons that real people made, or that follow from their ratings, as the data of a study."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common.components import unconnected
from pipeline.problems.common.rating_files import Ratings
from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, parameter, shorten
from pipeline.study.parts import BaseModel

from ..model import Comparisons, Preferences, divided
from ..sampling.binomial import binomial
from ..theory.fit import weighted_fit
from ..theory.rates import win_probability
from . import stand_in
from .choices import Choices
from .files import load

MOST_ANSWERS = 10**9  # users × pairs held in memory, one byte each
SLICE_BYTES = 1 << 24  # of one work array


class Verdicts(NamedTuple):
    """Everybody's comparisons of the m chosen items under a rule, and what follows from them.

    verdict: (users, pairs) int8, 1 where i < j wins, −1 where j does, 0
    neither. coins: whether a coin decides where there is no verdict; else
    no comparison is made there. theta: θ*, (m,). shares: how the
    comparisons came about, by the fields of `RecordedPreferences`. source:
    a sentence.
    """

    verdict: NDArray[np.int8]
    coins: bool
    theta: Floats
    shares: dict[str, float]
    source: str


@dataclass(frozen=True)
class RecordedPreferences(Preferences):
    """Truth of recorded data: the fit to everybody's comparisons, and how these came about.

    Shares of all users' pairs of the m chosen items: coin_flips, by a coin
    under the paper's rule; two_ratings, from two unequal ratings, or
    compared by the user himself; one_rating, because one item only was
    rated.
    """

    coin_flips: float
    two_ratings: float
    one_rating: float


class RecordedComparisons(Comparisons):
    """Comparisons of L users drawn without replacement, anew in every replication, with new coins.

    The users of a group of `split` are the next ones of the replication's
    random order. All draws start from addresses of streams, so asking again
    gives the same numbers. No loop over users: O(reps · users · pairs)
    multiplications.
    """

    def __init__(
        self, verdicts: Verdicts, users: int, items: int, reps: int, rng: np.random.Generator
    ):
        super().__init__(None, users, items, rng)
        self._verdicts = verdicts
        self._reps = reps
        self._last_sizes: tuple[int, ...] = ()
        self._last_counts: tuple[Integers, Integers] | None = None
        self._order, self._coins, self._shares = _seed(rng).spawn(3)

    def compared(self, sizes: Integers) -> Integers | None:
        """(reps, groups, pairs): comparisons made within the groups of `split`.

        None where coins fill the gaps.
        """
        if self._verdicts.coins:
            return None
        _, decided = self._count(sizes)
        return decided

    @cached_property
    def wins(self) -> Integers:
        """(reps, pairs): users who prefer i to j.

        Decided ones and, under the paper's rule, Binomial(coins, ½).
        """
        won, decided = self._count([self.users])
        if not self._verdicts.coins:
            return won[:, 0]
        coins = self.users - decided[:, 0]
        return won[:, 0] + binomial(_generator(self._coins), coins, 0.5)

    def split(self, sizes: Integers, rng: np.random.Generator) -> Integers:
        """(reps, groups, pairs): wins within disjoint groups of these sizes; they add up to `wins`.

        Who is in a group belongs to the data, so rng is not needed. Given
        their total, heads of fair coins fall into groups by the
        hypergeometric law.
        """
        won, decided = self._count(sizes)
        if not self._verdicts.coins:
            return won
        coins = np.asarray(sizes)[:, None] - decided
        heads = self.wins - won.sum(axis=1)
        tails = coins.sum(axis=1) - heads
        groups = [coins[:, group] for group in range(len(sizes) - 1)]
        wins: Integers = won + divided(heads, tails, groups, _generator(self._shares))
        return wins

    def _count(self, sizes: Sequence[int] | Integers) -> tuple[Integers, Integers]:
        """Decided wins and decided comparisons of each group, (reps, groups, pairs) both."""
        if self._last_counts is None or self._last_sizes != tuple(sizes):
            rng = _generator(self._order)
            self._last_counts = _count(self._verdicts.verdict, sizes, self._reps, rng)
            self._last_sizes = tuple(sizes)
        return self._last_counts


@dataclass(frozen=True)
class Recorded(BaseModel):
    """L of the users of a file, drawn anew in every replication, and their comparisons of m items.

    They are drawn without replacement. Items: the m most rated (most compared) ones, ties by name.
    All users of the file count, also those without any of these items. θ*: the regularised fit, λ
    = 1/users, to everybody's comparisons under the same rule, coins at ½. Files, by their header:
    * userId,movieId,rating,timestamp: ratings. The higher one wins and an unrated item loses to a
    rated one; by rule `paper` a coin decides the rest (equal, or neither rated), by `decided` it
    is not compared; by `rated` only two unequal ratings make a comparison. * winner,loser, with
    user if that is known, and the other shapes of `files`: comparisons as they were made. Those
    that were not made stay missing, so the three rules are one. Without users each is another
    user's. * none: a synthetic stand-in for MovieLens. Which pairs are compared under `decided`
    and `rated` is public, and reveals what somebody rated. comparisons: those of one person depend
    on each other; `independent` draws the comparisons of L users from the model at θ* instead, as
    theorems assume. Source: Xu, Sun and Cheng, §5.4; θ* by their eq. (2). One time cost O(users ·
    m²) for each m and rule.
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1, high=10**7)
    rule: str = parameter(
        "what makes a comparison of two ratings",
        default="paper",
        choices=("paper", "decided", "rated"),
    )
    data_path: "DataFile | None" = parameter(
        "ratings or comparisons of real people; null is a stand-in", default=None
    )
    data_items: "DataFile | None" = parameter(
        "names of all items that may be compared, one a line", default=None
    )
    comparisons: str = parameter(
        "of users drawn from the file, or independent ones from the model at θ*",
        default="users",
        choices=("users", "independent"),
    )
    other_ratings: bool = parameter(
        "accept ratings that are not MovieLens ml-latest-small", default=False
    )

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Comparisons

    def __post_init__(self) -> None:
        super().__post_init__()
        users = len(self._verdicts.verdict)
        if self.L > users:
            raise InvalidInput("L", self.L, f"there are {users:,} users; give L={users} or less")

    @property
    def _verdicts(self) -> Verdicts:
        return _verdicts(self.m, self.rule, self.data_path, self.data_items, self.other_ratings)

    @property
    def source(self) -> str:
        """One sentence for the report: what data, how many, their hash and their terms.

        Or it says that they are made up.
        """
        return self._verdicts.source

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> RecordedPreferences:
        """θ* of everybody, the same in every replication, (reps, m)."""
        theta = np.broadcast_to(self._verdicts.theta, (reps, self.m))
        return RecordedPreferences(theta, **self._verdicts.shares)

    def simulate(self, truth: RecordedPreferences, rng: np.random.Generator) -> Comparisons:
        """Comparisons of L users drawn anew in every replication."""
        if self.comparisons == "independent":
            return Comparisons(win_probability(truth.theta), self.L, self.m, rng)
        return RecordedComparisons(self._verdicts, self.L, self.m, len(truth.theta), rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        users, pairs = self._verdicts.verdict.shape
        return float(users * (15 + 0.2 * pairs) + 50 * self.m**2)


@lru_cache(maxsize=8)
@read_only
def _verdicts(
    m: int, rule: str, path: DataFile | None, items: DataFile | None, other_ratings: bool
) -> Verdicts:
    """Checked verdicts; once for each rule and content of files."""
    records = _records(path, items, other_ratings)
    if len(records.names) < m:
        allowed = f"there are {len(records.names):,} items; give m={len(records.names)} or less"
        raise InvalidInput("m", m, allowed)
    users = records.users
    if users * m * (m - 1) // 2 > MOST_ANSWERS:
        raise InvalidInput(
            "m",
            m,
            f"{users:,} users and all pairs are more than {MOST_ANSWERS:,} comparisons, "
            "too many to hold; give a smaller m",
        )
    chosen = np.sort(np.argsort(-records.popularity, kind="stable")[:m])
    verdict, is_rated = records.verdicts(chosen)
    decided = (verdict != 0).mean()
    two_ratings = (is_rated & (verdict != 0)).mean()
    shares = {
        "coin_flips": float(1 - decided) if records.coins else 0.0,
        "two_ratings": float(two_ratings),
        "one_rating": float(decided - two_ratings),
    }
    if rule == "rated":
        verdict *= is_rated
    coins = records.coins and rule == "paper"
    _check_connected(verdict, coins, [records.names[k] for k in chosen])
    won = (verdict > 0).sum(axis=0)
    decisions = won + (verdict < 0).sum(axis=0)
    compared = np.full(len(won), users) if coins else decisions
    wins = won + (compared - decisions) / 2  # coins at ½
    theta = weighted_fit(wins / users, compared / users, m, 1 / users)
    return Verdicts(verdict, coins, theta, shares, records.source)


def _records(
    path: DataFile | None, items: DataFile | None, other_ratings: bool
) -> Ratings | Choices:
    """The records of a file, or the stand-in's; each row of comparisons by itself."""
    if path is None:
        if items is not None:
            raise InvalidInput("data_items", items.path, "goes with data.path only; give that too")
        return stand_in.ratings()
    records = load(path, items, other_ratings)
    return records.one_each(path.path) if isinstance(records, Choices) else records


def _check_connected(verdict: Array, coins: bool, names: Sequence[str]) -> None:
    m = len(names)
    linked = np.flatnonzero(coins | verdict.any(axis=0))
    first, second = np.triu_indices(m, 1)
    apart = unconnected(first[linked], second[linked], m, names)
    if apart:
        raise InvalidInput(
            "m",
            m,
            "no comparisons link these items to the others: "
            f"{shorten(', '.join(apart), LISTED)}; give another m, or more comparisons",
        )


def _seed(rng: np.random.Generator) -> np.random.SeedSequence:
    """The seed sequence that a generator was made from."""
    seed = rng.bit_generator.seed_seq
    assert isinstance(seed, np.random.SeedSequence)
    return seed


def _generator(address: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(address))


def _count(
    verdict: Array, sizes: Sequence[int] | Integers, reps: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Wins of i and decided comparisons within groups of users in random order.

    (reps, groups, pairs) both. A product of the 0/1 matrix (rep, user) of a
    group with (user, pair), slice by slice; exact in float32.
    """
    users, pairs = verdict.shape
    won = np.empty((reps, len(sizes), pairs), np.int64)
    decided = np.empty((reps, len(sizes), pairs), np.int64)
    length = max(1, SLICE_BYTES // (8 * users))
    width = max(1, SLICE_BYTES // (4 * users))
    for start in range(0, reps, length):
        rows = slice(start, min(start + length, reps))
        member = _members(users, sizes, rows.stop - start, rng)
        for left in range(0, pairs, width):
            columns = slice(left, left + width)
            part = verdict[:, columns].astype(np.float32)
            lead = (member @ part).swapaxes(0, 1)
            in_part = (member @ np.abs(part, out=part)).swapaxes(0, 1)
            decided[rows, :, columns] = in_part
            won[rows, :, columns] = (in_part + lead) / 2
    return won, decided


def _members(
    users: int, sizes: Sequence[int] | Integers, reps: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """(groups, reps, users): 1 where a user is in a group, else 0.

    Groups take the next users in random order.
    """
    order = rng.permuted(np.tile(np.arange(users), (reps, 1)), axis=1)
    member = np.zeros((len(sizes), *order.shape), np.float32)
    bounds = np.cumsum([0, *sizes])
    for group in range(len(sizes)):
        chosen = order[:, bounds[group] : bounds[group + 1]]
        np.put_along_axis(member[group], chosen, 1, axis=1)
    return member
