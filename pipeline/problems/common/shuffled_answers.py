"""Answers that leave as messages of their own, in random order: what such mechanisms share."""

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from pipeline.privacy.attacks import Bound, ShuffledBit
from pipeline.privacy.shuffling import shuffled_answer_budget
from pipeline.problems.common.person import over_answers
from pipeline.problems.common.questions import DESIGNS
from pipeline.problems.common.words import Words
from pipeline.study.abstract import Abstract
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import ONE_PERSON, SHUFFLER, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMechanism
from pipeline.study.untyped import AnyField

SHUFFLED_DELTA: AnyField = parameter("δ of a person's budget", default=1e-6, above=0, below=1)


def messages_on_least(words: Words, unit: str) -> AnyField:
    """The parameter `messages`: of the question that is answered least."""
    return parameter(
        f"messages on the {words.question} that is {words.answered} least, in data that were "
        f"recorded; null follows from {words.person}s and questions",
        unit=unit,
        default=None,
        low=1,
    )


def balanced_design(words: Words) -> AnyField:
    """The parameter `design` where messages are to hide each other."""
    return parameter(
        f"who {words.answers} what; it must be balanced, so that all {words.question}s have as "
        "many messages",
        default="balanced",
        choices=DESIGNS,
    )


def shuffler_guarantee(words: Words, public: str, composition: str) -> Guarantee:
    """What is guaranteed by whoever mixes messages. public, composition: as in a `Guarantee`."""
    return Guarantee(
        trust=SHUFFLER,
        unit=ONE_PERSON,
        protects=words.all_of_one,
        neighbours=words.replaced,
        public=public,
        budget=f"(ε, δ)-DP for {words.all_answers}",
        composition=composition,
    )


class ShuffledAnswers(BaseMechanism, Abstract):
    """Base of mechanisms that flip answers of two kinds, each of which a shuffler then mixes.

    Who derives from it declares the parameters below, in an order of its own. hides: an answer
    among which others. people_key: the parameter that is the number of people.
    """

    person: float
    person_delta: float
    messages: int | None
    design: str
    rounds: int

    words: ClassVar[Words]
    hides: ClassVar[str]
    people_key: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.design != "balanced" and self.answers < self.kinds:
            allowed = f"must be balanced: shuffling hides {self.hides}"
            raise InvalidInput("design", self.design, allowed)
        if self.reports < 1:
            needed = -(-self.kinds // self.answers)
            allowed = (
                f"must be at least {needed:,}: each {self.words.question} needs a message at least"
            )
            raise InvalidInput(self.people_key, self.people, allowed)

    @property
    @abstractmethod
    def answers(self) -> int:
        """Answers of a person."""

    @property
    @abstractmethod
    def kinds(self) -> int:
        """Questions that there are."""

    @property
    def people(self) -> int:
        """How many people answer."""
        return int(getattr(self, self.people_key))

    @property
    def reports(self) -> int:
        """Messages on the question that is answered least, of those answered at all."""
        if self.messages is not None:
            return self.messages
        return self.people * self.answers // self.kinds

    @cached_property
    def answer_epsilon(self) -> float:
        """ε₀, budget of one answer before messages are shuffled."""
        answers = self.answers * self.rounds
        return shuffled_answer_budget(self.person, answers, self.person_delta, self.reports)

    def check_messages(self, fewest: int, key: str, value: object, counted: str) -> None:
        """Raise InvalidInput, for a key and its value, where a question has too few messages."""
        if fewest < self.reports:
            allowed = (
                f"{counted}, fewer than the {self.reports:,} that its messages are to be hidden "
                f"among: every {self.words.person} must answer, in a balanced survey"
            )
            raise InvalidInput(key, value, allowed)

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
        """Budget of a person at δ = person_delta, and of one answer before it is shuffled."""
        return {
            self.words.all_answers: self.person,
            f"one {self.words.answer}, before shuffling": self.answer_epsilon,
        }

    def attacks(self) -> dict[str, Attack]:
        """A bound on attacks on one answer among the messages on its question, and on a person."""
        answer = ShuffledBit(self.answer_epsilon, 1, self.reports - 1)
        return {"answer": answer, "person": Bound(self.person, self.person_delta)}
