"""Released answers and abilities in the raw: what claims on crowds compare with; one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.estimators.crowd import CrowdEstimate
from pipeline.metrics.crowd import AbilityErrorInf
from pipeline.models.crowd import CrowdTruth, ReleasedAnswers
from pipeline.theory.crowd import private_ability


class _Share:
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0


@dataclass(frozen=True)
class AnswersWrong(_Share):
    """Share of the released answers that are wrong; where all workers are perfect, the share that was flipped."""

    long_name: ClassVar[str] = "share of released answers that are wrong"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        wrong = release.answers == 1 - 2 * truth.labels[:, None]
        return wrong.sum(axis=(1, 2)) / np.maximum((release.answers != 0).sum(axis=(1, 2)), 1)


@dataclass(frozen=True)
class AnswersWrongExpected(_Share):
    """n⁻¹ Σ_i (1 − p̂_i), the expected share of wrong released answers where all answer. Source: eq. (22)."""

    long_name: ClassVar[str] = "share of released answers that are wrong, by eq. (22)"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        epsilon = np.log((1 - release.flip) / release.flip) if release.flip else np.inf
        return 1 - private_ability(truth.abilities, epsilon).mean(axis=1)


@dataclass(frozen=True)
class AbilityErrorInfPlain(AbilityErrorInf):
    """max_i |p_i − p*_i| of abilities before step 7 of Algorithm 1 debiases them: of what not to do."""

    long_name: ClassVar[str] = "largest error of an ability that is not debiased"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return self._size(0.5 + (1 - 2 * release.flip) * (estimate.abilities - 0.5) - truth.abilities)


@dataclass(frozen=True)
class LabelFlipped(_Share):
    """1 if the opposite labels are nearer to the truth, ½ if as near, 0 otherwise."""

    long_name: ClassVar[str] = "labels come out flipped"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        wrong = (estimate.labels != truth.labels).sum(axis=1)
        return (1 + np.sign(2 * wrong - truth.labels.shape[1])) / 2
