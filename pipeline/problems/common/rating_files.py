"""Files of people's ratings: MovieLens's, and any others, long or wide.

MovieLens's header is `userId,movieId,rating,timestamp`. Also the checks
that files of ratings share with other files of users and items.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Booleans, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import DataFile, InvalidInput, shorten

from . import tables
from .sheets import ITEM, PERSON, Sheet, plain
from .tables import Unreadable

RATINGS = ("userId", "movieId", "rating", "timestamp")
ROLES = {
    "user": PERSON,
    "item": ITEM,
    "rating": ("rating", "stars", "score", "value", "grade"),
    "rank": ("rank", "place", "position"),
}
TERMS = (
    "terms of GroupLens: research use only, no commercial use, acknowledge (cite Harper and "
    "Konstan, 2015), "
    "redistribute only under the same terms"
)
SMALL = "100,836 ratings of 9,724 films by 610 users"
SMALL_SHA256 = {
    "80da8b3393dae325bbba5a31f291a6ba55d8d4f4396de3c456f2c1635b1b70e8": "LF",
    "aa289ca83157595d0df6aea1be6a4ded676ddc4385472e8313a8ed9805352646": "CRLF",
}
MOVIELENS = tuple(f"sha256:{sha}" for sha in SMALL_SHA256)  # as a study's identity has them


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of items by users, each pair at most once.

    user, item: (rows,), indices; stars: (rows,), > 0. users: their number.
    names: of items, sorted. source: one sentence on where they are from.
    """

    user: np.ndarray
    item: np.ndarray
    stars: np.ndarray
    users: int
    names: tuple[str, ...]
    source: str

    coins: ClassVar[bool] = True  # the paper's rule has a coin decide what the ratings leave open

    @cached_property
    def popularity(self) -> np.ndarray:
        """(items,): number of ratings."""
        return np.bincount(self.item, minlength=len(self.names))

    def verdicts(self, chosen: Integers) -> tuple[NDArray[np.int8], Booleans]:
        """Verdict on i < j, 1, −1 or 0 for neither, int8, and whether both are rated.

        (users, pairs) both. The higher rating wins and an unrated item
        loses to a rated one. chosen: (m,), increasing indices of items.
        """
        column = positions(chosen, len(self.names))
        m = len(chosen)
        is_chosen = column[self.item] >= 0
        stars = np.zeros((self.users, m), np.float32)  # 0: not rated
        user = self.user[is_chosen]
        stars[user, column[self.item[is_chosen]]] = self.stars[is_chosen]
        lead = np.empty((self.users, m * (m - 1) // 2), np.int8)
        is_rated = np.empty(lead.shape, bool)
        start = 0
        for i in range(m - 1):
            pairs = slice(start, start + m - 1 - i)
            lead[:, pairs] = np.sign(stars[:, i, None] - stars[:, i + 1 :])
            is_rated[:, pairs] = (stars[:, i, None] > 0) & (stars[:, i + 1 :] > 0)
            start = pairs.stop
        return lead, is_rated


@lru_cache(maxsize=4)
@read_only
def load(path: DataFile, other_ratings: bool = False) -> Ratings:
    """The ratings of a file.

    InvalidInput with the row of the first mistake, or what was found and
    expected. other_ratings: accept ratings that are not MovieLens's
    ml-latest-small. Read once per content: 0.2 s for 100,000 rows.
    """
    try:
        lines = tables.lines(path)
        header, start, _ = tables.header(lines, ",".join(RATINGS))
        if header != RATINGS:
            raise Unreadable(
                f"the header is {shorten(','.join(header))!r}; must be {','.join(RATINGS)} "
                "(MovieLens)"
            )
        rows, numbers = tables.rows(lines, range(start, len(lines)))
        columns = tables.columns(rows, numbers, len(header), f": {','.join(header)}")
        return _ratings(columns, numbers, path, other_ratings)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None


def of_sheet(sheet: Sheet, path: DataFile) -> Ratings | None:
    """Ratings in any other table; None where its header is of none.

    A row each, user, item and rating, or rank, of which 1 is the best; or
    persons × items below a first column of persons. Only the order of a
    user's ratings is kept: stars are 1, 2, … for the values in the file.
    """
    roles = sheet.roles(ROLES)
    for kind, other in (("rating", "rank"), ("rank", "rating")):
        if {"user", "item", kind} <= roles.keys() and other not in roles:
            return _long_table(sheet, roles, kind, path)
    items = sheet.header[1:]
    has_persons = plain(sheet.header[0]) in PERSON or not sheet.header[0]
    if len(items) < 2 or set(roles) - {"user"} or not has_persons:
        return None
    if not all(items) or len(set(items)) < len(items):
        raise Unreadable("needs a name for every item in the header, each once")
    return _wide_table(sheet, items, path)


def _long_table(sheet: Sheet, roles: dict[str, int], kind: str, path: DataFile) -> Ratings:
    """A row for each rating. kind: rating or rank."""
    cells = _Cells(
        sheet.names(roles["user"], "user"),
        sheet.names(roles["item"], "item"),
        sheet.measured(roles[kind]),
        sheet.numbers,
    )
    return _ordered(cells, kind, path, sheet.unused(roles.values()))


def _wide_table(sheet: Sheet, items: Sequence[str], path: DataFile) -> Ratings:
    """Persons × items, with the persons in the first column."""
    persons = sheet.names(0, "user")
    user: list[str] = []
    item: list[str] = []
    values = []
    numbers: list[int] = []
    for column, name in enumerate(items, start=1):
        user.extend(persons)
        item.extend(itertools.repeat(name, len(persons)))
        values.append(sheet.measured(column))
        numbers.extend(sheet.numbers)
    cells = _Cells(user, item, np.concatenate(values), numbers)
    return _ordered(cells, "rating", path, sheet.remark)


class _Cells(NamedTuple):
    """Ratings as a file has them, (ratings,) each.

    Names, values, NaN where missing, and rows of the file.
    """

    user: Sequence[str]
    item: Sequence[str]
    values: np.ndarray
    numbers: Sequence[int]


def _ordered(cells: _Cells, kind: str, path: DataFile, remark: str) -> Ratings:
    """Ratings by the order of the values. kind: rating, or rank, of which 1 is the best."""
    rated = np.flatnonzero(np.isfinite(cells.values)).tolist()
    users_rating = [cells.user[k] for k in rated]
    items_rated = [cells.item[k] for k in rated]
    people = tuple(sorted(set(users_rating)))
    names = tuple(sorted(set(items_rated)))
    user = indices(users_rating, people)
    item = indices(items_rated, names)
    numbers = [cells.numbers[k] for k in rated]
    refuse_repeats(user * len(names) + item, numbers, "this user rated this item")
    if len(people) < 2 or len(names) < 2:
        raise Unreadable(
            f"has {kind}s of {len(names)} items by {len(people)} users; needs two of each at least"
        )
    sign = 1 if kind == "rating" else -1
    _, order = np.unique(cells.values[rated] * sign, return_inverse=True)
    stars = order + 1.0
    source = (
        f"A file of {len(stars):,} {kind}s of {len(names):,} items by "
        f"{len(people):,} users, sha256 {path.sha256[:8]}…{remark}."
    )
    return Ratings(user, item, stars, len(people), names, source)


def sorted_names(column: Sequence[str], numbers: list[int], meaning: str) -> tuple[str, ...]:
    """The different names of a column, sorted. Raises `Unreadable` with the row of an empty one."""
    names = set(column)
    if "" in names:
        number = numbers[column.index("") % len(numbers)]
        raise Unreadable(f"row {number}: the {meaning} has no name")
    return tuple(sorted(names))


def indices(column: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """(rows,): index of each text of a column among the names."""
    index = {name: k for k, name in enumerate(names)}
    return np.fromiter(map(index.__getitem__, column), np.int64, len(column))


def users_of(column: Sequence[str], numbers: list[int]) -> tuple[np.ndarray, int]:
    """Index of the user of each row, (rows,), and the number of users.

    Raises `Unreadable` if there is one only.
    """
    names = sorted_names(column, numbers, "user")
    if len(names) < 2:
        raise Unreadable(f"has one user only, {shorten(names[0])!r}; needs two at least")
    return indices(column, names), len(names)


def refuse_repeats(key: np.ndarray, numbers: list[int], says: str) -> None:
    """Raises `Unreadable` with the first row that has the key of an earlier row; key: (rows,)."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    first_of_key = first[inverse]
    again = np.flatnonzero(first_of_key != np.arange(len(key)))
    if again.size:
        row = numbers[again[0]]
        earlier = numbers[first_of_key[again[0]]]
        raise Unreadable(f"row {row}: {says} before, in row {earlier}")


def _ratings(
    columns: list[tuple[str, ...]], numbers: list[int], file: DataFile, other: bool
) -> Ratings:
    user, users = users_of(columns[0], numbers)
    names = sorted_names(columns[1], numbers, "film")
    item = indices(columns[1], names)
    stars = np.array([_number(text) for text in columns[2]])
    bad = np.flatnonzero(~((stars > 0) & (stars < 1e6)))
    if bad.size:
        text = shorten(columns[2][bad[0]])
        raise Unreadable(f"row {numbers[bad[0]]}: the rating is {text!r}; must be a number > 0")
    refuse_repeats(user * len(names) + item, numbers, "this user rated this film")
    content = (
        f"{len(stars):,} ratings of {len(names):,} films by {users:,} users, "
        f"sha256 {file.sha256[:8]}…"
    )
    return Ratings(user, item, stars, users, names, _source(content, file, other))


def _source(content: str, file: DataFile, other: bool) -> str:
    """Where ratings in MovieLens's format are from. other: whether any file is accepted."""
    if file.sha256 in SMALL_SHA256:
        return f"MovieLens ml-latest-small of GroupLens: {content}; {TERMS}."
    if other:
        return (
            "Ratings of a file that was not compared with any known one "
            f"(other_ratings=true), not MovieLens ml-latest-small: {content}; if from MovieLens, "
            f"{TERMS}."
        )
    expected = " or ".join(f"{sha[:8]}… ({ends})" for sha, ends in SMALL_SHA256.items())
    raise Unreadable(
        f"is not MovieLens ml-latest-small: found {content}; expected {SMALL}, sha256 {expected}. "
        "Public copies are often edited: take the original from GroupLens "
        f"({TERMS}), or accept this file with +parameters.other_ratings=true"
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def positions(chosen: np.ndarray, items: int) -> np.ndarray:
    """(items,): position of an item among the chosen, −1 if it is not."""
    column = np.full(items, -1)
    column[chosen] = np.arange(len(chosen))
    return column
