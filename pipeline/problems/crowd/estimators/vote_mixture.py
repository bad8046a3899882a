"""Labels from votes on tasks alone, by a mixture of two Gaussians: for noisy votes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseEstimator

from ..releases import CrowdRelease, ReleasedVotes
from .estimate import CrowdEstimate

TOLERANCE = 1e-8  # change of the mean lean and of the share of ones at which steps end
LEAST = 1e-6  # of the mean lean, so that the labels can still be told apart
MOST = 1 - 1e-6


@dataclass(frozen=True)
class VoteMixture(BaseEstimator):
    """All workers as if alike, by the votes on tasks, the variance of their noise and of flips.

    The votes d on a task of k answers are ±k·c in mean, +
    for label 1, where c is the mean of 2p̂ − 1, and
    Gaussian with variance k(1 − c²) + v, v: variance of the
    noise. c and, with share=learned, the share π of labels
    1 are fitted by expectation–maximisation from the second
    moment of d on, with one more task of each label, so
    that few tasks do not all get one label. labels: more
    likely than not. The abilities are all the mean one.
    With π = ½ labels are those of the majority; the
    posterior says how sure they are.
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    share: str = parameter(
        "share of labels that are 1: learned from the votes, or a half",
        default="learned",
        choices=("learned", "half"),
    )
    steps: int = parameter("most steps of the fit", unit="steps", default=1000, low=1, high=10**6)

    accepts: ClassVar[type] = CrowdRelease
    by_replication: ClassVar[bool] = True

    def fit(self, release: CrowdRelease, rng: np.random.Generator) -> CrowdEstimate:
        """Estimate of a block; O(reps · m) a step.

        Not converged where c or π still change by 1e-8
        after so many steps.
        """
        tasks = release.votes_of_tasks()
        lean = _by_moments(tasks)
        share = np.full(len(lean), 0.5)
        start = 2 * _posterior(tasks, lean, share) - 1
        moving = np.ones(len(lean), bool)
        taken = np.zeros(len(lean), int)
        while moving.any() and taken.max() < self.steps:
            taken += moving
            leaning = 2 * _posterior(tasks, lean, share) - 1
            next_lean = np.where(moving, _lean(tasks, leaning, lean), lean)
            next_share = share
            if self.share == "learned":
                ones = (1 + leaning).sum(axis=1) / 2
                next_share = np.where(moving, (1 + ones) / (2 + leaning.shape[1]), share)
            moving = _differ(next_lean, lean) | _differ(next_share, share)
            lean = next_lean
            share = next_share
        leaning = 2 * _posterior(tasks, lean, share) - 1
        agreement = np.broadcast_to(lean[:, None], (len(lean), tasks.workers))
        return CrowdEstimate.of(release, leaning, agreement, start, ~moving, taken)

    def cost(self) -> float:
        """Predicted cost of one replication with some 30 steps, in steps of about a nanosecond."""
        return 0.6 * self.n * self.m + 3000 * self.m


def _by_moments(tasks: ReleasedVotes) -> Floats:
    """(reps,): c by E d² = k + v + (k² − k)c², within what the fit allows."""
    answered = tasks.answered.astype(float)
    spread = (np.square(tasks.votes) - answered - tasks.variance).sum(axis=1)
    pairs = np.maximum((answered * (answered - 1)).sum(axis=1), 1)
    moment: Floats = np.sqrt(np.clip(spread / pairs, LEAST**2, MOST**2))
    return moment


def _variance(tasks: ReleasedVotes, lean: Floats) -> Floats:
    """(reps, m): variance of the votes on each task, given its label."""
    variance: Floats = tasks.answered * (1 - np.square(lean))[:, None] + tasks.variance
    return np.maximum(variance, LEAST)


def _posterior(tasks: ReleasedVotes, lean: Floats, share: Floats) -> Floats:
    """(reps, m): probability of label 1."""
    odds = 2 * tasks.votes * tasks.answered * lean[:, None] / _variance(tasks, lean)
    prior = np.log(share / (1 - share))[:, None]
    posterior: Floats = expit(odds + prior)
    return posterior


def _lean(tasks: ReleasedVotes, leaning: Floats, lean: Floats) -> Floats:
    """(reps,): c that fits the votes best, given what labels they lean to."""
    weight = tasks.answered / _variance(tasks, lean)
    total = np.maximum((weight * tasks.answered).sum(axis=1), LEAST)
    best: Floats = np.clip((weight * tasks.votes * leaning).sum(axis=1) / total, LEAST, MOST)
    return best


def _differ(after: Floats, before: Floats) -> Booleans:
    """(reps,): whether a number changed by as much as the tolerance."""
    differ: Booleans = np.abs(after - before) >= TOLERANCE
    return differ
