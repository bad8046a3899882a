"""The answer to a question, or the reason why there is none, in one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.advice import words
from pipeline.advice.beside import beside, stressed
from pipeline.advice.certificate import ERROR, Certificate, certify
from pipeline.advice.choice import choose
from pipeline.advice.person import budgets, terms
from pipeline.advice.question import Question, read
from pipeline.study.parameters import DataFile, InvalidInput


@dataclass(frozen=True)
class Answer:
    """What is advised. value: of the unknown, as the person names it, at which the targets were
    certified; low, high: 95 % interval of where they begin to be met, and boundary, its estimate;
    better: whether larger values are better.
    """

    question: Question
    value: float
    boundary: float
    low: float
    high: float
    better: str
    certificate: Certificate
    beside: Mapping[str, Any]
    stress: tuple[Mapping[str, Any], ...] = ()
    others: tuple[Mapping[str, Any], ...] = ()

    @property
    def certified(self) -> bool:
        """Whether fresh replications showed, with 95 % confidence, that all targets are met."""
        return self.certificate.given

    @property
    def level(self) -> float:
        """The value as the parts take it."""
        return self.certificate.level

    @property
    def beyond(self) -> float:
        """How many times the value is the boundary, or the boundary the value where less is
        advised; of a share that is

        missing, that of what is left."""
        level, boundary = (self.question.shown(end) for end in (self.value, self.boundary))
        return max(level / boundary, boundary / level)

    def in_words(self) -> list[str]:
        """The answer in three sentences."""
        return [
            words.survey(self.question, self.level),
            words.privacy(self.question, self.level),
            words.result(self.question, self.certificate),
        ]

    def record(self) -> dict[str, Any]:
        """The answer as one object of JSON; see docs/advise.md."""
        return {
            "in_words": self.in_words(),
            "warning": words.warning(self.question, self.level),
            "remark": words.far_beyond(self.question, self.beyond, self.certificate.replications),
            **about(self.question, self.level),
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "boundary": self.boundary,
            "better": self.better,
            "beyond": self.beyond,
            "source": "simulation",
            "certified": self.certified,
            "confidence": 1 - ERROR,
            "measured": [measured.record() for measured in self.certificate.measured],
            "replications": self.certificate.replications,
            "not_converged": self.certificate.not_converged,
            "beside": dict(self.beside),
            "stress": list(self.stress),
            "mechanisms": list(self.others),
        }


def about(question: Question, level: float) -> dict[str, Any]:
    """What any answer says of its question, and of the mechanism's promise at a level of the
    unknown; for JSON.
    """
    mechanism = question.parts(level).mechanism
    cost = budgets(mechanism)
    spent: Mapping[str, float] = mechanism.spent()
    return {
        "problem": question.problem.name,
        "unknown": question.word,
        "parameter": question.parameter,
        "target": [
            {"metric": target.metric, "relation": target.relation, "value": target.value}
            for target in question.targets
        ],
        "given": {
            name: str(value) if isinstance(value, DataFile) else value
            for name, value in sorted(question.values.items())
        },
        "budget": mechanism.budget,
        "unit": mechanism.unit,
        "neighbours": mechanism.neighbours,
        "spent": {name: float(budget) for name, budget in spent.items()},
        "budget_per_person": cost.person,
        "budget_per_answer": cost.answer,
        "in_a_persons_terms": terms(mechanism),
        "seed": question.seed,
    }


def answer(request: Mapping[str, Any] | Question) -> Answer:
    """The answer to a question, or a request as `question.read` takes it.

    The same one gives the same, to the last bit.

    Raises InvalidInput, in one line, for every mistake, and where no value of the unknown, or each,
    meets the targets.
    """
    question = request if isinstance(request, Question) else read(request)
    try:
        return _answer(question)
    except MemoryError as error:
        raise InvalidInput(
            "problem",
            question.problem.name,
            f"takes more memory than there is here ({error}); ask for smaller sizes",
        ) from None


def _answer(question: Question) -> Answer:
    simulator, reached, others = choose(question)
    question = simulator.question
    certificate = certify(simulator, reached)
    level = certificate.level
    low, boundary, high = reached.shown()
    larger = (reached.axis.better > 0) != question.unknown.left
    nearby = beside(simulator, level)
    stress = tuple(stressed(simulator, level))
    return Answer(
        question,
        question.shown(level),
        boundary,
        low,
        high,
        "more" if larger else "less",
        certificate,
        nearby,
        stress,
        tuple(others),
    )
