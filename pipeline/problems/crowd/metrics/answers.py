"""Shares of released answers that are wrong, as drawn and as expected; one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from ..theory.wisdom import private_ability
from .labels import Share


@dataclass(frozen=True)
class AnswersWrong(Share):
    """Share of the released answers that are wrong; where all workers are perfect, the share that was flipped."""

    long_name: ClassVar[str] = "share of released answers that are wrong"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> Floats:
        wrong = release.answers == 1 - 2 * truth.labels[:, None]
        share: Floats = wrong.sum(axis=(1, 2)) / np.maximum((release.answers != 0).sum(axis=(1, 2)), 1)
        return share


@dataclass(frozen=True)
class AnswersWrongExpected(Share):
    """n⁻¹ Σ_i (1 − p̂_i), the expected share of wrong released answers where all answer. Source: eq. (22)."""

    long_name: ClassVar[str] = "share of released answers that are wrong, by eq. (22)"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> Floats:
        epsilon = np.log((1 - release.flip) / release.flip) if release.flip else np.inf
        expected: Floats = 1 - private_ability(truth.abilities, epsilon).mean(axis=1)
        return expected
