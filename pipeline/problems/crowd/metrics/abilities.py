"""Errors of abilities; one value per replication. "Up to a flip": the better of p̂ and 1 − p̂, as in `labels`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers


class _AbilityError(ABC):
    """A metric on abilities; debiased estimates may leave [0, 1], so it has no upper end."""

    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        return self._size(estimate.abilities - truth.abilities)

    @abstractmethod
    def _size(self, error: Floats) -> Floats:
        """(reps,): one number for the errors (reps, n) of all workers."""


@dataclass(frozen=True)
class AbilityErrorInf(_AbilityError):
    """max_i |p̂_i − p*_i|. Source: Wang and Xu, Theorem 3, eq. (17)."""

    long_name: ClassVar[str] = "largest error of an ability"

    def _size(self, error: Floats) -> Floats:
        largest: Floats = np.abs(error).max(axis=1)
        return largest


@dataclass(frozen=True)
class AbilityErrorL2(_AbilityError):
    """‖p̂ − p*‖₂/√n."""

    long_name: ClassVar[str] = "root mean square error of abilities"

    def _size(self, error: Floats) -> Floats:
        root_mean_square: Floats = np.sqrt(np.square(error).mean(axis=1))
        return root_mean_square


class _UpToFlip(_AbilityError):
    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        return np.minimum(
            self._size(estimate.abilities - truth.abilities),
            self._size(1 - estimate.abilities - truth.abilities),
        )


@dataclass(frozen=True)
class AbilityErrorInfFlip(_UpToFlip, AbilityErrorInf):
    """The smaller of max_i |p̂_i − p*_i| and max_i |1 − p̂_i − p*_i|."""

    long_name: ClassVar[str] = "largest error of an ability, up to a flip of all"


@dataclass(frozen=True)
class AbilityErrorL2Flip(_UpToFlip, AbilityErrorL2):
    """The smaller of ‖p̂ − p*‖₂/√n and ‖1 − p̂ − p*‖₂/√n."""

    long_name: ClassVar[str] = "root mean square error of abilities, up to a flip of all"


@dataclass(frozen=True)
class AbilityErrorInfPlain(AbilityErrorInf):
    """max_i |p_i − p*_i| of abilities before step 7 of Algorithm 1 debiases them, the error without that step."""

    long_name: ClassVar[str] = "largest error of an ability that is not debiased"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        return self._size(
            0.5 + (1 - 2 * release.flip) * (estimate.abilities - 0.5) - truth.abilities
        )
