"""Which budgets of a person meet the targets and keep a risk, and how many people let them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.advice.question import Question
from pipeline.advice.risk_budgets import DIGITS, largest_budget
from pipeline.advice.text import three_digits
from pipeline.advice.ways import Certified, Way, certified_ways


@dataclass(frozen=True)
class Both:
    """Budgets of a person that meet the targets and keep a risk.

    least: at which the targets were certified. largest: at which the risk is kept. people: how many
    times the people would do, where no budget does both; None where one does, or nobody knows.
    """

    trust: str
    least: float
    largest: float
    people: float | None = None

    @property
    def possible(self) -> bool:
        """Whether there is a budget that does both."""
        return self.least <= self.largest

    def __str__(self) -> str:
        if self.possible:
            return f"every budget from {self.least:.4g} to {self.largest:.{DIGITS}g} nats does both"
        needed = (
            f"no budget does both: the targets need {self.least:.4g} nats, and the risk allows "
            f"{self.largest:.{DIGITS}g}"
        )
        if self.people is None:
            return needed
        if self.people <= 1:
            return f"asked this way, {needed}; with other questions as many people do both"
        return f"{needed}; {three_digits(self.people)} times the people would"


def both_of(question: Question, rows: Sequence[Certified | Way]) -> list[Both]:
    """Which budgets do both, for each certified way; none where the question asks for no budget."""
    risk = question.risk
    if risk is None or question.parameter != question.advice.parameter_of("person"):
        return []
    both = []
    for row in rows:
        if isinstance(row, Way):
            continue
        trust = row.way.plan.trust
        budget = Both(trust, row.value, largest_budget(row.question, risk))
        if not budget.possible:
            budget = replace(budget, people=_times_the_people(question, trust))
        both.append(budget)
    return both


def _times_the_people(question: Question, trust: str) -> float | None:
    """How many times the people of a question reach the targets at a budget that keeps the risk."""
    people = question.advice.parameter_of("people")
    if people not in question.values:
        return None
    values = {name: value for name, value in question.values.items() if name != people}
    values[question.parameter] = question.unknown.start
    changed = replace(question, word="people", values=values, trust=trust, person_from_risk=True)
    (row,) = certified_ways(changed)
    if isinstance(row, Way) or not row.certificate.targets_shown:
        return None
    return row.value / float(question.values[people])
