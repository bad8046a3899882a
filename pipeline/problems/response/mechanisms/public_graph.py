"""Public random graphs on the items: the pairs whose counts are released if not all are.

A graph is drawn before the noise and without the data, so it costs no
privacy.
"""

import numpy as np

from pipeline.study.arrays import Booleans

from ..theory.connectivity import connected

TRIES = 100  # draws of a graph that is not connected


def random_graphs(rng: np.random.Generator, reps: int, m: int, p0: float) -> Booleans:
    """Erdős–Rényi graphs G(m, p0), (reps, m, m), symmetric.

    Redrawn up to `TRIES` times until connected. Only a connected graph
    determines an estimate. Where every draw fails, the last one is kept, so
    a small p0 may leave graphs that are not connected, or have no edge.
    O(reps · m²) a draw.
    """
    first, second = np.triu_indices(m, 1)
    edges = np.zeros((reps, m, m), bool)
    left = np.arange(reps)
    for _ in range(TRIES):
        drawn = np.zeros((left.size, m, m), bool)
        drawn[:, first, second] = rng.random((left.size, first.size)) < p0
        edges[left] = drawn | drawn.swapaxes(1, 2)
        left = left[~connected(edges[left])]
        if not left.size:
            break
    return edges
