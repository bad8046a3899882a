"""Base of the estimators of clusters of items."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseEstimator

from ..design import proportions

EXACT = 2.0**62  # products of whole numbers that 64 bits hold for certain


@dataclass(frozen=True)
class ClusteringEstimate:
    """A clustering of the items.

    clusters: (reps, N) int, 0 to Lc − 1, in no meaningful order. converged:
    (reps,).
    """

    clusters: Annotated[Integers, "reps", "N"]
    converged: Annotated[Booleans, "reps"]


@dataclass(frozen=True)
class Clustering(BaseEstimator):
    """Clusterings of items into a known number of clusters; the clusters' shares are not used."""

    N: int = parameter("items", unit="items", low=2)
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")

    adjusted: ClassVar[bool] = False

    @cached_property
    def count(self) -> int:
        """Lc, the number of clusters."""
        return len(proportions("beta", self.beta))


def adjusted_scores(one_bits: Integers, bits: Integers) -> Integers:
    """T·o − S·b, T = Σ b, S = Σ o: T times `adjust`, but for a constant; (reps, N).

    one_bits o, bits b: (reps, N), released ones and all released bits of
    each item. Whole numbers, so that scores which are equal stay equal;
    Python's where they may exceed 64 bits, which is slower.

    >>> adjusted_scores(np.array([[1, 1, 2, 0]]), np.array([[2, 2, 3, 1]])).tolist()
    [[0, 0, 4, -4]]
    """
    total = bits.sum(axis=1, keepdims=True)
    total_ones = one_bits.sum(axis=1, keepdims=True)
    largest = 2 * float(total.max(initial=0)) * float(bits.max(initial=0))
    if largest >= EXACT:
        one_bits = one_bits.astype(object)
        bits = bits.astype(object)
        total = total.astype(object)
        total_ones = total_ones.astype(object)
    scores: Integers = total * one_bits - total_ones * bits
    return scores


def adjust(one_bits: Floats, bits: Floats, entries: int, axis: int | None) -> Floats:
    """o − r (b − mean of b), r = Σ o/Σ b: without the noise of the number of bits.

    one_bits o, bits b: of one shape, released ones and all released bits of
    each entry. axis: of the sums, None for all axes. entries: of which
    `bits` has its mean, which may be fewer than all.
    """
    total = bits.sum(axis=axis, keepdims=True)
    rate = one_bits.sum(axis=axis, keepdims=True) / np.maximum(total, 1)
    adjusted: Floats = one_bits - rate * (bits - total / entries)
    return adjusted
