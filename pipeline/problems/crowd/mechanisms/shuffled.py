"""Randomized response on single answers, whose messages leave in random order."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import Attack, Bound, ShuffledBit
from pipeline.privacy.shuffling import shuffled_answer_budget
from pipeline.problems.common.person import ROUNDS, over_answers
from pipeline.problems.common.questions import DESIGNS
from pipeline.problems.common.sampling import whole_words
from pipeline.study.guarantee import ONE_PERSON, SHUFFLER, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMechanism

from ..design import QUESTIONS, asked_of_worker, check_charge
from ..model import Answers
from ..releases import ReleasedVotes
from .randomized_response import RandomizedResponse


@dataclass(frozen=True)
class ShuffledResponse(BaseMechanism):
    """Every answer is flipped by its worker, and leaves as a message of its own, among all others.

    A message names a task and a label, and no worker; a
    shuffler mixes the messages of all n workers, so that of
    the r ≥ ⌊nk/m⌋ messages on one task nobody learns more
    than how many have each label. All answers of a worker
    are then (ε, δ)-DP at ε = `person`, though one alone is
    flipped with probability 1/(1 + e^ε₀) and ε₀ may be far
    above ε: `pipeline.privacy.shuffling` composes exact
    binary accounts of k tasks, of r messages each, in every
    round. Where workers label only some tasks, the survey must be
    balanced: a task that few label hides nobody. Votes are
    released, as messages cannot be linked: abilities of
    single workers cannot be learned. O(reps · n · m).
    Source: Feldman, McMillan and Talwar (2022), for the
    idea; exact for binary answers.
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    person: float = parameter("privacy budget of all answers of a worker", unit="nats", above=0)
    person_delta: float = parameter("δ of a person's budget", default=1e-6, above=0, below=1)
    questions: int | None = QUESTIONS
    messages: int | None = parameter(
        "messages on the task that is labelled least, in data that were recorded; null follows "
        "from workers and questions",
        unit="answers",
        default=None,
        low=1,
    )
    design: str = parameter(
        "who labels what; it must be balanced, so that all tasks have as many messages",
        default="balanced",
        choices=DESIGNS,
    )
    rounds: int = ROUNDS

    guarantee: ClassVar[Guarantee] = Guarantee(
        trust=SHUFFLER,
        unit=ONE_PERSON,
        protects="all answers of one worker",
        neighbours="these answers replaced by others to the same tasks",
        public="the number of workers, how many label each task",
        budget="(ε, δ)-DP for all answers of a worker",
        composition="exactly: of k numbers of votes, each among the messages on its task",
    )
    accepts: ClassVar[type] = Answers
    releases: ClassVar[type] = ReleasedVotes
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.design != "balanced" and self.answers < self.m:
            allowed = "must be balanced: shuffling hides an answer among those to its task"
            raise InvalidInput("design", self.design, allowed)
        if self.reports < 1:
            needed = -(-self.m // self.answers)
            allowed = f"must be at least {needed:,}: each task needs a message at least"
            raise InvalidInput("n", self.n, allowed)

    @property
    def answers(self) -> int:
        """Answers of a worker."""
        return asked_of_worker("questions", self.questions, self.m)

    @property
    def reports(self) -> int:
        """Messages on the task that is labelled least, of those labelled at all."""
        if self.messages is not None:
            return self.messages
        return self.n * self.answers // self.m

    @cached_property
    def answer_epsilon(self) -> float:
        """ε₀, budget of one answer before messages are shuffled."""
        answers = self.answers * self.rounds
        return shuffled_answer_budget(self.person, answers, self.person_delta, self.reports)

    def release(self, data: Answers, rng: np.random.Generator) -> ReleasedVotes:
        """Votes of a block, (reps, m), of flipped answers.

        Raises InvalidInput where a worker gave more answers
        than are charged, and where a task has fewer
        messages than are counted on.
        """
        if self.answers < self.m:
            check_charge(self.questions, self.answers, data.most_answers())
        messages = np.count_nonzero(data.answers, axis=1)
        fewest = int(messages[messages > 0].min(initial=self.n))
        if fewest < self.reports:
            allowed = (
                f"a task has {fewest:,} answers, fewer than the {self.reports:,} that each is to "
                "be hidden among: every worker must answer, in a balanced survey"
            )
            raise InvalidInput("answered", "less than all", allowed)
        return self._flips.release(data, rng).votes_of_tasks()

    @property
    def _flips(self) -> RandomizedResponse:
        return RandomizedResponse(
            self.n, self.m, epsilon=self.answer_epsilon, questions=self.questions
        )

    def stated(self) -> Guarantee:
        """The guarantee, of all rounds."""
        return over_answers(self.guarantee, self.rounds)

    def promise(self) -> Guarantee:
        """The guarantee in numbers."""
        return replace(
            self.stated(),
            epsilon=self.person,
            delta=self.person_delta,
            answers=self.answers,
        )

    def spent(self) -> dict[str, float]:
        """Budget of a worker at δ = person_delta, and of one answer before it is shuffled."""
        return {
            "all answers of a worker": self.person,
            "one answer, before shuffling": self.answer_epsilon,
        }

    def attacks(self) -> dict[str, Attack]:
        """A bound on attacks on one answer among the messages on its task, and on a worker."""
        answer = ShuffledBit(self.answer_epsilon, 1, self.reports - 1)
        return {"answer": answer, "person": Bound(self.person, self.person_delta)}

    def memory(self) -> float:
        """Bytes of one replication: random bytes, flipped answers and votes."""
        return 3 * self.n * self.m + 32 * self.m

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 2.5 * self.n * self.m

    def together(self) -> int:
        """Replications whose answers take whole random words."""
        return whole_words(self.n * self.m)
