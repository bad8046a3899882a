"""Who labels what: tasks and budgets of a worker, and the base of mechanisms without a curator."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pipeline.privacy.composition import answer_budget, person_budget
from pipeline.problems.common.person import (
    PERSON,
    PERSON_DELTA,
    ROUNDS,
    check_agreement,
    over_answers,
)
from pipeline.problems.common.questions import check_questions
from pipeline.study.guarantee import NOBODY, ONE_ANSWER, ONE_PERSON, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMechanism

ANSWER = Guarantee(
    trust=NOBODY,
    unit=ONE_ANSWER,
    protects="one answer of one worker",
    neighbours="that answer replaced by its opposite",
    public="which tasks a worker answered",
    budget="pure ε-LADP per answer",
    composition="kε-LDP for the k ≤ m answers of a worker, or exactly composed at δ = person_delta",
)
QUESTIONS: Any = parameter(
    "tasks that each worker labels; null is every task", unit="tasks", default=None, low=1
)


@dataclass(frozen=True)
class Budgets(BaseMechanism):
    """n workers who label tasks, and what a worker may spend.

    What one answer may spend is said by `epsilon`, as in
    the paper, or follows from `person`: what all answers of
    a worker together may spend. questions: tasks that each
    worker labels. given: answers of the worker who gave
    most, in data that were recorded. rounds: releases, each
    of other answers, that share the budget of `person`.
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    epsilon: float | None = parameter(
        "privacy budget of one answer; null follows from person; mechanism=none is for no privacy",
        unit="nats",
        default=None,
        above=0,
        instead="person",
    )
    given: int | None = parameter(
        "answers of the worker who gave most; null is one to every task that is asked for",
        unit="answers",
        default=None,
        low=1,
    )
    questions: int | None = QUESTIONS
    person: float | None = PERSON
    person_delta: float = PERSON_DELTA
    rounds: int = ROUNDS

    guarantee: ClassVar[Guarantee] = ANSWER

    def __post_init__(self) -> None:
        super().__post_init__()
        asked_of_worker("questions", self.questions, self.m)
        check_agreement(self.epsilon, self.person, self.composed_answers, self.person_delta)
        _ = self.answer_epsilon  # raises InvalidInput

    @property
    def answer_epsilon(self) -> float:
        """Budget of one answer."""
        if self.person is not None:
            return answer_budget(self.person, self.composed_answers, self.person_delta)
        if self.epsilon is None:
            allowed = (
                f"is needed by {type(self).__name__} (privacy budget of one answer, a number > 0), "
                "or person (that of all answers of a worker)"
            )
            raise InvalidInput("epsilon", None, allowed)
        return self.epsilon

    @property
    def answers(self) -> int:
        """Answers of the worker who gives most."""
        if self.given is not None:
            return self.given
        return asked_of_worker("questions", self.questions, self.m)

    @property
    def composed_answers(self) -> int:
        """Answers of that worker in all rounds, whose budgets compose."""
        return self.answers * self.rounds

    def stated(self) -> Guarantee:
        """Of one answer where `epsilon` says what that costs; of a worker where `person` does."""
        composed = over_answers(self.guarantee, self.rounds)
        if self.person is None:
            return composed
        kind = "pure ε-LDP" if self.person_delta == 0 else "(ε, δ)-LDP"
        return replace(
            composed,
            unit=ONE_PERSON,
            protects="all answers of one worker",
            neighbours="these answers replaced by others to the same tasks",
            budget=f"{kind} for all answers of a worker",
        )

    def promise(self) -> Guarantee:
        """The guarantee in numbers, of the worker who gives most answers."""
        each = self.answer_epsilon
        return replace(
            self.stated(),
            epsilon=person_budget(each, self.composed_answers, self.person_delta),
            delta=self.person_delta,
            answer_epsilon=each,
            answers=self.answers,
        )

    def spent(self) -> dict[str, float]:
        """Budgets, in nats: of one answer, and of all answers of a worker, exactly composed.

        That is the worker who gave most answers, or one who
        answers all tasks that are asked for.
        """
        if self.given is not None:
            whose = "all answers of the worker who gave most"
        elif self.questions is not None:
            whose = "all answers of a worker"
        else:
            whose = "all answers of a worker who answers every task"
        epsilon = self.answer_epsilon
        return {
            "one answer": epsilon,
            whose: person_budget(epsilon, self.composed_answers, self.person_delta),
        }


def asked_of_worker(key: str, questions: int | None, m: int) -> int:
    """Tasks that each worker labels, of m; None is all of them. Raises InvalidInput."""
    return check_questions(key, questions, m, "tasks")


def check_charge(questions: int | None, charged: int, most_answers: int) -> None:
    """Raise InvalidInput where a worker gave more answers than are charged.

    questions: the parameter that is to blame. most_answers:
    answers of the worker who gave most.
    """
    if most_answers <= charged:
        return
    raise InvalidInput(
        "questions",
        questions,
        f"a worker of these data gave {most_answers:,} answers, all of which cost budget",
    )
