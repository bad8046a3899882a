"""Released bits about disjoint sets of items, drawn entry by entry: for so many clusters that few users are alike."""

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats, Integers

from .model import Users
from .user_counts import UserCounts, hypergeometric

ENTRIES = 1 << 21  # of the shuffled items of a batch of users: fit the L2 cache, and amortise calls


def by_entries(
    rng: np.random.Generator, data: Users, questions: int, size: int, keep: float
) -> tuple[Integers, Integers]:
    """(reps, N) each: how often an item is in a set of a user whose released bit is 1, and in one whose bit is 0.

    Each user has `questions` disjoint random sets of `size` items, and a bit of each: whether she likes an item of it,
    kept with probability `keep`. O(reps · U · questions · size), memory of one batch of users.
    """
    sums = np.zeros((len(data.truth.clusters), 2 * data.items), np.int64)
    batch = max(256, ENTRIES // data.items)
    kind = np.min_scalar_type(2 * data.items)
    order = np.tile(
        np.arange(data.items, dtype=kind)[:, None], batch
    )  # (item, user), shuffled again and again
    for total, clusters in zip(sums, data.truth.clusters, strict=True):
        for users, likes in zip(data.classes, data.b, strict=True):
            rated = _rated(rng, users, data, questions, size)
            for start in range(0, users, batch):
                shuffled = order if users - start >= batch else order[:, : users - start].copy()
                kinds = np.searchsorted(
                    rated.count.cumsum(), np.arange(start, start + shuffled.shape[1]), "right"
                )
                _shuffle(rng, shuffled, questions * size)
                for q in range(questions):
                    sensed = shuffled[q * size : (q + 1) * size]
                    bit = _bits(rng, sensed, rated[f"rated_{q}"][kinds], likes[clusters], keep)
                    sensed = sensed + np.where(bit, data.items, 0).astype(kind)
                    total += np.bincount(sensed.ravel(), minlength=2 * data.items)
    return sums[:, data.items :], sums[:, : data.items]


def _rated(
    rng: np.random.Generator, users: int, data: Users, questions: int, size: int
) -> UserCounts:
    """Users of a class by the numbers of rated items in their sets: columns rated_0, …, rated_{Q−1}."""
    counts, left, unseen = UserCounts({}, np.array([users])), np.array([data.w]), data.items
    for q in range(questions):
        unseen -= size
        counts = hypergeometric(
            rng,
            UserCounts({**counts.columns, "left": left}, counts.count),
            f"rated_{q}",
            np.full_like(left, size),
            np.full_like(left, unseen),
            left,
        )
        left = counts["left"] - counts[f"rated_{q}"]
    return counts


def _bits(
    rng: np.random.Generator, sensed: Array, rated: Integers, likes: Floats, keep: float
) -> Booleans:
    """(users,): released bits of one set each; sensed: (size, users) in random order, rated: (users,), likes: (N,)."""
    bit = rng.random(rated.size) >= keep
    sketch = np.zeros(rated.size, bool)
    for row in range(
        int(rated.max(initial=0))
    ):  # the order is random, so let the first items be the rated ones
        users = np.flatnonzero(rated > row)
        sketch[users] |= rng.random(users.size) < likes[sensed[row, users]]
    return bit ^ sketch


def _shuffle(rng: np.random.Generator, order: Array, heads: int) -> None:
    """Make the first rows of order, in each column, a uniform ordered sample of it without replacement.

    Fisher and Yates; the result does not depend on the order before. order: (items, users), contiguous.
    """
    items, users = order.shape
    flat, column = order.reshape(-1), np.arange(users)
    for row in range(heads):
        entry = rng.integers(row, items, users, np.int32).astype(np.intp)
        entry *= users
        entry += column
        picked = flat.take(entry)
        flat[entry] = order[row]
        order[row] = picked
