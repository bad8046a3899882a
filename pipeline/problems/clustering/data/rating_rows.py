"""Rows of ratings that are to be released: each read by itself, records
bounded, pairs counted.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pipeline.problems.common.count_release import AnswerRow, AnswerRows
from pipeline.problems.common.rating_files import ROLES
from pipeline.problems.common.release_rows import LeftOut
from pipeline.problems.common.sheets import Sheet, is_missing
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Integers
from pipeline.study.parameters import shorten

HEADERS = "user,item,rating"
NEEDED = ("user", "item", "rating")
SEVERAL = "the person has several rows about this item, which are all left out"


class RatingReader:
    """Reads rows below one header, each by itself. named: it must have a
    column of users.
    """

    named = True

    def __init__(self, sheet: Sheet, items: Sequence[str], liked: float) -> None:
        """items: names. liked: least rating of an item that its user likes.

        Raises `Unreadable` for the header.
        """
        roles = sheet.roles({role: ROLES[role] for role in NEEDED})
        missing = [role for role in NEEDED if role not in roles]
        if missing:
            header = shorten(",".join(sheet.header))
            raise Unreadable(
                f"the header is {header!r}, without {', '.join(missing)}; must be {HEADERS}"
            )
        self._sheet = sheet
        self._users = sheet.columns[roles["user"]]
        self._items = sheet.columns[roles["item"]]
        self._ratings = sheet.columns[roles["rating"]]
        self._index = {name: k for k, name in enumerate(items)}
        self._liked = liked

    def answer(self, row: int) -> AnswerRow | None:
        """A rating: its group is the item, its side whether that is liked.

        None where it is missing.

        Raises `Unreadable` with the reason if the row is wrong.
        """
        user = self._users[row]
        item = self._items[row]
        text = self._ratings[row]
        if item not in self._index:
            raise Unreadable(f"item {shorten(item, 30)!r} is not in data.items")
        if not user:
            raise Unreadable("the user has no name")
        if is_missing(text):
            return None
        rating = self._sheet.measure(text)
        if rating is None:
            raise Unreadable(f"rating is {shorten(text, 30)!r}; must be a number")
        return AnswerRow(user, self._index[item], int(rating >= self._liked))


def without_several(ratings: AnswerRows) -> AnswerRows:
    """Ratings without those of an item about which a person has several
    rows.

    If the first row counted, one row could turn a rating over. So it only
    takes an item away or lets one in, which changes half as much in
    squares.
    """
    users = ratings.person or ()
    items = ratings.group.tolist()
    rows_of = Counter(zip(users, items, strict=True))
    is_single = np.array(
        [rows_of[user, item] == 1 for user, item in zip(users, items, strict=True)], bool
    )
    single = np.flatnonzero(is_single).tolist()
    several = [LeftOut(ratings.numbers[row], SEVERAL) for row in np.flatnonzero(~is_single)]
    return AnswerRows(
        [users[row] for row in single],
        ratings.group[is_single],
        ratings.side[is_single],
        ratings.times[is_single],
        (*ratings.left_out, *several),
        tuple(ratings.numbers[row] for row in single),
    )


def co_occurrences_of(ratings: AnswerRows, items: int, most: int) -> tuple[Integers, Integers]:
    """(pairs,) twice: how many persons rated both items otherwise, and how
    many alike.

    Of each person the first `most` ratings count, in the order of the
    rows. ratings: each item of a person once. Pairs are in the order of
    `numpy.triu_indices`. O(rows + persons · most²).

    >>> alice = AnswerRows(["a", "a", "a"], *np.array([[0, 1, 2], [1, 1, 0], [1, 1, 1]]), (), (1, 2, 3))
    >>> [counts.tolist() for counts in co_occurrences_of(alice, 3, most=3)]
    [[0, 1, 1], [1, 0, 0]]
    """
    records: dict[str, list[int]] = {}
    for row, user in enumerate(ratings.person or ()):
        record = records.setdefault(user, [])
        if len(record) < most:
            record.append(row)
    unlike = np.zeros((items, items), np.int64)
    alike = np.zeros((items, items), np.int64)
    for record in records.values():
        rated = ratings.group[record]
        likes = ratings.side[record]
        is_alike = likes[:, None] == likes
        places = np.ix_(rated, rated)
        alike[places] += is_alike
        unlike[places] += ~is_alike
    pairs = np.triu_indices(items, 1)
    return unlike[pairs], alike[pairs]
