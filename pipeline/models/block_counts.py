"""Users who are alike, counted: splits of counts by exact laws, and sums of random subsets.

What a thousand users of one kind do next is one multinomial draw, not a thousand. Laws are those of single users to
within rounding; of a law's range what has a mass below about 1e-18 is left out where it is tabulated.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

CELLS = 1 << 20  # of a table of probabilities at a time
BOXES = 1 << 22  # balls thrown one by one at a time


@dataclass(frozen=True)
class Rows:
    """Kinds of users. columns: name -> (rows,) int. count: (rows,) int, users of each kind."""

    columns: dict[str, np.ndarray]
    count: np.ndarray

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def some(self) -> "Rows":
        """Without kinds that nobody is of."""
        return self.take(np.flatnonzero(self.count), self.count[self.count > 0])

    def take(self, rows: np.ndarray, count: np.ndarray, **more: np.ndarray) -> "Rows":
        """The given rows with other counts, and more columns."""
        return Rows({**{name: column[rows] for name, column in self.columns.items()}, **more}, count)

    def merged(self, *names: str) -> "Rows":
        """These columns only, equal rows added up. Values are small whole numbers ≥ 0. O(rows log rows)."""
        if not self.count.size:
            return Rows({name: self[name] for name in names}, self.count)
        bases = [int(self[name].max()) + 1 for name in names]
        key, where = np.unique(np.ravel_multi_index([self[name] for name in names], bases), return_inverse=True)
        total = np.bincount(where, self.count, key.size)  # exact: far below 2⁵³
        return Rows(dict(zip(names, np.unravel_index(key, bases), strict=True)), total.astype(np.int64))


def binomial(rng: np.random.Generator, rows: Rows, name: str, n: np.ndarray, p: np.ndarray) -> Rows:
    """Rows split by a new column: Binomial(n, p) for every user; n (rows,) int, p (rows,)."""
    factorial = _log_factorials(n)

    def law(row, value):
        n_, p_ = n[row, None], p[row, None]
        return (factorial[n_] - factorial[value] - factorial[n_ - value] + xlogy(value, p_)
                + xlogy(n_ - value, 1 - p_))

    return _split(rng, rows, name, np.zeros_like(n), n, n * p, n * p * (1 - p), law,
                  lambda row: rng.binomial(n[row], p[row]))


def hypergeometric(rng: np.random.Generator, rows: Rows, name: str, good: np.ndarray, bad: np.ndarray,
                   sample: np.ndarray) -> Rows:
    """Rows split by a new column: how many of a user's sample without replacement are good; all (rows,) int."""
    total = good + bad
    factorial = _log_factorials(total)

    def law(row, value):
        rest = sample[row, None] - value
        return -(factorial[value] + factorial[good[row, None] - value] + factorial[rest]
                 + factorial[bad[row, None] - rest])

    mean = sample * good / np.maximum(total, 1)
    variance = mean * bad / np.maximum(total, 1)
    return _split(rng, rows, name, np.maximum(0, sample - bad), np.minimum(good, sample), mean, variance, law,
                  lambda row: rng.hypergeometric(good[row], bad[row], sample[row]))


def _log_factorials(n):
    return gammaln(np.arange(int(n.max(initial=0)) + 1) + 1.0)


def _split(rng, rows, name, low, high, mean, variance, law, draw):
    """Many users of a kind by one multinomial draw over the law's range, few of them one by one."""
    reach = 9 * np.sqrt(variance) + 30  # the mass beyond is < 1e-18, by Bernstein's inequality
    low, high = np.maximum(low, np.floor(mean - reach).astype(int)), np.minimum(high, np.ceil(mean + reach).astype(int))
    width = high - low + 1
    few = np.flatnonzero(rows.count * 4 <= width)
    users = np.repeat(few, rows.count[few])
    found = [(users, draw(users), np.ones(users.size, np.int64))]
    many = np.flatnonzero(rows.count * 4 > width)
    many = many[np.argsort(width[many], kind="stable")]
    while many.size:
        part = many[: max(1, min(many.size, CELLS // int(width[many[-1]])))]
        many = many[part.size:]
        value = low[part, None] + np.arange(int(width[part[-1]]))
        inside = value <= high[part, None]
        weight = np.where(inside, law(part, np.minimum(value, high[part, None])), -np.inf)
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        drawn = rng.multinomial(rows.count[part], weight / weight.sum(axis=1, keepdims=True))
        row, cell = np.nonzero(drawn)
        found.append((part[row], value[row, cell], drawn[row, cell]))
    row, value, count = (np.concatenate(column) for column in zip(*found, strict=True))
    return rows.take(row, count, **{name: value})


def spread(rng: np.random.Generator, clusters: np.ndarray, count: int,
           found: Iterable[tuple[np.ndarray, int, np.ndarray, np.ndarray]]) -> np.ndarray:
    """(groups, N): how many users hold each item, if a user who holds h items of a cluster holds any h alike.

    clusters: (groups, N), 0 to count − 1. found: (group, cluster, h, users), arrays but for the cluster: so many users
    of a group hold h of its items. Joint law of all sums: items are halved again and again, and in each half a user
    holds a hypergeometric number; users with equal numbers are one multinomial draw. About 10 to 30 draws an item and
    group, whatever the number of users.
    """
    groups, items = clusters.shape
    order = np.argsort(clusters, axis=1, kind="stable")
    size = (clusters[:, :, None] == np.arange(count)).sum(axis=1)
    first = size.cumsum(axis=1) - size
    parts = [dict(start=group * items + first[group, c], size=size[group, c], held=held, users=users)
             for group, c, held, users in found]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in ("start", "size", "held", "users")}
    rows = Rows(columns, columns.pop("users"))
    steps = np.zeros(groups * items + 1, np.int64)  # of the sums, from item to item
    while rows.count.size:
        rows = rows.merged("start", "size", "held")
        full = rows["held"] == rows["size"]
        np.add.at(steps, rows["start"][full], rows.count[full])
        np.subtract.at(steps, rows["start"][full] + rows["size"][full], rows.count[full])
        open_ = np.flatnonzero(~full & (rows["held"] > 0))
        rows = rows.take(open_, rows.count[open_])
        half = rows["size"] // 2
        rows = hypergeometric(rng, Rows({**rows.columns, "half": half}, rows.count), "left", half,
                              rows["size"] - half, rows["held"])
        half, left = rows["half"], rows["left"]
        rows = Rows(dict(start=np.concatenate([rows["start"], rows["start"] + half]),
                         size=np.concatenate([half, rows["size"] - half]),
                         held=np.concatenate([left, rows["held"] - left])), np.concatenate([rows.count] * 2))
    sums = np.empty((groups, items), np.int64)
    np.put_along_axis(sums, order, steps[:-1].cumsum().reshape(groups, items), axis=1)
    return sums


def scatter(rng: np.random.Generator, balls: int, boxes: int) -> np.ndarray:
    """(boxes,): balls in each of `boxes` boxes, thrown uniformly. O(min(balls, 10 · boxes)), memory O(boxes)."""
    if balls > 10 * boxes:
        return rng.multinomial(balls, np.full(boxes, 1 / boxes))
    total = np.zeros(boxes, np.int64)
    for start in range(0, balls, BOXES):
        total += np.bincount(rng.integers(0, boxes, min(BOXES, balls - start)), minlength=boxes)
    return total
