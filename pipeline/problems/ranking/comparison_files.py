"""Files of people's own comparisons, or of ratings that comparisons follow from: read, checked, and kept by content.

Told apart by their headers: winner and loser, with or without user and count; left, right and label (the one that won);
two items and their wins; user, item and rating or rank; persons × items with ratings; items × items with wins; and
MovieLens's `userId,movieId,rating,timestamp`. Names of columns: see `sheets.PERSON`, `ROLES`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common import rating_files, sheets, tables
from pipeline.problems.common.rating_files import (
    RATINGS,
    Ratings,
    indices,
    positions,
    refuse_repeats,
    sorted_names,
)
from pipeline.problems.common.sheets import (
    COUNT,
    ITEM,
    MOST_PERSONS,
    PERSON,
    Sheet,
    plain,
    range_of,
)
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Booleans, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, shorten

ROLES = {
    "user": PERSON,
    "winner": ("winner", "winnerid", "won", "win", "preferred", "chosen", "better", "winningitem"),
    "loser": (
        "loser",
        "loserid",
        "lost",
        "lose",
        "rejected",
        "unchosen",
        "worse",
        "losingitem",
        "other",
    ),
    "first": (
        "left",
        "item1",
        "itema",
        "player1",
        "team1",
        "hometeam",
        "home",
        "first",
        "option1",
        "optiona",
    ),
    "second": (
        "right",
        "item2",
        "itemb",
        "player2",
        "team2",
        "awayteam",
        "away",
        "second",
        "option2",
        "optionb",
    ),
    "outcome": ("label", "outcome", "result", "choice", "preference", "answer"),
    "first_wins": ("win1", "wins1", "homewins", "count1"),
    "second_wins": ("win2", "wins2", "awaywins", "count2"),
    "count": COUNT,
}
TIE = {"tie", "draw", "equal", "same", "none", "neither", "both"}
SHAPES = (
    "winner,loser (with user, count), left,right,label, item1,item2,wins1,wins2, user,item,rating, persons × "
    "items of ratings below a first column user, or items × items of wins"
)


@dataclass(frozen=True, eq=False)
class Choices:
    """Comparisons that users made.

    user, winner, loser: (rows,), indices. count: (rows,), how often. users: their number. most: comparisons of one
    user, at most. names: of items, sorted. source: as in `Ratings`. numbers: (rows,), of the rows in the file.
    """

    user: Integers
    winner: Integers
    loser: Integers
    count: Integers
    users: int
    most: int
    names: tuple[str, ...]
    source: str
    numbers: Sequence[int]

    coins: ClassVar[bool] = False  # comparisons that were not made stay missing

    @cached_property
    def popularity(self) -> Integers:
        """(items,): number of comparisons."""
        both = np.concatenate([self.winner, self.loser])
        return np.bincount(both, np.tile(self.count, 2), len(self.names)).astype(np.int64)

    def verdicts(self, chosen: Integers) -> tuple[NDArray[np.int8], Booleans]:
        """Verdict on i < j, 1, −1 or 0 for neither, int8, and whether there is one; (users, pairs) both."""
        column, m = positions(chosen, len(self.names)), len(chosen)
        i, j = column[self.winner], column[self.loser]
        kept = (i >= 0) & (j >= 0)
        i, j = i[kept], j[kept]
        lead = np.zeros((self.users, m * (m - 1) // 2), np.int8)
        lead[self.user[kept], pair_index(i, j, m)] = np.where(i < j, 1, -1)
        return lead, lead != 0

    def pooled(self, chosen: Integers) -> tuple[Integers, Integers]:
        """Wins of i over j and comparisons of the pair by everybody, i < j; (pairs,) both."""
        column, m = positions(chosen, len(self.names)), len(chosen)
        i, j = column[self.winner], column[self.loser]
        kept = (i >= 0) & (j >= 0)
        i, j, count = i[kept], j[kept], self.count[kept]
        pair, pairs = pair_index(i, j, m), m * (m - 1) // 2
        made, won = (
            np.bincount(pair, weights, pairs).astype(np.int64)
            for weights in (count, count * (i < j))
        )
        return won, made

    def one_each(self, path: str) -> "Choices":
        """The same with each row one comparison of one user, and each pair of a user once: InvalidInput otherwise."""
        pairs = len(self.names) * (len(self.names) - 1) // 2
        user, winner, loser = (
            np.repeat(column, self.count) for column in (self.user, self.winner, self.loser)
        )
        users = self.users
        if (self.count != 1).any():  # no user is named
            user, users = np.arange(len(winner)), len(winner)
        try:
            if users < 2:
                raise Unreadable("has one user only; needs two at least")
            refuse_repeats(
                user * pairs + pair_index(winner, loser, len(self.names)),
                np.repeat(self.numbers, self.count).tolist(),
                "this user compared these two items",
            )
        except Unreadable as error:
            raise InvalidInput("data_path", path, str(error)) from None
        return Choices(
            user,
            winner,
            loser,
            np.ones(len(user), np.int64),
            users,
            self.most,
            self.names,
            self.source,
            self.numbers,
        )


@lru_cache(maxsize=4)
@read_only
def load(
    path: DataFile, items: DataFile | None = None, other_ratings: bool = False
) -> Ratings | Choices:
    """What a file says; InvalidInput with the row of the first mistake, or what was found and expected.

    items: names of all items that may be compared, one a line. other_ratings: accept ratings that are not
    MovieLens's ml-latest-small. Read once per content: 0.2 s for 100,000 rows.
    """
    try:
        header, _, _ = tables.header(
            tables.lines(path), f"winner,loser or user,winner,loser or {','.join(RATINGS)}"
        )
        records = (
            rating_files.load(path, other_ratings)
            if header == RATINGS
            else _recognised(path, items)
        )
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None
    if items is not None and isinstance(records, Ratings):
        raise InvalidInput(
            "data_items",
            items.path,
            "goes with comparisons (winner,loser), not ratings; must be null here",
        )
    return records


def _recognised(path: DataFile, items: DataFile | None) -> Ratings | Choices:
    sheet = sheets.read(path, SHAPES)
    roles = sheet.roles(ROLES)
    if {"winner", "loser"} <= roles.keys():
        return _won_and_lost(sheet, roles, path, items)
    if {"first", "second"} <= roles.keys():
        return _two_items(sheet, roles, path, items)
    if len(sheet.header) > 2 and sorted(sheet.columns[0]) == sorted(sheet.header[1:]):
        return _matrix(sheet, path, items)
    _refuse_part_of_matrix(sheet)
    if (ratings := rating_files.of_sheet(sheet, path)) is not None:
        return ratings
    missing = {"winner", "loser"} - roles.keys()
    raise Unreadable(
        f"the header is {shorten(','.join(sheet.header))!r}"
        + (f", without {', '.join(missing)}" if len(missing) == 1 else "")
        + f"; must be {SHAPES}"
    )


def _won_and_lost(
    sheet: Sheet, roles: dict[str, int], path: DataFile, items: DataFile | None
) -> Choices:
    """A winner and a loser in a row."""
    used = [role for role in ("winner", "loser", "user", "count") if role in roles]
    users = sheet.names(roles["user"], "user") if "user" in roles else None
    counts = (
        sheet.counts(roles["count"]) if "count" in roles else np.ones(len(sheet.numbers), np.int64)
    )
    if users is not None and (counts != 1).any():
        raise Unreadable(
            "has a column of users and a count other than 1; a row must be one comparison of its user, or "
            "stand for several without a name"
        )
    rows = Comparisons(
        sheet.columns[roles["winner"]], sheet.columns[roles["loser"]], counts, users, sheet.numbers
    )
    return _choices(rows, path, items, sheet.unused(roles[role] for role in used))


def _two_items(
    sheet: Sheet, roles: dict[str, int], path: DataFile, items: DataFile | None
) -> Choices:
    """Two items in a row: with the number of wins of each, or with the one that won; ties are left out."""
    first, second = (sheet.columns[roles[role]] for role in ("first", "second"))
    if roles.keys() >= {"first_wins", "second_wins"}:
        wins = np.concatenate([sheet.counts(roles[role]) for role in ("first_wins", "second_wins")])
        rows = Comparisons(
            [*first, *second], [*second, *first], wins, None, [*sheet.numbers, *sheet.numbers]
        )
        used = ["first", "second", "first_wins", "second_wins"]
        return _choices(rows, path, items, sheet.unused(roles[role] for role in used))
    which = _which(roles)
    sides = [_side(sheet, roles, roles[which], row) for row in range(len(first))]
    kept = [row for row, side in enumerate(sides) if side is not None]
    won, lost = (
        [(first, second)[(sides[row] or 0) ^ other][row] for row in kept] for other in (0, 1)
    )
    users = sheet.names(roles["user"], "user") if "user" in roles else None
    used = [role for role in ("first", "second", which, "user") if role in roles]
    ties = f"; {len(first) - len(kept):,} ties left out" if len(kept) < len(first) else ""
    rows = Comparisons(
        won,
        lost,
        np.ones(len(kept), np.int64),
        users and [users[row] for row in kept],
        [sheet.numbers[row] for row in kept],
    )
    return _choices(rows, path, items, ties + sheet.unused(roles[role] for role in used))


def check_sides(sheet: Sheet, roles: dict[str, int], headers: str) -> None:
    """Raises `Unreadable` where the header does not say who won in a row.

    headers: those allowed, in words.
    """
    if {"winner", "loser"} <= roles.keys():
        return
    if not {"first", "second"} <= roles.keys():
        raise Unreadable(f"the header is {shorten(','.join(sheet.header))!r}; must be {headers}")
    _which(roles)


def winner_and_loser(sheet: Sheet, roles: dict[str, int], row: int) -> tuple[str, str] | None:
    """Names of the item that won and of the other one in a row by itself; None for a tie.

    The header must have passed `check_sides`. Raises `Unreadable` for a row that says something
    else.
    """
    if {"winner", "loser"} <= roles.keys():
        return sheet.columns[roles["winner"]][row], sheet.columns[roles["loser"]][row]
    side = _side(sheet, roles, roles[_which(roles)], row)
    both = tuple(sheet.columns[roles[role]][row] for role in ("first", "second"))
    return None if side is None else (both[side], both[1 - side])


def _which(roles: dict[str, int]) -> str:
    """Role of the column that says which of two items won."""
    which = "outcome" if "outcome" in roles else "winner"
    if which not in roles:
        raise Unreadable(
            "has two items in a row and not which of them won; needs a column label with its name, or "
            "wins1 and wins2"
        )
    return which


def _side(sheet: Sheet, roles: dict[str, int], which: int, row: int) -> int | None:
    """0 where the first item of a row won, 1 where the second did, None for a tie, which says nothing."""
    text, columns = sheet.columns[which][row], (roles["first"], roles["second"])
    for side, column in enumerate(columns):
        if text and text == sheet.columns[column][row]:
            return side
    for side, column in enumerate(columns):
        if plain(text) and plain(text) == plain(sheet.header[column]):
            return side
    if text.lower() in TIE:
        return None
    both = ", ".join(sheet.columns[column][row] for column in columns)
    raise Unreadable(
        f"row {sheet.numbers[row]}: {shorten(text, 30)!r} won; must be one of {shorten(both)}, or "
        f"{sheet.header[columns[0]]}, {sheet.header[columns[1]]} or tie"
    )


def _refuse_part_of_matrix(sheet: Sheet) -> None:
    """Raises `Unreadable` where rows are called like columns but not all: items × items, of which a part is missing."""
    if plain(sheet.header[0]) not in ("", *ITEM):
        return
    rows, columns = set(sheet.columns[0]), set(sheet.header[1:])
    if both := rows & columns:
        lacking = [
            f"{what} without {shorten(', '.join(sorted(names)), 40)}"
            for what, names in (("rows are", columns - rows), ("columns are", rows - columns))
            if names
        ]
        twice = "" if lacking else "a row is there twice"
        raise Unreadable(
            f"has rows and columns of one name, such as {shorten(min(both), 30)!r}, as wins of items × "
            f"items have, but {' and '.join(lacking) or twice}; give all of them, once, or call the first "
            "column user if rows are persons"
        )


def _matrix(sheet: Sheet, path: DataFile, items: DataFile | None) -> Choices:
    """Wins of the item of a row over that of a column."""
    names, others = sheet.names(0, "item"), sheet.header[1:]
    if len(set(others)) < len(others):
        raise Unreadable("names an item in two columns")
    wins = np.array([sheet.counts(k, blank=True) for k in range(1, len(sheet.header))]).T
    for row, name in enumerate(names):
        if wins[row, others.index(name)]:
            raise Unreadable(
                f"row {sheet.numbers[row]}: {shorten(name, 30)!r} has wins over itself"
            )
    better, worse = (index.tolist() for index in np.nonzero(wins))
    rows = Comparisons(
        [names[k] for k in better],
        [others[k] for k in worse],
        wins[better, worse],
        None,
        [sheet.numbers[k] for k in better],
    )
    return _choices(rows, path, items, sheet.remark)


class Comparisons(NamedTuple):
    """Comparisons as a file has them: names of items, how often, names of users or None, rows of the file."""

    winners: Sequence[str]
    losers: Sequence[str]
    counts: Integers
    users: Sequence[str] | None
    numbers: Sequence[int]


def _choices(rows: Comparisons, path: DataFile, items: DataFile | None, remark: str) -> Choices:
    """Checked comparisons; the remark goes into their source."""
    total = int(rows.counts.sum())
    if not 0 < total <= MOST_PERSONS:
        raise Unreadable(f"has {total:,} comparisons; must be 1 to {MOST_PERSONS:,}")
    both, numbers = (*rows.winners, *rows.losers), list(rows.numbers)
    names = sorted_names(both, numbers, "winner or loser")
    if items is not None:
        _compare_items(names, zip(numbers, rows.winners, rows.losers, strict=True), items)
    winner, loser = np.split(indices(both, names), 2)
    same = np.flatnonzero(winner == loser)
    if same.size:
        raise Unreadable(
            f"row {numbers[same[0]]}: compares {shorten(rows.winners[same[0]])!r} with itself"
        )
    if rows.users is None:
        user, users, most = np.arange(len(winner)), total, 1
        who = "by users without names, each taken for another user's"
    else:
        people = sorted(set(rows.users))
        user, users, each = indices(rows.users, people), len(people), Counter(rows.users).values()
        most, who = max(each), f"by {users:,} users, {range_of(each)} each"
    return Choices(
        user,
        winner,
        loser,
        rows.counts,
        users,
        most,
        names,
        f"A file of {total:,} comparisons of "
        f"{len(names):,} items {who}, sha256 {path.sha256[:8]}…{remark}.",
        numbers,
    )


def _compare_items(
    names: Sequence[str], rows: Iterable[tuple[int, str, str]], items: DataFile
) -> None:
    listed = listed_items(items)
    known = set(listed)
    unknown = [name for name in names if name not in known]
    if unknown:
        row = next(number for number, *both in rows if not known.issuperset(both))
        raise Unreadable(
            f"row {row}: unknown items, not in data.items: {shorten(', '.join(unknown), LISTED)}"
        )
    never = sorted(known - set(names))
    if never:
        raise InvalidInput(
            "data_items",
            items.path,
            f"never compared: {shorten(', '.join(never), LISTED)}; must name "
            "the items of data.path and no others",
        )


def listed_items(items: DataFile) -> list[str]:
    """Names in a file, one a line, in its order; InvalidInput where one stands twice."""
    try:
        listed = [name for line in tables.lines(items) if (name := line.strip())]
    except Unreadable as error:
        raise InvalidInput("data_items", items.path, str(error)) from None
    if len(set(listed)) < len(listed):
        twice = next(name for k, name in enumerate(listed) if name in listed[:k])
        raise InvalidInput("data_items", items.path, f"names {shorten(twice)!r} twice")
    return listed


def pair_index(i: Integers | int, j: Integers | int, m: int) -> Integers:
    """Position of the pair {i, j} in the order of `numpy.triu_indices(m, 1)`."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    values: Integers = low * (2 * m - low - 1) // 2 + high - low - 1
    return values
