"""Yardsticks of the Rasch model, one value per replication: they depend on the truth, which is redrawn."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.models.rasch import ItemParameters
from pipeline.parameters import parameter
from pipeline.theory.rasch_information import cramer_rao_risk


@dataclass(frozen=True)
class ItemBound:
    """Cramér–Rao bound on ‖β̂ − β*‖₂²/m of unbiased estimators that see the responses, abilities unknown.

    NaN for recorded responses, whose law is not known. Source: `theory.rasch_information`.
    """

    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)

    long_name: ClassVar[str] = "Cramér–Rao bound on the squared error, without privacy"
    units: ClassVar[str] = "logits²"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> np.ndarray:
        """(reps,); O(reps · n · m²)"""
        return cramer_rao_risk(truth.theta, truth.ability, self.p)


@dataclass(frozen=True)
class ErrorOverBound(ItemBound):
    """‖β̂ − β*‖₂²/m over its Cramér–Rao bound without privacy: 1 is all that the responses allow, 2 twice that."""

    long_name: ClassVar[str] = "squared error over the Cramér–Rao bound without privacy"
    units: ClassVar[str] = "1"

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> np.ndarray:
        """(reps,); O(reps · n · m²)"""
        return np.square(estimate.theta - truth.theta).mean(axis=1) / super().__call__(truth, release, estimate)
