"""Files of people's comparisons, or of ratings that comparisons follow from, read and checked.

Each content is read once. Told apart by their headers: winner and loser,
with or without user and count; left, right and label (the one that won);
two items and their wins; user, item and rating or rank; persons × items
with ratings; items × items with wins; and MovieLens's
`userId,movieId,rating,timestamp`. Names of columns: see `sheets.PERSON`,
`ROLES`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pipeline.problems.common import rating_files, sheets, tables
from pipeline.problems.common.rating_files import (
    RATINGS,
    Ratings,
    indices,
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
from pipeline.study.arrays import Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, shorten

from .choices import Choices

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
    "winner,loser (with user, count), left,right,label, item1,item2,wins1,wins2, "
    "user,item,rating, persons × "
    "items of ratings below a first column user, or items × items of wins"
)


@lru_cache(maxsize=4)
@read_only
def load(
    path: DataFile, items: DataFile | None = None, other_ratings: bool = False
) -> Ratings | Choices:
    """What a file says.

    items: names of all items that may be compared, one a line.
    other_ratings: accept ratings that are not MovieLens's ml-latest-small.
    Read once per content: 0.2 s for 100,000 rows. Raises InvalidInput with
    the row of the first mistake, or what the file has and what is expected.
    """
    try:
        records = _read(path, items, other_ratings)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None
    if items is not None and isinstance(records, Ratings):
        allowed = "goes with comparisons (winner,loser), not ratings; must be null here"
        raise InvalidInput("data_items", items.path, allowed)
    return records


def _read(path: DataFile, items: DataFile | None, other_ratings: bool) -> Ratings | Choices:
    shapes = f"winner,loser or user,winner,loser or {','.join(RATINGS)}"
    header, _, _ = tables.header(tables.lines(path), shapes)
    if header == RATINGS:
        return rating_files.load(path, other_ratings)
    return _recognised(path, items)


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
    ratings = rating_files.of_sheet(sheet, path)
    if ratings is not None:
        return ratings
    header = shorten(",".join(sheet.header))
    missing = {"winner", "loser"} - roles.keys()
    without = f", without {', '.join(missing)}" if len(missing) == 1 else ""
    raise Unreadable(f"the header is {header!r}{without}; must be {SHAPES}")


def _won_and_lost(
    sheet: Sheet, roles: dict[str, int], path: DataFile, items: DataFile | None
) -> Choices:
    """A winner and a loser in a row."""
    used = [role for role in ("winner", "loser", "user", "count") if role in roles]
    users = _users(sheet, roles)
    counts = np.ones(len(sheet.numbers), np.int64)
    if "count" in roles:
        counts = sheet.counts(roles["count"])
    if users is not None and (counts != 1).any():
        raise Unreadable(
            "has a column of users and a count other than 1; a row must be one comparison of its "
            "user, or "
            "stand for several without a name"
        )
    winners = sheet.columns[roles["winner"]]
    losers = sheet.columns[roles["loser"]]
    outcomes = Outcomes(winners, losers, counts, users, sheet.numbers)
    return _choices(outcomes, path, items, sheet.unused(roles[role] for role in used))


def _users(sheet: Sheet, roles: dict[str, int]) -> Sequence[str] | None:
    """Names of users, row by row; None where there is no such column."""
    if "user" not in roles:
        return None
    return sheet.names(roles["user"], "user")


def _two_items(
    sheet: Sheet, roles: dict[str, int], path: DataFile, items: DataFile | None
) -> Choices:
    """Two items in a row: with the number of wins of each, or with the name of the winner."""
    if roles.keys() >= {"first_wins", "second_wins"}:
        return _counted_wins(sheet, roles, path, items)
    which = _which(roles)
    winners, losers, rows = _decided(sheet, roles, which)
    users = _users(sheet, roles)
    if users:
        users = [users[row] for row in rows]
    numbers = [sheet.numbers[row] for row in rows]
    outcomes = Outcomes(winners, losers, np.ones(len(rows), np.int64), users, numbers)
    used = [role for role in ("first", "second", which, "user") if role in roles]
    remark = sheet.unused(roles[role] for role in used)
    ties = len(sheet.numbers) - len(rows)
    if ties:
        remark = f"; {ties:,} ties left out{remark}"
    return _choices(outcomes, path, items, remark)


def _counted_wins(
    sheet: Sheet, roles: dict[str, int], path: DataFile, items: DataFile | None
) -> Choices:
    """Two items in a row, and how often each of them won."""
    first = sheet.columns[roles["first"]]
    second = sheet.columns[roles["second"]]
    wins = np.concatenate([sheet.counts(roles["first_wins"]), sheet.counts(roles["second_wins"])])
    numbers = [*sheet.numbers, *sheet.numbers]
    outcomes = Outcomes([*first, *second], [*second, *first], wins, None, numbers)
    used = ("first", "second", "first_wins", "second_wins")
    return _choices(outcomes, path, items, sheet.unused(roles[role] for role in used))


def _decided(
    sheet: Sheet, roles: dict[str, int], which: str
) -> tuple[list[str], list[str], list[int]]:
    """Names of winners and of losers, and their rows; ties are left out.

    which: role of the winner's column.
    """
    winners = []
    losers = []
    rows = []
    for row in range(len(sheet.numbers)):
        side = _side(sheet, roles, roles[which], row)
        if side is None:
            continue
        first = sheet.columns[roles["first"]][row]
        second = sheet.columns[roles["second"]][row]
        winners.append(second if side else first)
        losers.append(first if side else second)
        rows.append(row)
    return winners, losers, rows


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

    The header must have passed `check_sides`. Raises `Unreadable` for a row
    that says something else.
    """
    if {"winner", "loser"} <= roles.keys():
        return sheet.columns[roles["winner"]][row], sheet.columns[roles["loser"]][row]
    side = _side(sheet, roles, roles[_which(roles)], row)
    if side is None:
        return None
    items = [sheet.columns[roles[role]][row] for role in ("first", "second")]
    return items[side], items[1 - side]


def _which(roles: dict[str, int]) -> str:
    """Role of the column that says which of two items won."""
    which = "outcome" if "outcome" in roles else "winner"
    if which not in roles:
        raise Unreadable(
            "has two items in a row and not which of them won; needs a column label with its "
            "name, or "
            "wins1 and wins2"
        )
    return which


def _side(sheet: Sheet, roles: dict[str, int], which: int, row: int) -> int | None:
    """0 where the first item of a row won, 1 where the second did, None for a tie."""
    text = sheet.columns[which][row]
    columns = (roles["first"], roles["second"])
    for side, column in enumerate(columns):
        if text and text == sheet.columns[column][row]:
            return side
    for side, column in enumerate(columns):
        if plain(text) and plain(text) == plain(sheet.header[column]):
            return side
    if text.lower() in TIE:
        return None
    items = ", ".join(sheet.columns[column][row] for column in columns)
    headers = ", ".join(sheet.header[column] for column in columns)
    raise Unreadable(
        f"row {sheet.numbers[row]}: {shorten(text, 30)!r} won; must be one of {shorten(items)}, or "
        f"{headers} or tie"
    )


def _refuse_part_of_matrix(sheet: Sheet) -> None:
    """Raises `Unreadable` where rows and columns share some names, but not all.

    That is items × items, of which a part is missing.
    """
    if plain(sheet.header[0]) not in ("", *ITEM):
        return
    rows = set(sheet.columns[0])
    columns = set(sheet.header[1:])
    shared = rows & columns
    if not shared:
        return
    faults = []
    if columns - rows:
        faults.append(f"rows are without {shorten(', '.join(sorted(columns - rows)), 40)}")
    if rows - columns:
        faults.append(f"columns are without {shorten(', '.join(sorted(rows - columns)), 40)}")
    if not faults:
        faults.append("a row is there twice")
    raise Unreadable(
        f"has rows and columns of one name, such as {shorten(min(shared), 30)!r}, as wins of "
        "items × "
        f"items have, but {' and '.join(faults)}; give all of them, once, or call the first "
        "column user if rows are persons"
    )


def _matrix(sheet: Sheet, path: DataFile, items: DataFile | None) -> Choices:
    """Wins of the item of a row over that of a column."""
    names = sheet.names(0, "item")
    others = sheet.header[1:]
    if len(set(others)) < len(others):
        raise Unreadable("names an item in two columns")
    columns = [sheet.counts(column, blank=True) for column in range(1, len(sheet.header))]
    wins = np.array(columns).T
    for row, name in enumerate(names):
        if wins[row, others.index(name)]:
            itself = f"{shorten(name, 30)!r} has wins over itself"
            raise Unreadable(f"row {sheet.numbers[row]}: {itself}")
    better, worse = np.nonzero(wins)
    outcomes = Outcomes(
        [names[k] for k in better.tolist()],
        [others[k] for k in worse.tolist()],
        wins[better, worse],
        None,
        [sheet.numbers[k] for k in better.tolist()],
    )
    return _choices(outcomes, path, items, sheet.remark)


class Outcomes(NamedTuple):
    """Who won against whom, as a file has it.

    Names of items, how often, names of users or None, rows of the file.
    """

    winners: Sequence[str]
    losers: Sequence[str]
    counts: Integers
    users: Sequence[str] | None
    numbers: Sequence[int]


def _choices(outcomes: Outcomes, path: DataFile, items: DataFile | None, remark: str) -> Choices:
    """Checked comparisons; the remark goes into their source."""
    total = int(outcomes.counts.sum())
    if not 0 < total <= MOST_PERSONS:
        raise Unreadable(f"has {total:,} comparisons; must be 1 to {MOST_PERSONS:,}")
    compared = (*outcomes.winners, *outcomes.losers)
    numbers = list(outcomes.numbers)
    names = sorted_names(compared, numbers, "winner or loser")
    if items is not None:
        rows = zip(numbers, outcomes.winners, outcomes.losers, strict=True)
        _compare_items(names, rows, items)
    winner, loser = np.split(indices(compared, names), 2)
    same = np.flatnonzero(winner == loser)
    if same.size:
        name = shorten(outcomes.winners[same[0]])
        raise Unreadable(f"row {numbers[same[0]]}: compares {name!r} with itself")
    if outcomes.users is None:
        user = np.arange(len(winner))
        users = total
        most = 1
        who = "by users without names, each taken for another user's"
    else:
        people = sorted(set(outcomes.users))
        each = Counter(outcomes.users).values()
        user = indices(outcomes.users, people)
        users = len(people)
        most = max(each)
        who = f"by {users:,} users, {range_of(each)} each"
    source = (
        f"A file of {total:,} comparisons of {len(names):,} items {who}, "
        f"sha256 {path.sha256[:8]}…{remark}."
    )
    return Choices(user, winner, loser, outcomes.counts, users, most, names, source, numbers)


def _compare_items(
    names: Sequence[str], rows: Iterable[tuple[int, str, str]], items: DataFile
) -> None:
    known = set(listed_items(items))
    unknown = [name for name in names if name not in known]
    if unknown:
        row = next(number for number, *pair in rows if not known.issuperset(pair))
        listing = shorten(", ".join(unknown), LISTED)
        raise Unreadable(f"row {row}: unknown items, not in data.items: {listing}")
    never = sorted(known - set(names))
    if never:
        raise InvalidInput(
            "data_items",
            items.path,
            f"never compared: {shorten(', '.join(never), LISTED)}; must name "
            "the items of data.path and no others",
        )


def listed_items(items: DataFile) -> list[str]:
    """Names in a file, one a line, in its order. Raises InvalidInput where one stands twice."""
    try:
        stripped = [line.strip() for line in tables.lines(items)]
    except Unreadable as error:
        raise InvalidInput("data_items", items.path, str(error)) from None
    listed = [name for name in stripped if name]
    if len(set(listed)) < len(listed):
        twice = next(name for k, name in enumerate(listed) if name in listed[:k])
        raise InvalidInput("data_items", items.path, f"names {shorten(twice)!r} twice")
    return listed
