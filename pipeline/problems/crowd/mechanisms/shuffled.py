"""Randomized response on single answers, whose messages leave in random order."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.problems.common.person import ROUNDS, promised
from pipeline.problems.common.sampling import whole_words
from pipeline.problems.common.shuffled_answers import (
    SHUFFLED_DELTA,
    ShuffledAnswers,
    balanced_design,
    messages_on_least,
    shuffler_guarantee,
)
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import parameter

from ..design import QUESTIONS, WORDS, asked_of_worker, check_charge
from ..model import Answers
from ..releases import ReleasedVotes
from .randomized_response import RandomizedResponse


@dataclass(frozen=True)
class ShuffledResponse(ShuffledAnswers):
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
    person: float = promised(WORDS)
    person_delta: float = SHUFFLED_DELTA
    questions: int | None = QUESTIONS
    messages: int | None = messages_on_least(WORDS, "answers")
    design: str = balanced_design(WORDS)
    rounds: int = ROUNDS

    words = WORDS
    hides = "an answer among those to its task"
    people_key = "n"
    guarantee: ClassVar[Guarantee] = shuffler_guarantee(
        WORDS,
        public="the number of workers, how many label each task",
        composition="exactly: of k numbers of votes, each among the messages on its task",
    )
    accepts: ClassVar[type] = Answers
    releases: ClassVar[type] = ReleasedVotes
    by_replication: ClassVar[bool] = True

    @property
    def answers(self) -> int:
        """Answers of a worker."""
        return asked_of_worker("questions", self.questions, self.m)

    @property
    def kinds(self) -> int:
        """Tasks."""
        return self.m

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
        counted = f"a task has {fewest:,} answers"
        self.check_messages(fewest, "answered", "less than all", counted)
        return self._flips.release(data, rng).votes_of_tasks()

    @property
    def _flips(self) -> RandomizedResponse:
        return RandomizedResponse(
            self.n, self.m, epsilon=self.answer_epsilon, questions=self.questions
        )

    def memory(self) -> float:
        """Bytes of one replication: random bytes, flipped answers and votes."""
        return 3 * self.n * self.m + 32 * self.m

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 2.5 * self.n * self.m

    def together(self) -> int:
        """Replications whose answers take whole random words."""
        return whole_words(self.n * self.m)
