"""Majority vote on released answers: the method against which Dawid and Skene's is compared."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.study.parameters import parameter

from ..releases import CrowdRelease
from .estimate import CrowdEstimate


@dataclass(frozen=True)
class MajorityVote(Bootstrapped):
    """Each task by its majority, ties and no answers to label 1.

    Abilities: agreement with these labels, debiased.

    posterior and start are the share of votes for 1, which
    noise may take out of [0, 1]. Source: Wang and Xu, eq.
    (18).
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = CrowdRelease
    by_replication: ClassVar[bool] = True

    def fit(self, release: CrowdRelease, rng: np.random.Generator) -> CrowdEstimate:
        """Estimate of a block; O(reps · n · m)."""
        votes = release.mean_vote()
        reps = len(votes)
        estimate = CrowdEstimate.of(
            release,
            votes,
            release.agreement(votes),
            votes,
            np.ones(reps, bool),
            np.zeros(reps, int),
        )
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 0.35 * self.n * self.m + 10 * self.m
