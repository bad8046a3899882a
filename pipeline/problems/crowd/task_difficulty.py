"""Crowds whose abilities differ by task: some tasks are hard for everybody."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter

from .model import CrowdTruth, DawidSkene


@dataclass(frozen=True)
class DifficultyTruth(CrowdTruth):
    """Truth of the model.

    easiness: e, (reps, m) in [0, 1]. on_easy: p, (reps, n),
    abilities on a task with e = 1. abilities: (reps, n),
    means over the tasks that were drawn, ½ + ē(p − ½).
    """

    easiness: Annotated[Floats, "reps", "m"]
    on_easy: Annotated[Floats, "reps", "n"]


@dataclass(frozen=True)
class TaskDifficulty(DawidSkene):
    """`dawid_skene`, where P(worker i is right on task j) = ½ + e_j(p_i − ½).

    The easiness e_j is uniform, anew in every replication:
    1 is what `ability_law` describes, at 0 everybody
    guesses. With both ends at 1 it is `dawid_skene`.
    Source: Zhou, Liu, Platt, Meek and Shah (2015); Khetan
    and Oh, NeurIPS 2016, "generalized Dawid–Skene model",
    where e = 2q − 1.
    """

    easiness_low: float = parameter("least easiness of a task", default=0.0, low=0, high=1)
    easiness_high: float = parameter("greatest easiness of a task", default=1.0, low=0, high=1)

    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.easiness_low > self.easiness_high:
            raise InvalidInput(
                "easiness_low",
                self.easiness_low,
                f"must be at most easiness_high={self.easiness_high:g}",
            )

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> DifficultyTruth:
        """p (reps, n), e (reps, m) and y* (reps, m) of a block of replications."""
        plain = super().truth(rng, reps, population)
        easiness = rng.uniform(self.easiness_low, self.easiness_high, (reps, self.m))
        mean = easiness.mean(axis=1, keepdims=True)
        abilities = 0.5 + mean * (plain.abilities - 0.5)
        return DifficultyTruth(abilities, plain.labels, easiness, plain.abilities)

    def _right(self, truth: CrowdTruth) -> Floats:
        """Chance that a worker is right on a task, (reps, n, m)."""
        if not isinstance(truth, DifficultyTruth):
            return super()._right(truth)
        lean = truth.on_easy[:, :, None] - 0.5
        return 0.5 + truth.easiness[:, None] * lean

    def memory(self) -> float:
        """Bytes of one replication: chances, twice as real numbers, and answers."""
        return 20 * self.n * self.m
