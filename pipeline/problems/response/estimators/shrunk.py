"""Difficulties from noisy counts where noise is most of them: scores, drawn towards 0."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseEstimator

from ..questions import QUESTIONS, check_pairs
from ..releases import Differences
from ..theory.private_floor import mean_slope, score_variance
from .pair_count_estimator import ItemEstimate


@dataclass(frozen=True)
class ShrunkScores(BaseEstimator):
    """The best linear estimate of β from scores Σ_j (Y_ji − Y_ij)/(nm), noise included.

    The score of an item is the share of wrong answers to it, less the mean over
    items. Nothing is clipped, so noise stays unbiased, and what is known of its
    variance, of the spread of difficulties and of the law of abilities says how far to trust
    a score: at a budget next to nothing the estimate is next to 0. Everybody must
    answer everything.
    Source: linear regression; Lindley and Smith (1972).
    """

    m: int = parameter("items", unit="items", low=2)
    item_spread: float = parameter(
        "standard deviation of the difficulties that is assumed",
        unit="logits",
        default=1.0,
        above=0,
        high=50,
    )
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
    questions: int | None = QUESTIONS

    accepts: ClassVar[type] = Differences
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pairs(self.questions, self.m, "an estimate from counts of pairs")

    def fit(self, release: Differences, rng: np.random.Generator) -> ItemEstimate:
        """Estimate of a block, of all pairs of items; NaN on a sparse graph. O(reps · m²)."""
        counts = release.differences()
        if release.edges is not None:
            return ItemEstimate.of(np.full((len(counts), self.m), np.nan), False)
        law = (self.item_spread, self.assumed_law, self.assumed_spread)
        slope = mean_slope(*law)
        residual = score_variance(self.m, release.persons, release.variance, *law)
        trust = slope * self.item_spread**2 / ((slope * self.item_spread) ** 2 + residual)
        scores = (counts.sum(axis=1) - counts.sum(axis=2)) / (release.persons * self.m)
        return ItemEstimate.of(trust[:, None] * scores, release.identifies())

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 5 * self.m**2
