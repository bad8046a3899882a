"""What it is worth as protection that a graph of pairs is random, and that it is secret."""

import math
from functools import lru_cache

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter

from ..model import ItemParameters
from ..releases import Differences
from ..theory import random_graphs

ITEMS: int = parameter("items", unit="items", low=2)
PERSONS: int = parameter("persons", unit="persons", low=1)
BUDGET: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
DELTA: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)
EDGES: float = parameter("edge probability of the graph", default=1.0, above=0, high=1)


@metric("variance of noise that a random graph needs, over that charged for the graph drawn")
def random_graph_share(
    truth: ItemParameters,
    release: object,
    *,
    m: int = ITEMS,
    epsilon_user: float = BUDGET,
    delta: float = DELTA,
    p0: float = EDGES,
) -> Floats:
    """σ² with which all graphs together are (ε, δ)-DP, over that of the release, (reps,).

    NaN for releases without noise on counts.
    Source: `theory.random_graphs`.
    """
    if not isinstance(release, Differences):
        return np.full(len(truth.theta), np.nan)
    variance = np.broadcast_to(release.variance, len(truth.theta))
    enough = random_graphs.random_graph_variance(epsilon_user, delta, m, p0)
    share: Floats = np.divide(
        enough, variance, out=np.full(len(variance), np.nan), where=variance > 0
    )
    return share


@metric("changed counts that a random graph pays for, over their mean")
def random_graph_charge(
    *, m: int = ITEMS, epsilon_user: float = BUDGET, delta: float = DELTA, p0: float = EDGES
) -> float:
    """σ² that all graphs need over that of a release whose rows change the mean number of counts.

    The mean is p0 · 2⌊m²/4⌋, and of variance for k counts k times that for one.
    """
    enough = random_graphs.random_graph_variance(epsilon_user, delta, m, p0)
    of_all = random_graphs.random_graph_variance(epsilon_user, delta, m, 1.0)
    return enough / (p0 * of_all)


@metric("exact δ over connected graphs, over the nominal δ")
def random_graph_exact(
    *, m: int = ITEMS, epsilon_user: float = BUDGET, delta: float = DELTA, p0: float = EDGES
) -> float:
    """Exact δ, all connected graphs and rows enumerated, at the σ² of the bound; NaN for m > 4."""
    if m > random_graphs.FEW:
        return math.nan
    variance = random_graphs.random_graph_variance(epsilon_user, delta, m, p0)
    return random_graphs.enumerated_delta(epsilon_user, m, p0, variance) / delta


@metric("exact δ with a secret graph, over that with a published one")
def secrecy_share(
    *,
    m: int = ITEMS,
    n: int = PERSONS,
    epsilon_user: float = BUDGET,
    delta: float = DELTA,
    p0: float = EDGES,
) -> float:
    """Exact δ of the worst rows at the σ² that a published graph needs; NaN for m > 4.

    Everybody else adds ⌊n/4⌋ to each count, as equal items and persons do.
    """
    if m > random_graphs.FEW:
        return math.nan
    return _secrecy(m, n // 4, epsilon_user, delta, p0)


@lru_cache(maxsize=1024)  # it takes long, and every block needs it
def _secrecy(m: int, others: int, epsilon: float, delta: float, p0: float) -> float:
    variance = random_graphs.random_graph_variance(epsilon, delta, m, p0)
    setting = (epsilon, m, p0, variance, others)
    published = random_graphs.secret_delta(*setting, secret=False)
    return random_graphs.secret_delta(*setting) / published
