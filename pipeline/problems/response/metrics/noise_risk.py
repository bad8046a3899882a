"""First-order prediction, in each replication, of the error that the released noise adds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import Checked, parameter

from ..model import ItemParameters
from ..releases import Differences
from ..theory.noise_risk import ESTIMATORS, noise_risk


@dataclass(frozen=True)
class NoiseRisk(Checked):
    """First-order mean of what noise on all pairs adds to ‖β̂ − β*‖₂²/m; 0 for a release without such noise.

    NaN on a sparse graph. Source: `theory.noise_risk`.
    """

    estimator: str = parameter("estimator, whose error is predicted", choices=ESTIMATORS)
    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)

    long_name: ClassVar[str] = "predicted squared error that the noise adds"
    units: ClassVar[str] = "logits²"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The prediction, (reps,). O(reps · (n · m² + m³))."""
        if not isinstance(release, Differences):
            return np.zeros(len(truth.theta))
        if release.edges is not None:
            return np.full(len(truth.theta), np.nan)
        counts = self.p**2 * truth.expected_counts
        return noise_risk(self.estimator, truth.theta, counts, release.variance)
