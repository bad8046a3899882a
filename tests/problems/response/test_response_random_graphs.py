"""What a random graph is worth as protection, against enumerations of everything that can be seen."""

import itertools
import math

import numpy as np
import pytest

from pipeline.privacy.gaussian_account import discrete_gaussians_delta, exact_variance
from pipeline.problems.response.theory import random_graphs
from pipeline.study.parameters import InvalidInput


def everything_seen(m, p0, variance, rows, others, told):
    """δ(1) of the counts on a graph by summing over all graphs and all that may be seen of them."""
    seen = np.arange(-8, 10)
    weights = np.exp(-(np.arange(-30, 31) ** 2) / (2 * variance))
    pairs = list(itertools.combinations(range(m), 2))

    def law(row, graph):
        law = np.ones(1)
        for (i, j), on in zip(pairs, graph, strict=True):
            for a, b in ((i, j), (j, i)):
                count = others + row[a] * (1 - row[b])
                noisy = np.exp(-((seen - count) ** 2) / (2 * variance)) / weights.sum()
                law = np.multiply.outer(law, noisy if on else (seen == 0) * 1.0).ravel()
        return law

    graphs = list(itertools.product((0, 1), repeat=len(pairs)))
    chances = [math.prod(p0 if on else 1 - p0 for on in graph) for graph in graphs]
    laws = [
        np.stack([chance * law(row, graph) for graph, chance in zip(graphs, chances, strict=True)])
        for row in rows
    ]
    if not told:
        laws = [law.sum(axis=0) for law in laws]
    return np.maximum(laws[0] - math.e * laws[1], 0).sum()


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("others", [0, 1])
def test_losses_of_pairs_are_those_of_everything_that_can_be_seen(others, told):
    rows = ((1, 1), (0, 1))  # the one count that changes is hidden where both are 0
    edge = random_graphs._Edge(0.4, 0.6, not told)
    loss = random_graphs._loss_of_rows(edge, *rows, others)
    direct = everything_seen(2, 0.4, 0.6, rows, others, told)
    assert loss.chances.sum() == pytest.approx(1) and direct > 1e-3
    assert loss.delta(1.0) == pytest.approx(direct, rel=1e-6)


def test_secrecy_is_worth_something_for_other_rows_than_the_worst():
    """Control: for a row of which one count changes a secret graph hides more."""
    losses = {}
    for secret in (False, True):
        edge = random_graphs._Edge(0.4, 0.6, secret)
        losses[secret] = random_graphs._loss_of_rows(edge, (1, 1), (1, 0), 0).delta(0.1)
    assert losses[True] < 0.99 * losses[False]
    worst = [random_graphs.secret_delta(0.1, 2, 0.4, 0.6, 0, secret) for secret in (False, True)]
    assert worst[0] == pytest.approx(worst[1], rel=1e-9) and worst[0] > losses[False]


@pytest.mark.parametrize("m, p0", [(3, 0.3), (4, 0.5)])
def test_bound_is_above_the_exact_delta_of_connected_graphs(m, p0):
    bound = random_graphs.random_graph_delta(1.0, m, p0, 20.0)
    exact = random_graphs.enumerated_delta(1.0, m, p0, 20.0)
    assert 0.7 * bound < exact <= bound


def test_all_pairs_are_a_random_graph_that_is_certain():
    delta = discrete_gaussians_delta(2.5, 50, 100.0)
    assert random_graphs.random_graph_delta(2.5, 10, 1.0, 100.0) == pytest.approx(delta, rel=1e-6)
    variance = random_graphs.random_graph_variance(2.5, 1e-4, 10, 1.0)
    assert variance == pytest.approx(exact_variance(50, 2.5, 1e-4), rel=0.01)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_no_rows_with_missing_answers_change_more(m):
    """Any rows at all, answers right, wrong or missing, against those of `changed_pairs`."""
    p0, variance, epsilon = 0.3, 4.0, 1.0
    rows = list(itertools.product((0, 1, None), repeat=m))

    def counts(row):
        return np.array([[int(a == 1 and b == 0) for b in row] for a in row])

    of_rows = [counts(row) for row in rows]
    kinds = set()
    for first, second in itertools.combinations(of_rows, 2):
        changed = first != second
        both = int((changed & changed.T).sum()) // 2
        kinds.add((int(changed.sum()) - 2 * both, both))
    deltas = [0.0]
    deltas += [discrete_gaussians_delta(epsilon, k, variance) for k in range(1, m * m)]

    def delta(kind):
        total = 0.0
        for single, double in itertools.product(range(kind[0] + 1), range(kind[1] + 1)):
            chance = math.comb(kind[0], single) * math.comb(kind[1], double)
            chance *= p0 ** (single + double) * (1 - p0) ** (sum(kind) - single - double)
            total += chance * deltas[single + 2 * double]
        return total

    worst = max(delta(kind) for kind in map(tuple, random_graphs.changed_pairs(m).tolist()))
    assert max(map(delta, kinds)) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize("m, p0", [(2, 0.3), (3, 0.4), (4, 0.6)])
def test_probability_that_a_graph_connects_the_items(m, p0):
    first, second = np.triu_indices(m, 1)
    total = 0.0
    for chosen in itertools.product((0, 1), repeat=len(first)):
        graph = np.zeros((m, m))
        graph[first, second] = chosen
        reached = np.linalg.matrix_power(np.eye(m) + graph + graph.T, m)[0] > 0
        total += reached.all() * p0 ** sum(chosen) * (1 - p0) ** (len(first) - sum(chosen))
    assert random_graphs.connected_probability(m, p0) == pytest.approx(total, rel=1e-12)


def test_many_items_are_not_enumerated():
    with pytest.raises(InvalidInput, match="m=5: must be at most 4 items"):
        random_graphs.secret_delta(1.0, 5, 0.5, 10.0, 0)
