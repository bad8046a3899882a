"""A normal law of abilities that fits counts of pairs."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pipeline.kernels.loader import function
from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.frozen import read_only

_fit = function(
    __file__,
    "fit",
    """
    reps: size
    m: size; m >= 1
    points: size; points >= 1
    steps: size
    spread: f8
    theta: f8[reps, m]
    share: f8[reps, m, m]
    precision: f8[reps, m, m]
    nodes: f8[points]
    weights: f8[points]
    law: out f8[reps, 2]
""",
)
_shared = function(
    __file__,
    "shared",
    """
    reps: size
    m: size; m >= 1
    points: size; points >= 1
    graphs: size; graphs >= 1
    theta: f8[reps, m]
    weight: f8[reps, m, m]
    present: f8[graphs, m, m]
    abilities: f8[reps, points]
    weights: f8[points]
    covariance: out f8[reps, m, m]
""",
)
NODES = 15  # of the normal law of abilities
STEPS = 6  # of Gauss and Newton's method for its mean and spread
PRIOR_SPREAD = 1.0  # logits: where counts say little, abilities are taken as N(0, 1)


def without_diagonal(square: Array) -> Floats:
    """The same, (reps, m, m), with a diagonal of 0; a new array."""
    square = np.array(square, float)
    np.einsum("rii->ri", square)[...] = 0
    return square


class Abilities(NamedTuple):
    """Abilities as points, (reps, nodes), with common weights, (nodes,)."""

    points: Floats
    weights: Floats


def assumed_abilities(reps: int) -> Abilities:
    """N(0, 1), of releases that do not say how many persons they are of."""
    nodes, weights = _normal_nodes()
    return Abilities(np.tile(PRIOR_SPREAD * nodes, (reps, 1)), weights)


def pairs_answered(
    theta: Floats, counts: Array, abilities: Abilities, edges: Booleans | None
) -> Floats:
    """Persons who answered a pair, (reps,), so that as many have one of both right as have."""
    right = expit(abilities.points[:, :, None] - theta[:, None])
    share = without_diagonal(_discordance(right, right, abilities.weights))
    if edges is not None:
        share = share * edges
    total: Floats = 2 * counts.sum(axis=(1, 2)) / share.sum(axis=(1, 2))
    return np.maximum(total, 0)


@dataclass(frozen=True)
class PairShares:
    """Counts of pairs: counts, debiased Y, (reps, m, m), 0 off the edges; answered: persons a pair.

    variance: (reps,), of the noise of one count. edges: pairs that are known, None is all.
    """

    counts: Array
    answered: float
    variance: Floats
    edges: Booleans | None

    @property
    def share(self) -> Floats:
        """Share of persons with one of two items right, (reps, m, m)."""
        shares: Floats = (self.counts + self.counts.mT) / self.answered
        return shares

    @property
    def precision(self) -> Floats:
        """Of the shares, (reps, m, m); 0 where pairs are not known."""
        m = self.counts.shape[1]
        present = without_diagonal(np.ones((1, m, m)) if self.edges is None else self.edges)
        variance = 0.25 / self.answered + 2 * self.variance / self.answered**2
        # Pairs that share items are not independent: as many count as there are items.
        precision: Floats = present / variance[:, None, None] * 2 / m
        return precision


def fitted_abilities(theta: Floats, measured: PairShares) -> Abilities:
    """N(μ, s²) whose share of persons with one of two items right is that of the counts.

    theta: β̂, (reps, m). Least squares over pairs, each as exact as its noise and a binomial count,
    with a prior of one standard deviation of 1 logit for μ and of a half for log s: where counts
    say little, N(0, 1).
    """
    reps, m = theta.shape
    nodes, weights = _normal_nodes()
    law = np.empty((reps, 2))
    _fit(
        reps,
        m,
        NODES,
        STEPS,
        PRIOR_SPREAD,
        np.ascontiguousarray(theta),
        np.ascontiguousarray(measured.share),
        np.ascontiguousarray(measured.precision),
        nodes,
        weights,
        law,
    )
    points = law[:, :1] + PRIOR_SPREAD * np.exp(law[:, 1:]) * nodes
    return Abilities(points, weights)


def shared_covariance(
    theta: Floats, weight: Floats, abilities: Abilities, edges: Booleans | None
) -> Floats:
    """Covariance of one person's ψ from two pairs that share an item, (reps, m, m).

    theta: β, (reps, m). weight: a, (reps, m, m). edges: pairs that are known, (reps or 1, m, m);
    None is all. Source: `theory.inference`, L diag(v) Lᵀ + Laplacian(D² v vᵀ) less the parts of
    single pairs. O(reps · nodes · m³).
    """
    reps, m = theta.shape
    present = without_diagonal(np.ones((1, m, m)) if edges is None else edges)
    covariance = np.empty((reps, m, m))
    _shared(
        reps,
        m,
        len(abilities.weights),
        len(present),
        np.ascontiguousarray(theta),
        np.ascontiguousarray(weight),
        np.ascontiguousarray(present),
        np.ascontiguousarray(abilities.points),
        np.ascontiguousarray(abilities.weights),
        covariance,
    )
    return covariance


@cache
@read_only
def _normal_nodes() -> tuple[Floats, Floats]:
    """Points and weights of N(0, 1), (nodes,) each."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def _discordance(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Σ w (p_i q_j + q_i p_j), (reps, m, m), of chances (reps, nodes, m)."""
    mean = np.vecmat(weights, first)
    both = (first * weights[:, None]).mT @ second
    one_right: Floats = mean[:, :, None] + mean[:, None] - 2 * both
    return one_right
