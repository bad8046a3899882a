"""Recorded answers of a crowd: how far private estimates are from those without privacy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.estimators.crowd import CrowdEstimate, DawidSkene
from pipeline.models.crowd import Answers, ReleasedAnswers
from pipeline.models.crowd_files import load
from pipeline.models.recorded_crowd import RecordedCrowdTruth
from pipeline.parameters import DataFile, InvalidInput, parameter

STEPS = 10_000


@dataclass(frozen=True)
class _Unlike:
    """A distance from Dawid and Skene's fit, started at the mean vote, of the same workers' answers as they gave them.

    Where all replications have the same workers it is fitted once a block.
    """

    model: str = parameter("model, whose workers must be recorded")
    projection: float = parameter("λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0,
                                  below=0.5)
    data_path: "DataFile | None" = parameter("answers of a crowd, task,worker,label; null is a stand-in", default=None)
    data_truth: "DataFile | None" = parameter("true labels of the tasks, task,truth", default=None)

    least: ClassVar[float] = 0.0

    def __post_init__(self):
        if self.model != "recorded_crowd":
            raise InvalidInput("model", self.model, "the fit without privacy is of model=recorded_crowd only")

    def __call__(self, truth: RecordedCrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        chosen = truth.chosen[:1] if (truth.chosen == truth.chosen[0]).all() else truth.chosen
        given = Answers(load(self.data_path, self.data_truth).answers[chosen]).opened()
        plain = DawidSkene(*given.answers.shape[1:], projection=self.projection, iterations=STEPS)
        return self._apart(estimate, plain.fit(given, np.random.default_rng()))


@dataclass(frozen=True)
class LabelsUnlikePlain(_Unlike):
    """Share of labels that differ from those of Dawid and Skene's fit without privacy."""

    long_name: ClassVar[str] = "share of labels unlike those fitted without privacy"
    units: ClassVar[str] = "1"
    most: ClassVar[float] = 1.0

    def _apart(self, estimate, plain):
        return (estimate.labels != plain.labels).mean(axis=1)


@dataclass(frozen=True)
class AbilitiesUnlikePlain(_Unlike):
    """Root mean square difference of abilities from those of Dawid and Skene's fit without privacy."""

    long_name: ClassVar[str] = "root mean square difference of abilities from those fitted without privacy"
    units: ClassVar[str] = "probability"

    def _apart(self, estimate, plain):
        return np.sqrt(np.square(estimate.abilities - plain.abilities).mean(axis=1))
