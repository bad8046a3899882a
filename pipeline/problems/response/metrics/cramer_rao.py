"""The Cramér–Rao bound of each replication's truth, and squared errors in units of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import Checked, parameter

from ..model import ItemParameters


@dataclass(frozen=True)
class ItemBound(Checked):
    """Cramér–Rao bound on ‖β̂ − β*‖₂²/m of unbiased estimators that see the responses, abilities unknown; logits².

    NaN for recorded responses, whose law is not known. Source: `theory.cramer_rao`.
    """

    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)

    long_name: ClassVar[str] = "Cramér–Rao bound on the squared error, without privacy"
    units: ClassVar[str] = "logits²"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The bound, (reps,). O(reps · n · m²)."""
        return truth.bound / self.p


@dataclass(frozen=True)
class ErrorOverBound(ItemBound):
    """‖β̂ − β*‖₂²/m over its Cramér–Rao bound without privacy: 1 is the best that unbiased estimators can do."""

    long_name: ClassVar[str] = "squared error over the Cramér–Rao bound without privacy"
    units: ClassVar[str] = "1"

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The ratio, (reps,). O(reps · n · m²)."""
        error: Floats = np.square(estimate.theta - truth.theta).mean(axis=1)
        return error / super().__call__(truth, release, estimate)
