"""A normal law of abilities that fits counts of pairs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Array, Booleans, Floats

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
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return Abilities(np.tile(PRIOR_SPREAD * nodes, (reps, 1)), weights / weights.sum())


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


def fitted_abilities(theta: Floats, measured: PairShares) -> Abilities:
    """N(μ, s²) whose share of persons with one of two items right is that of the counts.

    theta: β̂, (reps, m). Least squares over pairs, each as exact as its noise and a binomial count,
    with a prior of one standard deviation of 1 logit for μ and of a half for log s: where counts say
    little, N(0, 1).
    """
    counts = measured.counts
    pairs = measured.answered
    share = (counts + counts.mT) / pairs
    m = theta.shape[1]
    present = without_diagonal(np.ones((1, m, m)) if measured.edges is None else measured.edges)
    # Pairs that share items are not independent: as many count as there are items.
    precision = present / (0.25 / pairs + 2 * measured.variance / pairs**2)[:, None, None] * 2 / m
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    mean = np.zeros(len(theta))
    spread = np.zeros(len(theta))  # log s
    for _ in range(STEPS):
        scaled = PRIOR_SPREAD * np.exp(spread)[:, None] * nodes
        right = expit(mean[:, None, None] + scaled[:, :, None] - theta[:, None])
        slope = right * (1 - right)
        along = slope * scaled[:, :, None]
        rest = share - _discordance(right, right, weights)
        by_mean = _discordance_slope(right, slope, weights)
        by_spread = _discordance_slope(right, along, weights)
        first = (precision * by_mean**2).sum(axis=(1, 2)) / 2 + 1
        cross = (precision * by_mean * by_spread).sum(axis=(1, 2)) / 2
        second = (precision * by_spread**2).sum(axis=(1, 2)) / 2 + 4
        pull_mean = (precision * by_mean * rest).sum(axis=(1, 2)) / 2 - mean
        pull_spread = (precision * by_spread * rest).sum(axis=(1, 2)) / 2 - 4 * spread
        determinant = first * second - cross**2
        step_mean = (second * pull_mean - cross * pull_spread) / determinant
        step_spread = (first * pull_spread - cross * pull_mean) / determinant
        mean = mean + np.clip(step_mean, -1, 1)
        spread = np.clip(spread + np.clip(step_spread, -1, 1), -3, 2)
    points = mean[:, None] + PRIOR_SPREAD * np.exp(spread)[:, None] * nodes
    return Abilities(points, weights)


def _discordance(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Σ w (p_i q_j + q_i p_j), (reps, m, m), of chances (reps, nodes, m)."""
    mean = np.vecmat(weights, first)
    both = (first * weights[:, None]).mT @ second
    one_right: Floats = mean[:, :, None] + mean[:, None] - 2 * both
    return one_right


def _discordance_slope(right: Floats, slope: Floats, weights: Floats) -> Floats:
    """Its derivative where chances p have the derivative `slope`."""
    mean = np.vecmat(weights, slope)
    both = (slope * weights[:, None]).mT @ right
    change: Floats = mean[:, :, None] + mean[:, None] - 2 * (both + both.mT)
    return change
