"""Who labels what: tasks and budgets of a worker, and the base of mechanisms without a curator."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.problems.common.answer_budgets import AnswerBudgets
from pipeline.problems.common.person import PERSON, PERSON_DELTA, ROUNDS
from pipeline.problems.common.questions import check_charged, check_questions
from pipeline.problems.common.words import Words
from pipeline.study.guarantee import NOBODY, ONE_ANSWER, Guarantee
from pipeline.study.parameters import parameter
from pipeline.study.untyped import AnyField

ANSWER = Guarantee(
    trust=NOBODY,
    unit=ONE_ANSWER,
    protects="one answer of one worker",
    neighbours="that answer replaced by its opposite",
    public="which tasks a worker answered",
    budget="pure ε-LADP per answer",
    composition="kε-LDP for the k ≤ m answers of a worker, or exactly composed at δ = person_delta",
)
WORDS = Words("worker", "answer", "task", "labels", "labelled", "others to the same tasks")
QUESTIONS: AnyField = parameter(
    "tasks that each worker labels; null is every task", unit="tasks", default=None, low=1
)


@dataclass(frozen=True)
class Budgets(AnswerBudgets):
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

    words = WORDS
    guarantee: ClassVar[Guarantee] = ANSWER

    @property
    def answers_wanted(self) -> int:
        """Answers that each worker is to give; raises InvalidInput."""
        return asked_of_worker("questions", self.questions, self.m)

    @property
    def payer(self) -> str:
        """The worker who gave most answers, or one who answers all tasks that are asked for."""
        if self.given is not None:
            return "the worker who gave most"
        if self.questions is not None:
            return "a worker"
        return "a worker who answers every task"


def asked_of_worker(key: str, questions: int | None, m: int) -> int:
    """Tasks that each worker labels, of m; None is all of them. Raises InvalidInput."""
    return check_questions(key, questions, m, "tasks")


def check_charge(questions: int | None, charged: int, most_answers: int) -> None:
    """Raise InvalidInput where a worker gave more answers than are charged."""
    check_charged(questions, charged, most_answers, "a worker of these data gave {most} answers")
