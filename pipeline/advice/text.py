"""Lines of an answer for a person: intervals, means, mechanisms side by side, a person's terms."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipeline.advice import words
from pipeline.advice.certificate import Measured
from pipeline.advice.person import Terms
from pipeline.advice.records import ChangedMean, Mean, MechanismRow, Promise, StressCase
from pipeline.advice.words import Word

BESIDE = {
    "without_privacy": "without privacy",
    "twice_the_people": "with twice the people",
    "half_the_budget": "with half the budget",
}
ROLES = (("person", "all answers of a person"), ("answer", "one answer"))
MOST_ODDS = 1e6  # factors above this one say nothing more


def explained(parts: Iterable[str]) -> Iterator[str]:
    """Parts of a text, and below the first that has a word of the trade, what it means."""
    known = list[Word]()
    for part in parts:
        yield part
        for word in words.explained(part, known):
            known.append(word)
            yield f"      ({word.word}: {word.meaning})"


def interval(row: Mean | Measured | MechanismRow) -> str:
    """The interval of a row; "…" where an end lies outside of the atlas."""
    return between(row.low, row.high)


def between(low: float | None, high: float | None) -> str:
    """An interval; "…" where an end lies outside of the atlas."""
    return f"[{number(low)}, {number(high)}]"


def number(end: float | None) -> str:
    """A number of an answer; "…" where it is not known."""
    return "…" if end is None else f"{end:,.4g}"


def three_digits(value: float) -> str:
    """A number > 0 with three digits that count, without an exponent.

    >>> three_digits(41976.2), three_digits(2.4)
    ('42,000', '2.40')
    """
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def mean(row: Mean | Measured) -> str:
    """A mean with its interval."""
    return f"{row.metric} = {row.mean:.4g} {interval(row)}"


def distance(row: ChangedMean) -> str:
    """By how much a mean misses its target."""
    if row.met:
        return "meets its target"
    return f"misses its target by {row.missed_by:.2g}"


def beside_lines(
    beside: Mapping[str, Sequence[ChangedMean]], stress: Sequence[StressCase]
) -> Iterator[str]:
    """What would be with more people, less budget, or other people."""
    for name, means in beside.items():
        yield f"  {BESIDE[name]}: {', '.join(map(mean, means))}"
    if stress:
        yield "  if people are not as the model says:"
        yield from _columns([(f"  {case.case}", _stress(case)) for case in stress])


def _stress(case: StressCase) -> str:
    """Means of a case, or why there are none."""
    if case.why:
        return case.why
    return ", ".join(f"{mean(row)}, {distance(row)}" for row in case.measured)


def mechanism_lines(rows: Sequence[MechanismRow], unknown: str) -> Iterator[str]:
    """Mechanisms side by side, if there are several."""
    if len(rows) < 2:
        return
    yield f"  {unknown} at which the targets are just met, by mechanism:"
    yield from _columns([(f"  {row.mechanism}", _mechanism(row)) for row in rows])


def _mechanism(row: MechanismRow) -> str:
    """Where a mechanism's targets are just met, or why that is nowhere."""
    if row.why:
        return row.why
    where = f"{number(row.boundary)} {interval(row)} with {row.estimator}"
    if not row.left_out:
        return where
    return f"{where}, without {names_and_values(row.left_out)}, which it does not take"


def names_and_values(parameters: Mapping[str, object]) -> str:
    """Parameters as they are typed.

    >>> names_and_values({"votes": "net", "p": 0.5})
    'votes=net, p=0.5'
    """
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def promise_lines(promise: Promise) -> Iterator[str]:
    """What the mechanism promises, and what that means for a person."""
    spent = [f"{name}: {budget:.4g} nats" for name, budget in promise.spent.items()]
    yield f"  privacy: {'; '.join([promise.guarantee.budget, *spent])}"
    for aspect, text in promise.guarantee.rows():
        if aspect not in ("budget", "amounts"):
            yield f"    {aspect}: {text}"
    for role, name in ROLES:
        means = promise.in_a_persons_terms[role]
        if means is not None:
            yield f"    {name}: {_terms(means)}"


def _terms(means: Terms) -> str:
    """A budget, the odds, and the best attack."""
    budget = f"{means.budget:.4g} nats"
    if means.delta:
        budget += f" at δ = {means.delta:g}"
    odds = ""
    if means.odds and means.odds < MOST_ODDS:
        odds = f"odds change by a factor of {means.odds:.4g} at most; "
    rates = [
        f"{100 * attack.true_alarms:.3g} % of cases at {100 * attack.false_alarms:g} %"
        for attack in means.attacker
    ]
    bound = "" if means.exact else "at most "
    return (
        f"{budget}; {odds}the best attack finds the truth in {bound}{' and '.join(rates)} "
        "false alarms"
    )


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, with a width for each column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(f"  {'  '.join(padded)}".rstrip())
    return lines


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Rows of a name and what is said of it, in two columns."""
    width = max(len(name) for name, _ in rows) + 2
    return [f"  {name:<{width}}{about}".rstrip() for name, about in rows]
