"""`save=FILE.html` of `task=advise`: the certified answer as a page."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline.advice import words
from pipeline.advice.answer import Answer
from pipeline.advice.around import around
from pipeline.cli.advise_text import BESIDE, distance, ends
from pipeline.reporting.answer_figure import Curves, Panel
from pipeline.reporting.answer_page import AnswerPage, Table, page
from pipeline.study.files import write_whole
from pipeline.study.parameters import DataFile, InvalidInput

ASSUMPTIONS = (
    "The mean passes the target once along the unknown, and continuously.",
    "Intervals of means are t intervals corrected for skewness, or Wilson's for shares; a "
    "certificate errs with less than 5 %.",
)
OF_THE_MODEL = (
    "People and items are as the model says, but for the cases above, each of which is simulated "
    "anew."
)
OF_THE_DATA = "The data are as they are: only what privacy adds is random."


def save_answer(where: Path, answer: Answer) -> str:
    """Write the page of a certified answer; says what it is.

    InvalidInput where it cannot be written.
    """
    content = page(answer_page(answer)).encode()
    try:
        write_whole(where, content)
    except OSError as error:
        raise InvalidInput(
            "save", where, f"cannot be written ({error.strerror or error})"
        ) from None
    return f"{where}: the answer as a page, {'certified' if answer.certified else 'NOT certified'}"


def answer_page(answer: Answer) -> AnswerPage:
    """All that the page says of an answer."""
    question = answer.question
    record = answer.record()
    tables = [
        table
        for table in (_person(record), _beside(record), _stress(record), _mechanisms(record))
        if table.rows
    ]
    everything = " ".join([*record["in_words"], record["warning"] or "", *_texts(tables)])
    trade = [(word.word, word.meaning) for word in words.explained(everything)]
    decided = [(target.metric, words.meaning_of(question, target)) for target in question.targets]
    of_people = OF_THE_DATA if question.derive else OF_THE_MODEL
    return AnswerPage(
        title=words.title(question),
        headline=words.headline(question, answer.level, record["better"]),
        certified=answer.certified,
        sentences=record["in_words"],
        warning=record["warning"],
        remark=record["remark"],
        numbers=[*_numbers(record)],
        curves=_curves(answer),
        tables=tables,
        words=[*decided, *trade],
        assumptions=[*ASSUMPTIONS, of_people],
        command=words.command(question),
        facts=[*_facts(answer)],
    )


def _texts(tables: list[Table]) -> Iterator[str]:
    for table in tables:
        yield table.title
        yield table.note
        for row in [table.heads, *table.rows]:
            yield from row


def _numbers(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Numbers of the certificate."""
    side = "at least" if record["better"] == "more" else "at most"
    word = record["unknown"]
    name = record["parameter"]
    yield word if word == name else f"{word} ({name})", f"{side} {record['value']:,g}"
    yield (
        "where the targets begin to be met",
        f"{record['boundary']:,.4g}, 95 % interval {ends(record)}",
    )
    shown = "shown" if record["certified"] else "not shown"
    yield (
        "fresh replications",
        f"{record['replications']:,}, {shown} with {100 * record['confidence']:g} % confidence",
    )
    for target in record["measured"]:
        yield f"mean of {target['metric']}", f"{target['mean']:.4g}, 95 % interval {ends(target)}"
        yield (
            f"a single run meets {target['metric']}",
            f"with probability {target['share_of_runs_met']:.2g}",
        )
    if record["not_converged"]:
        yield (
            "estimates that did not converge",
            f"{100 * record['not_converged']:.2g} %; they are counted",
        )


def _person(record: Mapping[str, Any]) -> Table:
    """What the promise means for one person."""
    rows = []
    for role, name in (("person", "all that a person gives"), ("answer", "one answer")):
        means = record["in_a_persons_terms"][role]
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
    note = (
        f"Promise: {record['budget']}. Unit: {record['unit']}. Neighbours: {record['neighbours']}."
    )
    return Table("What it means for one person", heads, rows, note)


def _promise(means: Mapping[str, Any]) -> Iterator[str]:
    """Cells of a row: budget, δ, odds, true alarms."""
    yield f"{means['budget']:.4g}"
    yield f"{means['delta']:g}"
    odds = means["odds"]
    yield "not bounded" if odds is None else f"{odds:.4g}" if odds < 1e6 else "more than a million"
    bound = "" if means["exact"] else "at most "
    for attack in means["attacker"]:
        yield f"{bound}{100 * attack['true_alarms']:.3g} %"


def _beside(record: Mapping[str, Any]) -> Table:
    """Means with more people or less budget."""
    rows = [
        (BESIDE[name], target["metric"], f"{target['mean']:.4g} {ends(target)}", distance(target))
        for name, targets in record["beside"].items()
        for target in targets
    ]
    return Table(
        "What would be otherwise", ("change", "metric", "mean, 95 % interval", "target"), rows
    )


def _stress(record: Mapping[str, Any]) -> Table:
    """Means if people are not as the model says."""
    rows = []
    for case in record["stress"]:
        if case["why"]:
            rows.append((case["case"], "", "", case["why"]))
        rows += [
            (
                case["case"],
                target["metric"],
                f"{target['mean']:.4g} {ends(target)}",
                distance(target),
            )
            for target in case["measured"]
        ]
    return Table(
        "If people are not as the model says",
        ("case", "metric", "mean, 95 % interval", "target"),
        rows,
    )


def _mechanisms(record: Mapping[str, Any]) -> Table:
    """Mechanisms side by side."""
    rows = [
        (row["mechanism"], row["why"], "")
        if row["why"]
        else (row["mechanism"], f"{row['boundary']:,.4g} {ends(row)}", row["estimator"])
        for row in record["mechanisms"]
    ]
    heads = ("mechanism", f"{record['unknown']} from which the targets are met", "estimator")
    return Table("Mechanisms side by side", heads, rows if len(rows) > 1 else [])


def _facts(answer: Answer) -> Iterator[tuple[str, str]]:
    """What the numbers depend on."""
    question = answer.question
    yield "version", f"private-learning-pipeline {version('private-learning-pipeline')}"
    yield "seed", str(question.seed)
    for name, value in sorted(question.values.items()):
        if isinstance(value, DataFile):
            yield (
                f"data, {name.removeprefix('data_')}",
                f"{Path(value.path).name}, SHA-256 {value.sha256}",
            )
        elif isinstance(value, str) and name.startswith("data_"):
            content = DataFile.at(value, name)
            yield (
                f"data, {name.removeprefix('data_')}",
                f"{Path(content.path).name}, SHA-256 {content.sha256}",
            )
        elif value is not None:
            yield name, str(value)


def _curves(answer: Answer) -> Curves:
    """What the figure shows."""
    question = answer.question
    nearby = around(question, answer.level)
    panels = []
    for target, certified in zip(question.targets, answer.certificate.measured, strict=True):
        rows = nearby.measured[target.metric]
        label = f"{words.meaning_of(question, target)} ({target.metric})"
        panels.append(
            Panel(
                label,
                target.value,
                [row.mean for row in rows],
                [row.low for row in rows],
                [row.high for row in rows],
                certified.mean,
                (target.least, target.most) == (0, 1),
            )
        )
    name = "ε" if question.word == "epsilon" else question.parameter
    along = f"{question.unknown.meaning} ({name})"
    return Curves(
        nearby.levels,
        answer.value,
        (answer.low, answer.high),
        along,
        not question.unknown.left,
        panels,
    )
