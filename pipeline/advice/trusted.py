"""The answer to a question about a person's promise: for each kind of trust what is needed."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.advice import words
from pipeline.advice.answer import Answer, certified_answer
from pipeline.advice.both import Both, both_of
from pipeline.advice.question import Question
from pipeline.advice.records import MechanismRow
from pipeline.advice.refusal import refusal
from pipeline.advice.text import names_and_values, table, three_digits
from pipeline.advice.ways import Certified, Way, budget_remark, certified_ways
from pipeline.study.advice import Plan
from pipeline.study.guarantee import WHOM, amount
from pipeline.study.parameters import InvalidInput
from pipeline.study.strict_json import strict


@dataclass(frozen=True, repr=False)
class Trusted:
    """What is needed, by whom one trusts.

    question: as it was asked. rows: the best way of every kind of trust, the one that needs least
    first. best: the whole answer of the first of them. both: if a budget is the unknown and a risk
    is limited, the budgets that do both, for each row that was certified.
    """

    question: Question
    rows: Sequence[Certified | Way]
    best: Answer
    both: Sequence[Both] = ()

    @property
    def certified(self) -> bool:
        """Whether the ways of all kinds of trust that reach the targets were certified."""
        return all(row.certificate.targets_shown for row in self.rows if isinstance(row, Certified))

    @property
    def value(self) -> float:
        """What the way needs that needs least, as the person names the unknown."""
        return self.best.value

    def cells(self) -> list[list[str]]:
        """The table's heads, then its rows: whom to trust, what is needed, questions, mechanism."""
        heads = ["trust", self.question.level_name, "questions each", "mechanism"]
        rows = [_cells(row) for row in self.rows]
        if any(isinstance(row, Certified) and row.all_questions for row in self.rows):
            heads.append("with all questions")
        if self.question.parameter != self.question.advice.parameter_of("person"):
            heads.append("budget of a person")
        return [heads, *(_under(heads, row) for row in rows)]

    def table(self) -> list[str]:
        """The table, line by line."""
        return table(self.cells())

    def lines(self) -> list[str]:
        """The question, the table, and what each row asks of people; lines for a person."""
        lines = [words.title(self.question), "", *self.table(), ""]
        for row in self.rows:
            trust = WHOM[_plan(row).trust]
            if isinstance(row, Way):
                lines.append(f"If {trust} is trusted: {row.mechanism} {row.why}.")
                continue
            sentence = words.survey(row.question, row.level)
            beside = _beside(self.question, row)
            lines.append(f"If {trust} is trusted: {sentence[0].lower()}{sentence[1:]}{beside}")
        lines += [f"If {WHOM[both.trust]} is trusted: {both}." for both in self.both]
        lines.append(_how_sure(self.rows))
        return lines

    def __repr__(self) -> str:
        """The table, then the whole answer of the way that needs least."""
        certified = next(row for row in self.rows if isinstance(row, Certified))
        whom = WHOM[_plan(certified).trust]
        return "\n".join([*self.lines(), "", f"Where {whom} is trusted:", repr(self.best)])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        lines = html.escape("\n".join(self.lines()))
        return f"<div><pre>{lines}</pre>{self.best._repr_html_()}</div>"

    def record(self) -> dict[str, object]:
        """The answer as one object of strict JSON; see docs/advise.md."""
        entries: dict[str, object] = {
            "in_words": self.lines(),
            "ways": [_entries(self.question, row) for row in self.rows],
            "both": [{"trust": both.trust, **asdict(both)} for both in self.both],
            "certified": self.certified,
            "best": self.best.record(),
        }
        return strict(entries)


def is_about_a_person(question: Question) -> bool:
    """Whether ways of trust are to be compared: a person's budget is given or asked for, and not
    both the mechanism and the number of questions.
    """
    name = question.advice.parameter_of("person")
    budget = question.advice.parameter_of("epsilon")
    is_known = question.parameter == name or question.values.get(name) is not None
    has_plans = bool(name and _compared(question)) and not question.derive
    if not has_plans or not is_known or question.values.get(budget) is not None:
        _refuse_trust(question)
        return False
    questions = question.advice.parameter_of("questions")
    is_one_way = "mechanism" in question.chosen and question.values.get(questions) is not None
    return not is_one_way or question.risk is not None


def _compared(question: Question) -> list[Plan]:
    """The plans of the mechanism that the person named, or of all."""
    if "mechanism" not in question.chosen:
        return [*question.advice.plans]
    mechanism = question.values["mechanism"]
    return [plan for plan in question.advice.plans if plan.parameters["mechanism"] == mechanism]


def _refuse_trust(question: Question) -> None:
    """Raise InvalidInput where a kind of trust or a risk is named, and no person's budget, or a
    mechanism that is in no plan.
    """
    allowed = "is for budgets of persons: give person=1, or unknown=person, and no epsilon"
    if question.derive:
        allowed = "is for people who are asked, not for data of one's own; leave it out"
    elif not _compared(question):
        able = sorted({str(plan.parameters["mechanism"]) for plan in question.advice.plans})
        mechanism = question.values["mechanism"]
        allowed = f"does not go with mechanism={mechanism}, only with {', '.join(able)}"
    typed = {"trust": question.trust, "risk": question.risk}
    for key, value in typed.items():
        if value:
            raise InvalidInput(key, value, allowed)


def answer_by_trust(question: Question) -> Trusted:
    """The answer to a question about a person's promise.

    InvalidInput, in one line, where no kind of trust needs a certain amount of the unknown.
    """
    rows = certified_ways(question)
    if not rows:
        raise _no_way(question)
    first = next((row for row in rows if isinstance(row, Certified)), None)
    if first is None:
        raise _refusal(question, [row for row in rows if isinstance(row, Way)])
    assert first.way.simulator is not None and first.way.reached is not None
    shown = [_row(question, way) for way in (first.way, *first.others)]
    best = certified_answer(first.way.simulator, first.way.reached, first.certificate, shown)
    return Trusted(question, rows, best, both_of(question, rows))


def _no_way(question: Question) -> InvalidInput:
    """Why no plan fits what the person chose."""
    trusts = [plan.trust for plan in _compared(question)]
    if question.trust and question.trust not in trusts:
        mechanism = question.values["mechanism"]
        allowed = f"mechanism={mechanism} is for trust={trusts[0]}; leave out one of both"
        return InvalidInput("trust", question.trust, allowed)
    return InvalidInput(
        "estimator",
        question.values["estimator"],
        "takes the release of no mechanism that keeps a person's promise; leave it out",
    )


def _refusal(question: Question, ways: Sequence[Way]) -> InvalidInput:
    """Why no kind of trust has an answer: what fresh replications show of one that meets its
    targets everywhere, or else nowhere; or what each way says, or the one mistake of all.
    """
    errors = [way.error for way in ways if way.error is not None]
    if len(errors) == len(ways) and len({error.key for error in errors}) == 1:
        return errors[-1]
    searched = [way for way in ways if way.nowhere is not None and way.simulator is not None]
    searched.sort(key=lambda way: not way.everywhere)
    for way in searched:
        assert way.simulator is not None and way.nowhere is not None
        mechanism = way.mechanism if len(ways) > 1 else None
        return refusal(way.simulator, way.nowhere, mechanism)
    reasons = [f"{way.mechanism} {way.why}" for way in ways]
    return InvalidInput("target", ",".join(map(str, question.targets)), "; ".join(reasons))


def _plan(row: Certified | Way) -> Plan:
    if isinstance(row, Certified):
        return row.way.plan
    return row.plan


def _row(question: Question, way: Way) -> MechanismRow:
    """A way as one mechanism beside others of the same kind of trust."""
    if way.reached is None or way.simulator is None:
        return MechanismRow(way.mechanism, None, None, None, None, way.why)
    low, boundary, high = way.reached.shown()
    planned = way.simulator.question
    left_out = question.left_out(planned)
    estimator = planned.values["estimator"]
    return MechanismRow(way.mechanism, estimator, boundary, low, high, None, left_out)


def _under(heads: Sequence[str], cells: Mapping[str, str]) -> list[str]:
    """Cells of a row under some heads; the third is what the unknown needs."""
    return [cells.get(head, cells["needs"]) for head in heads]


def _cells(row: Certified | Way) -> dict[str, str]:
    """Cells of a row of the table, by the head of their column."""
    cells = {"trust": WHOM[_plan(row).trust], "needs": "–", "with all questions": "–"}
    cells["budget of a person"] = "–"
    if isinstance(row, Way):
        return {**cells, "questions each": _number(row.questions), "mechanism": row.mechanism}
    promise = row.question.parts(row.level).mechanism.promise()
    if promise.epsilon is not None:
        cells["budget of a person"] = amount(promise.epsilon, promise.delta)
    cells["questions each"] = _number(_questions(row))
    cells["mechanism"] = row.way.mechanism
    cells["needs"] = f"{row.value:,.0f}" if row.question.whole else f"{row.value:,g}"
    if row.all_questions is not None and row.all_questions.boundary is not None:
        cells["with all questions"] = f"about {three_digits(row.all_questions.boundary)}"
    return cells


def _questions(row: Certified) -> int | None:
    """How many questions a person answers, as far as the mechanism says."""
    mechanism = row.question.parts(row.level).mechanism
    answers: int | None = mechanism.promise().answers
    return row.way.questions or answers


def _number(questions: int | None) -> str:
    return "–" if questions is None else f"{questions:,}"


def _how_sure(rows: Sequence[Certified | Way]) -> str:
    """Whether what the rows say was certified."""
    failed = [
        WHOM[row.way.plan.trust]
        for row in rows
        if isinstance(row, Certified) and not row.certificate.targets_shown
    ]
    if not failed:
        sure = (
            f"Every line is certified with {words.CONFIDENCE} confidence by fresh simulations of "
            "its own"
        )
        if not any(isinstance(row, Certified) and row.all_questions for row in rows):
            return f"{sure}."
        return f"{sure}; what all questions would need is where the targets are just met."
    return f"NOT certified: the line of {', '.join(failed)}."


def _beside(question: Question, row: Certified) -> str:
    """What was left out of the question, and how far its budget can be trusted to be the largest;
    sentences that follow another one.
    """
    texts = []
    left_out = question.left_out(row.question)
    if left_out:
        texts.append(
            f"{names_and_values(left_out)} is left out: {row.way.mechanism} does not take it."
        )
    remark = budget_remark(row.question)
    if remark:
        texts.append(remark)
    return "".join(f" {text}" for text in texts)


def _entries(question: Question, row: Certified | Way) -> Mapping[str, Any]:
    """A row as an object of JSON."""
    if isinstance(row, Way):
        return {
            "trust": row.plan.trust,
            "mechanism": row.mechanism,
            "questions": row.questions,
            "value": None,
            "why": row.why,
        }
    way = row.way
    assert way.reached is not None
    low, boundary, high = way.reached.shown()
    with_all = None if row.all_questions is None else row.all_questions.boundary
    return {
        "trust": way.plan.trust,
        "mechanism": way.mechanism,
        "estimator": row.question.values["estimator"],
        "questions": _questions(row),
        "person": row.question.values.get(row.question.advice.parameter_of("person"), row.value),
        "value": row.value,
        "boundary": boundary,
        "low": low,
        "high": high,
        "certified": row.certificate.targets_shown,
        "replications": row.certificate.replications,
        "measured": [measured.record() for measured in row.certificate.measured],
        "boundary_with_all_questions": with_all,
        "survey": words.survey(row.question, row.level),
        "left_out": question.left_out(row.question),
        "why": None,
    }
