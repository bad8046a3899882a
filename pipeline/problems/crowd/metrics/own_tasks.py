"""What privacy does to the label of each task of a person's own data: metrics of one task, by its name, or of all."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import Checked, DataFile, parameter

from ..estimators.estimate import CrowdEstimate
from ..files import UNKNOWN
from ..own_file import ALL, plain_fit, task_index
from ..recorded import RecordedCrowdTruth
from ..releases import ReleasedAnswers
from .labels import Share


@dataclass(frozen=True)
class _OfTask(Share, Checked):
    task: str = parameter("tasks, the least certain without privacy first", default=ALL)
    data_path: "DataFile | None" = parameter("answers of a crowd; null is a stand-in", default=None)
    data_truth: "DataFile | None" = parameter("true labels of the tasks", default=None)
    projection: float = parameter(
        "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
    )

    units: ClassVar[str] = "probability"

    def _mean(self, values: Array) -> Floats:
        """(reps,): of the task, or of all on average. values: (reps, m)."""
        mean: Floats = (
            values.mean(axis=1)
            if self.task == ALL
            else values[:, task_index(self.task, self.data_path, self.data_truth)].astype(float)
        )
        return mean


@dataclass(frozen=True)
class LabelKept(_OfTask):
    """1 where the task has the label of Dawid and Skene's fit without privacy, else 0; the mean says how often."""

    long_name: ClassVar[str] = "task keeps its label"

    def __call__(
        self, truth: RecordedCrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m)."""
        return self._mean(
            estimate.labels == plain_fit(self.data_path, self.data_truth, self.projection).labels
        )


@dataclass(frozen=True)
class LabelRight(_OfTask):
    """1 where the task has its true label, else 0; NaN where true labels are not known."""

    long_name: ClassVar[str] = "task has its true label"

    def __call__(
        self, truth: RecordedCrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m)."""
        return self._mean(
            np.where(truth.labels == UNKNOWN, np.nan, estimate.labels == truth.labels)
        )


@dataclass(frozen=True)
class PosteriorMoved(_OfTask):
    """Distance of the posterior probability of label 1 from that without privacy."""

    long_name: ClassVar[str] = "distance of the posterior from that without privacy"

    def __call__(
        self, truth: RecordedCrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m)."""
        plain = plain_fit(self.data_path, self.data_truth, self.projection)
        return self._mean(np.abs(estimate.posterior - plain.posterior))
