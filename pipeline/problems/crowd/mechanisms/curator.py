"""Noise that a trusted curator adds to the votes on tasks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.curator_sums import (
    CuratorSums,
    changed_by_person,
    curator_guarantee,
)
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS, promised
from pipeline.study.arrays import Floats, Integers
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import REPLACED, Guarantee
from pipeline.study.parameters import parameter

from ..design import QUESTIONS, WORDS, asked_of_worker, check_charge
from ..model import Answers
from ..releases import ReleasedVotes
from .protected_votes import WHICH_VOTES, ProtectedVotes


@dataclass(frozen=True)
class NoisyVotes(CuratorSums):
    """n workers hand their answers to a curator, who releases noisy votes on each task.

    Law, charge and variance of the noise are those of
    `ProtectedVotes`, by which `task=release` does exactly
    this. Each worker labels `questions` tasks; their number
    is charged. O(reps · n · m).
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    person: float = promised(WORDS)
    person_delta: float = PERSON_DELTA
    questions: int | None = QUESTIONS
    votes: str = WHICH_VOTES
    neighbours_are: str = changed_by_person("a worker's answers")
    rounds: int = ROUNDS

    covered = WORDS.all_answers
    absent = "these answers there or not there"
    guarantee: ClassVar[Guarantee] = curator_guarantee(
        WORDS,
        protects="and which tasks these are to",
        neighbours="these answers replaced by others, also to other tasks",
        public="the number of workers, the law of the noise",
    )
    accepts: ClassVar[type] = Answers
    releases: ClassVar[type] = ReleasedVotes
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.width  # raises InvalidInput

    @property
    def protected(self) -> ProtectedVotes:
        """What gets noise, and the law of that: what `task=release` does, too."""
        return ProtectedVotes(
            self.person, self.person_delta, self.neighbours_are, self.votes, self.rounds
        )

    @property
    def answers(self) -> int:
        """Answers of a worker."""
        return asked_of_worker("questions", self.questions, self.m)

    @property
    def sensitivity(self) -> Sensitivity:
        """What one worker's answers can change."""
        return self.protected.sensitivity(self.answers)

    @cached_property
    def width(self) -> float:
        """Width of the noise, see `BudgetedNoise`."""
        return self.protected.width(self.answers)

    @cached_property
    def variance(self) -> float:
        """Of the noise in the difference of both labels' answers to a task."""
        return self.protected.variance(self.answers)

    def release(self, data: Answers, rng: np.random.Generator) -> ReleasedVotes:
        """Noisy votes of a block, (reps, m).

        Raises InvalidInput where a worker gave more answers
        than are charged.
        """
        if self.answers < self.m:
            check_charge(self.questions, self.answers, data.most_answers())
        counts = counts_of(data)
        numbers = self.protected.numbers(counts)
        noisy = numbers + self.noise.draw(rng, self.width, numbers.shape)
        votes = noisy[..., 0]
        if self.votes == "counts":
            votes = noisy[..., 1] - noisy[..., 0]
        answered = self._answered(counts, noisy)
        return ReleasedVotes(votes, answered, self.variance, data.answers.shape[1])

    def _answered(self, counts: Integers, noisy: Integers) -> Floats:
        """(reps, m): answers to each task, as far as the release tells.

        They are public, or the mean of the noisy numbers,
        or as many as are asked for.
        """
        reps, m, _ = counts.shape
        if self.votes == "public":
            public: Floats = counts.sum(axis=2).astype(float)
            return public
        if self.votes == "net":
            return np.full((reps, m), self.n * self.answers / m)
        mean = np.maximum(noisy.sum(axis=(1, 2)) / m, 1)
        return np.broadcast_to(mean[:, None], (reps, m))

    def stated(self) -> Guarantee:
        """With what is public."""
        stated = super().stated()
        if self.votes != "public":
            return stated
        return replace(
            stated,
            protects="the labels in all answers of one worker",
            relation=REPLACED,
            neighbours="these answers replaced by others to the same tasks",
            public=f"which tasks a worker answered; {stated.public}",
        )

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one answer and on all of a worker where counts are released.

        Of differences only what the budget allows any
        attack.
        """
        if self.votes != "counts":
            return super().attacks()
        return self.best_attacks(2)

    def memory(self) -> float:
        """Bytes of one replication: which answers are for label 1, votes and noise."""
        return self.n * self.m + 64 * self.m

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 1.5 * self.n * self.m + 60 * self.m


def counts_of(data: Answers) -> Integers:
    """(reps, m, 2): answers for label 0 and for label 1 to each task. O(reps · n · m)."""
    net = data.answers.sum(axis=1, dtype=np.int64)
    answered = np.count_nonzero(data.answers, axis=1)
    ones = (answered + net) // 2
    return np.stack([answered - ones, ones], axis=2)
