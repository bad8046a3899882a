"""The noise that was released, in each replication: its variance as drawn, and the error that it adds, to first order."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import Checked, parameter

from ..model import ItemParameters
from ..releases import Differences
from ..theory.noise_risk import ESTIMATORS, noise_risk


@dataclass(frozen=True)
class NoiseDrawn(Checked):
    """Mean over released Y_ij of ((Y_ij − E Y_ij)² − Var Y_ij)/σ², given abilities: noise of variance σ² makes it 1.

    E and Var are those of the persons' own counts; σ² is the variance that the release states. NaN for other releases,
    and for one without edges. Source: Nguyen and Zhang, eqs. (1), (2) and (4).
    """

    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)

    long_name: ClassVar[str] = "variance of the noise that was drawn, over that stated"
    units: ClassVar[str] = "1"

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The ratio, (reps,). O(reps · n · m²)."""
        if not isinstance(release, Differences):
            return np.full(len(truth.theta), np.nan)
        right = expit(truth.ability[:, :, None] - truth.theta[:, None])
        expected = self.p**2 * (right.mT @ (1 - right))
        variance = expected - self.p**4 * (np.square(right).mT @ np.square(1 - right))
        spread = np.square(release.counts - expected) - variance
        pairs = np.broadcast_to(self._pairs(release), spread.shape)
        stated = release.variance * pairs.sum(axis=(1, 2))
        drawn = np.where(pairs, spread, 0).sum(axis=(1, 2))
        ratio: Floats = np.divide(drawn, stated, out=np.full(len(drawn), np.nan), where=stated > 0)
        return ratio

    def _pairs(self, release: Differences) -> Booleans:
        """(reps or 1, m, m): pairs of which counts were released."""
        if release.edges is not None:
            return release.edges
        everything: Booleans = ~np.eye(release.counts.shape[1], dtype=bool)[None]
        return everything


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
