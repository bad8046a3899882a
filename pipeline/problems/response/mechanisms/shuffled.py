"""Randomized response on single answers, whose messages leave in random order."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import Attack, Bound, ShuffledBit
from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.privacy.shuffling import shuffled_answer_budget
from pipeline.problems.common.person import ROUNDS, over_answers
from pipeline.problems.common.questions import DESIGNS
from pipeline.study.guarantee import ONE_PERSON, SHUFFLER, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMechanism

from ..model import Responses
from ..questions import QUESTIONS, check_charge, items_of_person
from ..releases import FlippedItemCounts


@dataclass(frozen=True)
class ShuffledResponse(BaseMechanism):
    """Every response is flipped by its person, and leaves as a message of its own, among all others.

    A message names an item and says right or wrong; a shuffler
    mixes the messages of all n persons, so that of the r ≥ ⌊nk/m⌋
    messages on one of the m items nobody learns more than how
    many say right: not which messages come from one person, so
    that pairs of items cannot be compared, and shares of right
    answers can. All responses of a person are then (ε, δ)-DP at ε
    = `person`, though one alone is flipped with probability 1/(1
    + e^ε₀) and ε₀ may be far above ε:
    `pipeline.privacy.shuffling` composes exactly binary accounts
    of k items, of r messages each, in every round. Where every
    person answers only some items, the survey must be balanced, and no answer
    may be missing: an item that few answer hides nobody. Cost
    O(reps · m) beyond the data's, whatever n.
    Source: Feldman, McMillan and Talwar (2022), for the idea;
    exact for binary answers.
    """

    n: int = parameter("persons", unit="persons", low=1)
    m: int = parameter("items", unit="items", low=2)
    person: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
    person_delta: float = parameter("δ of a person's budget", default=1e-6, above=0, below=1)
    questions: int | None = QUESTIONS
    messages: int | None = parameter(
        "messages on the item that is answered least, in data that were recorded; null follows "
        "from persons and questions",
        unit="answers",
        default=None,
        low=1,
    )
    design: str = parameter(
        "who answers what; it must be balanced, so that all items have as many messages",
        default="balanced",
        choices=DESIGNS,
    )
    p: float = parameter("probability that a response is observed; must be 1", default=1.0)
    rounds: int = ROUNDS

    guarantee: ClassVar[Guarantee] = Guarantee(
        trust=SHUFFLER,
        unit=ONE_PERSON,
        protects="all responses of one person",
        neighbours="these responses replaced by others to the same items",
        public="the number of persons, how often each item is answered",
        budget="(ε, δ)-DP for all responses of a person",
        composition="exactly: of k numbers of right answers, each among the messages on its item",
    )
    accepts: ClassVar[type] = Responses
    releases: ClassVar[type] = FlippedItemCounts
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.design != "balanced" and self.answers < self.m:
            allowed = "must be balanced: shuffling hides an answer among those to its item"
            raise InvalidInput("design", self.design, allowed)
        if self.p != 1:
            allowed = "must be 1: shuffling hides an answer among those to its item, all of them"
            raise InvalidInput("p", self.p, allowed)
        if self.reports < 1:
            needed = -(-self.m // self.answers)
            allowed = f"must be at least {needed:,}: each item needs a message at least"
            raise InvalidInput("n", self.n, allowed)

    @property
    def answers(self) -> int:
        """Items that each person answers, k."""
        return items_of_person(self.questions, self.m)

    @property
    def reports(self) -> int:
        """Messages on the item that is answered least."""
        if self.messages is not None:
            return self.messages
        return self.n * self.answers // self.m

    @cached_property
    def answer_epsilon(self) -> float:
        """ε₀, budget of one response before messages are shuffled."""
        answers = self.answers * self.rounds
        return shuffled_answer_budget(self.person, answers, self.person_delta, self.reports)

    def release(self, data: Responses, rng: np.random.Generator) -> FlippedItemCounts:
        """Messages that say right, and all, of each item.

        Raises InvalidInput where persons answered more items than
        are charged, and where an item has fewer messages than are
        counted on.
        """
        check_charge(self.questions, self.answers, data.most_answers or data.items)
        right, answered = data.item_counts()
        fewest = int(answered.min())
        if fewest < self.reports:
            allowed = (
                f"an item was answered {fewest:,} times, fewer than the {self.reports:,} that its "
                "messages are to be hidden among: every person must answer, in a balanced survey"
            )
            raise InvalidInput("questions", self.questions, allowed)
        flip = float(flip_probability(self.answer_epsilon))
        right_again = rng.binomial(right.astype(np.int64), 1 - flip)
        wrong_flipped = rng.binomial((answered - right).astype(np.int64), flip)
        flipped = (right_again + wrong_flipped).astype(float)
        return FlippedItemCounts(flipped, answered, self.answer_epsilon)

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
        """Budget of a person at δ = person_delta, and of one response before it is shuffled."""
        return {
            "all responses of a person": self.person,
            "one response, before shuffling": self.answer_epsilon,
        }

    def attacks(self) -> dict[str, Attack]:
        """A bound on attacks on one response among the messages on its item, and on a person."""
        answer = ShuffledBit(self.answer_epsilon, 1, self.reports - 1)
        return {"answer": answer, "person": Bound(self.person, self.person_delta)}

    def memory(self) -> float:
        """Bytes of one replication: messages of each item."""
        return 40 * self.m

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 200 * self.m
