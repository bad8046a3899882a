"""Risk and ranking metrics of the private Bradley–Terry–Luce model, one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import ReleasedWins
from ..theory import ordering as theory


@dataclass(frozen=True)
class ExcessRisk:
    """Excess risk e_L(θ̂, θ*), the mean divergence of estimated from true comparisons. Source: eq. (4)."""

    long_name: ClassVar[str] = "excess risk e_L(θ̂, θ*)"
    units: ClassVar[str] = "nats"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m²)."""
        return theory.excess_risk(estimate.theta, truth.theta)


@dataclass(frozen=True)
class KendallPredicted:
    """Prediction of the debiased estimator's mean Kendall distance from Gaussian scores.

    NaN where users compared only some pairs: the formula is for the complete graph.
    """

    long_name: ClassVar[str] = "predicted Kendall distance, Gaussian scores"
    units: ClassVar[str] = "share of pairs"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m²)."""
        if release.compared is not None:
            return np.full(len(truth.theta), np.nan)
        return theory.kendall_prediction(
            truth.theta, release.equivalent_epsilon, release.users, estimate.weights
        )


class _WinsApart:
    """Mean released share of wins of an item over the one `apart` ranks below it."""

    units: ClassVar[str] = "share of wins"
    apart: ClassVar[int]

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,); NaN where there are no such items."""
        m = truth.theta.shape[1]
        if m <= self.apart:
            return np.full(len(truth.theta), np.nan)
        order = np.argsort(-truth.theta, axis=1)
        better, worse = order[:, : -self.apart], order[:, self.apart :]
        first, second = np.minimum(better, worse), np.maximum(better, worse)
        pair = (
            first * (2 * m - first - 1) // 2 + second - first - 1
        )  # position in the order of triu_indices(m, 1)
        share = np.take_along_axis(release.raw_mean(), pair, axis=1)
        mean: Floats = np.where(better < worse, share, 1 - share).mean(axis=1)
        return mean


@dataclass(frozen=True)
class LeanNext(_WinsApart):
    """Mean released share of wins of an item over the one next below it.

    With θ* evenly spaced all such pairs have one law. Source: Xu, Sun and Cheng, Example 1.
    """

    long_name: ClassVar[str] = "released wins over the next item"
    apart: ClassVar[int] = 1


@dataclass(frozen=True)
class LeanTwoApart(_WinsApart):
    """Mean released share of wins of an item over the one two ranks below it.

    With θ* evenly spaced all such pairs have one law. Source: Xu, Sun and Cheng, Example 1.
    """

    long_name: ClassVar[str] = "released wins over the item two ranks below"
    apart: ClassVar[int] = 2
