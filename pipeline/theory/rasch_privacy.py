"""What one person can change in the pairwise differential measurements, and the noise that hides it.

Released: Y_ij = Σ_l A_li A_lj X_li (1 − X_lj) for i ≠ j, m(m−1) integers, or only the 2|E| of them on the edges of a
public graph. Unit of privacy: one person's whole row, answers and which of them are missing. Neighbours:
`replace_one`, the row becomes another (Definition 1 of Nguyen and Zhang); `add_remove`, it is there or not.

A person with ones on S and zeros on T (disjoint; the rest missing) adds 1 to the entries S × T. So two rows differ
by −1, 0 or 1 in every entry, and squared L2 and L1 distances are both the number of entries that differ. On a graph
S × T holds the edges cut between S and T: at most the largest cut c of the graph, reached with T the complement of S,
so without missing answers. Add/remove: c. Replace one: at most c + c, reached by the complementary row, since S × T
and T × S share no entry. With all pairs released c = ⌊m²/4⌋. The paper charges 1 for every released entry.
"""

import numpy as np

from pipeline.parameters import InvalidInput, nearest
from pipeline.theory.accounting import calibrated_variance
from pipeline.theory.integer_noise import positive

CALIBRATIONS = ("paper", "tight")
ROWS = {"replace_one": 2, "add_remove": 1}  # that differ between neighbours
EXACT = 16  # items up to which all cuts of a graph are tried


def _graph(graph, m):
    """The graphs as booleans, (..., m, m), checked."""
    graph = np.asarray(graph)
    if graph.shape[-2:] != (m, m) or not np.isin(graph, (0, 1)).all():
        raise InvalidInput("graph", graph.shape, f"must be an adjacency matrix (m, m) of 0 and 1, with m={m}")
    graph = graph.astype(bool)
    if (graph != np.swapaxes(graph, -1, -2)).any() or np.diagonal(graph, axis1=-2, axis2=-1).any():
        raise InvalidInput("graph", graph.shape, "must be symmetric, with zeros on the diagonal")
    if not graph.any(axis=(-1, -2)).all():
        raise InvalidInput("graph", graph.shape, "must have an edge: nothing would be released")
    return graph


def _items(m):
    if int(m) != m or m < 2:
        raise InvalidInput("m", m, "must be a whole number ≥ 2 (items)")
    return int(m)


def _rows(neighbours):
    if neighbours not in ROWS:
        raise InvalidInput("neighbours", neighbours, nearest(neighbours, ROWS))
    return ROWS[neighbours]


def released_entries(m, graph=None):
    """Integers released: m(m−1), or 2|E| on a graph (..., m, m) -> (...)."""
    m = _items(m)
    return m * (m - 1) if graph is None else _graph(graph, m).sum(axis=(-1, -2))


def exact_cut(graph):
    """Largest number of edges between two sides, over all 2^(m−1) ways to part the items.

    graph: symmetric (..., m, m) of 0 and 1 -> (...), whole. Memory and time O(2^m) per graph: m ≤ 20 or so.
    """
    graph = np.asarray(graph).astype(np.int16)
    cuts = np.zeros(graph.shape[:-2] + (1,), np.int16)  # of the items so far; last axis: sides of items 1, 2, …
    for k in range(1, graph.shape[-1]):
        other = np.zeros_like(cuts[..., :1])  # neighbours of k on the side away from item 0, in the same order
        for j in range(1, k):
            other = np.concatenate([other, other + graph[..., k, j, None]], axis=-1)
        earlier = graph[..., k, :k].sum(axis=-1, dtype=np.int16)[..., None]
        cuts = np.concatenate([cuts + other, cuts + earlier - other], axis=-1)
    return cuts.max(axis=-1).astype(int)


def cut_bound(graph):
    """Upper bound of the largest cut: the least of |E|, m λ_max(D − A)/4 and |E|/2 − m λ_min(A)/4, rounded down.

    graph: symmetric adjacency A, (..., m, m), D its degrees -> (...), whole. A cut with signs s has sᵀ(D − A)s/4
    edges, and Σ s_i² (d̄ − d_i) = 0 may be added: with it the eigenvalues are those of d̄ − A. O(m³) per graph.
    Source: Mohar and Poljak (1990); Delorme and Poljak (1993).
    """
    graph = np.asarray(graph, float)
    m, degrees = graph.shape[-1], graph.sum(axis=-1)
    edges = degrees.sum(axis=-1) / 2
    laplacian = np.eye(m) * degrees[..., None] - graph
    spectral = np.minimum(m * np.linalg.eigvalsh(laplacian)[..., -1] / 4,
                          edges / 2 - m * np.linalg.eigvalsh(graph)[..., 0] / 4)
    return np.floor(np.minimum(edges, spectral + 1e-6)).astype(int)  # eigenvalues are off by far less


def largest_cut(m, graph=None):
    """c, or for graphs of more than 16 items an upper bound of it (finding it is NP-hard); whole.

    graph: None for all pairs, or (..., m, m) -> (...). Noise for an upper bound is never too little.
    Raises `InvalidInput` for a matrix that is not a graph on m items, or has no edge.
    """
    m = _items(m)
    if graph is None:
        return m * m // 4
    graph = _graph(graph, m)
    return exact_cut(graph) if m <= EXACT else cut_bound(graph)


def squared_sensitivity(m, neighbours, graph=None):
    """Squared L2 sensitivity of the release: c for `add_remove`, 2c for `replace_one`; whole, scalar or (...).

    m: items; graph: None, or (..., m, m), where it is exact for m ≤ 16 and an upper bound above (`largest_cut`).
    """
    return _rows(neighbours) * largest_cut(m, graph)


def l1_sensitivity(m, neighbours, graph=None):
    """L1 sensitivity of the release: the same number as `squared_sensitivity`, since entries differ by at most 1."""
    return squared_sensitivity(m, neighbours, graph)


def charged(calibration, m, neighbours, graph=None):
    """Squared L2, and L1, sensitivity that noise is calibrated to; whole, scalar or (...) for graphs (..., m, m).

    `tight`: the exact one (or its bound). `paper`: 1 for every released entry, whoever the neighbours are, which is
    what Lemma 4.1 of Nguyen and Zhang composes to, read correctly. Raises `InvalidInput` for other names.
    """
    if calibration not in CALIBRATIONS:
        raise InvalidInput("calibration", calibration, nearest(calibration, CALIBRATIONS))
    rows = _rows(neighbours)
    return rows * largest_cut(m, graph) if calibration == "tight" else released_entries(m, graph)


def noise_variance(rho, calibration, m, neighbours, graph=None):
    """σ² of the discrete Gaussian on every released entry that makes the release ρ-zCDP; scalar or (...).

    ε*²/2 for ρ is the paper's ½ε*²-CDP: then paper m(m−1)/ε*², tight 2⌊m²/4⌋/ε*² (replace one).
    Source: Nguyen and Zhang, Lemma 4.1, corrected.
    """
    return calibrated_variance(charged(calibration, m, neighbours, graph), rho)


def laplace_scale(epsilon, calibration, m, neighbours, graph=None):
    """Scale t of the discrete Laplace, P(z) ∝ e^{−|z|/t}, on every released entry that makes it ε-DP; scalar or (...).

    Source: Nguyen and Zhang, supplement, Lemma 4.2, composed over entries (paper) or by L1 sensitivity (tight).
    """
    return charged(calibration, m, neighbours, graph) / positive("epsilon", epsilon)


def printed_variance(epsilon_star, m):
    """√(m(m−1))/ε*², as Lemma 4.1 prints it: a standard deviation's factor on a variance. For audits only.

    It is NOT ½ε*²-zCDP: for replaced rows it spends 2⌊m²/4⌋/√(m(m−1)) times that, about m/2 times.
    """
    return np.sqrt(released_entries(m)) / positive("epsilon_star", epsilon_star) ** 2


def response_budget(epsilon, m):
    """ε/m, the budget of each of a person's m responses when all of them together may spend ε; broadcasts.

    Exact: the opposite row reaches ε. With missing answers it hides the answers, not which items were answered.
    Source: Nguyen and Zhang, supplement, randomized response.
    """
    return positive("epsilon", epsilon) / positive("m", m)
