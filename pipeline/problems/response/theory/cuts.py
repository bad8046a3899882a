"""Largest cuts of graphs on the items: exact for few items, bounded from above for more."""

import numpy as np

from pipeline.study.arrays import Array, Booleans, Integers
from pipeline.study.parameters import InvalidInput

EXACT = 16  # items up to which all cuts of a graph are tried


def checked_items(m: int) -> int:
    """The number of items; `InvalidInput` unless it is a whole number ≥ 2."""
    if int(m) != m or m < 2:
        raise InvalidInput("m", m, "must be a whole number ≥ 2 (items)")
    return int(m)


def checked_graphs(graph: Array, m: int) -> Booleans:
    """Adjacency matrices (..., m, m) of 0 and 1, as booleans.

    Raises `InvalidInput` for a matrix that is not a graph on m
    items, or has no edge.
    """
    graph = np.asarray(graph)
    if graph.shape[-2:] != (m, m) or not np.isin(graph, (0, 1)).all():
        allowed = f"must be an adjacency matrix (m, m) of 0 and 1, with m={m}"
        raise InvalidInput("graph", graph.shape, allowed)
    edges = graph.astype(bool)
    is_directed = (edges != np.swapaxes(edges, -1, -2)).any()
    has_loops = np.diagonal(edges, axis1=-2, axis2=-1).any()
    if is_directed or has_loops:
        raise InvalidInput("graph", graph.shape, "must be symmetric, with zeros on the diagonal")
    if not edges.any(axis=(-1, -2)).all():
        raise InvalidInput("graph", graph.shape, "must have an edge: nothing would be released")
    return edges


def exact_cut(graph: Array) -> Integers:
    """Largest number of edges between two sides, over all 2^(m−1) ways to part the items.

    graph: symmetric (..., m, m) of 0 and 1 -> (...), whole.
    Memory and time O(2^m) per graph: m ≤ 20 or so.
    """
    graph = np.asarray(graph).astype(np.int16)
    # Cuts of the items so far; last axis: sides of items 1, 2, …
    cuts = np.zeros(graph.shape[:-2] + (1,), np.int16)
    for k in range(1, graph.shape[-1]):
        # Neighbours of k on the side away from item 0, in the same order.
        other = np.zeros_like(cuts[..., :1])
        for j in range(1, k):
            other = np.concatenate([other, other + graph[..., k, j, None]], axis=-1)
        earlier = graph[..., k, :k].sum(axis=-1, dtype=np.int16)[..., None]
        cuts = np.concatenate([cuts + other, cuts + earlier - other], axis=-1)
    largest: Integers = cuts.max(axis=-1).astype(int)
    return largest


def cut_bound(graph: Array) -> Integers:
    """Upper bound of the largest cut: the least of three numbers, rounded down.

    They are |E|, m λ_max(D − A)/4 and |E|/2 − m λ_min(A)/4. graph:
    symmetric adjacency A, (..., m, m), D its degrees -> (...), whole. A
    cut with signs s has sᵀ(D − A)s/4 edges, and Σ s_i² (d̄ − d_i) = 0
    may be added: with it the eigenvalues are those of d̄ − A. λ_max(D −
    A) is only computed where the largest degree, of which it is m/(m −
    1) times at least, leaves it a chance to be the least. O(m³) per
    graph.
    Source: Mohar and Poljak (1990); Delorme and Poljak (1993); for the
    degree Fiedler (1973).
    """
    graph = np.asarray(graph, float)
    m = graph.shape[-1]
    degrees = graph.sum(axis=-1)
    edges = degrees.sum(axis=-1) / 2
    spectral = np.asarray(edges / 2 - m * np.linalg.eigvalsh(graph)[..., 0] / 4)
    # Where the bound of the Laplacian may be less (Fiedler, 1973).
    other = np.asarray(m**2 / (m - 1) * degrees.max(axis=-1) / 4 < spectral)
    laplacian = np.eye(m) * degrees[other][..., None] - graph[other]
    of_laplacian = m * np.linalg.eigvalsh(laplacian)[..., -1] / 4
    spectral[other] = np.minimum(spectral[other], of_laplacian)
    # Eigenvalues are off by far less than is added.
    bound: Integers = np.floor(np.minimum(edges, spectral + 1e-6)).astype(int)
    return bound


def largest_cut(m: int, graph: Array | None = None, questions: int | None = None) -> int | Integers:
    """c, or for graphs of more than 16 items an upper bound of it (finding it is NP-hard); whole.

    graph: None for all pairs, or (..., m, m) -> (...). questions:
    items that may be on either side, k; None is all. Of k items
    all of whose pairs count it is ⌊k²/4⌋, which on a graph is an
    upper bound: the lesser of both is returned. Noise for an
    upper bound is never too little. Raises `InvalidInput` for a
    matrix that is not a graph on m items, or has no edge.
    """
    m = checked_items(m)
    of_some = m * m // 4
    if questions is not None:
        of_some = questions * questions // 4
    if graph is None:
        return of_some
    edges = checked_graphs(graph, m)
    cut = exact_cut(edges) if m <= EXACT else cut_bound(edges)
    smaller: Integers = np.minimum(cut, of_some)
    return smaller
