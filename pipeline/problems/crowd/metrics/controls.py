"""Control variate of crowds: a metric whose mean is 0 exactly, in every cell; see `analysis.control_variates`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.problems.common.controls import Control
from pipeline.study.arrays import Floats

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from .yardsticks import MajorityErrorExact


@dataclass(frozen=True)
class VoteControl(Control):
    """Share of labels that a majority vote on the same release gets wrong, less its exact mean given the abilities."""

    long_name: ClassVar[str] = "share of labels that a vote gets wrong, less its mean"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · (n + m)), as `majority_error_exact`."""
        votes = release.answers.sum(axis=1, dtype=np.int64)
        wrong = ((votes >= 0) != truth.labels).mean(axis=1)
        control: Floats = wrong - MajorityErrorExact()(truth, release, estimate)
        return control
