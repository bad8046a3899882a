"""Noise that a trusted curator adds to the votes on tasks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import Attack
from pipeline.privacy.budgeted_noise import BudgetedNoise
from pipeline.privacy.published_counts import CHANGED
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS, over_noise
from pipeline.study.arrays import Floats, Integers
from pipeline.study.guarantee import CURATOR, ONE_PERSON, THERE_OR_NOT, Guarantee
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseMechanism

from ..design import QUESTIONS, asked_of_worker, check_charge
from ..model import Answers
from ..releases import ReleasedVotes
from ..theory.vote_sensitivity import VOTES
from .protected_votes import ProtectedVotes


@dataclass(frozen=True)
class NoisyVotes(BaseMechanism):
    """n workers hand their answers to a curator, who releases noisy votes on each task.

    Law, charge and variance of the noise are those of
    `ProtectedVotes`, by which `task=release` does exactly
    this. Each worker labels `questions` tasks; their number
    is charged. O(reps · n · m).
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    person: float = parameter("privacy budget of all answers of a worker", unit="nats", above=0)
    person_delta: float = PERSON_DELTA
    questions: int | None = QUESTIONS
    votes: str = parameter(
        "what gets noise: answers for each label, their difference, or the difference where who "
        "labelled what is public",
        default="counts",
        choices=VOTES,
    )
    neighbours_are: str = parameter(
        "what differs between neighbours: a worker's answers replaced, or present or absent",
        default="replace_one",
        choices=tuple(CHANGED),
    )
    rounds: int = ROUNDS

    guarantee: ClassVar[Guarantee] = Guarantee(
        trust=CURATOR,
        unit=ONE_PERSON,
        protects="all answers of one worker, and which tasks these are to",
        neighbours="these answers replaced by others, also to other tasks",
        public="the number of workers, the law of the noise",
        budget="pure ε-DP for all answers of a worker; ρ-zCDP, hence (ε, δ)-DP, with "
        "person_delta > 0",
        composition="all answers of a worker are changed at once",
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
    def noise(self) -> BudgetedNoise:
        """Law of the noise on every number, and what it spends."""
        return self.protected.noise

    @property
    def answers(self) -> int:
        """Answers of a worker."""
        return asked_of_worker("questions", self.questions, self.m)

    @property
    def sensitivity(self) -> Sensitivity:
        """What one worker's answers can change."""
        return self.protected.sensitivity(self.answers)

    @property
    def charge(self) -> int:
        """The sensitivity that the noise hides."""
        return self.protected.charge(self.answers)

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
        """The guarantee with this object's neighbours, kind of budget, and what is public."""
        budget = "pure ε-DP for all answers of a worker"
        if self.person_delta > 0:
            budget = "ρ-zCDP, hence (ε, δ)-DP, for all answers of a worker"
        plain = replace(self.guarantee, budget=budget)
        stated = over_noise(plain, self.rounds, self.noise.measure)
        if self.votes == "public":
            return replace(
                stated,
                protects="the labels in all answers of one worker",
                neighbours="these answers replaced by others to the same tasks",
                public=f"which tasks a worker answered; {stated.public}",
            )
        if self.neighbours_are == "replace_one":
            return stated
        return replace(stated, relation=THERE_OR_NOT, neighbours="these answers there or not there")

    def promise(self) -> Guarantee:
        """The guarantee in numbers."""
        rho = self.noise.budget * self.rounds if self.person_delta > 0 else None
        return replace(
            self.stated(),
            epsilon=self.person,
            delta=self.person_delta,
            rho=rho,
            answers=self.answers,
        )

    def spent(self) -> dict[str, float]:
        """Budget of a worker, in nats; at δ = person_delta."""
        return {"all answers of a worker": self.person}

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one answer and on all of a worker where counts are released.

        Of differences only what the budget allows any
        attack.
        """
        if self.votes != "counts":
            return {"person": self.noise.bound()}
        return {
            "answer": self.noise.attack(self.width, 2),
            "person": self.noise.attack(self.width, self.charge * self.rounds),
        }

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
