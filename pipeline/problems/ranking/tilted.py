"""Comparisons drawn from a tilted law, so that rare errors of a ranking are seen often and can be weighed.

In Theorems 4 to 6 of Xu, Sun and Cheng errors of the ranking fall as exp(−C mLΔ²/G): at 10⁻⁹ plain replications show
none. Estimates order items as their scores do, so a ranking errs where two neighbours in θ* change ranks. Here one
pair of neighbours is chosen at random, and all users compare as if these two had equal scores on average; the
mechanism is as it is. A release x then has the weight P(x | σ)/mean_c P(x | q_c) over the m − 1 laws q_c that were
mixed, and the mean of weight · error is the error's mean, exactly (`metrics.rare`). Source: importance sampling by
exponential tilting, Siegmund, Annals of Statistics 4 (1976); mixtures: Owen and Zhou, Journal of the American
Statistical Association 95 (2000).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.parameters import parameter

from .model import BTL, Comparisons, Preferences
from .theory.rates import win_probability

HALVINGS = 16  # of the interval of a tilt; any tilt is right, a better one has less variance
KEPT = 1e-3  # share of a chance that stays at least, so that nothing that can happen becomes impossible


@dataclass(frozen=True)
class TiltedPreferences(Preferences):
    """Truth of the tilted model. order: (reps, m), items from the best on. chosen: (reps,), rank of the pair's better.

    proposals: (reps or 1, m − 1, pairs), P(a beats b) of ranks a < b where the neighbours c and c + 1 are tilted.
    """

    order: Annotated[Integers, "reps", "m"]
    chosen: Annotated[Integers, "reps"]
    proposals: Floats


@dataclass(frozen=True)
class TiltedBTL(BTL):
    """`btl` with comparisons from a law in which two neighbours in θ*, chosen at random, change ranks half the time.

    In half log-odds of released comparisons, h = artanh(2p̃ − 1), the tilt is h' = h − tilt·s·k, where k is how often
    a comparison counts in the difference of the two scores (1, −1, or 2 between the two themselves), and s makes the
    mean difference 0. That is best where users share one budget ε, and right in any case.
    """

    tilt: float = parameter("how far the law is tilted: 0 not at all, 1 until the two neighbours are equal",
                            default=1.0, low=0, high=2)
    epsilon: float | None = parameter("privacy budget of one comparison, which the tilt reckons with; null is no "
                                      "privacy", unit="nats", default=None, above=0)

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> TiltedPreferences:
        """θ* (reps, m) of a block, and what is drawn in its place. O(m³) for each θ* up to the order of items."""
        theta = super().truth(rng, reps, population).theta
        order = np.argsort(-theta, axis=1, kind="stable")
        ranked = np.take_along_axis(theta, order, axis=1)
        if (ranked == ranked[:1]).all():
            ranked = ranked[:1]
        return TiltedPreferences(theta, order, rng.integers(self.m - 1, size=reps), self.tilted(ranked))

    def tilted(self, ranked: Floats) -> Floats:
        """(reps, m − 1, pairs): P(a beats b), ranks a < b, for each pair of neighbours; ranked: (reps, m), falling."""
        plain, kept = win_probability(ranked), float(attenuation(np.inf if self.epsilon is None else self.epsilon))
        with np.errstate(divide="ignore"):
            half_odds = np.arctanh(kept * (2 * plain - 1))[:, None]
        counts = score_counts(self.m)
        lean = np.tanh(half_odds - self.tilt * _tilts(half_odds, counts)[..., None] * counts) / kept
        share = plain[:, None]
        proposals: Floats = np.clip((1 + lean) / 2, KEPT * share, 1 - KEPT * (1 - share))
        return proposals

    def simulate(self, truth: Preferences, rng: np.random.Generator) -> Comparisons:
        """Comparisons of L users; cost O(reps · m²), whatever L."""
        if not isinstance(truth, TiltedPreferences):
            return super().simulate(truth, rng)
        reps, m = truth.theta.shape
        drawn = np.broadcast_to(truth.proposals, (reps, *truth.proposals.shape[1:]))[np.arange(reps), truth.chosen]
        ranked = np.full((reps, m, m), 0.5)
        first, second = np.triu_indices(m, 1)
        ranked[:, first, second], ranked[:, second, first] = drawn, 1 - drawn
        rank = np.argsort(truth.order, axis=1)
        return Comparisons(ranked[np.arange(reps)[:, None], rank[:, first], rank[:, second]], self.L, m, rng)


def score_counts(m: int) -> Integers:
    """(m − 1, pairs): how often P(a beats b), ranks a < b, counts in the difference of the scores of c and c + 1."""
    first, second = np.triu_indices(m, 1)
    better = np.arange(m - 1)[:, None]

    def counted(item: Array) -> Integers:
        signs: Integers = (first == item).astype(int) - (second == item)
        return signs

    return counted(better) - counted(better + 1)


def _tilts(half_odds: Floats, counts: Integers) -> Floats:
    """(reps, m − 1): s ≥ 0 with Σ k tanh(h − s k) = 0 over pairs; half_odds: (reps, 1, pairs); by bisection."""
    low = np.zeros((len(half_odds), len(counts)))
    high = low + np.where(np.isfinite(half_odds), half_odds, 0.0).max(axis=2)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        ahead = (counts * np.tanh(half_odds - middle[..., None] * counts)).sum(axis=2) > 0
        low, high = np.where(ahead, middle, low), np.where(ahead, high, middle)
    return low
