"""Randomized response on single answers, whose messages leave in random order."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.person import ROUNDS, promised
from pipeline.problems.common.shuffled_answers import (
    SHUFFLED_DELTA,
    ShuffledAnswers,
    balanced_design,
    messages_on_least,
    shuffler_guarantee,
)
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import InvalidInput, parameter

from ..model import Responses
from ..questions import QUESTIONS, WORDS, check_charge, items_of_person
from ..releases import FlippedItemCounts


@dataclass(frozen=True)
class ShuffledResponse(ShuffledAnswers):
    """Every response is flipped by its person, and leaves as a message of its own, among all
    others.

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
    person: float = promised(WORDS)
    person_delta: float = SHUFFLED_DELTA
    questions: int | None = QUESTIONS
    messages: int | None = messages_on_least(WORDS, "answers")
    design: str = balanced_design(WORDS)
    p: float = parameter("probability that a response is observed; must be 1", default=1.0)
    rounds: int = ROUNDS

    words = WORDS
    hides = "an answer among those to its item"
    people_key = "n"
    guarantee: ClassVar[Guarantee] = shuffler_guarantee(
        WORDS,
        public="the number of persons, how often each item is answered",
        composition="exactly: of k numbers of right answers, each among the messages on its item",
    )
    accepts: ClassVar[type] = Responses
    releases: ClassVar[type] = FlippedItemCounts
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p != 1:
            allowed = "must be 1: shuffling hides an answer among those to its item, all of them"
            raise InvalidInput("p", self.p, allowed)

    @property
    def answers(self) -> int:
        """Items that each person answers, k."""
        return items_of_person(self.questions, self.m)

    @property
    def kinds(self) -> int:
        """Items."""
        return self.m

    def release(self, data: Responses, rng: np.random.Generator) -> FlippedItemCounts:
        """Messages that say right, and all, of each item.

        Raises InvalidInput where persons answered more items than
        are charged, and where an item has fewer messages than are
        counted on.
        """
        check_charge(self.questions, self.answers, data.most_answers or data.items)
        right, answered = data.item_counts()
        fewest = int(answered.min())
        counted = f"an item was answered {fewest:,} times"
        self.check_messages(fewest, "questions", self.questions, counted)
        flip = float(flip_probability(self.answer_epsilon))
        right_again = rng.binomial(right.astype(np.int64), 1 - flip)
        wrong_flipped = rng.binomial((answered - right).astype(np.int64), flip)
        flipped = (right_again + wrong_flipped).astype(float)
        return FlippedItemCounts(flipped, answered, self.answer_epsilon)

    def memory(self) -> float:
        """Bytes of one replication: messages of each item."""
        return 40 * self.m

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 200 * self.m
