"""Released answers against the truth: which are wrong, and what they tell; one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Booleans, Floats

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from ..theory.wisdom import private_ability
from .labels import Share


@dataclass(frozen=True)
class AnswersWrong(Share):
    """Share of the released answers that are wrong; where all workers are perfect, the share that was flipped."""

    long_name: ClassVar[str] = "share of released answers that are wrong"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        return _share(_wrong(truth, release), release.answers != 0)


@dataclass(frozen=True)
class AnswersWrongExpected(Share):
    """n⁻¹ Σ_i (1 − p̂_i), the expected share of wrong released answers where all answer. Source: eq. (22)."""

    long_name: ClassVar[str] = "share of released answers that are wrong, by eq. (22)"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        epsilon = np.log((1 - release.flip) / release.flip) if release.flip else np.inf
        expected: Floats = 1 - private_ability(truth.abilities, epsilon).mean(axis=1)
        return expected


@dataclass(frozen=True)
class OnesWrong(Share):
    """Share of the released answers to tasks of label 1 that are wrong.

    The 1s that were flipped, if workers are perfect. NaN where no task has label 1.
    """

    long_name: ClassVar[str] = "share of released answers to tasks of label 1 that are wrong"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · m)."""
        return _share_among_tasks(truth, release, 1)


@dataclass(frozen=True)
class ZerosWrong(Share):
    """Share of the released answers to tasks of label 0 that are wrong.

    The 0s that were flipped, if workers are perfect. NaN where no task has label 0.
    """

    long_name: ClassVar[str] = "share of released answers to tasks of label 0 that are wrong"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · m)."""
        return _share_among_tasks(truth, release, 0)


@dataclass(frozen=True)
class WrongTogether(Share):
    """Share of the pairs of neighbouring released answers that are both wrong.

    Neighbours are the answers of a worker to two successive tasks, and those of two successive
    workers to a task. If workers are perfect and flips independent, it is the square of the share
    of flipped answers.
    """

    long_name: ClassVar[str] = "share of neighbouring released answers that are both wrong"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · m)."""
        both = _pairs(_wrong(truth, release))
        given = _pairs(release.answers != 0)
        share: Floats = both / np.maximum(given, 1)
        return share


@dataclass(frozen=True)
class AbilityMean(Share):
    """n⁻¹ Σ_i p*_i, the mean ability of the workers."""

    long_name: ClassVar[str] = "mean ability"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n)."""
        mean: Floats = truth.abilities.mean(axis=1)
        return mean


@dataclass(frozen=True)
class AbilityVariance:
    """n⁻¹ Σ_i (p*_i − p̄)², p̄ the mean ability."""

    long_name: ClassVar[str] = "variance of the abilities"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 0.25

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n)."""
        variance: Floats = truth.abilities.var(axis=1)
        return variance


@dataclass(frozen=True)
class RightByAbility:
    """n⁻¹ Σ_i (p*_i − p̄) r_i, r_i the share of a worker's released answers that are right.

    Its mean given the abilities is tanh(ε/2) times `ability_variance`.
    Source: Wang and Xu, eq. (22).
    """

    long_name: ClassVar[str] = "covariance of abilities and shares of right released answers"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = -0.25
    most: ClassVar[float] = 0.25

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · m)."""
        given = (release.answers != 0).sum(axis=2)
        wrong = _wrong(truth, release).sum(axis=2)
        right = (given - wrong) / np.maximum(given, 1)
        centred = truth.abilities - truth.abilities.mean(axis=1, keepdims=True)
        covariance: Floats = (centred * right).mean(axis=1)
        return covariance


@dataclass(frozen=True)
class WisdomReleased:
    """v̂ as the released answers show it: n⁻¹ Σ_i (k c_i² − 1)/(k − 1), k answers of each worker.

    c_i is the mean of +1 for a right and −1 for a wrong answer of worker i. E c_i² = a² + (1 − a²)/k
    with a = 2p̂_i − 1, so that the mean is v̂, whatever k. It reads neither ε nor the abilities. NaN
    where a worker has fewer than two answers. Source: Wang and Xu, eq. (13).
    """

    long_name: ClassVar[str] = "collective wisdom of the released answers"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = -1.0
    most: ClassVar[float] = 1.0

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n · m)."""
        signs = 2 * truth.labels[:, None] - 1
        leads = (release.answers * signs).sum(axis=2, dtype=np.int64)
        answers = (release.answers != 0).sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):  # a worker of one answer
            squares = (leads**2 / answers - 1) / (answers - 1)
        wisdom: Floats = squares.mean(axis=1)
        return wisdom


def _wrong(truth: CrowdTruth, release: ReleasedAnswers) -> Booleans:
    """(reps, n, m): whether an answer was given and is wrong."""
    wrong: Booleans = release.answers == 1 - 2 * truth.labels[:, None]
    return wrong


def _share(wrong: Booleans, given: Booleans) -> Floats:
    """(reps,): share of the answers given, (reps, n, m), that are wrong; 0 where none was given."""
    share: Floats = wrong.sum(axis=(1, 2)) / np.maximum(given.sum(axis=(1, 2)), 1)
    return share


def _share_among_tasks(truth: CrowdTruth, release: ReleasedAnswers, label: int) -> Floats:
    """(reps,): share of the answers to tasks of a label that are wrong; NaN without such tasks."""
    tasks = truth.labels[:, None] == label
    share = _share(_wrong(truth, release) & tasks, (release.answers != 0) & tasks)
    return np.where(tasks.any(axis=(1, 2)), share, np.nan)


def _pairs(flags: Booleans) -> Floats:
    """(reps,): pairs of neighbours along tasks or workers that both have a flag (reps, n, m)."""
    of_worker = (flags[:, :, 1:] & flags[:, :, :-1]).sum(axis=(1, 2))
    of_task = (flags[:, 1:] & flags[:, :-1]).sum(axis=(1, 2))
    pairs: Floats = of_worker + of_task
    return pairs
