"""Files of people's own comparisons, or of ratings that comparisons follow from: read, checked, and kept by content.

Two formats, told apart by the header: `user,winner,loser` and `userId,movieId,rating,timestamp` (MovieLens).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from pipeline.problems.common import rating_files, tables
from pipeline.problems.common.rating_files import (
    RATINGS,
    Ratings,
    indices,
    positions,
    refuse_repeats,
    sorted_names,
    users_of,
)
from pipeline.problems.common.tables import Unreadable
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, shorten

CHOICES = ("user", "winner", "loser")


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

    coins: ClassVar[bool] = False  # comparisons that were not made stay missing

    @cached_property
    def popularity(self) -> np.ndarray:
        """(items,): number of comparisons."""
        return np.bincount(np.concatenate([self.winner, self.loser]), minlength=len(self.names))

    def verdicts(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Verdict on i < j, 1, −1 or 0 for neither, int8, and whether there is one; (users, pairs) both."""
        place, m = positions(chosen, len(self.names)), len(chosen)
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
        if header == CHOICES:
            rows, numbers = tables.rows(lines, range(start, len(lines)))
            columns = tables.columns(rows, numbers, len(header), f": {','.join(header)}")
            return _choices(columns, numbers, path, items)
        if header == RATINGS:
            if items is not None:
                raise InvalidInput("data_items", items.path, "goes with comparisons (user,winner,loser), not ratings; "
                                   "must be null here")
            return rating_files.load(path, other_ratings)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None
    missing = [name for name in CHOICES if name not in header] if len(set(header) & set(CHOICES)) > 1 else []
    raise InvalidInput("data_path", path.path, f"the header is {shorten(','.join(header))!r}"
                       + (f", without {', '.join(missing)}" if missing else "")
                       + f"; must be {','.join(CHOICES)} (comparisons) or {','.join(RATINGS)} (MovieLens)")


def _choices(columns: list[tuple[str, ...]], numbers: list[int], file: DataFile, items: DataFile | None) -> Choices:
    user, users = users_of(columns[0], numbers)
    both = columns[1] + columns[2]
    names = sorted_names(both, numbers, "winner or loser")
    if items is not None:
        _compare_items(names, zip(numbers, columns[1], columns[2], strict=True), items)
    winner, loser = np.split(indices(both, names), 2)
    same = np.flatnonzero(winner == loser)
    if same.size:
        raise Unreadable(f"row {numbers[same[0]]}: compares {shorten(columns[1][same[0]])!r} with itself")
    pairs = len(names) * (len(names) - 1) // 2
    refuse_repeats(user * pairs + _pair(winner, loser, len(names)), numbers, "this user compared these two items")
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


def _pair(i: np.ndarray, j: np.ndarray, m: int) -> np.ndarray:
    """Place of the pair {i, j} in the order of `numpy.triu_indices(m, 1)`."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    values: np.ndarray = low * (2 * m - low - 1) // 2 + high - low - 1
    return values
