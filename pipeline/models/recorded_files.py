"""Files of people's own comparisons or ratings: read, checked, and kept by content. Nothing is ever written.

Two formats, told apart by the header: `userId,movieId,rating,timestamp` (MovieLens) and `user,winner,loser`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from pipeline.models import tables
from pipeline.models.tables import Unreadable
from pipeline.parameters import LISTED, DataFile, InvalidInput, shorten

RATINGS = ("userId", "movieId", "rating", "timestamp")
CHOICES = ("user", "winner", "loser")
TERMS = ("terms of GroupLens: research use only, no commercial use, acknowledge (cite Harper and Konstan, 2015), "
         "redistribute only under the same terms")
SMALL = "100,836 ratings of 9,724 films by 610 users"
SMALL_SHA256 = {
    "80da8b3393dae325bbba5a31f291a6ba55d8d4f4396de3c456f2c1635b1b70e8": "LF",
    "aa289ca83157595d0df6aea1be6a4ded676ddc4385472e8313a8ed9805352646": "CRLF",
}


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
        place = _places(chosen, len(self.names))
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


@dataclass(frozen=True, eq=False)
class Choices:
    """Comparisons that users made, each pair at most once.

    user, winner, loser: (rows,), indices. users: their number. names: of items, sorted. source: as in `Ratings`.
    """

    user: np.ndarray
    winner: np.ndarray
    loser: np.ndarray
    users: int
    names: tuple[str, ...]
    source: str

    coins: ClassVar[bool] = False  # nobody flips coins for comparisons that nobody made

    @cached_property
    def popularity(self) -> np.ndarray:
        """(items,): number of comparisons."""
        return np.bincount(np.concatenate([self.winner, self.loser]), minlength=len(self.names))

    def verdicts(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Verdict on i < j, 1, −1 or 0 for neither, int8, and whether there is one; (users, pairs) both."""
        place, m = _places(chosen, len(self.names)), len(chosen)
        i, j = place[self.winner], place[self.loser]
        kept = (i >= 0) & (j >= 0)
        i, j = i[kept], j[kept]
        lead = np.zeros((self.users, m * (m - 1) // 2), np.int8)
        lead[self.user[kept], _pair(i, j, m)] = np.where(i < j, 1, -1)
        return lead, lead != 0


@lru_cache(maxsize=4)
def load(path: DataFile, items: DataFile | None = None, other_ratings: bool = False) -> Ratings | Choices:
    """What a file says; InvalidInput with the row of the first mistake, or what was found and expected.

    items: names of all items that may be compared, one a line. other_ratings: accept ratings that are not
    MovieLens's ml-latest-small. Read once per content: 0.2 s for 100,000 rows.
    """
    try:
        lines = tables.lines(path)
        header, start, _ = tables.header(lines, f"{','.join(CHOICES)} or {','.join(RATINGS)}")
        if header in (RATINGS, CHOICES):
            rows, numbers = tables.rows(lines, range(start, len(lines)))
            columns = tables.columns(rows, numbers, len(header), f": {','.join(header)}")
            if header == CHOICES:
                return _choices(columns, numbers, path, items)
            if items is not None:
                raise InvalidInput("data_items", items.path, "goes with comparisons (user,winner,loser), not ratings; "
                                   "must be null here")
            return _ratings(columns, numbers, path, other_ratings)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None
    missing = [name for name in CHOICES if name not in header] if len(set(header) & set(CHOICES)) > 1 else []
    raise InvalidInput("data_path", path.path, f"the header is {shorten(','.join(header))!r}"
                       + (f", without {', '.join(missing)}" if missing else "")
                       + f"; must be {','.join(CHOICES)} (comparisons) or {','.join(RATINGS)} (MovieLens)")


def _names(column: Sequence[str], numbers: list[int], what: str) -> tuple[str, ...]:
    """Sorted names of a column."""
    names = set(column)
    if "" in names:
        raise Unreadable(f"row {numbers[column.index('') % len(numbers)]}: the {what} has no name")
    return tuple(sorted(names))


def _indices(column: Sequence[str], names: Sequence[str]) -> np.ndarray:
    index = {name: k for k, name in enumerate(names)}
    return np.fromiter(map(index.__getitem__, column), np.int64, len(column))


def _users(column: Sequence[str], numbers: list[int]) -> tuple[np.ndarray, int]:
    names = _names(column, numbers, "user")
    if len(names) < 2:
        raise Unreadable(f"has one user only, {shorten(names[0])!r}; needs two at least")
    return _indices(column, names), len(names)


def _no_repeats(key: np.ndarray, numbers: list[int], says: str) -> None:
    first, inverse = np.unique(key, return_index=True, return_inverse=True)[1:]
    again = np.flatnonzero(first[inverse] != np.arange(len(key)))
    if again.size:
        raise Unreadable(f"row {numbers[again[0]]}: {says} before, in row {numbers[first[inverse[again[0]]]]}")


def _ratings(columns: list, numbers: list[int], file: DataFile, other: bool) -> Ratings:
    user, users = _users(columns[0], numbers)
    names = _names(columns[1], numbers, "film")
    item = _indices(columns[1], names)
    stars = np.array([_number(text) for text in columns[2]])
    bad = np.flatnonzero(~((stars > 0) & (stars < 1e6)))
    if bad.size:
        raise Unreadable(f"row {numbers[bad[0]]}: the rating is {shorten(columns[2][bad[0]])!r}; must be a number > 0")
    _no_repeats(user * len(names) + item, numbers, "this user rated this film")
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


def _choices(columns: list, numbers: list[int], file: DataFile, items: DataFile | None) -> Choices:
    user, users = _users(columns[0], numbers)
    both = columns[1] + columns[2]
    names = _names(both, numbers, "winner or loser")
    if items is not None:
        _compare_items(names, zip(numbers, columns[1], columns[2], strict=True), items)
    winner, loser = np.split(_indices(both, names), 2)
    same = np.flatnonzero(winner == loser)
    if same.size:
        raise Unreadable(f"row {numbers[same[0]]}: compares {shorten(columns[1][same[0]])!r} with itself")
    pairs = len(names) * (len(names) - 1) // 2
    _no_repeats(user * pairs + _pair(winner, loser, len(names)), numbers, "this user compared these two items")
    return Choices(user, winner, loser, users, names, f"A file of {len(user):,} comparisons of {len(names):,} items by "
                   f"{users:,} users, sha256 {file.sha256[:8]}….")


def _compare_items(names: Sequence[str], rows: Iterable[tuple[int, str, str]], items: DataFile) -> None:
    try:
        listed = [name for line in tables.lines(items) if (name := line.strip())]
    except Unreadable as error:
        raise InvalidInput("data_items", items.path, str(error)) from None
    known = set(listed)
    if len(known) < len(listed):
        twice = next(name for k, name in enumerate(listed) if name in listed[:k])
        raise InvalidInput("data_items", items.path, f"names {shorten(twice)!r} twice")
    unknown = [name for name in names if name not in known]
    if unknown:
        row = next(number for number, *both in rows if not known.issuperset(both))
        raise Unreadable(f"row {row}: unknown items, not in data.items: {shorten(', '.join(unknown), LISTED)}")
    never = sorted(known - set(names))
    if never:
        raise InvalidInput("data_items", items.path, f"never compared: {shorten(', '.join(never), LISTED)}; must name "
                           "the items of data.path and no others")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _places(chosen: np.ndarray, items: int) -> np.ndarray:
    """(items,): place of an item among the chosen, −1 if it is not."""
    place = np.full(items, -1)
    place[chosen] = np.arange(len(chosen))
    return place


def _pair(i: np.ndarray, j: np.ndarray, m: int) -> np.ndarray:
    """Place of the pair {i, j} in the order of `numpy.triu_indices(m, 1)`."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    return low * (2 * m - low - 1) // 2 + high - low - 1
