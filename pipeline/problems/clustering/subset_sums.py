"""Sums over users of random subsets of items, in joint law, without drawing single users."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pipeline.study.arrays import Integers

from .user_counts import UserCounts, hypergeometric

BOXES = 1 << 22  # balls that are thrown individually in one step


class SubsetCounts(NamedTuple):
    """How many users of a group have a random subset of `size` items of a cluster; arrays (rows,), one cluster."""

    group: Integers
    cluster: int
    size: Integers
    users: Integers


def subset_sums(
    rng: np.random.Generator, clusters: Integers, count: int, subsets: Iterable[SubsetCounts]
) -> Integers:
    """(groups, N): how many users have each item in their subset, where all subsets of one size are equally likely.

    clusters: (groups, N), 0 to count − 1. Joint law of all sums: the items of a cluster are halved again and again, and
    in each half a user has a hypergeometric number; users with equal numbers are one multinomial draw. About 10 to 30
    draws an item and group, whatever the number of users.
    """
    groups, items = clusters.shape
    order = np.argsort(clusters, axis=1, kind="stable")
    size = (clusters[:, :, None] == np.arange(count)).sum(axis=1)
    first = size.cumsum(axis=1) - size
    parts = [dict(start=part.group * items + first[part.group, part.cluster], size=size[part.group, part.cluster],
                  held=part.size, users=part.users) for part in subsets]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in ("start", "size", "held", "users")}
    users = UserCounts(columns, columns.pop("users"))
    steps = np.zeros(groups * items + 1, np.int64)  # of the sums, from item to item
    while users.count.size:
        users = _halve(rng, _add_whole_runs(users.merged("start", "size", "held"), steps))
    sums = np.empty((groups, items), np.int64)
    np.put_along_axis(sums, order, steps[:-1].cumsum().reshape(groups, items), axis=1)
    return sums


def _add_whole_runs(users: UserCounts, steps: Integers) -> UserCounts:
    """Add to the steps the users who have all items of a run; what is left are those who have some of them.

    Columns: a run of `size` items begins at `start`, and a user has `held` of them.
    """
    full = users["held"] == users["size"]
    np.add.at(steps, users["start"][full], users.count[full])
    np.subtract.at(steps, users["start"][full] + users["size"][full], users.count[full])
    some = np.flatnonzero(~full & (users["held"] > 0))
    return users.take(some, users.count[some])


def _halve(rng: np.random.Generator, users: UserCounts) -> UserCounts:
    """Users by their items in each half of a run: twice the rows, for the left halves and the right ones."""
    half = users["size"] // 2
    users = hypergeometric(rng, UserCounts({**users.columns, "half": half}, users.count), "left", half,
                           users["size"] - half, users["held"])
    half, left = users["half"], users["left"]
    return UserCounts(dict(start=np.concatenate([users["start"], users["start"] + half]),
                           size=np.concatenate([half, users["size"] - half]),
                           held=np.concatenate([left, users["held"] - left])), np.concatenate([users.count] * 2))


def throw(rng: np.random.Generator, balls: int, boxes: int) -> Integers:
    """(boxes,): balls in each box when each ball is thrown into one of them, uniformly.

    O(min(balls, 10 · boxes)), memory O(boxes).
    """
    if balls > 10 * boxes:
        return rng.multinomial(balls, np.full(boxes, 1 / boxes))
    total = np.zeros(boxes, np.int64)
    for start in range(0, balls, BOXES):
        total += np.bincount(rng.integers(0, boxes, min(BOXES, balls - start)), minlength=boxes)
    return total
