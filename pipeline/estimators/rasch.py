"""What estimators of the items' difficulties in the Rasch model have in common."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.models.rasch import PairwiseRelease
from pipeline.parameters import parameter


@dataclass(frozen=True)
class ItemEstimate:
    """theta: (reps, m), difficulties β̂, rows sum to 0; NaN where there is none. converged: (reps,)."""

    theta: np.ndarray
    converged: np.ndarray

    @classmethod
    def of(cls, theta: np.ndarray, converged: np.ndarray | bool = True) -> "ItemEstimate":
        """Centred; what is not finite, or not converged, becomes NaN and not converged."""
        with np.errstate(invalid="ignore"):
            theta = theta - theta.mean(axis=1, keepdims=True)
        converged = np.isfinite(theta).all(axis=1) & converged
        theta[~converged] = np.nan
        return cls(theta, converged)


@dataclass(frozen=True)
class FromCounts:
    """An estimator that needs the released Y alone, made positive: max(Y_ij, floor) + pseudo_count on the edges.

    Noise and debiasing make counts negative, and zero counts may disconnect items. Everything here is public or was
    released. The raw Y is pseudo_count = floor = 0. Source: Nguyen and Zhang (supplement, code): λ = 1, floor 1.
    """

    m: int = parameter("items", unit="items", low=2)
    pseudo_count: float = parameter("λ, added to every released count", unit="persons", default=1.0, low=0)
    floor: float = parameter("least released count, which others are raised to", unit="persons", default=1.0, low=0)

    accepts: ClassVar[type] = PairwiseRelease
    debiased: ClassVar[bool] = False

    def counts(self, release: PairwiseRelease) -> np.ndarray:
        """(reps, m, m) float64: cleaned counts, 0 on the diagonal and off the edges; a new array."""
        counts = np.maximum(release.differences(self.debiased), self.floor, dtype=float)
        counts += self.pseudo_count
        if release.edges is not None:
            counts *= release.edges
        np.einsum("rii->ri", counts)[...] = 0
        return counts
