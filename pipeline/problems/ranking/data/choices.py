"""Comparisons that users made, whatever file they are from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.privacy.published_counts import bounded_counts
from pipeline.problems.common.rating_files import positions, refuse_repeats
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Booleans, Integers
from pipeline.study.parameters import InvalidInput


@dataclass(frozen=True, eq=False)
class Choices:
    """Comparisons that users made.

    user, winner, loser: (rows,), indices. count: (rows,), how often. users:
    their number. most: comparisons of one user, at most. names: of items,
    sorted. source: as in `Ratings`. numbers: (rows,), of the rows in the
    file.
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
        items = np.concatenate([self.winner, self.loser])
        times = np.bincount(items, np.tile(self.count, 2), len(self.names))
        return times.astype(np.int64)

    def verdicts(self, chosen: Integers) -> tuple[NDArray[np.int8], Booleans]:
        """Verdict on i < j, 1, −1 or 0 for neither, int8, and whether there is one.

        (users, pairs) both.
        """
        among = self._among(chosen)
        m = len(chosen)
        lead = np.zeros((self.users, m * (m - 1) // 2), np.int8)
        pair = pair_index(among.winner, among.loser, m)
        user = self.user[among.rows]
        lead[user, pair] = np.where(among.winner < among.loser, 1, -1)
        return lead, lead != 0

    def pooled(self, chosen: Integers) -> tuple[Integers, Integers]:
        """Wins of i over j and comparisons of the pair by everybody, i < j; (pairs,) both."""
        among = self._among(chosen)
        m = len(chosen)
        pairs = m * (m - 1) // 2
        pair = pair_index(among.winner, among.loser, m)
        count = self.count[among.rows]
        wins = np.bincount(pair, count * (among.winner < among.loser), pairs)
        compared = np.bincount(pair, count, pairs)
        return wins.astype(np.int64), compared.astype(np.int64)

    def bounded(self, chosen: Integers, most: int) -> tuple[Integers, int]:
        """Wins of i over j and of j over i, (pairs, 2), i < j, and the most of one user.

        As a release counts them: of each user the first comparison of each
        of the first `most` pairs. Users without names are bounded already.
        """
        among = self._among(chosen)
        m = len(chosen)
        pairs = m * (m - 1) // 2
        pair = pair_index(among.winner, among.loser, m)
        side = (among.winner > among.loser).astype(np.int64)
        times = self.count[among.rows]
        if self.most == 1:
            return bounded_counts(None, pair, side, times, pairs, most), 1
        user = self.user[among.rows]
        names = [str(number) for number in user.tolist()]
        counts = bounded_counts(names, pair, side, times, pairs, most)
        different = np.unique(user * pairs + pair)
        answers = np.bincount(different // pairs)
        return counts, min(int(answers.max(initial=0)), most)

    def first_of_each(self, chosen: Integers, most: int) -> tuple[Integers, Integers, Integers]:
        """User, pair, and 1 where i < j won, of the comparisons that `bounded` counts, one by one.

        Of users with names.
        """
        among = self._among(chosen)
        m = len(chosen)
        pair = pair_index(among.winner, among.loser, m)
        won = (among.winner < among.loser).astype(np.int64)
        user = self.user[among.rows]
        _, first = np.unique(user * (m * (m - 1) // 2) + pair, return_index=True)
        in_file = np.sort(first)
        order = in_file[np.argsort(user[in_file], kind="stable")]
        of_user = user[order]
        begins = np.searchsorted(of_user, of_user)
        counted = order[np.arange(len(order)) - begins < most]
        return user[counted], pair[counted], won[counted]

    def _among(self, chosen: Integers) -> "_Among":
        """Comparisons of two chosen items."""
        column = positions(chosen, len(self.names))
        winner = column[self.winner]
        loser = column[self.loser]
        rows = (winner >= 0) & (loser >= 0)
        return _Among(rows, winner[rows], loser[rows])

    def one_each(self, path: str) -> "Choices":
        """The same with each row a comparison of one user, and each pair of a user once.

        Raises InvalidInput where that is not so.
        """
        user = np.repeat(self.user, self.count)
        winner = np.repeat(self.winner, self.count)
        loser = np.repeat(self.loser, self.count)
        users = self.users
        has_no_names = (self.count != 1).any()
        if has_no_names:
            users = len(winner)
            user = np.arange(users)
        pairs = len(self.names) * (len(self.names) - 1) // 2
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
        count = np.ones(len(user), np.int64)
        return replace(self, user=user, winner=winner, loser=loser, count=count, users=users)


class _Among(NamedTuple):
    """Comparisons of chosen items. rows: (all rows,), which.

    winner, loser: (rows,), by their place among the chosen.
    """

    rows: Booleans
    winner: Integers
    loser: Integers


def pair_index(i: Integers | int, j: Integers | int, m: int) -> Integers:
    """Position of the pair {i, j} in the order of `numpy.triu_indices(m, 1)`."""
    low = np.minimum(i, j)
    high = np.maximum(i, j)
    index: Integers = low * (2 * m - low - 1) // 2 + high - low - 1
    return index
