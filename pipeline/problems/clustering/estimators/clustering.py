"""Base of the estimators of clusters of items."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.parameters import Checked, parameter

from ..block_law import proportions

EXACT = 2.0**62  # products of whole numbers that 64 bits hold for certain


@dataclass(frozen=True)
class ClusteringEstimate:
    """clusters: (reps, N) int, 0 to Lc − 1, in no meaningful order. converged: (reps,)."""

    clusters: Annotated[Integers, "reps", "N"]
    converged: Annotated[Booleans, "reps"]


@dataclass(frozen=True)
class Clustering(Checked):
    """Clusterings of items into a known number of clusters; the clusters' shares are not used."""

    N: int = parameter("items", unit="items", low=2)
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")

    adjusted: ClassVar[bool] = False

    @cached_property
    def count(self) -> int:
        """Lc, the number of clusters."""
        return len(proportions("beta", self.beta))


def adjusted_scores(ones: Integers, asked: Integers) -> Integers:
    """T·ones − S·asked, T = Σ asked, S = Σ ones: T times `adjust`, but for a constant; (reps, N).

    ones, asked: (reps, N), released ones and all released bits of each item. Whole numbers, so that
    scores which are equal stay equal; Python's where they may exceed 64 bits, which is slower.

    >>> adjusted_scores(np.array([[1, 1, 2, 0]]), np.array([[2, 2, 3, 1]])).tolist()
    [[0, 0, 4, -4]]
    """
    total, released = asked.sum(axis=1, keepdims=True), ones.sum(axis=1, keepdims=True)
    largest = 2 * float(total.max(initial=0)) * float(asked.max(initial=0))
    if largest >= EXACT:
        ones, asked = ones.astype(object), asked.astype(object)
        total, released = total.astype(object), released.astype(object)
    scores: Integers = total * ones - released * asked
    return scores


def adjust(ones: Floats, asked: Floats, entries: int, axis: int | None) -> Floats:
    """ones − r (asked − mean of asked), r = Σ ones/Σ asked: removes the noise of how often each entry was asked about.

    ones, asked: of one shape, released ones and all released bits of each entry. axis: of the sums, None for all axes.
    entries: of which `asked` has its mean, which may be fewer than all.
    """
    total = asked.sum(axis=axis, keepdims=True)
    adjusted: Floats = ones - ones.sum(axis=axis, keepdims=True) / np.maximum(total, 1) * (
        asked - total / entries
    )
    return adjusted
