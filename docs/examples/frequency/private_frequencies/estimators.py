"""Estimates of frequencies from supports: unbiased, and made frequencies, which is post-processing."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import Checked, parameter

from .releases import Supports


@dataclass(frozen=True)
class FrequencyEstimate:
    """What estimators give. frequencies: (reps, k). converged: (reps,), always true."""

    frequencies: Annotated[Floats, "reps", "k"]
    converged: Annotated[Booleans, "reps"]

    @classmethod
    def of(cls, frequencies: Floats) -> "FrequencyEstimate":
        """From frequencies (reps, k)."""
        return cls(frequencies, np.full(len(frequencies), True))


@dataclass(frozen=True)
class Unbiased(Checked):
    """f̂_v = (C_v/n − q)/(p − q), C_v supports of n reports.

    May be negative, and need not sum to 1.

    Source: Wang et al., eq. (1) and Theorem 1.
    """

    k: int = parameter("values", unit="values", low=2)
    accepts: ClassVar[type] = Supports

    def fit(self, release: Supports, rng: np.random.Generator) -> FrequencyEstimate:
        """Estimates of a block. O(reps · k)."""
        return FrequencyEstimate.of(unbiased(release))

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 5.0 * self.k


@dataclass(frozen=True)
class Normalised(Unbiased):
    """Unbiased estimates, negative ones set to 0, divided by their sum.

    Uniform where none is positive.
    """

    def fit(self, release: Supports, rng: np.random.Generator) -> FrequencyEstimate:
        """Estimates of a block. O(reps · k)."""
        positive = np.maximum(unbiased(release), 0)
        positive[~positive.any(axis=1)] = 1
        return FrequencyEstimate.of(positive / positive.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Projected(Unbiased):
    """The frequencies nearest to the unbiased estimates in ‖·‖₂: their projection to the simplex.

    Source: Wang et al. (2020), Locally Differentially Private Frequency Estimation with Consistency
    (Norm-Sub).
    """

    def fit(self, release: Supports, rng: np.random.Generator) -> FrequencyEstimate:
        """Estimates of a block. O(reps · k log k)."""
        return FrequencyEstimate.of(on_simplex(unbiased(release)))

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 60.0 * self.k


def unbiased(release: Supports) -> Floats:
    """(reps, k): the unbiased estimates."""
    estimates: Floats = (
        release.supports / release.people - release.support.other
    ) / release.support.lean
    return estimates


def on_simplex(points: Floats) -> Floats:
    """(reps, k): the nearest points with entries ≥ 0 that sum to 1, max(y − τ, 0) with one τ for
    each row.

    With entries sorted downwards, the r largest stay where r is the largest with y_r > (y_1 + … +
    y_r − 1)/r = τ. Source: Duchi, Shalev-Shwartz, Singer and Chandra (2008), Figure 1.

    >>> on_simplex(np.array([[0.5, 0.7, -0.2], [3.0, 0.0, 0.0]])).tolist()
    [[0.4, 0.6, 0.0], [1.0, 0.0, 0.0]]
    """
    points = points - points.max(axis=1, keepdims=True)  # the same, with more digits
    ordered = -np.sort(-points, axis=1)
    shifts = (ordered.cumsum(axis=1) - 1) / np.arange(1, points.shape[1] + 1)
    kept = (ordered > shifts).sum(axis=1)
    tau = np.take_along_axis(shifts, kept[:, None] - 1, axis=1)
    nearest: Floats = np.maximum(points - tau, 0)
    return nearest
