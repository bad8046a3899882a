"""Largest cuts of graphs: against brute force, and bounds that are never too low."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.problems.response.theory import cuts
from pipeline.problems.response.theory.sensitivity import squared_sensitivity
from tests.helpers.known_responses import random_graphs


def brute_cut(graph):
    """Largest cut of one graph, over the sides of all its items."""
    m = len(graph)
    sides = np.array(list(itertools.product((0, 1), repeat=m)))
    return int(np.einsum("si,ij,sj->s", sides, graph.astype(int), 1 - sides).max())


@pytest.mark.parametrize("m", range(2, 13))
def test_cuts_against_brute_force(m):
    graphs = random_graphs(m, 40 if m < 11 else 12, 100 + m)
    exact, bound = cuts.exact_cut(graphs), cuts.cut_bound(graphs)
    brute = np.array([brute_cut(graph) for graph in graphs])
    edges = graphs.sum(axis=(1, 2)) // 2
    assert (exact == brute).all() and (cuts.largest_cut(m, graphs) == brute).all()
    assert (bound >= brute).all() and (bound <= edges).all()
    assert m < 4 or (edges // 2 < brute).any()  # negative control: half the edges is too little
    if m > 8:
        assert (bound < edges).any() and (bound - brute).mean() < 0.15 * brute.mean()


@settings(deadline=None)
@given(st.integers(2, 10), st.data())
def test_bounds_are_sound_and_do_not_depend_on_names(m, data):
    bits = data.draw(st.lists(st.booleans(), min_size=m * (m - 1) // 2, max_size=m * (m - 1) // 2))
    graph = np.zeros((m, m), int)
    graph[np.triu_indices(m, 1)] = bits
    graph = graph + graph.T
    order = np.array(data.draw(st.permutations(range(m))))
    exact = cuts.exact_cut(graph)
    assert exact <= cuts.cut_bound(graph) <= graph.sum() // 2
    assert exact == cuts.exact_cut(graph[np.ix_(order, order)]) >= math.ceil(graph.sum() / 4)


def test_larger_graphs_are_never_under_charged():
    """Above 16 items: bipartite graphs, whose largest cut is every edge, and cuts found by local search."""
    rng = np.random.default_rng(5)
    for m in (17, 30, 60):
        side = np.arange(m) % 2
        bipartite = (side[:, None] != side) & (rng.random((m, m)) < 0.3)
        bipartite = bipartite | bipartite.T
        assert cuts.largest_cut(m, bipartite) == bipartite.sum() // 2
        graphs = random_graphs(m, 10, m)
        for graph, bound in zip(graphs, cuts.largest_cut(m, graphs), strict=True):
            sign = rng.choice([-1, 1], m)
            for _ in range(20 * m):
                gain = sign * (graph @ sign)
                if gain.max() <= 0:
                    break
                sign[gain.argmax()] *= -1
            found = (graph & (sign[:, None] != sign)).sum() // 2
            assert graph.sum() / 4 < found <= bound <= graph.sum() // 2
    assert (squared_sensitivity(60, "replace_one", graphs) == 2 * cuts.cut_bound(graphs)).all()
