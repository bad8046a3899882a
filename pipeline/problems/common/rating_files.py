"""Files of people's ratings, `userId,movieId,rating,timestamp` (MovieLens): read, checked, and kept by content.

Also the checks that files of ratings share with other files of users and items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from pipeline.study.parameters import DataFile, InvalidInput, shorten

from . import tables
from .tables import Unreadable

RATINGS = ("userId", "movieId", "rating", "timestamp")
TERMS = ("terms of GroupLens: research use only, no commercial use, acknowledge (cite Harper and Konstan, 2015), "
         "redistribute only under the same terms")
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

    def verdicts(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Verdict on i < j, 1, −1 or 0 for neither, int8, and whether both are rated; (users, pairs) both.

        The higher rating wins and an unrated item loses to a rated one. chosen: (m,), increasing indices of items.
        """
        place = positions(chosen, len(self.names))
        kept, m = place[self.item] >= 0, len(chosen)
        stars = np.zeros((self.users, m), np.float32)  # 0: not rated
        stars[self.user[kept], place[self.item[kept]]] = self.stars[kept]
        lead, both = np.empty((2, self.users, m * (m - 1) // 2), np.int8)
        end = 0
        for i in range(m - 1):
            start, end = end, end + m - 1 - i
            lead[:, start:end] = np.sign(stars[:, i, None] - stars[:, i + 1 :])
            both[:, start:end] = (stars[:, i, None] > 0) & (stars[:, i + 1 :] > 0)
        return lead, both.view(bool)


@lru_cache(maxsize=4)
def load(path: DataFile, other_ratings: bool = False) -> Ratings:
    """The ratings of a file; InvalidInput with the row of the first mistake, or what was found and expected.

    other_ratings: accept ratings that are not MovieLens's ml-latest-small. Read once per content: 0.2 s for 100,000
    rows.
    """
    try:
        lines = tables.lines(path)
        header, start, _ = tables.header(lines, ",".join(RATINGS))
        if header != RATINGS:
            raise Unreadable(f"the header is {shorten(','.join(header))!r}; must be {','.join(RATINGS)} (MovieLens)")
        rows, numbers = tables.rows(lines, range(start, len(lines)))
        columns = tables.columns(rows, numbers, len(header), f": {','.join(header)}")
        return _ratings(columns, numbers, path, other_ratings)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None


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
        raise Unreadable(f"row {numbers[again[0]]}: {says} before, in row {numbers[first[inverse[again[0]]]]}")


def _ratings(columns: list[tuple[str, ...]], numbers: list[int], file: DataFile, other: bool) -> Ratings:
    user, users = users_of(columns[0], numbers)
    names = sorted_names(columns[1], numbers, "film")
    item = indices(columns[1], names)
    stars = np.array([_number(text) for text in columns[2]])
    bad = np.flatnonzero(~((stars > 0) & (stars < 1e6)))
    if bad.size:
        raise Unreadable(f"row {numbers[bad[0]]}: the rating is {shorten(columns[2][bad[0]])!r}; must be a number > 0")
    refuse_repeats(user * len(names) + item, numbers, "this user rated this film")
    found = f"{len(stars):,} ratings of {len(names):,} films by {users:,} users"
    said = f"{found}, sha256 {file.sha256[:8]}…"
    if file.sha256 in SMALL_SHA256:
        return Ratings(user, item, stars, users, names, f"MovieLens ml-latest-small of GroupLens: {said}; {TERMS}.")
    if not other:
        expected = " or ".join(f"{sha[:8]}… ({ends})" for sha, ends in SMALL_SHA256.items())
        raise Unreadable(
            f"is not MovieLens ml-latest-small: found {said}; expected {SMALL}, sha256 {expected}. Public copies are "
            f"often edited: take the original from GroupLens ({TERMS}), or accept this file with "
            "+parameters.other_ratings=true")
    return Ratings(user, item, stars, users, names, f"Ratings of a file that was not compared with any known one "
                   f"(other_ratings=true), not MovieLens ml-latest-small: {said}; if from MovieLens, {TERMS}.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def positions(chosen: np.ndarray, items: int) -> np.ndarray:
    """(items,): position of an item among the chosen, −1 if it is not."""
    place = np.full(items, -1)
    place[chosen] = np.arange(len(chosen))
    return place
