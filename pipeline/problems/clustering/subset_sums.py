"""Sums over users of random subsets of items, in joint law, without drawing single users."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pipeline.study.arrays import Integers

from .user_counts import UserCounts, hypergeometric


class SubsetCounts(NamedTuple):
    """How many users of a group have disjoint random subsets of these sizes of the items of a cluster.

    group, users: (rows,). sizes: one or more, (rows,) each.
    """

    group: Integers
    cluster: int
    sizes: tuple[Integers, ...]
    users: Integers


def subset_sums(
    rng: np.random.Generator, clusters: Integers, count: int, subsets: Iterable[SubsetCounts]
) -> Integers:
    """(subsets, groups, N): how many users have each item in each of their subsets, all that fit equally likely.

    clusters: (groups, N), 0 to count − 1. Joint law of all sums: the items of a cluster are halved again and again, and
    in each half a user has hypergeometric numbers; users with equal numbers are one multinomial draw. About 10 to 30
    draws an item and group with one subset a user, whatever the number of users.
    """
    groups, items = clusters.shape
    order = np.argsort(clusters, axis=1, kind="stable")
    size = (clusters[:, :, None] == np.arange(count)).sum(axis=1)
    first = size.cumsum(axis=1) - size
    parts = [dict(start=part.group * items + first[part.group, part.cluster], size=size[part.group, part.cluster],
                  users=part.users) | {f"held_{k}": one for k, one in enumerate(part.sizes)} for part in subsets]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    users = UserCounts(columns, columns.pop("users"))
    held = [name for name in columns if name.startswith("held_")]
    steps = np.zeros((len(held), groups * items + 1), np.int64)  # of the sums, from item to item
    while users.count.size:
        users = _halve(rng, _add_whole_runs(users.merged("start", "size", *held), held, steps), held)
    sums = np.empty((len(held), groups, items), np.int64)
    np.put_along_axis(sums, order[None], steps[:, :-1].cumsum(axis=1).reshape(sums.shape), axis=2)
    return sums


def _add_whole_runs(users: UserCounts, held: list[str], steps: Integers) -> UserCounts:
    """Add to the steps the users who have all items of a run in one subset; what is left are those who have some.

    Columns: a run of `size` items begins at `start`, and a user has `held_k` of them in subset k.
    """
    some = np.zeros(users.count.size, bool)
    for name, sums in zip(held, steps, strict=True):
        full = users[name] == users["size"]
        np.add.at(sums, users["start"][full], users.count[full])
        np.subtract.at(sums, users["start"][full] + users["size"][full], users.count[full])
        some |= ~full & (users[name] > 0)
    rows = np.flatnonzero(some)
    return users.take(rows, users.count[rows])


def _halve(rng: np.random.Generator, users: UserCounts, held: list[str]) -> UserCounts:
    """Users by their items in each half of a run: twice the rows, for the left halves and the right ones."""
    left, right = users["size"] // 2, users["size"] - users["size"] // 2  # items that are in no subset yet
    users = UserCounts({**users.columns, "left": left, "right": right}, users.count)
    for name in held:
        users = hypergeometric(rng, users, f"left_{name}", users["left"], users["right"], users[name])
        users.columns["left"] = users["left"] - users[f"left_{name}"]
        users.columns["right"] = users["right"] - users[name] + users[f"left_{name}"]
    half = users["size"] // 2
    return UserCounts({
        "start": np.concatenate([users["start"], users["start"] + half]),
        "size": np.concatenate([half, users["size"] - half]),
        **{name: np.concatenate([users[f"left_{name}"], users[name] - users[f"left_{name}"]]) for name in held},
    }, np.concatenate([users.count] * 2))
