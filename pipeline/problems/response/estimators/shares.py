"""Difficulties from the share of right answers to each item, which needs one answer of a person."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import parameter

from ..releases import ItemRelease
from ..theory.abilities import ability_points
from ..theory.share_inference import ShareDifficulties, share_law_of
from .pair_count_estimator import ItemEstimate

TOLERANCE = 1e-10  # logits, longest step at convergence
ITERATIONS = 100


@dataclass(frozen=True)
class ItemShares(Bootstrapped):
    """β̂_i with E σ(θ − β̂_i) = share of right answers to item i, over a law of abilities.

    Persons must answer items that have nothing to do with their
    abilities, as in a survey, and the law of abilities is assumed: a
    wrong one changes the scale of estimates, not their order. Answers
    of one person are not compared, so that one answer each is enough,
    and answers need not be known to be the same person's. A share is of
    debiased counts, and at least `floor` answers from 0 and from all,
    at most half of the answers. Not converged, NaN, where nobody
    answered some item.
    Source: marginal maximum likelihood of one item (Bock and Lieberman,
    1970).
    """

    m: int = parameter("items", unit="items", low=2)
    assumed_law: str = parameter(
        "law of abilities that is assumed", default="normal", choices=("normal", "uniform")
    )
    assumed_spread: float = parameter(
        "standard deviation or half-width of abilities that is assumed",
        unit="logits",
        default=1.0,
        low=0,
        high=50,
    )
    floor: float = parameter(
        "least number of right and of wrong answers to an item",
        unit="persons",
        default=1.0,
        above=0,
    )
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = ItemRelease
    by_replication: ClassVar[bool] = True

    def fit(self, release: ItemRelease, rng: np.random.Generator) -> ItemEstimate:
        """Estimate of a block. O(reps · m · points) a step, of which there are about six."""
        counts = release.item_counts(debiased=True)
        answered = counts.answered
        is_answered: Booleans = np.all(answered > 0, axis=1)
        total = np.maximum(answered, 1)
        least = np.minimum(self.floor / total, 0.5)
        share = np.clip(counts.right / total, least, 1 - least)
        points, weights = ability_points(self.assumed_law, self.assumed_spread)
        theta, converged = difficulties_of(share, points, weights)
        estimate = ItemEstimate.of(theta, is_answered & converged)
        law = share_law_of(release)
        if law is not None:
            is_inside = np.all((share > least) & (share < 1 - least), axis=1)
            shift = theta.mean(axis=1)
            scores = ShareDifficulties(estimate.theta, law, shift, is_inside, points, weights)
            estimate = replace(estimate, drawn=scores)
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        points, _ = ability_points(self.assumed_law, self.assumed_spread)
        return 100 * self.m * len(points)

    def memory(self) -> float:
        """Bytes of one replication: chances at all abilities."""
        points, _ = ability_points(self.assumed_law, self.assumed_spread)
        return 32 * self.m * len(points)


def difficulties_of(share: Floats, points: Floats, weights: Floats) -> tuple[Floats, Booleans]:
    """β with Σ_g w_g σ(θ_g − β) = share, (reps, m), and whether all were found, (reps,).

    share: (reps, m), between 0 and 1. points θ, weights w:
    (points,). Newton's steps for the log odds of the share, which
    fall almost linearly in β.
    """
    target = logit(share)
    theta = -target
    longest = np.full(len(share), np.inf)
    for _ in range(ITERATIONS):
        right = expit(points - theta[:, :, None])
        mean = right @ weights
        slope = (right * (1 - right)) @ weights
        odds = mean * (1 - mean)
        step = (logit(mean) - target) * odds / slope
        theta = theta + np.clip(step, -4, 4)
        longest = np.abs(step).max(axis=1)
        if (longest <= TOLERANCE).all():
            break
    return theta, longest <= TOLERANCE
