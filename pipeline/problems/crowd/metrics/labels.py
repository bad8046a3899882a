"""Errors of labels; one value per replication.

A metric is called with (truth, release, estimate) of a block and gives (reps,). From answers alone (p*, y*) and
(1 − p*, 1 − y*) cannot be distinguished: metrics "up to a flip" take the better of the two.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers


class Share:
    """A metric that is a share, or a probability."""

    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0


def _wrong(truth: CrowdTruth, labels: Array) -> Floats:
    """(reps,): share of labels (reps, m) that are wrong."""
    wrong: Floats = (labels != truth.labels).mean(axis=1)
    return wrong


@dataclass(frozen=True)
class LabelError(Share):
    """m⁻¹ Σ_j |ŷ_j − y*_j|, the share of wrong labels. Source: Wang and Xu, Theorem 2, eq. (16)."""

    long_name: ClassVar[str] = "share of wrong labels"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        return _wrong(truth, estimate.labels)


@dataclass(frozen=True)
class LabelErrorFlip(Share):
    """The smaller of the shares of labels and of opposite labels that are wrong."""

    long_name: ClassVar[str] = "share of wrong labels, up to a flip of all"
    most: ClassVar[float] = 0.5

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        wrong = _wrong(truth, estimate.labels)
        return np.minimum(wrong, 1 - wrong)


@dataclass(frozen=True)
class LabelRecovered(Share):
    """1 if no label is wrong, 0 otherwise."""

    long_name: ClassVar[str] = "all labels right"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        recovered: Booleans = (estimate.labels == truth.labels).all(axis=1)
        return recovered.astype(float)


@dataclass(frozen=True)
class LabelFlipped(Share):
    """1 if the opposite labels are nearer to the truth, ½ if as near, 0 otherwise."""

    long_name: ClassVar[str] = "labels come out flipped"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        wrong = (estimate.labels != truth.labels).sum(axis=1)
        flipped: Floats = (1 + np.sign(2 * wrong - truth.labels.shape[1])) / 2
        return flipped


@dataclass(frozen=True)
class SoftLabelError(Share):
    """m⁻¹ Σ_j |y_j − y*_j| of the posterior, which the proof of Theorem 2 bounds. Source: Wang and Xu, eq. (33)."""

    long_name: ClassVar[str] = "mean distance of the posterior from the labels"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        distance: Floats = np.abs(estimate.posterior - truth.labels).mean(axis=1)
        return distance


@dataclass(frozen=True)
class StartError(Share):
    """m⁻¹ Σ_j |y⁽⁰⁾_j − y*_j| of the initial vector that was used. Source: Wang and Xu, eq. (14)."""

    long_name: ClassVar[str] = "mean distance of the initial vector from the labels"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        distance: Floats = np.abs(estimate.start - truth.labels).mean(axis=1)
        return distance
