"""Errors of labels where abilities differ by task, and what they are compared with.

One value per replication.
"""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric, share

from ..estimators.estimate import CrowdEstimate
from ..releases import ReleasedAnswers
from ..task_difficulty import DifficultyTruth
from ..theory.task_difficulty import vote_error_by_task
from .labels import share_of_wrong_labels


def _leans(truth: DifficultyTruth, release: ReleasedAnswers) -> Floats:
    """(reps, n): 2p̂ − 1 of released answers to a task of easiness 1."""
    attenuation = 1 - 2 * release.flip
    leans: Floats = attenuation * (2 * truth.on_easy - 1)
    return leans


@share("exact error of majority vote, task by task")
def task_vote_error(truth: DifficultyTruth, release: ReleasedAnswers) -> Floats:
    """Expected share of labels that majority vote gets wrong, given abilities and easiness.

    All workers answer all tasks; ties are labelled 1. From
    the Poisson–binomial law of each task, to 10⁻⁹. O(reps ·
    n²).
    """
    leans = _leans(truth, release)
    errors = vote_error_by_task(leans, truth.easiness, truth.labels == 0)
    mean: Floats = errors.mean(axis=1)
    return mean


@metric("Theorem 2's bound of each task, mean over tasks", least=0.0, most=2.0)
def task_error_bound(truth: DifficultyTruth, release: ReleasedAnswers) -> Floats:
    """m⁻¹ Σ_j 2exp(−e_j² n v̂/2), v̂ of a task of easiness 1. O(reps · (n + m)).

    Source: Wang and Xu, Theorem 2, for each task by itself.
    """
    wisdom = np.square(_leans(truth, release)).sum(axis=1, keepdims=True)
    bound: Floats = 2 * np.exp(-np.square(truth.easiness) * wisdom / 2).mean(axis=1)
    return bound


@share("share of labels that an oracle of abilities and easiness gets wrong")
def task_oracle_error(truth: DifficultyTruth, release: ReleasedAnswers) -> Floats:
    """Share of wrong labels, on the same release, of Bayes' rule with the true chances.

    An answer to task j counts log p̂_ij/(1 − p̂_ij), p̂_ij
    = ½ + e_j(p̂_i − ½); both labels are equally likely.
    Ties are labelled 1. O(reps · n · m).
    """
    leans = _leans(truth, release)
    of_answers = leans[:, :, None] * truth.easiness[:, None]
    certain = 1 - np.finfo(float).eps  # so that a worker who cannot err outweighs the others
    odds = np.arctanh(np.clip(of_answers, -certain, certain))
    votes = np.einsum("rnm,rnm->rm", odds, release.answers)
    return share_of_wrong_labels(truth, votes >= 0)


@share("share of wrong labels that the posterior expects")
def label_error_expected(estimate: CrowdEstimate) -> Floats:
    """m⁻¹ Σ_j min(y_j, 1 − y_j) of the posterior y: how many labels it takes to be wrong."""
    doubt: Floats = np.minimum(estimate.posterior, 1 - estimate.posterior).mean(axis=1)
    return doubt
