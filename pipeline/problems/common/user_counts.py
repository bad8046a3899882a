"""Users counted by their properties, and the exact laws by which such counts split: compiled.

The next step of a thousand users with equal properties is one multinomial
draw, not a thousand draws. Random bits are NumPy's.

Each law is tabulated from its mode outwards, by ratios of neighbours:
chances within 6·10⁻¹⁶ of themselves for each value between it and the mode.
A tail is left out from where a chance is below 2⁻⁶³ of the mode's: laws
here are log-concave, so that is less than 2⁻⁶² of all. Users take the
values in that order, the likelier side first: of those who are left, a
binomial number has the next one. The last few, four or an eighth of the
values that are left, are drawn one by one by inversion, so that chances
have the resolution 2⁻⁵³ there. Binomial numbers are drawn as
`ranking/binomial.py` says, one after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Array, Floats, Integers

PARTS = 1 << 18  # at a time
BINOMIAL, HYPERGEOMETRIC, TABULATED = range(3)
_split_rows = function(
    __file__,
    "split",
    """
    bits: generator
    kind: size; kind <= 2
    rows: size
    laws: i8[rows, 3]; laws >= 0 and laws[:, 0].max(initial=0) < 2**40 and \
(laws[:, 1].view("f8") if kind == 0 else 0) <= 1 and \
(laws[:, 2] - laws[:, 0] - laws[:, 1] if kind == 1 else 0) <= 0
    users: i8[rows] below 2**53
    width: size; width >= 1
    values: i8[tables, width]; (laws[:, 0] if kind == 2 else 0) < tables
    weights: f8[tables, width]; 0 <= weights < 1e100 and \
(weights.max(1)[laws[:, 0]] if kind == 2 else 1) > 0
    room: size
    out: out i8[3, room]
    progress: out i8[2]; 0 <= progress[0] <= rows
""",
)
_merge = function(
    __file__,
    "merge",
    """
    rows: size
    key: i8[rows]
    users: i8[rows]
    first: out i8[rows]
    total: out i8[rows]
    found: out i8[1]
""",
)
_add_subsets = function(
    __file__,
    "add_subsets",
    """
    bits: generator
    rows: size
    start: i8[rows]; start >= 0
    size: i8[rows]; size >= 0 and (start[1:] == start[:-1]) <= (size[1:] == size[:-1])
    first: i8[rows]; 0 <= first <= size
    second: i8[rows]; 0 <= second <= size - first
    users: i8[rows] below 2**53
    longest: size; size <= longest <= width
    width: size; start < width - size
    steps: out i8[2, width]
""",
)


@dataclass(frozen=True)
class UserCounts:
    """Kinds of users, a row each.

    columns: name -> (rows,) int. count: (rows,) int, users of each kind.
    """

    columns: dict[str, Integers]
    count: Integers

    def __getitem__(self, name: str) -> Integers:
        return self.columns[name]

    def total(self, *names: str) -> Integers:
        """Sum of these columns, (rows,)."""
        total = np.zeros_like(self.count)
        for name in names:
            total = total + self[name]
        return total

    def with_columns(self, **columns: Integers) -> "UserCounts":
        """The same kinds of users with more columns, or others in place of old ones."""
        return UserCounts(self.columns | columns, self.count)

    def without_empty(self) -> "UserCounts":
        """Without the kinds that no user belongs to."""
        return self.take(np.flatnonzero(self.count), self.count[self.count > 0])

    def take(self, rows: Integers, count: Integers, **more: Integers) -> "UserCounts":
        """Some of the rows with other counts, and more columns."""
        taken = {name: column[rows] for name, column in self.columns.items()}
        return UserCounts(taken | more, count)

    def merged(self, *names: str) -> "UserCounts":
        """These columns only, equal rows added up, in the order of the first of them.

        Values are whole numbers ≥ 0. O(rows), by hashing.
        """
        key = np.zeros_like(self.count)
        most = 1
        for name in names:
            base = int(self[name].max(initial=0)) + 1
            if most * base > 2**62:
                key = np.unique(key, return_inverse=True)[1]
                most = key.size
            key = key * base + self[name]
            most = most * base
        first, total = np.empty((2, key.size), np.int64)
        distinct = np.empty(1, np.int64)
        _merge(key.size, key, np.ascontiguousarray(self.count), first, total, distinct)
        first = first[: distinct[0]]
        columns = {name: self[name][first] for name in names}
        return UserCounts(columns, total[: distinct[0]].copy())


@dataclass(frozen=True)
class _Law:
    """The law of a value that every user of a row takes.

    kind: BINOMIAL, HYPERGEOMETRIC or TABULATED. numbers: up to three,
    (rows,) each, that give the law. most: (rows,), the greatest possible
    values. values, weights: (laws, width), of what is tabulated, the
    likeliest first.
    """

    kind: int
    numbers: Sequence[Integers]
    most: Integers
    values: Integers = field(default_factory=lambda: np.zeros((1, 1), np.int64))
    weights: Floats = field(default_factory=lambda: np.zeros((1, 1)))


def binomial(
    rng: np.random.Generator, users: UserCounts, name: str, n: Integers, p: Floats
) -> UserCounts:
    """Users split by a new column, Binomial(n, p) for each of them; n, p: (rows,).

    Raises ValueError for n < 0 and for p that is no chance.
    """
    if not ((n >= 0) & (p >= 0) & (p <= 1)).all():
        raise ValueError("n, p: must be 0 or more, and between 0 and 1")
    return _split(rng, users, name, _Law(BINOMIAL, (n, p.astype(float).view(np.int64)), n))


def hypergeometric(
    rng: np.random.Generator,
    users: UserCounts,
    name: str,
    good: Integers,
    bad: Integers,
    sample: Integers,
) -> UserCounts:
    """Users split by a new column, how many of a user's sample without replacement are good.

    good, bad, sample: (rows,). Raises ValueError for a sample of more than
    there are.
    """
    if not ((good >= 0) & (bad >= 0) & (sample >= 0) & (sample <= good + bad)).all():
        raise ValueError("good, bad, sample: must be 0 or more, and the sample at most good + bad")
    law = _Law(HYPERGEOMETRIC, (good, bad, sample), np.minimum(good, sample))
    return _split(rng, users, name, law)


def sampled(
    rng: np.random.Generator,
    users: UserCounts,
    names: Sequence[str],
    sizes: Sequence[str],
    sample: str,
) -> UserCounts:
    """Users split by how many of a user's sample without replacement are of each kind.

    names: of the new columns. sizes, sample: names of columns, how many
    there are of each kind, and in the sample; multivariate hypergeometric.
    """
    for k, name in enumerate(names):
        others = users.total(*sizes[k + 1 :])
        left = users[sample] - users.total(*names[:k])
        users = hypergeometric(rng, users, name, users[sizes[k]], others, left)
    return users


def tabulated(
    rng: np.random.Generator, users: UserCounts, name: str, law: Integers, table: Floats
) -> UserCounts:
    """Users split by a new column whose law is a row of a table.

    law: (rows,), number of that row. table: (laws, values) of chances.
    """
    values = np.argsort(-table, axis=1, kind="stable")
    weights = np.take_along_axis(table, values, axis=1)
    most = np.full_like(law, table.shape[1])
    return _split(rng, users, name, _Law(TABULATED, (law,), most, values, weights))


def add_subsets(
    rng: np.random.Generator,
    start: Integers,
    size: Integers,
    members: Sequence[Integers],
    users: Integers,
    steps: Integers,
) -> None:
    """Add to steps how many users have each item in their first and second subsets.

    Users of a row have so many `members` of the run of `size` items from
    `start` on in each of two disjoint subsets, all that fit equally likely.
    Runs are the same, or apart. steps: (2, items + 1), differences from
    item to item. A run is halved again and again, and in each half a user
    has hypergeometric numbers; users with equal numbers are split together.
    """
    order = np.argsort(start, kind="stable")
    columns = (start, size, *members, users)
    rows = [np.ascontiguousarray(column[order], np.int64) for column in columns]
    longest = int(size.max(initial=0))
    _add_subsets(rng.bit_generator, order.size, *rows, longest, steps.shape[1], steps)


def _split(rng: np.random.Generator, users: UserCounts, name: str, law: _Law) -> UserCounts:
    """Users of each row by a value each, in a new column."""
    rows = users.count.size
    numbers = np.zeros((rows, 3), np.int64)
    for k, column in enumerate(law.numbers):
        numbers[:, k] = column
    count = np.ascontiguousarray(users.count)
    values: Array = np.ascontiguousarray(law.values)
    weights = np.ascontiguousarray(law.weights)
    out = np.empty((3, max(PARTS, 2 * int(law.most.max(initial=0)) + 8)), np.int64)
    parts = [out[:, :0]]
    progress = np.zeros(2, np.int64)
    while progress[0] < rows:
        _split_rows(
            rng.bit_generator,
            law.kind,
            rows,
            numbers,
            count,
            values.shape[1],
            values,
            weights,
            out.shape[1],
            out,
            progress,
        )
        parts.append(out[:, : progress[1]].copy())
    row, drawn, count = np.concatenate(parts, axis=1)
    return users.take(row, count, **{name: drawn})
