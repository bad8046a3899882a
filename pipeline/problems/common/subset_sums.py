"""Sums over users of random subsets of items, in joint law, without drawing single users."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pipeline.study.arrays import Integers

from .user_counts import add_subsets


class SubsetCounts(NamedTuple):
    """How many users of a group have disjoint random subsets of the items of a cluster.

    group, users: (rows,). sizes: of the subsets, one or two, (rows,) each.
    """

    group: Integers
    cluster: int
    sizes: tuple[Integers, ...]
    users: Integers


def subset_sums(
    rng: np.random.Generator, clusters: Integers, count: int, subsets: Iterable[SubsetCounts]
) -> Integers:
    """(subsets, groups, N): how many users have each item in each of their subsets.

    All subsets that fit are equally likely. clusters: (groups, N), 0 to
    count − 1. Joint law of all sums: the items of a cluster are halved
    again and again, and in each half a user has hypergeometric numbers;
    users with equal numbers are one multinomial draw. About 10 to 30 draws
    an item and group with one subset a user, whatever the number of users.
    """
    groups, items = clusters.shape
    order = np.argsort(clusters, axis=1, kind="stable")
    size = (clusters[:, :, None] == np.arange(count)).sum(axis=1)
    first = size.cumsum(axis=1) - size
    subsets = list(subsets)
    starts = [part.group * items + first[part.group, part.cluster] for part in subsets]
    start = np.concatenate(starts)
    whole = np.concatenate([size[part.group, part.cluster] for part in subsets])
    users = np.concatenate([part.users for part in subsets])
    kinds = len(subsets[0].sizes)
    members = np.zeros((2, start.size), np.int64)
    for kind in range(kinds):
        members[kind] = np.concatenate([part.sizes[kind] for part in subsets])
    rows = np.flatnonzero(members.any(axis=0))
    steps = np.zeros((2, groups * items + 1), np.int64)  # of the sums, from item to item
    add_subsets(rng, start[rows], whole[rows], [*members[:, rows]], users[rows], steps)
    sums = np.empty((kinds, groups, items), np.int64)
    sorted_sums = steps[:kinds, :-1].cumsum(axis=1).reshape(sums.shape)
    np.put_along_axis(sums, order[None], sorted_sums, axis=2)
    return sums
