"""Randomized response on single comparisons, whose messages leave in random order."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.problems.common.person import ROUNDS, promised
from pipeline.problems.common.shuffled_answers import (
    SHUFFLED_DELTA,
    ShuffledAnswers,
    balanced_design,
    messages_on_least,
    shuffler_guarantee,
)
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import parameter

from ..design import QUESTIONS, WORDS, asked_of_person, check_charge
from ..model import Comparisons
from ..releases import FlippedWins, trials_of
from .randomized_response import RandomizedResponse


@dataclass(frozen=True)
class ShuffledResponse(ShuffledAnswers):
    """Every comparison is flipped by its user, and leaves as a message of its own,
    among all others.

    A message names a pair and says who won; a shuffler mixes the messages of all L
    users, so that of the n ≥ ⌊Lk/P⌋ messages on one of the P pairs nobody learns
    more than how often each item won. All comparisons of a user are then (ε, δ)-DP
    at ε = `person`, though one alone is flipped with probability 1/(1 + e^ε₀) and
    ε₀ may be far above ε: `pipeline.privacy.shuffling` composes exactly binary
    accounts of k pairs, of n messages each, in every round. Where every user compares only some
    pairs, the survey must be balanced: a pair that few compare hides nobody. Cost
    O(reps · m²), whatever L. Source: Feldman, McMillan and Talwar (2022), for the
    idea; exact for binary answers.
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1)
    person: float = promised(WORDS)
    person_delta: float = SHUFFLED_DELTA
    questions: int | None = QUESTIONS
    messages: int | None = messages_on_least(WORDS, "comparisons")
    design: str = balanced_design(WORDS)
    draw: str = parameter(
        "law of the release: given the data, or at once",
        default="conditional",
        choices=("conditional", "marginal"),
    )
    rounds: int = ROUNDS

    words = WORDS
    hides = "a comparison among those of its pair"
    people_key = "L"
    guarantee: ClassVar[Guarantee] = shuffler_guarantee(
        WORDS,
        public="the number of users, how often each pair is compared",
        composition="exactly: of k numbers of wins, each among the messages on its pair",
    )
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = FlippedWins
    by_replication: ClassVar[bool] = True

    @property
    def answers(self) -> int:
        """Comparisons of a user."""
        return asked_of_person("questions", self.questions, self.m)

    @property
    def kinds(self) -> int:
        """Pairs of items."""
        return asked_of_person("questions", None, self.m)

    def release(self, data: Comparisons, rng: np.random.Generator) -> FlippedWins:
        """Released wins of a block, (reps, 1, pairs).

        Raises InvalidInput where users made more comparisons than are charged, and
        where a pair has fewer messages than are counted on.
        """
        check_charge(self.questions, self.answers, data.most_answers)
        users = np.array([self.L])
        trials = trials_of(users, data.compared(users))
        fewest = int(np.min(trials[trials > 0]))
        counted = f"a pair was compared {fewest:,} times"
        self.check_messages(fewest, "questions", self.questions, counted)
        return self._flipping(self.answer_epsilon).release(data, rng)

    def memory(self) -> float:
        """Bytes of one replication: raw and released wins, and their sources."""
        return 16 * self.m**2

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a
        nanosecond.

        It is the same with every budget, so the one that shuffling allows, which takes
        long, is not computed.
        """
        return self._flipping(self.person).cost()

    def _flipping(self, answer_epsilon: float) -> RandomizedResponse:
        """What a user does to comparisons, with a budget of each."""
        return RandomizedResponse(
            m=self.m,
            L=self.L,
            epsilon=answer_epsilon,
            questions=self.questions,
            draw=self.draw,
        )
