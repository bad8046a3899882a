"""What errors are compared with: wisdom, bounds and exact errors of votes."""

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.metric import metric, share
from pipeline.study.parameters import parameter

from ..estimators.estimate import CrowdEstimate
from ..estimators.signed_sums import weighted_votes
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from ..theory import bounds, vote_errors
from ..theory.wisdom import wisdom as wisdom_of
from .labels import distance_from_labels


def _right(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """(reps, n): probability that a released answer is right. Source: Wang and Xu, eq. (22)."""
    return 0.5 + (1 - 2 * release.flip) * (truth.abilities - 0.5)


@share("collective private wisdom v̂")
def wisdom(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """v̂ of the abilities that were drawn, at the release's flip. Source: Wang and Xu, eq. (13)."""
    return wisdom_of(_right(truth, release))


@metric("Theorem 2's bound on the share of wrong labels", least=0.0, most=2.0)
def label_error_bound(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """Theorem 2's 2exp(−n v̂/2) at the abilities that were drawn; vacuous where it is ½ or more."""
    workers = truth.abilities.shape[1]
    return bounds.label_error_bound(workers, wisdom_of(_right(truth, release)))


@share("conditions of Theorem 2 hold")
def theorem_2_holds(
    truth: CrowdTruth,
    release: ReleasedAnswers,
    estimate: CrowdEstimate,
    *,
    projection: float = parameter(
        "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
    ),
) -> Booleans:
    """1 where Theorem 2's printed conditions hold, 0 elsewhere.

    They are those for the drawn abilities and the initial
    vector that was used.
    """
    _, n, m = release.answers.shape
    drawn = wisdom_of(_right(truth, release))
    initial_error = distance_from_labels(truth, estimate.start)
    with np.errstate(divide="ignore", invalid="ignore"):  # no wisdom at all, or one task
        return bounds.theorem_2_holds(n, m, drawn, projection, initial_error)


@share("exact error of majority vote")
def majority_error_exact(truth: CrowdTruth, release: ReleasedAnswers) -> Array:
    """Expected share of labels that majority vote gets wrong.

    The expectation is given abilities, labels, and who
    answered what: exact, from the Poisson–binomial law of
    right answers. Ties and tasks without answers are
    labelled 1. O(reps · n²), and O(reps · n² m) where
    answers are missing.
    """
    return exact_vote_error(truth, release)


@share("share of labels that an oracle gets wrong")
def oracle_error(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """Share of wrong labels, on the same release, of a vote that uses the true abilities and flip.

    It weighs answers by log p̂/(1 − p̂), the Bayes rule if
    both labels are equally likely. Ties are labelled 1. A
    worker who cannot err decides alone. O(reps · n · m).
    """
    lean = 2 * _right(truth, release) - 1
    cannot_err = np.abs(lean) == 1
    weights = np.arctanh(np.where(cannot_err, 0, lean))
    decisive = 1 + np.abs(weights).sum(axis=1, keepdims=True)
    weights = np.where(cannot_err, lean * decisive, weights)
    labels = weighted_votes(release.answers, weights) >= 0
    wrong: Floats = np.mean(labels != truth.labels, axis=1)
    return wrong


def exact_vote_error(truth: CrowdTruth, release: ReleasedAnswers) -> Array:
    """(reps,): expected share of wrong labels of majority vote, as `majority_error_exact`."""
    right = _right(truth, release)
    ties = truth.labels == 0
    if release.answers.all():
        return vote_errors.vote_error(right, ties=ties.mean(axis=1))
    answered = (release.answers.swapaxes(1, 2) != 0).astype(float)
    replications = zip(right, answered, ties, strict=True)
    return np.array([vote_errors.vote_error(*replication).mean() for replication in replications])
