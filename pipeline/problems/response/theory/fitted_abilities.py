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
    share = measured.share
    precision = measured.precision
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    mean = np.zeros(len(theta))
    log_spread = np.zeros(len(theta))
    for _ in range(STEPS):
        scaled = PRIOR_SPREAD * np.exp(log_spread)[:, None] * nodes
        right = expit(mean[:, None, None] + scaled[:, :, None] - theta[:, None])
        slope = right * (1 - right)
        residual = share - _discordance(right, right, weights)
        by_mean = _discordance_slope(right, slope, weights)
        by_spread = _discordance_slope(right, slope * scaled[:, :, None], weights)
        equations = _NormalEquations(
            by_mean=_half_sum(precision * by_mean**2) + 1,
            mixed=_half_sum(precision * by_mean * by_spread),
            by_spread=_half_sum(precision * by_spread**2) + 4,
            pull_on_mean=_half_sum(precision * by_mean * residual) - mean,
            pull_on_spread=_half_sum(precision * by_spread * residual) - 4 * log_spread,
        )
        step_of_mean, step_of_spread = equations.solved()
        mean = mean + np.clip(step_of_mean, -1, 1)
        log_spread = np.clip(log_spread + np.clip(step_of_spread, -1, 1), -3, 2)
    points = mean[:, None] + PRIOR_SPREAD * np.exp(log_spread)[:, None] * nodes
    return Abilities(points, weights)


class _NormalEquations(NamedTuple):
    """Two linear equations for the steps of μ and log s, (reps,) each."""

    by_mean: Floats
    mixed: Floats
    by_spread: Floats
    pull_on_mean: Floats
    pull_on_spread: Floats

    def solved(self) -> tuple[Floats, Floats]:
        """The steps of μ and of log s."""
        determinant = self.by_mean * self.by_spread - self.mixed**2
        of_mean = self.by_spread * self.pull_on_mean - self.mixed * self.pull_on_spread
        of_spread = self.by_mean * self.pull_on_spread - self.mixed * self.pull_on_mean
        return of_mean / determinant, of_spread / determinant


def _half_sum(values: Floats) -> Floats:
    """Sum over pairs, each of which stands in both triangles."""
    total: Floats = values.sum(axis=(1, 2)) / 2
    return total


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
