"""What any answer consists of: the advised value, the promise, means and mechanisms.

Each record has its own entry of JSON, by the names of its fields.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.advice import words
from pipeline.advice.person import Terms, budgets, terms
from pipeline.advice.question import Question
from pipeline.advice.targets import Target
from pipeline.study.parameters import DataFile


@dataclass(frozen=True)
class Mean:
    """The mean of a metric. low, high: of its interval or band."""

    metric: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class ChangedMean(Mean):
    """A mean after something was changed. met: whether it meets its target.

    missed_by: by how much it misses the target; 0 where it meets it.
    """

    met: bool
    missed_by: float


@dataclass(frozen=True)
class StressCase:
    """People who are not as the model says. case: in words; changes: of parameters.

    measured: a mean for each target; why: nothing could be measured, or None.
    """

    case: str
    changes: Mapping[str, Any]
    measured: Sequence[ChangedMean]
    why: str | None


@dataclass(frozen=True)
class MechanismRow:
    """Where the targets begin to be met with one mechanism, with the ends of its interval or band.

    why: they are not met with it at any level, or are met at every level; None otherwise.
    """

    mechanism: str
    estimator: str | None
    boundary: float | None
    low: float | None
    high: float | None
    why: str | None


@dataclass(frozen=True)
class Promise:
    """What a mechanism promises. budget, unit, neighbours: in words.

    spent: name -> nats. budget_per_person, budget_per_answer: in nats; None where the mechanism
    does not say. in_a_persons_terms: for "answer" and "person", or None in place of them.
    """

    budget: str
    unit: str
    neighbours: str
    spent: Mapping[str, float]
    budget_per_person: float | None
    budget_per_answer: float | None
    in_a_persons_terms: Mapping[str, Terms | None]


@dataclass(frozen=True, repr=False)
class Advised(ABC):
    """Any answer. level: the advised level of the unknown's parameter; value: the same, as the
    person names it.

    boundary: where the targets begin to be met, with the ends low and high of its interval or
    band. better: whether larger values are better. mechanisms: side by side.
    """

    question: Question
    level: float
    value: float
    boundary: float
    low: float | None
    high: float | None
    better: Literal["more", "less"]
    mechanisms: Sequence[MechanismRow]

    @property
    @abstractmethod
    def certified(self) -> bool:
        """Whether fresh replications showed that all targets are met."""

    @property
    @abstractmethod
    def result(self) -> str:
        """What is learned, and how sure that is, in one sentence."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """The answer as one object of strict JSON; see docs/advise.md."""

    @property
    def problem(self) -> str:
        """Name of the problem."""
        return self.question.problem.name

    @property
    def unknown(self) -> str:
        """The word of the unknown, such as "epsilon"."""
        return self.question.word

    @property
    def parameter(self) -> str:
        """Name of the unknown's parameter in the problem."""
        return self.question.parameter

    @property
    def target(self) -> Sequence[Target]:
        """The targets."""
        return self.question.targets

    @property
    def given(self) -> dict[str, Any]:
        """Name -> value of all that was not unknown; of a file, its path and digest."""
        entries = {}
        for name, value in sorted(self.question.values.items()):
            entries[name] = str(value) if isinstance(value, DataFile) else value
        return entries

    @property
    def seed(self) -> int:
        """The seed of all simulations."""
        return self.question.seed

    @property
    def promise(self) -> Promise:
        """What the mechanism promises at the advised level."""
        return promise_of(self.question, self.level)

    @property
    def in_words(self) -> list[str]:
        """The answer in three sentences."""
        return [
            words.survey(self.question, self.level),
            words.privacy(self.question, self.level),
            self.result,
        ]

    @property
    def warning(self) -> str | None:
        """That hardly any privacy is left; None where some is."""
        return words.warning(self.question, self.level)

    @property
    def remark(self) -> str | None:
        """That the value lies far beyond the boundary, and why; None where it does not."""
        return None

    def __repr__(self) -> str:
        """The answer as the command prints it."""
        from pipeline.advice.text import text  # which reads answers

        return text(self)

    def _repr_html_(self) -> str:
        """The answer in a notebook."""
        from pipeline.advice.text import html_of  # which reads answers

        return html_of(self)

    def _begin_record(self) -> dict[str, Any]:
        """The first entries of JSON: sentences, the question, and the promise."""
        targets = [
            {"metric": target.metric, "relation": target.relation, "value": target.value}
            for target in self.target
        ]
        return {
            "in_words": self.in_words,
            "warning": self.warning,
            "remark": self.remark,
            "problem": self.problem,
            "unknown": self.unknown,
            "parameter": self.parameter,
            "target": targets,
            "given": self.given,
            **dataclasses.asdict(self.promise),
            "seed": self.seed,
        }


def promise_of(question: Question, level: float) -> Promise:
    """What the mechanism promises at a level of the unknown."""
    mechanism = question.parts(level).mechanism
    cost = budgets(mechanism)
    spent: Mapping[str, float] = mechanism.spent()
    return Promise(
        budget=mechanism.budget,
        unit=mechanism.unit,
        neighbours=mechanism.neighbours,
        spent={name: float(budget) for name, budget in spent.items()},
        budget_per_person=cost.person,
        budget_per_answer=cost.answer,
        in_a_persons_terms=terms(mechanism),
    )


def better_side(larger: bool) -> Literal["more", "less"]:
    """On which side of a value the targets are met."""
    return "more" if larger else "less"


def strict(value: Any) -> Any:
    """A value as strict JSON has it: None for a number that is not finite, lists for tuples."""
    if isinstance(value, Mapping):
        return {name: strict(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
