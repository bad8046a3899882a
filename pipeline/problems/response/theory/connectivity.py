"""Whether items are connected, many graphs at a time."""

import numpy as np

from pipeline.study.arrays import Booleans


def connected(edges: Booleans) -> Booleans:
    """Whether a path joins all items; edges (reps, m, m), symmetric -> (reps,).

    O(reps · m² · diameter).
    """
    reached = np.zeros(edges.shape[:2], bool)
    reached[:, 0] = True
    while True:
        further = reached | (edges & reached[:, None]).any(axis=2)
        if (further == reached).all():
            all_reached: Booleans = np.all(reached, axis=1)
            return all_reached
        reached = further


def strongly_connected(edges: Booleans) -> Booleans:
    """Whether every item can be reached from every other, (reps,).

    edges: (reps, m, m), from row to column. So it is where item 0 can be
    reached from all items and all items from item 0. Cost as `connected`.
    """
    return connected(edges) & connected(edges.swapaxes(1, 2))
