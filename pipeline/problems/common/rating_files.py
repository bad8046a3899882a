"""Files of people's ratings: MovieLens's, `userId,movieId,rating,timestamp`, and any others, long or wide.

Also the checks that files of ratings share with other files of users and items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

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
    "terms of GroupLens: research use only, no commercial use, acknowledge (cite Harper and Konstan, 2015), "
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

    user, item: (rows,), indices; stars: (rows,), > 0. users: their number. names: of items, sorted. source: one
    sentence on where they are from.
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
        """Verdict on i < j, 1, −1 or 0 for neither, int8, and whether both are rated; (users, pairs) both.

        The higher rating wins and an unrated item loses to a rated one. chosen: (m,), increasing indices of items.
        """
        column = positions(chosen, len(self.names))
        kept, m = column[self.item] >= 0, len(chosen)
        stars = np.zeros((self.users, m), np.float32)  # 0: not rated
        stars[self.user[kept], column[self.item[kept]]] = self.stars[kept]
        lead, both = np.empty((2, self.users, m * (m - 1) // 2), np.int8)
        end = 0
        for i in range(m - 1):
            start, end = end, end + m - 1 - i
            lead[:, start:end] = np.sign(stars[:, i, None] - stars[:, i + 1 :])
            both[:, start:end] = (stars[:, i, None] > 0) & (stars[:, i + 1 :] > 0)
        return lead, both.view(bool)


@lru_cache(maxsize=4)
@read_only
def load(path: DataFile, other_ratings: bool = False) -> Ratings:
    """The ratings of a file; InvalidInput with the row of the first mistake, or what was found and expected.

    other_ratings: accept ratings that are not MovieLens's ml-latest-small. Read once per content: 0.2 s for 100,000
    rows.
    """
    try:
        lines = tables.lines(path)
        header, start, _ = tables.header(lines, ",".join(RATINGS))
        if header != RATINGS:
            raise Unreadable(
                f"the header is {shorten(','.join(header))!r}; must be {','.join(RATINGS)} (MovieLens)"
            )
        rows, numbers = tables.rows(lines, range(start, len(lines)))
        columns = tables.columns(rows, numbers, len(header), f": {','.join(header)}")
        return _ratings(columns, numbers, path, other_ratings)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None


def of_sheet(sheet: Sheet, path: DataFile) -> Ratings | None:
    """Ratings in any other table; None where its header is of none.

    A row each, user, item and rating, or rank, of which 1 is the best; or persons × items below a first column of
    persons. Only the order of a user's ratings is kept: stars are 1, 2, … for the values in the file.
    """
    roles, items = sheet.roles(ROLES), sheet.header[1:]
    for kind, others in (("rating", {"rank"}), ("rank", {"rating"})):
        if {"user", "item", kind} <= roles.keys() and not others & roles.keys():
            user, item = sheet.names(roles["user"], "user"), sheet.names(roles["item"], "item")
            return _ordered(
                user,
                item,
                sheet.measured(roles[kind]),
                kind,
                sheet.numbers,
                path,
                sheet.unused(roles.values()),
            )
    if (
        len(items) < 2
        or set(roles) - {"user"}
        or (plain(sheet.header[0]) not in PERSON and sheet.header[0])
    ):
        return None
    if not all(items) or len(set(items)) < len(items):
        raise Unreadable("needs a name for every item in the header, each once")
    user = [*sheet.names(0, "user")] * len(items)
    item = [name for name in items for _ in sheet.numbers]
    values = np.concatenate([sheet.measured(k + 1) for k in range(len(items))])
    return _ordered(user, item, values, "rating", [*sheet.numbers] * len(items), path, sheet.remark)


def _ordered(
    user: Sequence[str],
    item: Sequence[str],
    values: np.ndarray,
    kind: str,
    numbers: Sequence[int],
    path: DataFile,
    remark: str,
) -> Ratings:
    """Ratings of which some are missing (NaN); all arguments are (ratings,)."""
    given = np.flatnonzero(np.isfinite(values)).tolist()
    people, names = (tuple(sorted({column[k] for k in given})) for column in (user, item))
    who, what = indices([user[k] for k in given], people), indices([item[k] for k in given], names)
    refuse_repeats(
        who * len(names) + what, [numbers[k] for k in given], "this user rated this item"
    )
    if len(people) < 2 or len(names) < 2:
        raise Unreadable(
            f"has {kind}s of {len(names)} items by {len(people)} users; needs two of each at least"
        )
    stars = np.unique(values[given] * (1 if kind == "rating" else -1), return_inverse=True)[1] + 1.0
    return Ratings(
        who,
        what,
        stars,
        len(people),
        names,
        f"A file of {len(stars):,} {kind}s of {len(names):,} items by "
        f"{len(people):,} users, sha256 {path.sha256[:8]}…{remark}.",
    )


def sorted_names(column: Sequence[str], numbers: list[int], what: str) -> tuple[str, ...]:
    """The different names of a column, sorted. Raises `Unreadable` with the row of an empty one."""
    names = set(column)
    if "" in names:
        raise Unreadable(f"row {numbers[column.index('') % len(numbers)]}: the {what} has no name")
    return tuple(sorted(names))


def indices(column: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """(rows,): index of each text of a column among the names."""
    index = {name: k for k, name in enumerate(names)}
    return np.fromiter(map(index.__getitem__, column), np.int64, len(column))


def users_of(column: Sequence[str], numbers: list[int]) -> tuple[np.ndarray, int]:
    """Index of the user of each row, (rows,), and the number of users. Raises `Unreadable` if there is one only."""
    names = sorted_names(column, numbers, "user")
    if len(names) < 2:
        raise Unreadable(f"has one user only, {shorten(names[0])!r}; needs two at least")
    return indices(column, names), len(names)


def refuse_repeats(key: np.ndarray, numbers: list[int], says: str) -> None:
    """Raises `Unreadable` with the first row that has the key of an earlier row; key: (rows,)."""
    first, inverse = np.unique(key, return_index=True, return_inverse=True)[1:]
    again = np.flatnonzero(first[inverse] != np.arange(len(key)))
    if again.size:
        raise Unreadable(
            f"row {numbers[again[0]]}: {says} before, in row {numbers[first[inverse[again[0]]]]}"
        )


def _ratings(
    columns: list[tuple[str, ...]], numbers: list[int], file: DataFile, other: bool
) -> Ratings:
    user, users = users_of(columns[0], numbers)
    names = sorted_names(columns[1], numbers, "film")
    item = indices(columns[1], names)
    stars = np.array([_number(text) for text in columns[2]])
    bad = np.flatnonzero(~((stars > 0) & (stars < 1e6)))
    if bad.size:
        raise Unreadable(
            f"row {numbers[bad[0]]}: the rating is {shorten(columns[2][bad[0]])!r}; must be a number > 0"
        )
    refuse_repeats(user * len(names) + item, numbers, "this user rated this film")
    counted = f"{len(stars):,} ratings of {len(names):,} films by {users:,} users, sha256 {file.sha256[:8]}…"
    if file.sha256 in SMALL_SHA256:
        return Ratings(
            user,
            item,
            stars,
            users,
            names,
            f"MovieLens ml-latest-small of GroupLens: {counted}; {TERMS}.",
        )
    if not other:
        expected = " or ".join(f"{sha[:8]}… ({ends})" for sha, ends in SMALL_SHA256.items())
        raise Unreadable(
            f"is not MovieLens ml-latest-small: found {counted}; expected {SMALL}, sha256 {expected}. Public copies "
            f"are often edited: take the original from GroupLens ({TERMS}), or accept this file with "
            "+parameters.other_ratings=true"
        )
    return Ratings(
        user,
        item,
        stars,
        users,
        names,
        f"Ratings of a file that was not compared with any known one "
        f"(other_ratings=true), not MovieLens ml-latest-small: {counted}; if from MovieLens, {TERMS}.",
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
