"""Users counted by their properties, and the exact laws by which such counts split.

The next step of a thousand users with equal properties is one multinomial draw, not a thousand draws. Laws are those of
single users to within rounding; values that have a probability below about 1e-18 are left out where a law is tabulated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from pipeline.study.arrays import Floats, Integers

CELLS = 1 << 20  # of a table of probabilities at a time

LogLaw = Callable[[Integers, Integers], Floats]  # rows and (rows, values) -> log of probabilities, but for a constant
Draw = Callable[[Integers], Integers]  # rows -> one value for each


@dataclass(frozen=True)
class UserCounts:
    """Kinds of users, a row each. columns: name -> (rows,) int. count: (rows,) int, users of each kind."""

    columns: dict[str, Integers]
    count: Integers

    def __getitem__(self, name: str) -> Integers:
        return self.columns[name]

    def without_empty(self) -> "UserCounts":
        """Without the kinds that no user belongs to."""
        return self.take(np.flatnonzero(self.count), self.count[self.count > 0])

    def take(self, rows: Integers, count: Integers, **more: Integers) -> "UserCounts":
        """The given rows with other counts, and more columns."""
        return UserCounts({**{name: column[rows] for name, column in self.columns.items()}, **more}, count)

    def merged(self, *names: str) -> "UserCounts":
        """These columns only, equal rows added up. Values are small whole numbers ≥ 0. O(rows log rows)."""
        if not self.count.size:
            return UserCounts({name: self[name] for name in names}, self.count)
        key, most = np.zeros_like(self.count), 1
        for name in names:
            base = int(self[name].max()) + 1
            if most * base > 2**62:
                key, most = np.unique(key, return_inverse=True)[1], key.size
            key, most = key * base + self[name], most * base
        _, first, where = np.unique(key, return_index=True, return_inverse=True)
        total = np.bincount(where, self.count, first.size)  # exact: far below 2⁵³
        return UserCounts({name: self[name][first] for name in names}, total.astype(np.int64))


def binomial(rng: np.random.Generator, users: UserCounts, name: str, n: Integers, p: Floats) -> UserCounts:
    """Users split by a new column, Binomial(n, p) for each of them; n, p: (rows,)."""
    factorial = _log_factorials(n)

    def law(row: Integers, value: Integers) -> Floats:
        n_, p_ = n[row, None], p[row, None]
        log: Floats = (factorial[n_] - factorial[value] - factorial[n_ - value] + xlogy(value, p_)
                       + xlogy(n_ - value, 1 - p_))
        return log

    return _split(rng, users, name, (np.zeros_like(n), n), n * p, n * p * (1 - p), law,
                  lambda row: rng.binomial(n[row], p[row]))


def hypergeometric(
    rng: np.random.Generator, users: UserCounts, name: str, good: Integers, bad: Integers, sample: Integers
) -> UserCounts:
    """Users split by a new column, how many of a user's sample without replacement are good; all (rows,)."""
    total = good + bad
    factorial = _log_factorials(total)

    def law(row: Integers, value: Integers) -> Floats:
        rest = sample[row, None] - value
        log: Floats = -(factorial[value] + factorial[good[row, None] - value] + factorial[rest]
                        + factorial[bad[row, None] - rest])
        return log

    mean = sample * good / np.maximum(total, 1)
    variance = mean * bad / np.maximum(total, 1)
    return _split(rng, users, name, (np.maximum(0, sample - bad), np.minimum(good, sample)), mean, variance, law,
                  lambda row: rng.hypergeometric(good[row], bad[row], sample[row]))


def sampled(
    rng: np.random.Generator, users: UserCounts, names: Sequence[str], sizes: Sequence[str], sample: str
) -> UserCounts:
    """Users split by how many of a user's sample without replacement are of each kind: new columns `names`.

    sizes, sample: names of columns, how many there are of each kind, and in the sample; multivariate hypergeometric.
    """
    for k, name in enumerate(names):
        others = sum((users[one] for one in sizes[k + 1:]), np.zeros_like(users.count))
        left = users[sample] - sum((users[one] for one in names[:k]), np.zeros_like(users.count))
        users = hypergeometric(rng, users, name, users[sizes[k]], others, left)
    return users


def tabulated(rng: np.random.Generator, users: UserCounts, name: str, law: Integers, table: Floats) -> UserCounts:
    """Users split by a new column whose law is a row of a table; law: (rows,), table: (laws, values) of chances."""
    last = np.full_like(law, table.shape[1] - 1)
    total = table.cumsum(axis=1)
    with np.errstate(divide="ignore"):
        log = np.log(table)

    def draw(row: Integers) -> Integers:
        value = np.empty(row.size, np.int64)
        for start in range(0, row.size, step := max(1, CELLS // table.shape[1])):
            some = total[law[row[start:start + step]]]
            value[start:start + step] = (rng.random(len(some)) * some[:, -1] >= some.T).sum(axis=0)
        return value

    return _split(rng, users, name, (np.zeros_like(law), last), last / 2, last.astype(float) ** 2,
                  lambda row, value: log[law[row, None], value], draw)


def _log_factorials(n: Integers) -> Floats:
    """(max n + 1,): log 0!, log 1!, …"""
    logs: Floats = gammaln(np.arange(int(n.max(initial=0)) + 1) + 1.0)
    return logs


def _split(
    rng: np.random.Generator, users: UserCounts, name: str, ends: tuple[Integers, Integers], mean: Floats,
    variance: Floats, law: LogLaw, draw: Draw,
) -> UserCounts:
    """Many users of a kind by one multinomial draw over the law's range, few of them one by one.

    ends: least and greatest value that is possible. mean, variance: of one user's value. All (rows,).
    """
    reach = 9 * np.sqrt(variance) + 30  # the mass beyond is < 1e-18, by Bernstein's inequality
    low = np.maximum(ends[0], np.floor(mean - reach).astype(int))
    high = np.minimum(ends[1], np.ceil(mean + reach).astype(int))
    width = high - low + 1
    few = np.flatnonzero(users.count * 4 <= width)
    single = np.repeat(few, users.count[few])
    parts = [(single, draw(single), np.ones(single.size, np.int64))]
    many = np.flatnonzero(users.count * 4 > width)
    many = many[np.argsort(width[many], kind="stable")]
    while many.size:
        rows = many[: max(1, min(many.size, CELLS // int(width[many[-1]])))]
        many = many[rows.size:]
        value = low[rows, None] + np.arange(int(width[rows[-1]]))
        inside = value <= high[rows, None]
        weight = np.where(inside, law(rows, np.minimum(value, high[rows, None])), -np.inf)
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        drawn = rng.multinomial(users.count[rows], weight / weight.sum(axis=1, keepdims=True))
        row, cell = np.nonzero(drawn)
        parts.append((rows[row], value[row, cell], drawn[row, cell]))
    row, values, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return users.take(row, count, **{name: values})
