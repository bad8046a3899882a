"""Base of the estimators of clusters of items."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.parameters import Checked, parameter

from ..block_law import proportions


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


def adjust(ones: Floats, asked: Floats, entries: int, axis: int | None) -> Floats:
    """ones − r (asked − mean of asked), r = Σ ones/Σ asked: removes the noise of how often each entry was asked about.

    ones, asked: of one shape, released ones and all released bits of each entry. axis: of the sums, None for all axes.
    entries: of which `asked` has its mean, which may be fewer than all.
    """
    total = asked.sum(axis=axis, keepdims=True)
    adjusted: Floats = ones - ones.sum(axis=axis, keepdims=True) / np.maximum(total, 1) * (asked - total / entries)
    return adjusted
