"""Labels of tasks and two abilities of each worker, by EM of Dawid and Skene's full model."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from scipy.special import expit, logit

from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseEstimator

from ..releases import ReleasedAnswers
from .estimate import CrowdEstimate

TOLERANCE = 1e-8  # change of the abilities of released answers at which steps end


@dataclass(frozen=True)
class TwoCoinEstimate(CrowdEstimate):
    """Labels, and two abilities of each worker; errors are not known.

    sensitivities, specificities: (reps, n), chances to be right on a task of label 1, and of
    label 0, of answers as they were given. abilities: both, weighted by the tasks that are taken
    to have each label.
    """

    sensitivities: Annotated[Floats, "reps", "n"] = field(kw_only=True)
    specificities: Annotated[Floats, "reps", "n"] = field(kw_only=True)


@dataclass(frozen=True)
class TwoCoins(BaseEstimator):
    """EM of a confusion matrix per worker on the released answers, abilities debiased at the end.

    A flip with a known chance moves both rows of the matrix towards ½, so that steps are those
    without privacy, with abilities of released answers, projected on [λ, 1 − λ], and the share of
    label 1 among all tasks estimated beside them. Starts at the mean vote; ends when no ability
    changes by 1e-8. Not converged after `iterations` steps. Missing answers are left out.
    Source: Dawid and Skene (1979); Wang and Xu, §2.2, who treat equal abilities on both labels.
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    projection: float = parameter(
        "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
    )
    iterations: int = parameter("most steps of EM", unit="steps", default=1000, low=1, high=10**6)

    accepts: ClassVar[type] = ReleasedAnswers
    by_replication: ClassVar[bool] = True

    def fit(self, release: ReleasedAnswers, rng: np.random.Generator) -> TwoCoinEstimate:
        """Estimate of a block; O(reps · n · m) a step, of the replications that still change."""
        says_one = (release.answers == 1).astype(float)
        says_zero = (release.answers == -1).astype(float)
        votes = release.mean_vote()
        posterior = (1 + votes) / 2
        coins = _coins(says_one, says_zero, posterior, self.projection)
        converged = np.zeros(len(votes), bool)
        taken = np.zeros(len(votes), int)
        for _ in range(self.iterations):
            moving = np.flatnonzero(~converged)
            if moving.size == 0:
                break
            ones, zeros, now = says_one[moving], says_zero[moving], coins[:, moving]
            share = posterior[moving].mean(axis=1)
            posterior[moving] = _posterior(ones, zeros, now, share, self.projection)
            new = _coins(ones, zeros, posterior[moving], self.projection)
            converged[moving] = np.abs(new - now).max(axis=(0, 2)) < TOLERANCE
            coins[:, moving] = new
            taken[moving] += 1
        return self._estimate(release, coins, posterior, converged, taken)

    def _estimate(
        self,
        release: ReleasedAnswers,
        coins: Floats,
        posterior: Floats,
        converged: Booleans,
        taken: Integers,
    ) -> TwoCoinEstimate:
        """With abilities of answers as they were given."""
        share = posterior.mean(axis=1, keepdims=True)
        mean = share * coins[0] + (1 - share) * coins[1]
        votes = release.mean_vote()
        plain = CrowdEstimate.of(release, 2 * posterior - 1, 2 * mean - 1, votes, converged, taken)
        attenuation = 1 - 2 * release.flip
        debiased = np.full_like(coins, np.nan)
        if attenuation > 0:
            debiased = 0.5 + (coins - 0.5) / attenuation
        return TwoCoinEstimate(
            labels=plain.labels,
            posterior=plain.posterior,
            abilities=plain.abilities,
            start=plain.start,
            converged=plain.converged,
            iterations=plain.iterations,
            sensitivities=debiased[0],
            specificities=debiased[1],
        )

    def cost(self) -> float:
        """Predicted cost of one replication with some 50 steps, in steps of about a nanosecond."""
        return 50 * (2 * self.n + 30) * self.m


def _coins(says_one: Floats, says_zero: Floats, posterior: Floats, projection: float) -> Floats:
    """(2, reps, n): projected chances to be right on tasks of label 1 and of label 0.

    says_one, says_zero: (reps, n, m), 1 where that is the answer. posterior: (reps, m). ½ where
    a worker has no answer to such a task.
    """
    one = posterior[:, :, None]
    both = (says_one @ one, says_zero @ one, says_zero @ (1 - one), says_one @ (1 - one))
    right_on_one, wrong_on_one, right_on_zero, wrong_on_zero = (sums[:, :, 0] for sums in both)
    tiny = np.finfo(float).tiny
    sensitivity = (right_on_one + tiny) / (right_on_one + wrong_on_one + 2 * tiny)
    specificity = (right_on_zero + tiny) / (right_on_zero + wrong_on_zero + 2 * tiny)
    coins: Floats = np.clip([sensitivity, specificity], projection, 1 - projection)
    return coins


def _posterior(
    says_one: Floats, says_zero: Floats, coins: Floats, share: Floats, projection: float
) -> Floats:
    """(reps, m): chance that a label is 1, by Bayes' formula. share: (reps,), of label 1."""
    sensitivity, specificity = coins
    if_one = np.log(sensitivity) - np.log1p(-specificity)
    if_zero = np.log1p(-sensitivity) - np.log(specificity)
    evidence = (if_one[:, None] @ says_one + if_zero[:, None] @ says_zero)[:, 0]
    prior = np.clip(share, projection, 1 - projection)
    posterior: Floats = expit(logit(prior)[:, None] + evidence)
    return posterior
