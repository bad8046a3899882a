"""Base of the estimators of clusters of items."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped, BootstrapScores
from pipeline.problems.common.normal_scores import NormalScores, UnknownScores
from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.intervals import Interval
from pipeline.study.parameters import parameter
from pipeline.study.untyped import AnyField

from ..design import proportions
from ..model import numbered, sizes_of
from ..theory.inference import ClusterLaw

EXACT = 2.0**62  # products of whole numbers that 64 bits hold for certain


CHANCES = "chances"
SIZES = "sizes"
ABOUT: AnyField = parameter(
    "what errors and intervals are of: chances of ratings, or sizes of clusters",
    default=CHANCES,
    choices=(CHANCES, SIZES),
)


@dataclass(frozen=True)
class ClusteringEstimate:
    """A clustering of the items, and how sure it is.

    clusters: (reps, N) int, 0 to Lc − 1, in no meaningful order. converged:
    (reps,). law: rates of clusters and how they vary; None where that is not
    known, and errors and intervals are NaN. They are computed when they are
    asked for. about: what they are of. drawn: errors of the bootstrap, where
    that was wanted.
    """

    clusters: Annotated[Integers, "reps", "N"]
    converged: Annotated[Booleans, "reps"]
    law: ClusterLaw | None = None
    about: str = CHANCES
    drawn: BootstrapScores | None = None

    @property
    def quantity(self) -> str:
        """Name of what errors are of: `chances` or `alike`, `ordered_sizes` or `numbered_sizes`."""
        if self.law is None:
            return "chances"
        return self.law.sizes if self.about == SIZES else self.law.quantity

    @property
    def chances(self) -> Floats:
        """(reps, Lc): chances of a positive rating, least first; NaN where not known."""
        return self._estimated("chances", self.law.count if self.law else 1)

    @property
    def alike(self) -> Floats:
        """(reps, 2): chances that two ratings are alike, within clusters and between."""
        return self._estimated("alike", 2)

    @property
    def ordered_sizes(self) -> Floats:
        """(reps, Lc): items in each cluster, that of the lowest rate first."""
        return self._sizes(np.atleast_2d(self.clusters))

    @property
    def numbered_sizes(self) -> Floats:
        """(reps, Lc): items in each cluster, that of the first item first."""
        return self._sizes(numbered(np.atleast_2d(self.clusters)))

    @cached_property
    def corrected(self) -> NormalScores:
        """What errors are of, and how it varies.

        Source: `theory.inference`, or `problems.common.bootstrap`. Sizes have errors by the
        bootstrap alone.
        """
        if self.drawn is not None:
            return self.drawn.like(self.clusters)
        if self.law is None or self.about == SIZES:
            return UnknownScores(np.full(getattr(self, self.quantity).shape, np.nan))
        return self.law.scores.like(self.clusters)

    @property
    def errors(self) -> Floats:
        """(reps, k): standard errors; NaN where clusters are not certain to be right."""
        return self.corrected.errors

    def interval(self, level: float = 0.95) -> Interval:
        """An interval for each number of `quantity`, which covers it with probability `level`.

        Source: `theory.inference`.
        """
        return self.corrected.interval(level)

    def _estimated(self, name: str, count: int) -> Floats:
        if self.law is None or self.law.quantity != name:
            unknown = np.full((len(np.atleast_2d(self.clusters)), count), np.nan)
            return self._like(unknown)
        return self._like(self.law.estimated)

    def _sizes(self, clusters: Integers) -> Floats:
        count = self.law.count if self.law else int(clusters.max(initial=0)) + 1
        return self._like(sizes_of(clusters, count))

    def _like(self, block: Floats) -> Floats:
        """A block, or, of an estimate of one data set, its only row."""
        return block if self.clusters.ndim > 1 else block[0]


@dataclass(frozen=True)
class Clustering(Bootstrapped):
    """Clusterings of items into a known number of clusters; the clusters' shares are not used."""

    N: int = parameter("items", unit="items", low=2)
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")
    about: str = ABOUT
    bootstrap: int = BOOTSTRAP

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
