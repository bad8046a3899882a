"""Recorded answers of a crowd: how far private estimates are from those without privacy; one value per replication."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import Checked, InvalidInput, parameter

from ..estimators.estimate import CrowdEstimate
from ..estimators.without_privacy import fit_without_privacy
from ..recorded import RecordedCrowdTruth
from ..releases import ReleasedAnswers
from .labels import Share


@dataclass(frozen=True)
class _Unlike(Checked, ABC):
    """A distance from Dawid and Skene's fit without privacy, started at the mean vote, to the same workers' answers."""

    model: str = parameter("model, whose workers must be recorded")
    projection: float = parameter(
        "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model != "recorded":
            raise InvalidInput(
                "model", self.model, "the fit without privacy is of model=recorded only"
            )

    def __call__(
        self, truth: RecordedCrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        return self._distance(
            estimate, fit_without_privacy(truth.recorded_answers(), self.projection)
        )

    @abstractmethod
    def _distance(self, estimate: CrowdEstimate, reference: CrowdEstimate) -> Floats:
        """(reps,); the reference has one replication where all have the same workers."""


@dataclass(frozen=True)
class LabelsUnlikePlain(Share, _Unlike):
    """Share of labels that differ from those of Dawid and Skene's fit without privacy."""

    long_name: ClassVar[str] = "share of labels unlike those fitted without privacy"

    def _distance(self, estimate: CrowdEstimate, reference: CrowdEstimate) -> Floats:
        share: Floats = (estimate.labels != reference.labels).mean(axis=1)
        return share


@dataclass(frozen=True)
class AbilitiesUnlikePlain(_Unlike):
    """Root mean square difference of abilities from those of Dawid and Skene's fit without privacy."""

    long_name: ClassVar[str] = (
        "root mean square difference of abilities from those fitted without privacy"
    )
    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0

    def _distance(self, estimate: CrowdEstimate, reference: CrowdEstimate) -> Floats:
        root_mean_square: Floats = np.sqrt(
            np.square(estimate.abilities - reference.abilities).mean(axis=1)
        )
        return root_mean_square
