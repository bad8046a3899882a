"""What one answer of a person may spend, where nobody is trusted: what such mechanisms share."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from pipeline.privacy.composition import answer_budget, person_budget
from pipeline.problems.common.person import check_agreement, over_answers
from pipeline.problems.common.words import Words
from pipeline.study.abstract import Abstract
from pipeline.study.guarantee import ONE_PERSON, Guarantee
from pipeline.study.parameters import InvalidInput
from pipeline.study.parts import BaseMechanism


class AnswerBudgets(BaseMechanism, Abstract):
    """Base of mechanisms that protect each answer by itself, within `epsilon` or `person`.

    Who derives from it declares the parameters below, in an order of its own.
    """

    epsilon: float | None
    given: int | None
    person: float | None
    person_delta: float
    rounds: int

    words: ClassVar[Words]

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.answers_wanted  # raises InvalidInput
        _ = self.largest_budget  # raises InvalidInput
        check_agreement(self.epsilon, self.person, self.composed_answers, self.person_delta)

    @property
    @abstractmethod
    def answers_wanted(self) -> int:
        """Answers that each person is to give; raises InvalidInput."""

    @property
    @abstractmethod
    def payer(self) -> str:
        """Whose budget `spent` states, in words."""

    @property
    def answer_epsilon(self) -> float:
        """Budget of one answer; of a person whose multiple is 1, where people are in groups."""
        if self.person is not None:
            return answer_budget(self.person, self.composed_answers, self.person_delta)
        if self.epsilon is None:
            allowed = (
                f"is needed by {type(self).__name__} (privacy budget of one {self.words.answer}, "
                f"a number > 0), or person (that of {self.words.all_answers})"
            )
            raise InvalidInput("epsilon", None, allowed)
        return self.epsilon

    @property
    def largest_budget(self) -> float:
        """Budget of one answer of the person who spends most."""
        return self.answer_epsilon

    @property
    def answers(self) -> int:
        """Answers of the person who gives most."""
        if self.given is not None:
            return self.given
        return self.answers_wanted

    @property
    def composed_answers(self) -> int:
        """Answers of that person in all rounds, whose budgets compose."""
        return self.answers * self.rounds

    def stated(self) -> Guarantee:
        """Of one answer where `epsilon` says what that costs; of a person where `person` does."""
        composed = over_answers(self.guarantee, self.rounds)
        if self.person is None:
            return composed
        kind = "pure ε-LDP" if self.person_delta == 0 else "(ε, δ)-LDP"
        return replace(
            composed,
            unit=ONE_PERSON,
            protects=self.words.all_of_one,
            neighbours=self.words.replaced,
            budget=f"{kind} for {self.words.all_answers}",
        )

    def promise(self) -> Guarantee:
        """The guarantee in numbers, of the person who spends most."""
        largest = self.largest_budget
        return replace(
            self.stated(),
            epsilon=person_budget(largest, self.composed_answers, self.person_delta),
            delta=self.person_delta,
            answer_epsilon=largest,
            answers=self.answers,
        )

    def spent(self) -> dict[str, float]:
        """Largest budget, in nats: of one answer, and of all of a person, exactly composed."""
        largest = self.largest_budget
        composed = person_budget(largest, self.composed_answers, self.person_delta)
        return {
            f"one {self.words.answer}": largest,
            f"all {self.words.answer}s of {self.payer}": composed,
        }
