"""Crowds that break the model of Dawid and Skene: some workers guess, all err more,
one label is reported less often.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.problems.common.sampling import bernoulli
from pipeline.study.parameters import parameter

from .model import Answers, CrowdTruth, DawidSkene


@dataclass(frozen=True)
class MisspecifiedCrowd(DawidSkene):
    """`dawid_skene` with less able workers, and answers missing not at random: what a
    decision owes to the model.

    A worker answers all tasks by a fair coin with
    probability g, p* = ½; the others have p* = ½ + (1 −
    loss)(p − ½), where p is drawn by `ability_law`. An
    answer that says label 1 is left out with probability
    `left_out`; one that says label 0 is told as usual.
    Missing data: Rubin, Biometrika 63 (1976).
    """

    at_random: float = parameter(
        "probability g that a worker answers at random", default=0.0, low=0, high=1
    )
    ability_loss: float = parameter(
        "share of an ability's distance from ½ that is lost", default=0.0, low=0, high=1
    )
    left_out: float = parameter(
        "probability that an answer which says label 1 is left out", default=0.0, low=0, high=0.99
    )

    by_replication: ClassVar[bool] = True

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> CrowdTruth:
        """p* (reps, n) and y* (reps, m) of a block of replications."""
        plain = super().truth(rng, reps, population)
        guesses = bernoulli(self.at_random, plain.abilities.shape, rng)
        remaining = np.where(guesses, 0.0, 1 - self.ability_loss)
        return CrowdTruth(0.5 + remaining * (plain.abilities - 0.5), plain.labels)

    def simulate(self, truth: CrowdTruth, rng: np.random.Generator) -> Answers:
        """Answers of n workers to m tasks. O(reps · n · m) bytes and steps."""
        plain = super().simulate(truth, rng)
        if self.left_out == 0:
            return plain
        silent = (plain.answers == 1) & bernoulli(self.left_out, plain.answers.shape, rng)
        return replace(plain, answers=plain.answers * ~silent)
