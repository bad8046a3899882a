"""Comparisons of a person's own file, none drawn: what a promise to its people costs."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.privacy.budget_groups import groups_of
from pipeline.problems.common.components import unconnected
from pipeline.problems.common.own_items import leaving_budget, of_item, ranks, with_all
from pipeline.problems.common.rating_files import Ratings
from pipeline.problems.common.some_answers import places_of_each
from pipeline.problems.common.spending import questions_of_survey
from pipeline.study.arrays import Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, parameter, shorten
from pipeline.study.parts import BaseModel

from ..design import QUESTIONS
from ..model import Comparisons, Preferences
from ..theory.fit import weighted_fit
from . import stand_in
from .choices import Choices
from .files import load

MOST_VERDICTS = 10**9  # users × pairs of items held at once, a byte each

Path = Annotated[DataFile | None, "comparisons or ratings of real people; null is a stand-in"]
Items = Annotated[DataFile | None, "names of all items that may be compared, one a line"]
Most = Annotated[int, "items at most: those compared most"]
MostAnswers = Annotated[int | None, "comparisons of a person that count; null is all pairs"]


class Counted(NamedTuple):
    """Comparisons that count. won, compared: (pairs,), wins of i over j and all, i < j.

    most: comparisons of one person at most.
    """

    won: Integers
    compared: Integers
    most: int


class Records(NamedTuple):
    """Single comparisons that count, user by user.

    pair: (comparisons,), its index. won: (comparisons,), 1 where i < j
    beat j, else 0. start: (users + 1,), where the comparisons of each
    user begin.
    """

    pair: Integers
    won: Integers
    start: Integers


class Pool(NamedTuple):
    """Comparisons by everybody.

    counted: those that count. theta: θ*, (m,), the fit without privacy to
    all comparisons of the file, also those that do not count. names: (m,).
    times: (m,), all comparisons of an item. users: L. source: a sentence.
    """

    counted: Counted
    theta: Floats
    names: tuple[str, ...]
    times: Integers
    users: int
    source: str

    @property
    def messages(self) -> int:
        """Comparisons of the pair that is compared least, of those compared at all."""
        compared = self.counted.compared
        return int(compared[compared > 0].min())


@lru_cache(maxsize=8)
@read_only
def pool_of(
    path: DataFile | None,
    items: DataFile | None,
    most_items: int,
    most_answers: int | None = None,
) -> Pool:
    """Everybody's comparisons in a file.

    InvalidInput where they cannot be read, or where those that count do not
    connect all items. In a file of ratings, two unequal ratings of a user
    make a comparison. O(rows); with ratings O(users · m²).
    """
    records = _file_of(path, items)
    chosen = _chosen(records, most_items)
    m = len(chosen)
    names = tuple(records.names[k] for k in chosen)
    if isinstance(records, Choices):
        won, compared = records.pooled(chosen)
        counted = _counted_choices(records, chosen, most_answers)
    else:
        verdicts = _verdicts(records, chosen, most_items)
        won, compared = _sums(verdicts)
        counted = _counted_ratings(verdicts, most_answers)
    key, value = ("data_path", path.path) if path else ("most_items", most_items)
    advice = "leave them out, or give a smaller parameters.most_items"
    _check_linked(compared, names, key, value, advice)
    if most_answers is not None:
        _check_linked(counted.compared, names, "most_answers", most_answers, "give a larger number")
    users = records.users
    theta = weighted_fit(won / users, compared / users, m, 1 / users)
    first, second = np.triu_indices(m, 1)
    times = np.bincount(first, compared, m) + np.bincount(second, compared, m)
    total = int(compared.sum())
    source = records.source.rstrip(".")
    if m < len(records.names):
        source = f"{source}; the {m} items compared most, and {total:,} comparisons of these"
    left_out = total - int(counted.compared.sum())
    if left_out:
        source = f"{source}; {left_out:,} of them do not count, {counted.most:,} of a person do"
    return Pool(counted, theta, names, times.astype(np.int64), users, f"{source}.")


def _file_of(path: DataFile | None, items: DataFile | None) -> Ratings | Choices:
    """What a file holds, or the stand-in."""
    if path is None and items is not None:
        raise InvalidInput("data_items", items.path, "goes with data.path only; give that too")
    if path is None:
        return stand_in.ratings()
    return load(path, items, other_ratings=True)


def _chosen(records: Ratings | Choices, most_items: int) -> Integers:
    """(m,), increasing: the items compared most."""
    m = min(most_items, len(records.names))
    if m < 2:
        allowed = f"there are {len(records.names)} items; needs two at least"
        raise InvalidInput("most_items", most_items, allowed)
    most_compared = np.argsort(-records.popularity, kind="stable")[:m]
    return np.sort(most_compared)


@lru_cache(maxsize=2)
@read_only
def records_of(
    path: DataFile | None,
    items: DataFile | None,
    most_items: int,
    most_answers: int | None = None,
) -> Records:
    """Of each user the comparisons that count, as in `pool_of`, one by one."""
    records = _file_of(path, items)
    chosen = _chosen(records, most_items)
    if isinstance(records, Choices):
        pairs = len(chosen) * (len(chosen) - 1) // 2
        user, pair, won = records.first_of_each(chosen, most_answers or pairs)
    else:
        verdicts = _counted_verdicts(_verdicts(records, chosen, most_items), most_answers)
        user, pair = np.nonzero(verdicts)
        won = (verdicts[user, pair] > 0).astype(np.int64)
    order = np.argsort(user, kind="stable")
    start = np.searchsorted(user[order], np.arange(records.users + 1))
    return Records(pair[order], won[order], start)


def _check_linked(
    compared: Integers, names: tuple[str, ...], key: str, value: str | int, advice: str
) -> None:
    """Raise InvalidInput for a parameter where comparisons, (pairs,), do not link all items."""
    m = len(names)
    first, second = np.triu_indices(m, 1)
    is_compared = compared > 0
    apart = unconnected(first[is_compared], second[is_compared], m, names)
    if not apart:
        return
    listing = shorten(", ".join(apart), LISTED)
    raise InvalidInput(
        key, value, f"no comparisons link these items to the others: {listing}; {advice}"
    )


def _counted_choices(choices: Choices, chosen: Integers, most_answers: int | None) -> Counted:
    """Of each person the first comparisons of different pairs, as a release counts them."""
    pairs = len(chosen) * (len(chosen) - 1) // 2
    limit = most_answers or pairs
    counts, most = choices.bounded(chosen, limit)
    return Counted(counts[:, 0], counts.sum(axis=1), max(most, 1))


def _verdicts(ratings: Ratings, chosen: Integers, most_items: int) -> NDArray[np.int8]:
    """(users, pairs): 1 where i < j is rated above j, −1 where below, 0 where neither."""
    m = len(chosen)
    if ratings.users * m * (m - 1) // 2 > MOST_VERDICTS:
        raise InvalidInput(
            "most_items",
            most_items,
            f"{ratings.users:,} users and all pairs of {m:,} items are "
            "too many to hold; must be smaller",
        )
    verdicts, is_rated = ratings.verdicts(chosen)
    verdicts *= is_rated
    return verdicts


def _sums(verdicts: NDArray[np.int8]) -> tuple[Integers, Integers]:
    """Wins of i over j and comparisons of the pair, (pairs,) both. verdicts: (users, pairs)."""
    return (verdicts > 0).sum(axis=0), (verdicts != 0).sum(axis=0)


def _counted_ratings(verdicts: NDArray[np.int8], most_answers: int | None) -> Counted:
    """Of each person some pairs, which do not depend on how they were rated; else all.

    Ratings have no first pair, so these are drawn, the same on every machine.
    """
    counted = _counted_verdicts(verdicts, most_answers)
    most = int((counted != 0).sum(axis=1).max())
    won, compared = _sums(counted)
    return Counted(won, compared, max(most, 1))


def _counted_verdicts(verdicts: NDArray[np.int8], most_answers: int | None) -> NDArray[np.int8]:
    """Verdicts, (users, pairs), of which those that do not count are 0."""
    answers = (verdicts != 0).sum(axis=1)
    if most_answers is None or most_answers >= answers.max():
        return verdicts
    rng = np.random.Generator(np.random.Philox(20240401))
    counted = verdicts.copy()
    for user in np.flatnonzero(answers > most_answers).tolist():
        decided = np.flatnonzero(counted[user])
        order = np.argsort(rng.random(len(decided)))
        counted[user, decided[order[most_answers:]]] = 0
    return counted


@dataclass(frozen=True)
class PooledPreferences(Preferences):
    """Truth: the ranking without privacy. names: (m,), of the items."""

    names: tuple[str, ...]


class PooledComparisons(Comparisons):
    """The comparisons of a file that count, the same in every replication.

    A user may have made any number of them. questions: how many of a
    user are drawn at random, anew in every replication; None is all.
    """

    def __init__(
        self,
        pool: Pool,
        reps: int,
        rng: np.random.Generator,
        records: Records | None = None,
        questions: int | None = None,
    ):
        super().__init__(None, pool.users, len(pool.names), rng)
        self._pool = pool
        self._reps = reps
        self._records = records
        self._questions = questions

    def compared(self, sizes: Integers) -> Integers:
        """(reps, 1, pairs): comparisons made by all users, who are one group."""
        return self._sums[1][:, None]

    @property
    def most_answers(self) -> int:
        """Comparisons that count of the user who made most."""
        if self._questions is not None:
            return self._questions
        return self._pool.counted.most

    @property
    def wins(self) -> Integers:
        """(reps, pairs): comparisons in which i beat j."""
        return self._sums[0]

    @cached_property
    def _sums(self) -> tuple[Integers, Integers]:
        """Wins and comparisons, (reps, pairs) both."""
        counted = self._pool.counted
        shape = (self._reps, len(counted.compared))
        if self._records is None or self._questions is None:
            return np.broadcast_to(counted.won, shape), np.broadcast_to(counted.compared, shape)
        won = np.empty(shape, np.int64)
        compared = np.empty(shape, np.int64)
        for r in range(self._reps):
            rows = self._drawn(self._records, self._questions)
            pair = self._records.pair[rows]
            won[r] = np.bincount(pair, self._records.won[rows], shape[1])
            compared[r] = np.bincount(pair, minlength=shape[1])
        return won, compared

    def _drawn(self, records: Records, questions: int) -> Integers:
        """Which comparisons are drawn of all users, in one replication."""
        places = places_of_each(self._rng, np.diff(records.start), questions)
        rows = records.start[:-1, None] + places
        drawn: Integers = rows[places >= 0]
        return drawn


@dataclass(frozen=True)
class Pooled(BaseModel):
    """All comparisons of a file, in every replication: only what privacy adds is random.

    With fewer questions than the user who made most comparisons has, so
    many of each user are drawn at random, anew in every replication: a
    survey that asks each for no more.
    θ*: the fit of `debiased` without privacy, argmin of eq. (3) with λ =
    1/L, L the users of the file; so that `mechanism: none` gives it back
    where all comparisons count. As in a release, of several comparisons of
    a person of one pair the first counts, and the first `most_answers` of a
    person. Files: all of `files`, also those without users, whose
    comparisons each count as another user's. `derive: {m: file_items, L:
    file_users, questions: file_answers, messages: file_messages}` takes
    sizes from the file, `grid: {item: file_names}` the names. Source: Xu,
    Sun and Cheng, eq. (2) and (3).
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
    most_answers: int | None = parameter(
        "comparisons of a person that count, the first ones; null is all pairs",
        unit="comparisons",
        default=None,
        low=1,
    )
    profile: str = parameter("groups of users, share:multiple of epsilon", default="1:1")
    questions: int | None = QUESTIONS

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
        return pool_of(self.data_path, self.data_items, self.most_items, self.most_answers)

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
        """The comparisons of the file, or some of each user."""
        reps = len(truth.theta)
        if self.questions is None or self.questions >= self._pool.counted.most:
            return PooledComparisons(self._pool, reps, rng)
        records = records_of(
            self.data_path,
            self.data_items,
            self.most_items,
            self.most_answers,
        )
        return PooledComparisons(self._pool, reps, rng, records, self.questions)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond.

        Of fits too, whose pairs have weights.
        """
        fits: float = 350 * self.m**2
        if self.questions is None or self.questions >= self._pool.counted.most:
            return fits
        return fits + 60 * self.L * self.questions


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
    data_path: Path, data_items: Items, most_items: Most, most_answers: MostAnswers
) -> Annotated[int, "comparisons of the user who made most", "comparisons"]:
    """Largest number of comparisons of one user that count; 1 where users have no names."""
    return pool_of(data_path, data_items, most_items, most_answers).counted.most


def file_questions(
    mechanism: str,
    person: float,
    data_path: Path,
    data_items: Items,
    most_items: Most,
    most_answers: MostAnswers,
) -> Annotated[int, "comparisons that each user is asked for", "comparisons"]:
    """As many as the user who made most; fewer where nobody is trusted.

    Then so many as a person's budget is best spent on, drawn at random from
    those that the user made.
    """
    most = file_answers(data_path, data_items, most_items, most_answers)
    if mechanism == "randomized_response":
        return questions_of_survey(person, most)
    return most


def file_messages(
    data_path: Path, data_items: Items, most_items: Most, most_answers: MostAnswers
) -> Annotated[int, "comparisons of the pair that is compared least", "comparisons"]:
    """Smallest number of comparisons that count of a pair, of those compared at all."""
    return pool_of(data_path, data_items, most_items, most_answers).messages


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


def leaving_epsilon(
    person: float, person_delta: float, questions: int, messages: int, mechanism: str
) -> Annotated[float, "budget of one comparison as it leaves its user", "nats"]:
    """ε₀ of one of the comparisons of a user, at which all of them keep the promise.

    NaN with a curator, to whom comparisons are told as they are.
    """
    return leaving_budget(person, person_delta, questions, messages, mechanism)
