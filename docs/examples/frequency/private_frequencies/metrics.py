"""Errors of frequencies, and supports; one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Array, Floats

from .estimators import FrequencyEstimate
from .model import Frequencies
from .releases import Supports


class Positive:
    """A metric without a sign and a unit."""

    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0


def _errors(truth: Frequencies, estimate: FrequencyEstimate) -> Floats:
    """(reps, k)."""
    errors: Floats = estimate.frequencies - truth.frequencies
    return errors


def mean_where(values: Array, chosen: Array) -> Floats:
    """(reps,): mean over the chosen entries of each row; NaN where there are none. Both (reps, k)."""
    number = chosen.sum(axis=1)
    mean: Floats = np.where(chosen, values, 0).sum(axis=1) / np.where(number, number, np.nan)
    return mean


@dataclass(frozen=True)
class ErrorSquared(Positive):
    """Σ_v (f̂_v − f_v)²."""

    long_name: ClassVar[str] = "squared error of all frequencies"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        total: Floats = np.square(_errors(truth, estimate)).sum(axis=1)
        return total


@dataclass(frozen=True)
class ErrorLargest(Positive):
    """max_v |f̂_v − f_v|."""

    long_name: ClassVar[str] = "largest error of a frequency"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        largest: Floats = np.abs(_errors(truth, estimate)).max(axis=1)
        return largest


@dataclass(frozen=True)
class TotalVariation(Positive):
    """½ Σ_v |f̂_v − f_v|."""

    long_name: ClassVar[str] = "total variation distance of the frequencies"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        half: Floats = np.abs(_errors(truth, estimate)).sum(axis=1) / 2
        return half


@dataclass(frozen=True)
class ErrorAbsent(Positive):
    """Mean of f̂_v² over the values v that nobody holds; NaN where there are none."""

    long_name: ClassVar[str] = "squared error of a frequency that is 0"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        return mean_where(np.square(estimate.frequencies), truth.frequencies == 0)


class _Share(Positive):
    most: ClassVar[float] = 1.0


@dataclass(frozen=True)
class SupportHeld(_Share):
    """Share of reports that support a value which everybody holds; NaN where there is none."""

    long_name: ClassVar[str] = "share of reports that support the value of all"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        return mean_where(release.supports / release.people, truth.frequencies == 1)


@dataclass(frozen=True)
class SupportAbsent(_Share):
    """Share of reports that support a value which nobody holds, mean over these.

    NaN where there are none.
    """

    long_name: ClassVar[str] = "share of reports that support a value of nobody"

    def __call__(
        self, truth: Frequencies, release: Supports, estimate: FrequencyEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · k)."""
        return mean_where(release.supports / release.people, truth.frequencies == 0)
