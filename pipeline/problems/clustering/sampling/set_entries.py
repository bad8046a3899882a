"""Released bits about disjoint sets of items, drawn entry by entry.

For so many clusters that hardly two users are alike, and counting users
saves nothing.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.problems.common.user_counts import UserCounts, hypergeometric
from pipeline.study.arrays import Array, Booleans, Floats, Integers

from ..model import Users

ENTRIES = 1 << 21  # of shuffled items of a batch of users: fit the L2 cache, and amortise calls


@dataclass(frozen=True)
class Questions:
    """What each user is asked: `count` disjoint random sets of `size` items, one bit about each.

    keep: probability that a bit is released as it is.
    """

    count: int
    size: int
    keep: float


def by_entries(
    rng: np.random.Generator, data: Users, questions: Questions
) -> tuple[Integers, Integers]:
    """How often an item is in a set whose released bit is 1, and in one whose bit is 0.

    (reps, N) each. The sketch of a set is whether the user likes an item of
    it. O(reps · U · questions · size), memory of one batch of users.
    """
    sums = np.zeros((len(data.truth.clusters), 2 * data.items), np.int64)
    batch = max(256, ENTRIES // data.items)
    kind = np.min_scalar_type(2 * data.items)
    # (item, user), shuffled again and again
    order = np.tile(np.arange(data.items, dtype=kind)[:, None], batch)
    for total, clusters in zip(sums, data.truth.clusters, strict=True):
        for users, likes in zip(data.classes, data.b, strict=True):
            rated = _rated(rng, users, data, questions)
            upto = rated.count.cumsum()
            for start in range(0, users, batch):
                is_full = users - start >= batch
                shuffled = order if is_full else order[:, : users - start].copy()
                numbers = np.arange(start, start + shuffled.shape[1])
                kinds = np.searchsorted(upto, numbers, "right")
                _shuffle(rng, shuffled, questions.count * questions.size)
                for q in range(questions.count):
                    sensed = shuffled[q * questions.size : (q + 1) * questions.size]
                    rated_in_set = rated[f"rated_{q}"][kinds]
                    bit = _bits(rng, sensed, rated_in_set, likes[clusters], questions.keep)
                    entries = sensed + np.where(bit, data.items, 0).astype(kind)
                    total += np.bincount(entries.ravel(), minlength=2 * data.items)
    return sums[:, data.items :], sums[:, : data.items]


def _rated(rng: np.random.Generator, users: int, data: Users, questions: Questions) -> UserCounts:
    """Users of a class by the numbers of rated items in their sets.

    Columns rated_0, …, rated_{Q−1}.
    """
    counts = UserCounts({}, np.array([users]))
    left = np.array([data.w])
    unseen = data.items
    for q in range(questions.count):
        unseen -= questions.size
        counts = hypergeometric(
            rng,
            counts.with_columns(left=left),
            f"rated_{q}",
            np.full_like(left, questions.size),
            np.full_like(left, unseen),
            left,
        )
        left = counts["left"] - counts[f"rated_{q}"]
    return counts


def _bits(
    rng: np.random.Generator, sensed: Array, rated: Integers, likes: Floats, keep: float
) -> Booleans:
    """Released bits of one set each, (users,).

    sensed: (size, users) in random order. rated: (users,). likes: (N,).
    """
    bit = rng.random(rated.size) >= keep
    sketch = np.zeros(rated.size, bool)
    # The order is random, so let the first items be the rated ones.
    for row in range(int(rated.max(initial=0))):
        users = np.flatnonzero(rated > row)
        sketch[users] |= rng.random(users.size) < likes[sensed[row, users]]
    return bit ^ sketch


def _shuffle(rng: np.random.Generator, order: Array, heads: int) -> None:
    """Make the first rows of order, in each column, a uniform ordered sample of it.

    Without replacement, by Fisher and Yates; the result does not depend on
    the order before. order: (items, users), contiguous.
    """
    items, users = order.shape
    flat = order.reshape(-1)
    column = np.arange(users)
    for row in range(heads):
        entry = rng.integers(row, items, users, np.int32).astype(np.intp)
        entry *= users
        entry += column
        picked = flat.take(entry)
        flat[entry] = order[row]
        order[row] = picked
