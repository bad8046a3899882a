"""What errors are compared with: wisdom, bounds, exact errors of votes; one value per replication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import Checked, parameter

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from ..signed_sums import weighted_votes
from ..theory import bounds, vote_errors
from ..theory.wisdom import wisdom
from .labels import Share, StartError


def _right(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """(reps, n): probability that a released answer is right. Source: Wang and Xu, eq. (22)."""
    return 0.5 + (1 - 2 * release.flip) * (truth.abilities - 0.5)


@dataclass(frozen=True)
class Wisdom(Share):
    """v̂ of the abilities that were drawn, at the release's flip. Source: Wang and Xu, eq. (13)."""

    long_name: ClassVar[str] = "collective private wisdom v̂"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Array:
        return wisdom(_right(truth, release))


@dataclass(frozen=True)
class LabelErrorBound:
    """Theorem 2's 2exp(−n v̂/2) at the abilities that were drawn; vacuous where it is ½ or more."""

    long_name: ClassVar[str] = "Theorem 2's bound on the share of wrong labels"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 2.0

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Array:
        return bounds.label_error_bound(truth.abilities.shape[1], wisdom(_right(truth, release)))


@dataclass(frozen=True)
class Theorem2Holds(Share, Checked):
    """1 where Theorem 2's printed conditions hold for the drawn abilities and the initial vector used, 0 elsewhere."""

    projection: float = parameter(
        "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
    )

    long_name: ClassVar[str] = "conditions of Theorem 2 hold"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Array:
        _, n, m = release.answers.shape
        drawn, wrong = wisdom(_right(truth, release)), StartError()(truth, release, estimate)
        with np.errstate(divide="ignore", invalid="ignore"):  # no wisdom at all, or one task
            return bounds.theorem_2_holds(n, m, drawn, self.projection, wrong)


@dataclass(frozen=True)
class MajorityErrorExact(Share):
    """Expected share of labels that majority vote gets wrong, given abilities, labels, and who answered what.

    Exact, from the Poisson–binomial law of right answers; ties and tasks without answers are labelled 1. O(reps · n²),
    and O(reps · n² m) where answers are missing.
    """

    long_name: ClassVar[str] = "exact error of majority vote"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Array:
        right, ties = _right(truth, release), truth.labels == 0
        if release.answers.all():
            return vote_errors.vote_error(right, ties=ties.mean(axis=1))
        answered = release.answers.swapaxes(1, 2) != 0
        return np.array(
            [
                vote_errors.vote_error(p, which.astype(float), tie).mean()
                for p, which, tie in zip(right, answered, ties, strict=True)
            ]
        )


@dataclass(frozen=True)
class OracleError(Share):
    """Share of wrong labels, on the same release, of a vote that uses the true abilities and flip; ties are labelled 1.

    It weighs answers by log p̂/(1 − p̂), the Bayes rule if both labels are equally likely. A worker who cannot err
    decides alone. O(reps · n · m).
    """

    long_name: ClassVar[str] = "share of labels that an oracle gets wrong"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Array:
        lean = 2 * _right(truth, release) - 1
        sure = np.abs(lean) == 1
        weights = np.arctanh(np.where(sure, 0, lean))
        decisive = 1 + np.abs(weights).sum(axis=1, keepdims=True)
        weights = np.where(sure, lean * decisive, weights)
        wrong: Array = np.mean(
            (weighted_votes(release.answers, weights) >= 0) != truth.labels, axis=1
        )
        return wrong
