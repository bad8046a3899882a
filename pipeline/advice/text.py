"""An answer as a person reads it: three sentences, then numbers; in a terminal or in a notebook."""

import html
from collections.abc import Iterable, Iterator, Sequence

from pipeline.advice import words
from pipeline.advice.advised import Advised, ChangedMean, Mean, MechanismRow, StressCase
from pipeline.advice.answer import Answer
from pipeline.advice.certificate import Measured
from pipeline.advice.first import First
from pipeline.advice.person import Terms
from pipeline.advice.words import Word

BESIDE = {
    "without_privacy": "without privacy",
    "twice_the_people": "with twice the people",
    "half_the_budget": "with half the budget",
}
ROLES = (("person", "all answers of a person"), ("answer", "one answer"))
MOST_ODDS = 1e6  # factors above this one say nothing more


def text(answer: Advised) -> str:
    """The answer in words, and below each word of the trade, where it is first used, its meaning."""
    sentences = "\n".join(opening(answer))
    return "\n".join(explained([sentences, "", *numbers(answer)]))


def html_of(answer: Advised) -> str:
    """The same for a notebook: sentences as paragraphs, and the numbers below, folded away."""
    paragraphs = [f"<p>{html.escape(sentence)}</p>" for sentence in answer.in_words]
    if answer.warning:
        paragraphs.append(f"<p><strong>{html.escape(answer.warning)}</strong></p>")
    lines = html.escape("\n".join(explained(numbers(answer))))
    advised = html.escape(headline(answer))
    return (
        f"<div><p><strong>{advised}</strong></p>{''.join(paragraphs)}"
        f"<details><summary>numbers</summary><pre>{lines}</pre></details></div>"
    )


def explained(parts: Iterable[str]) -> Iterator[str]:
    """Parts of a text, and below the first that has a word of the trade, what it means."""
    known = list[Word]()
    for part in parts:
        yield part
        for word in words.explained(part, known):
            known.append(word)
            yield f"      ({word.word}: {word.meaning})"


def opening(answer: Advised) -> Iterator[str]:
    """Three sentences, and the warning, if there is one."""
    yield from answer.in_words
    if answer.warning:
        yield answer.warning


def first_lines(answer: First) -> list[str]:
    """A first answer in short: its sentences, its headline, its band, and where it comes from."""
    return [*opening(answer), headline(answer), _boundary(answer), _source(answer)]


def numbers(answer: Advised) -> Iterator[str]:
    """The answer in numbers, line by line."""
    yield headline(answer)
    yield _boundary(answer)
    if answer.remark:
        yield f"  {answer.remark}"
    if isinstance(answer, First):
        yield from _atlas(answer)
    if isinstance(answer, Answer):
        yield from _certificate(answer)
    yield from _privacy(answer)
    if isinstance(answer, Answer):
        yield from _beside(answer)
    yield from _mechanisms(answer)
    known = [f"{name}={value}" for name, value in answer.given.items() if value is not None]
    yield f"  with {', '.join(known)}"


def headline(answer: Advised) -> str:
    """What is advised, in one line."""
    advised = answer.unknown
    if answer.parameter != answer.unknown:
        advised += f" ({answer.parameter})"
    targets = ", ".join(
        f"{target.metric} {target.relation} {target.value:g}" for target in answer.target
    )
    return f"{answer.problem}: {advised} {side(answer)} {answer.value:,g}, for {targets}"


def side(answer: Advised) -> str:
    """On which side of the value the targets are met, in words."""
    return "at least" if answer.better == "more" else "at most"


def interval(row: Advised | Mean | Measured | MechanismRow) -> str:
    """An interval; "…" where an end lies outside of the atlas."""
    return f"[{_end(row.low)}, {_end(row.high)}]"


def mean(row: Mean) -> str:
    """A mean with its interval."""
    return f"{row.metric} = {row.mean:.4g} {interval(row)}"


def distance(row: ChangedMean) -> str:
    """By how much a mean misses its target."""
    if row.met:
        return "meets its target"
    return f"misses its target by {row.missed_by:.2g}"


def _end(end: float | None) -> str:
    return "…" if end is None else f"{end:,.4g}"


def _boundary(answer: Advised) -> str:
    name = "95 % interval" if isinstance(answer, Answer) else "band"
    return f"  the targets are just met at {answer.boundary:,.4g}, {name} {interval(answer)}"


def _source(answer: First) -> str:
    """That an answer is not of this very question."""
    return "  from the atlas, NOT certified: interpolated between cells simulated in advance"


def _atlas(answer: First) -> Iterator[str]:
    """Where a first answer comes from, and its means."""
    yield _source(answer)
    for row in answer.measured:
        yield f"    {mean(row)} on average"


def _certificate(answer: Answer) -> Iterator[str]:
    """Whether the targets were shown to be met, and the means."""
    confidence = f"{100 * answer.confidence:g} %"
    shown = "certified with" if answer.certified else "NOT certified: not shown with"
    yield f"  {shown} {confidence} confidence by {answer.replications:,} fresh replications:"
    for row in answer.measured:
        yield (
            f"    {row.metric} = {row.mean:.4g} {interval(row)} on average; a single "
            f"run meets its target with probability {row.share_of_runs_met:.2g}"
        )
    if answer.not_converged:
        yield (
            f"    {100 * answer.not_converged:.2g} % of the estimates did not converge; they "
            "are counted"
        )


def _beside(answer: Answer) -> Iterator[str]:
    """What would be with more people, less budget, or other people."""
    for name, means in answer.beside.items():
        yield f"  {BESIDE[name]}: {', '.join(map(mean, means))}"
    if answer.stress:
        yield "  if people are not as the model says:"
        yield from _columns([(f"  {case.case}", _stress(case)) for case in answer.stress])


def _stress(case: StressCase) -> str:
    """Means of a case, or why there are none."""
    if case.why:
        return case.why
    return ", ".join(f"{mean(row)}, {distance(row)}" for row in case.measured)


def _mechanisms(answer: Advised) -> Iterator[str]:
    """Mechanisms side by side, if there are several."""
    if len(answer.mechanisms) < 2:
        return
    yield f"  {answer.unknown} at which the targets are just met, by mechanism:"
    yield from _columns([(f"  {row.mechanism}", _mechanism(row)) for row in answer.mechanisms])


def _mechanism(row: MechanismRow) -> str:
    """Where a mechanism's targets are just met, or why that is nowhere."""
    if row.why:
        return row.why
    return f"{_end(row.boundary)} {interval(row)} with {row.estimator}"


def _privacy(answer: Advised) -> Iterator[str]:
    """What the mechanism promises, and what that means for a person."""
    promise = answer.promise
    spent = [f"{name}: {budget:.4g} nats" for name, budget in promise.spent.items()]
    yield f"  privacy: {'; '.join([promise.budget, *spent])}"
    yield f"    unit: {promise.unit}; neighbours: {promise.neighbours}"
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


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Rows of a name and what is said of it, in two columns."""
    width = max(len(name) for name, _ in rows) + 2
    return [f"  {name:<{width}}{about}".rstrip() for name, about in rows]
