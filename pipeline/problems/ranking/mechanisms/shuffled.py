"""Randomized response on single comparisons, whose messages leave in random order."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import Attack, Bound, ShuffledBit
from pipeline.privacy.shuffling import shuffled_answer_budget
from pipeline.problems.common.person import ROUNDS, over_answers
from pipeline.problems.common.questions import DESIGNS
from pipeline.study.guarantee import ONE_PERSON, SHUFFLER, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMechanism

from ..design import QUESTIONS, asked_of_person, check_charge
from ..model import Comparisons
from ..releases import FlippedWins, trials_of
from .randomized_response import RandomizedResponse


@dataclass(frozen=True)
class ShuffledResponse(BaseMechanism):
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
    person: float = parameter(("privacy budget of all comparisons of a user"), unit="nats", above=0)
    person_delta: float = parameter(("δ of a person's budget"), default=1e-6, above=0, below=1)
    questions: int | None = QUESTIONS
    messages: int | None = parameter(
        "messages on the pair that is compared least, in data that were recorded; null follows "
        "from users and questions",
        unit="comparisons",
        default=None,
        low=1,
    )
    design: str = parameter(
        "who compares what; it must be balanced, so that all pairs have as many messages",
        default="balanced",
        choices=DESIGNS,
    )
    draw: str = parameter(
        "law of the release: given the data, or at once",
        default="conditional",
        choices=("conditional", "marginal"),
    )
    rounds: int = ROUNDS

    guarantee: ClassVar[Guarantee] = Guarantee(
        trust=SHUFFLER,
        unit=ONE_PERSON,
        protects="all comparisons of one user",
        neighbours="these comparisons replaced by others of the same pairs",
        public="the number of users, how often each pair is compared",
        budget="(ε, δ)-DP for all comparisons of a user",
        composition=("exactly: of k numbers of wins, each among the messages on its pair"),
    )
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = FlippedWins
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = asked_of_person("questions", None, self.m)
        if self.design != "balanced" and self.answers < pairs:
            allowed = "must be balanced: shuffling hides a comparison among those of its pair"
            raise InvalidInput("design", self.design, allowed)
        if self.reports < 1:
            needed = -(-pairs // self.answers)
            allowed = f"must be at least {needed:,}: each pair needs a message at least"
            raise InvalidInput("L", self.L, allowed)

    @property
    def answers(self) -> int:
        """Comparisons of a user."""
        return asked_of_person("questions", self.questions, self.m)

    @property
    def reports(self) -> int:
        """Messages on the pair that is compared least, of those compared at all."""
        if self.messages is not None:
            return self.messages
        pairs = asked_of_person("questions", None, self.m)
        return self.L * self.answers // pairs

    @cached_property
    def answer_epsilon(self) -> float:
        """ε₀, budget of one comparison before messages are shuffled."""
        answers = self.answers * self.rounds
        return shuffled_answer_budget(self.person, answers, self.person_delta, self.reports)

    def release(self, data: Comparisons, rng: np.random.Generator) -> FlippedWins:
        """Released wins of a block, (reps, 1, pairs).

        Raises InvalidInput where users made more comparisons than are charged, and
        where a pair has fewer messages than are counted on.
        """
        check_charge(self.questions, self.answers, data.most_answers)
        users = np.array([self.L])
        trials = trials_of(users, data.compared(users))
        fewest = int(np.min(trials[trials > 0]))
        if fewest < self.reports:
            allowed = (
                f"a pair was compared {fewest:,} times, fewer than the {self.reports:,} that its "
                "messages are to be hidden among: every user must answer, in a balanced survey"
            )
            raise InvalidInput("questions", self.questions, allowed)
        return self._flipping(self.answer_epsilon).release(data, rng)

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
        """Budget of a user at δ = person_delta, and of one comparison before it is
        shuffled.
        """
        return {
            "all comparisons of a user": self.person,
            "one comparison, before shuffling": self.answer_epsilon,
        }

    def attacks(self) -> dict[str, Attack]:
        """A bound on attacks on one comparison among the messages on its pair, and
        on a user.
        """
        answer = ShuffledBit(self.answer_epsilon, 1, self.reports - 1)
        return {"answer": answer, "person": Bound(self.person, self.person_delta)}

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
