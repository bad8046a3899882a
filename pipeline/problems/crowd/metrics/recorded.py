"""Recorded answers of a crowd: how far private estimates are from those without privacy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMetric

from ..data.recorded import RecordedCrowdTruth
from ..estimators.estimate import CrowdEstimate
from ..estimators.without_privacy import fit_without_privacy
from ..releases import ReleasedAnswers


@dataclass(frozen=True)
class _OfRecordedAnswers(BaseMetric):
    """Compares with Dawid and Skene's fit without privacy to the same workers' answers.

    That fit starts at the mean vote.
    """

    model: str = parameter("model, whose workers must be recorded")
    projection: float = parameter(
        "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model != "recorded":
            allowed = "the fit without privacy is of model=recorded only"
            raise InvalidInput("model", self.model, allowed)

    def without_privacy(self, truth: RecordedCrowdTruth) -> CrowdEstimate:
        """The fit; it has one replication where all have the same workers."""
        return fit_without_privacy(truth.recorded_answers(), self.projection)


@dataclass(frozen=True)
class LabelsUnlikePlain(_OfRecordedAnswers):
    """Share of labels that differ from those of Dawid and Skene's fit without privacy."""

    long_name: ClassVar[str] = "share of labels unlike those fitted without privacy"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(
        self, truth: RecordedCrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · m) a step of the fit."""
        plain = self.without_privacy(truth)
        unlike: Floats = (estimate.labels != plain.labels).mean(axis=1)
        return unlike


@dataclass(frozen=True)
class AbilitiesUnlikePlain(_OfRecordedAnswers):
    """Root mean square difference of abilities from Dawid and Skene's fit without privacy."""

    long_name: ClassVar[str] = (
        "root mean square difference of abilities from those fitted without privacy"
    )
    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: RecordedCrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · m) a step of the fit."""
        plain = self.without_privacy(truth)
        squares = np.square(estimate.abilities - plain.abilities)
        root_mean_square: Floats = np.sqrt(squares.mean(axis=1))
        return root_mean_square
