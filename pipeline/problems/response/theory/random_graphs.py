"""What a random graph of pairs is worth as protection, whether it is published or kept secret.

Of two rows of a person, a pair of items has N_1 counts that change, or both:
on a graph drawn without the data k = Bin(N_1, p0) + 2 Bin(N_2, p0) counts
change, each by 1. So a release of (ε, δ_k) for k counts is (ε, E δ_k), for the
worst two rows. To charge each graph by its largest cut supposes that rows are
chosen when the graph is known; here they may not depend on it.

Off the graph a released count is 0. Whoever sees another number knows that
the pair is on it. So to keep the graph secret hides it only where both counts of
a pair are 0, and where a row replaced by the opposite one changes both, 0 and
0 says nothing of the row anyway.
Source: Nguyen and Zhang, §7, who ask for it; joint convexity of the
hockey-stick divergence.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from scipy import special

from pipeline.privacy import gaussian_account
from pipeline.privacy.gaussian_account import discrete_gaussians_delta
from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.parameters import InvalidInput

from .connectivity import connected

FEW = 4  # items up to which graphs are enumerated
NEGLIGIBLE = 1e-12  # probability of a number of changed counts that is left out, and added to δ
GROWTH = 1.002  # of a variance that is too small for noise on integers


def changed_pairs(m: int) -> Integers:
    """(N_1, N_2) of two rows of m answers, for every number s of items that differ; (m, 2).

    N_1 = s(m − s) pairs have one count that changes, and N_2 = bc both: b of the s
    items are right in the first row only, c in the second only. δ rises with N_2,
    so that b and c are s/2, rounded down and up.

    >>> changed_pairs(4).tolist()
    [[3, 0], [4, 1], [3, 2], [0, 4]]
    """
    differ = np.arange(1, m + 1)
    return np.stack([differ * (m - differ), differ**2 // 4], axis=1)


def connected_probability(m: int, p0: float) -> float:
    """Probability that a random graph G(m, p0) connects all items.

    1 less that the component of the first item has fewer. Source: Gilbert (1959).

    >>> round(connected_probability(3, 0.5), 12)
    0.5
    """
    chances = [1.0]
    for size in range(2, m + 1):
        alone = 0.0
        for part in range(1, size):
            away = (1 - p0) ** (part * (size - part))
            alone += math.comb(size - 1, part - 1) * chances[part - 1] * away
        chances.append(max(0.0, 1 - alone))
    return chances[-1]


def random_graph_delta(epsilon: float, m: int, p0: float, variance: float) -> float:
    """δ at ε of noise N_Z(0, σ²) on the counts of a random graph that must connect the items.

    E δ_k of a graph drawn once, for the worst two rows, over the probability that it
    connects them: an upper bound for graphs that are drawn until they do, and exact
    where p0 = 1. δ_k: `discrete_gaussians_delta`. O(m²) of them.
    """
    deltas = _deltas_of_counts(epsilon, m, p0, variance)
    worst = max(float(law @ deltas[: len(law)]) for law in _laws(m, p0))
    return (worst + NEGLIGIBLE) / connected_probability(m, p0)


@lru_cache(maxsize=1024)
def random_graph_variance(epsilon: float, delta: float, m: int, p0: float) -> float:
    """Least σ² at which `random_graph_delta` is δ at most, to 0.2 %.

    By continuous noise, and enlarged until noise on integers has it.
    """
    allowed = delta * connected_probability(m, p0)
    laws = _laws(m, p0)

    def excess(log_variance: float) -> float:
        deltas = _continuous_deltas(epsilon, laws, math.exp(log_variance))
        worst = max(float(law @ deltas[: len(law)]) for law in laws)
        return math.log(max(worst, 1e-300)) - math.log(allowed)

    most = len(laws[-1]) / (2 * gaussian_account.exact_rho(epsilon, allowed))
    root = float(scipy.optimize.brentq(excess, math.log(most * 1e-6), math.log(2 * most)))
    variance = math.exp(root)
    while random_graph_delta(epsilon, m, p0, variance) > delta:
        variance *= GROWTH
    return variance


def enumerated_delta(epsilon: float, m: int, p0: float, variance: float) -> float:
    """Exact δ at ε where a graph is drawn until it connects m ≤ 4 items.

    All graphs and all pairs of rows are tried. Raises `InvalidInput` for more items.
    """
    _check_few(m)
    graphs, weights = _connected_graphs(m, p0)
    deltas = _deltas_of_counts(epsilon, m, 1.0, variance, every=True)
    worst = 0.0
    for first, second in itertools.combinations(_rows(m), 2):
        changed = _counts_of(first) != _counts_of(second)
        numbers = (graphs & changed).sum(axis=(1, 2))
        worst = max(worst, float(weights @ deltas[numbers]))
    return worst


def secret_delta(
    epsilon: float, m: int, p0: float, variance: float, others: int, secret: bool = True
) -> float:
    """Exact δ at ε of counts on a random graph that nobody is told, for the worst rows of m ≤ 4.

    others: what everybody else adds to each count. secret: whether the graph is kept
    secret; else it is published with the counts. Pairs of items are on the graph
    independently of one another, connected or not, so that losses of pairs add up.
    """
    _check_few(m)
    edge = _Edge(p0, variance, secret)
    kinds = itertools.combinations_with_replacement(((0, 0), (0, 1), (1, 0), (1, 1)), m)
    worst = 0.0
    for answers in kinds:  # of each item in both rows; the order of items changes nothing
        first, second = zip(*answers, strict=True)
        loss = _loss_of_rows(edge, first, second, others)
        worst = max(worst, loss.delta(epsilon))
    return worst


def _check_few(m: int) -> None:
    if m > FEW:
        raise InvalidInput("m", m, f"must be at most {FEW} items, of which graphs are enumerated")


# ------------------------------------------------------------------- numbers of changed counts


def _laws(m: int, p0: float) -> list[Floats]:
    """Law of k, the counts that change on a graph, for each pair of rows of `changed_pairs`."""
    laws: list[Floats] = []
    for single, double in changed_pairs(m).tolist():
        of_double = np.zeros(2 * double + 1)
        of_double[::2] = _binomial(double, p0)
        laws.append(np.convolve(_binomial(single, p0), of_double))
    return laws


def _binomial(trials: int, chance: float) -> Floats:
    """Probabilities of 0, 1, …, `trials` successes."""
    successes = np.arange(trials + 1)
    ways = special.gammaln(trials + 1) - special.gammaln(successes + 1)
    ways -= special.gammaln(trials - successes + 1)
    logs = special.xlogy(successes, chance) + special.xlog1py(trials - successes, -chance)
    law: Floats = np.exp(ways + logs)
    return law


def _deltas_of_counts(
    epsilon: float, m: int, p0: float, variance: float, every: bool = False
) -> Floats:
    """δ_k for k = 0, 1, …; 0 for those that no two rows have but with a negligible probability."""
    laws = _laws(m, p0)
    likely = np.zeros(max(map(len, laws)))
    for law in laws:
        likely[: len(law)] = np.maximum(likely[: len(law)], law)
    deltas = np.zeros(len(likely))
    for k in range(1, len(likely)):
        if every or likely[k] * len(likely) > NEGLIGIBLE:
            deltas[k] = discrete_gaussians_delta(epsilon, k, variance)
    return deltas


def _continuous_deltas(epsilon: float, laws: Sequence[Floats], variance: float) -> Floats:
    """`gaussian_delta` of k = 0, 1, … counts."""
    shift = np.sqrt(np.arange(1, max(map(len, laws))) / variance)
    above = special.log_ndtr(shift / 2 - epsilon / shift)
    below = special.log_ndtr(-shift / 2 - epsilon / shift)
    parts = np.exp(above) * -np.expm1(np.minimum(epsilon + below - above, 0.0))
    return np.concatenate([[0.0], parts])


# --------------------------------------------------------------------------- few items, by rows


def _rows(m: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=m))


def _counts_of(row: Sequence[int]) -> Integers:
    """What a row adds to Y, (m, m)."""
    right = np.array(row)
    counts: Integers = np.outer(right, 1 - right)
    return counts


def _connected_graphs(m: int, p0: float) -> tuple[Booleans, Floats]:
    """Graphs that connect m items, (graphs, m, m), and the probability of each among them."""
    first, second = np.triu_indices(m, 1)
    chosen = np.array(list(itertools.product((False, True), repeat=len(first))))
    graphs = np.zeros((len(chosen), m, m), bool)
    graphs[:, first, second] = chosen
    graphs |= graphs.swapaxes(1, 2)
    size = chosen.sum(axis=1)
    weights = p0**size * (1 - p0) ** (len(first) - size)
    kept = connected(graphs)
    return graphs[kept], weights[kept] / weights[kept].sum()


@dataclass(frozen=True)
class _Loss:
    """Law of a privacy loss. values: losses, nats; chances: under the first of two rows."""

    values: Floats
    chances: Floats

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence at ε."""
        excess = np.maximum(0.0, -np.expm1(np.minimum(epsilon - self.values, 0.0)))
        return float(self.chances @ excess)

    def plus(self, other: "_Loss") -> "_Loss":
        """Of two independent losses."""
        values = np.add.outer(self.values, other.values).ravel()
        return _merged(values, np.outer(self.chances, other.chances).ravel())


def _merged(values: Floats, chances: Floats) -> _Loss:
    """Equal losses together, those next to impossible left out."""
    likely = chances > 1e-20
    levels, place = np.unique(values[likely].round(9), return_inverse=True)
    merged: Floats = np.bincount(place, chances[likely], len(levels)).astype(float)
    return _Loss(levels, merged)


@dataclass(frozen=True)
class _Edge:
    """How a pair of items is released: on the graph with probability p0, with noise."""

    p0: float
    variance: float
    secret: bool

    def loss(self, first: Sequence[int], second: Sequence[int]) -> _Loss:
        """Of the two counts of a pair, which one row makes `first` and another `second`."""
        reach = math.ceil(11 * math.sqrt(self.variance)) + 5
        seen = np.arange(min(0, *first, *second) - reach, max(0, *first, *second) + reach + 1)
        chance = self.p0 * np.outer(self._law(seen, first[0]), self._law(seen, first[1]))
        other = self._squares(seen, second) - self._squares(seen, first)
        values = other / (2 * self.variance)
        nothing = int(np.flatnonzero(seen == 0)[0])
        hidden = 1 - self.p0
        loss_if_hidden = 0.0
        if self.secret:  # 0 and 0 may be of a pair that is on the graph
            of_noise = chance[nothing, nothing]
            of_other = of_noise * math.exp(-values[nothing, nothing])
            loss_if_hidden = math.log((of_noise + hidden) / (of_other + hidden))
            chance[nothing, nothing] = 0.0
            hidden += of_noise
        all_values = np.append(values.ravel(), loss_if_hidden)
        return _merged(all_values, np.append(chance.ravel(), hidden))

    def _law(self, seen: Integers, count: int) -> Floats:
        reach = np.arange(-len(seen), len(seen) + 1)
        whole = np.exp(-(reach**2) / (2 * self.variance)).sum()
        law: Floats = np.exp(-((seen - count) ** 2) / (2 * self.variance)) / whole
        return law

    def _squares(self, seen: Integers, counts: Sequence[int]) -> Integers:
        squares: Integers = np.add.outer((seen - counts[0]) ** 2, (seen - counts[1]) ** 2)
        return squares


def _loss_of_rows(edge: _Edge, first: Sequence[int], second: Sequence[int], others: int) -> _Loss:
    """Loss of all pairs of items between two rows of a person."""
    before = _counts_of(first) + others
    after = _counts_of(second) + others
    total = _Loss(np.zeros(1), np.ones(1))
    for i, j in itertools.combinations(range(len(first)), 2):
        counts = (int(before[i, j]), int(before[j, i]))
        replaced = (int(after[i, j]), int(after[j, i]))
        if counts != replaced:
            total = total.plus(edge.loss(counts, replaced))
    return total
