"""Errors of labels and abilities from crowds, and what they are held against; one value per replication.

A metric is called with (truth, release, estimate) of a block. From answers alone (p*, y*) and (1 − p*, 1 − y*) cannot
be told apart: metrics "up to a flip" take the better of the two.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.estimators.crowd import CrowdEstimate
from pipeline.estimators.crowd_em import blocks
from pipeline.models.crowd import CrowdTruth, ReleasedAnswers
from pipeline.parameters import parameter
from pipeline.theory import crowd as theory


class _Share:
    """A metric that is a share of the tasks, or a probability."""

    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0


def _wrong(truth, labels):
    return (labels != truth.labels).mean(axis=1)


def _right(truth, release):
    """(reps, n): probability that a released answer is right, eq. (22)."""
    return 0.5 + (1 - 2 * release.flip) * (truth.abilities - 0.5)


@dataclass(frozen=True)
class LabelError(_Share):
    """m⁻¹ Σ_j |ŷ_j − y*_j|, the share of wrong labels. Source: Wang and Xu, Theorem 2, eq. (16)."""

    long_name: ClassVar[str] = "share of wrong labels"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return _wrong(truth, estimate.labels)


@dataclass(frozen=True)
class LabelErrorFlip(_Share):
    """The smaller of the shares of labels and of opposite labels that are wrong."""

    long_name: ClassVar[str] = "share of wrong labels, up to a flip of all"
    most: ClassVar[float] = 0.5

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        wrong = _wrong(truth, estimate.labels)
        return np.minimum(wrong, 1 - wrong)


@dataclass(frozen=True)
class LabelRecovered(_Share):
    """1 if no label is wrong, 0 otherwise."""

    long_name: ClassVar[str] = "all labels right"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return (estimate.labels == truth.labels).all(axis=1)


@dataclass(frozen=True)
class SoftLabelError(_Share):
    """m⁻¹ Σ_j |y_j − y*_j| of the posterior, which the proof of Theorem 2 bounds. Source: Wang and Xu, eq. (33)."""

    long_name: ClassVar[str] = "mean distance of the posterior from the labels"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return np.abs(estimate.posterior - truth.labels).mean(axis=1)


@dataclass(frozen=True)
class StartError(_Share):
    """m⁻¹ Σ_j |y⁽⁰⁾_j − y*_j| of the initial vector that was used. Source: Wang and Xu, eq. (14)."""

    long_name: ClassVar[str] = "mean distance of the initial vector from the labels"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return np.abs(estimate.start - truth.labels).mean(axis=1)


class _AbilityError:
    """A metric on abilities, (reps, n) each; debiased estimates may leave [0, 1], so it has no upper end."""

    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return self._size(estimate.abilities - truth.abilities)


@dataclass(frozen=True)
class AbilityErrorInf(_AbilityError):
    """max_i |p̂_i − p*_i|. Source: Wang and Xu, Theorem 3, eq. (17)."""

    long_name: ClassVar[str] = "largest error of an ability"

    def _size(self, error):
        return np.abs(error).max(axis=1)


@dataclass(frozen=True)
class AbilityErrorL2(_AbilityError):
    """‖p̂ − p*‖₂/√n."""

    long_name: ClassVar[str] = "root mean square error of abilities"

    def _size(self, error):
        return np.sqrt(np.square(error).mean(axis=1))


class _UpToFlip(_AbilityError):
    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return np.minimum(self._size(estimate.abilities - truth.abilities),
                          self._size(1 - estimate.abilities - truth.abilities))


@dataclass(frozen=True)
class AbilityErrorInfFlip(_UpToFlip, AbilityErrorInf):
    """The smaller of max_i |p̂_i − p*_i| and max_i |1 − p̂_i − p*_i|."""

    long_name: ClassVar[str] = "largest error of an ability, up to a flip of all"


@dataclass(frozen=True)
class AbilityErrorL2Flip(_UpToFlip, AbilityErrorL2):
    """The smaller of ‖p̂ − p*‖₂/√n and ‖1 − p̂ − p*‖₂/√n."""

    long_name: ClassVar[str] = "root mean square error of abilities, up to a flip of all"


@dataclass(frozen=True)
class Wisdom(_Share):
    """v̂ of the abilities that were drawn, at the release's flip. Source: Wang and Xu, eq. (13)."""

    long_name: ClassVar[str] = "collective private wisdom v̂"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return theory.wisdom(_right(truth, release))


@dataclass(frozen=True)
class LabelErrorBound:
    """Theorem 2's 2exp(−n v̂/2) at the abilities that were drawn; vacuous where it is ½ or more."""

    long_name: ClassVar[str] = "Theorem 2's bound on the share of wrong labels"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 2.0

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        return theory.label_error_bound(truth.abilities.shape[1], theory.wisdom(_right(truth, release)))


@dataclass(frozen=True)
class Theorem2Holds(_Share):
    """1 where Theorem 2's printed conditions hold for the drawn abilities and the initial vector used, 0 elsewhere."""

    projection: float = parameter("λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0,
                                  below=0.5)

    long_name: ClassVar[str] = "conditions of Theorem 2 hold"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,)"""
        wisdom, wrong = theory.wisdom(_right(truth, release)), StartError()(truth, release, estimate)
        with np.errstate(divide="ignore"):  # no wisdom at all
            return theory.theorem_2_holds(*release.answers.shape[1:], wisdom, self.projection, wrong)


@dataclass(frozen=True)
class MajorityErrorExact(_Share):
    """Expected share of labels that majority vote gets wrong, given abilities, labels, and who answered what.

    Exact, from the Poisson–binomial law of right answers; ties and tasks without answers are labelled 1.
    """

    long_name: ClassVar[str] = "exact error of majority vote"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,); O(reps · n²), and O(reps · n² m) where answers are missing"""
        right, ties = _right(truth, release), truth.labels == 0
        if release.answers.all():
            return theory.vote_error(right, ties=ties.mean(axis=1))
        given = release.answers.swapaxes(1, 2) != 0
        return np.array([theory.vote_error(p, which.astype(float), tie).mean()
                         for p, which, tie in zip(right, given, ties, strict=True)])


@dataclass(frozen=True)
class OracleError(_Share):
    """Share of labels wrong, on the same release, by the vote that knows abilities and flip; ties are labelled 1.

    It weighs answers by log p̂/(1 − p̂), the Bayes rule if labels are alike likely. One who cannot err decides alone.
    """

    long_name: ClassVar[str] = "share of labels that an oracle gets wrong"

    def __call__(self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate) -> np.ndarray:
        """(reps,); O(reps · n · m)"""
        lean = 2 * _right(truth, release) - 1
        sure = np.abs(lean) == 1
        weights = np.arctanh(np.where(sure, 0, lean))
        decisive = 1 + np.abs(weights).sum(axis=1, keepdims=True)
        weights = np.where(sure, lean * decisive, weights)
        wrong = np.empty(len(weights))
        for rows, signs, _ in blocks(release.answers):
            votes = np.vecmat(weights[rows], signs)
            wrong[rows] = ((votes >= 0) != truth.labels[rows]).mean(axis=1)
        return wrong
