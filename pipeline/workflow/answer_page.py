"""`save=FILE.html` of `task=advise`: the certified answer as a page."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from pipeline.advice import words
from pipeline.advice.answer import Answer
from pipeline.advice.around import around
from pipeline.advice.certificate import Measured
from pipeline.advice.person import Terms
from pipeline.advice.records import ChangedMean, MechanismRow, StressCase
from pipeline.advice.text import BESIDE, MOST_ODDS, ROLES, between, distance, interval
from pipeline.reporting.answer_figure import Curves, Panel
from pipeline.reporting.answer_page import AnswerPage, Table, page
from pipeline.study.parameters import DataFile
from pipeline.workflow.atlas_files import Saved, write

ASSUMPTIONS = (
    "Along the unknown, the mean passes the target once, and continuously.",
    "Intervals of means are t intervals corrected for skewness, or Wilson's for shares; a "
    "certificate errs with less than 5 %.",
)
OF_THE_MODEL = (
    "People and items are as the model says, except in the cases above, each of which was "
    "simulated separately."
)
OF_THE_DATA = "The data are as they are: only what privacy adds is random."
HEADS_OF_MEANS = ("metric", "mean, 95 % interval", "target")


def save_answer(path: Path, answer: Answer) -> Saved:
    """Write the page of a certified answer; InvalidInput where it cannot be written."""
    write(path, page(answer_page(answer)).encode())
    certified = "certified" if answer.certified else "NOT certified"
    return Saved(path, f"the answer as a page, {certified}")


def answer_page(answer: Answer) -> AnswerPage:
    """All that the page says of an answer."""
    question = answer.question
    tables = [_person(answer), _beside(answer), _stress(answer), _mechanisms(answer)]
    tables = [table for table in tables if table.rows]
    everything = " ".join([*answer.in_words, answer.warning or "", *_texts(tables)])
    trade = [(word.word, word.meaning) for word in words.explained(everything)]
    decided = [(target.metric, words.meaning_of(question, target)) for target in question.targets]
    of_people = OF_THE_DATA if question.derive else OF_THE_MODEL
    return AnswerPage(
        title=words.title(question),
        headline=words.headline(question, answer.level, answer.better),
        certified=answer.certified,
        sentences=answer.in_words,
        warning=answer.warning,
        remark=answer.remark,
        numbers=[*_numbers(answer)],
        curves=_curves(answer),
        tables=tables,
        words=[*decided, *trade],
        assumptions=[*ASSUMPTIONS, of_people],
        command=words.command(question),
        facts=[*_facts(answer)],
    )


def _texts(tables: Sequence[Table]) -> Iterator[str]:
    """All texts of tables."""
    for table in tables:
        yield table.title
        yield table.note
        for row in [table.heads, *table.rows]:
            yield from row


def _numbers(answer: Answer) -> Iterator[tuple[str, str]]:
    """Numbers of the certificate."""
    advised = answer.unknown
    if answer.parameter != answer.unknown:
        advised += f" ({answer.parameter})"
    yield advised, f"{answer.side} {answer.value:,g}"
    yield (
        "where the targets are just met",
        f"{answer.boundary:,.4g}, 95 % interval {between(answer.low, answer.high)}",
    )
    shown = "shown" if answer.certified else "not shown"
    confidence = f"{100 * answer.confidence:g} %"
    yield (
        "fresh replications",
        f"{answer.replications:,}, {shown} with {confidence} confidence",
    )
    for row in answer.measured:
        yield f"mean of {row.metric}", f"{row.mean:.4g}, 95 % interval {interval(row)}"
        yield (
            f"a single run meets {row.metric}",
            f"with probability {row.share_of_runs_met:.2g}",
        )
    if answer.not_converged:
        yield (
            "estimates that did not converge",
            f"{100 * answer.not_converged:.2g} %; they are counted",
        )


def _person(answer: Answer) -> Table:
    """What the promise means for one person."""
    promise = answer.promise
    rows = []
    for role, name in ROLES:
        means = promise.in_a_persons_terms[role]
        if means is not None:
            rows.append((name, *_promise(means)))
    heads = (
        "what is attacked",
        "ε, nats",
        "δ",
        "odds change by a factor of",
        "found at 1 % false alarms",
        "found at 5 % false alarms",
    )
    aspects = [f"{aspect.capitalize()}: {text}." for aspect, text in promise.guarantee.rows()]
    note = " ".join(aspects)
    return Table("What it means for one person", heads, rows, note)


def _promise(means: Terms) -> Iterator[str]:
    """Cells of a row: budget, δ, odds, true alarms."""
    yield f"{means.budget:.4g}"
    yield f"{means.delta:g}"
    yield _odds(means.odds)
    bound = "" if means.exact else "at most "
    for attack in means.attacker:
        yield f"{bound}{100 * attack.true_alarms:.3g} %"


def _odds(odds: float | None) -> str:
    """A factor by which odds change."""
    if odds is None:
        return "not bounded"
    if odds >= MOST_ODDS:
        return "more than a million"
    return f"{odds:.4g}"


def _beside(answer: Answer) -> Table:
    """Means with more people or less budget."""
    rows = []
    for name, means in answer.beside.items():
        rows += [(BESIDE[name], *_mean(row)) for row in means]
    return Table("With one thing changed", ("change", *HEADS_OF_MEANS), rows)


def _stress(answer: Answer) -> Table:
    """Means if people are not as the model says."""
    rows = []
    for case in answer.stress:
        rows += _case(case)
    return Table("If people are not as the model says", ("case", *HEADS_OF_MEANS), rows)


def _case(case: StressCase) -> list[tuple[str, ...]]:
    """Rows of a case, or one with the reason why there are none."""
    if case.why:
        return [(case.case, "", "", case.why)]
    return [(case.case, *_mean(row)) for row in case.measured]


def _mean(row: ChangedMean) -> tuple[str, str, str]:
    """A metric, its mean with the interval, and by how much it misses its target."""
    return row.metric, f"{row.mean:.4g} {interval(row)}", distance(row)


def _mechanisms(answer: Answer) -> Table:
    """Mechanisms side by side, if there are several."""
    heads = ("mechanism", f"{answer.unknown} at which the targets are just met", "estimator")
    rows = []
    if len(answer.mechanisms) > 1:
        rows = [_mechanism(row) for row in answer.mechanisms]
    return Table("Mechanisms side by side", heads, rows)


def _mechanism(row: MechanismRow) -> tuple[str, str, str]:
    """Where a mechanism's targets are just met, or why that is nowhere."""
    if row.why:
        return row.mechanism, row.why, ""
    return row.mechanism, f"{row.boundary:,.4g} {interval(row)}", str(row.estimator)


def _facts(answer: Answer) -> Iterator[tuple[str, str]]:
    """What the numbers depend on."""
    question = answer.question
    yield "version", f"private-learning-pipeline {version('private-learning-pipeline')}"
    yield "seed", str(question.seed)
    for name, value in sorted(question.values.items()):
        if value is None:
            continue
        if isinstance(value, DataFile):
            yield _file(name, value)
        elif isinstance(value, str) and name.startswith("data_"):
            yield _file(name, DataFile.at(value, name))
        else:
            yield name, str(value)


def _file(name: str, content: DataFile) -> tuple[str, str]:
    """A file of own data and its digest. name: of its parameter."""
    role = name.removeprefix("data_")
    return f"data, {role}", f"{Path(content.path).name}, SHA-256 {content.sha256}"


def _curves(answer: Answer) -> Curves:
    """What the figure shows."""
    question = answer.question
    nearby = around(question, answer.level)
    panels = [
        _panel(answer, certified, nearby.measured[certified.metric])
        for certified in answer.measured
    ]
    name = "ε" if question.word == "epsilon" else question.parameter
    return Curves(
        levels=nearby.levels,
        value=answer.value,
        begins=(answer.low, answer.high),
        along=f"{question.unknown.meaning} ({name})",
        log=not question.unknown.left,
        panels=panels,
    )


def _panel(answer: Answer, certified: Measured, rows: Sequence[Measured]) -> Panel:
    """A target's panel. rows: what was measured at each level."""
    target = certified.target
    label = f"{words.meaning_of(answer.question, target)} ({target.metric})"
    return Panel(
        label=label,
        target=target.value,
        mean=[row.mean for row in rows],
        low=[row.low for row in rows],
        high=[row.high for row in rows],
        at_value=certified.mean,
        share=(target.least, target.most) == (0, 1),
    )
