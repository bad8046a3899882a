"""`task=compare against=STUDY` in the terminal: another part on all cells of a finished study."""

import dataclasses
import sys
from collections.abc import Iterator, Sequence

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_MORE_TO_DO
from pipeline.cli.json_answer import print_json
from pipeline.reporting.formatting import count, levels, number
from pipeline.study.errors import Stopped
from pipeline.study.parameters import printable
from pipeline.study.untyped import Config, JsonObject
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.narration import Narration
from pipeline.workflow.plain_requests import (
    check_words,
    cluster_of,
    files_of,
    outputs_of,
    section_of,
    storage_of,
    text_of,
)
from pipeline.workflow.standing import (
    CONFIDENCE,
    REPLACEABLE,
    Against,
    CellOfStanding,
    Standing,
    StandingRequest,
    stand,
)

WORDS = (
    "against",
    *REPLACEABLE,
    "metric",
    "better",
    "parameters.",
    "outputs",
    "store.",
    "data.",
    "cluster",
    "cluster.",
)
MOST = 10  # cells shown of an opponent


def perform(entries: Config, words: Sequence[str], as_json: bool = False) -> int:
    """Simulate and compare; returns the exit code. Raises InvalidInput for a mistake."""
    check_words(entries, WORDS, "compare")
    parts = {}
    for role in REPLACEABLE:
        name = text_of(entries, role)
        if name is not None:
            parts[role] = name
    request = StandingRequest(
        outputs=outputs_of(entries),
        against=str(entries["against"]),
        parts=parts,
        cluster=cluster_of(entries),
        invocation=Invocation(tuple(words)),
        parameters=section_of(entries, "parameters"),
        metric=text_of(entries, "metric"),
        better=text_of(entries, "better") or "lower",
        storage=storage_of(entries),
        files=files_of(entries),
    )
    subscribers = () if as_json else (Narration(sys.stdout, sys.stderr),)
    try:
        standing = stand(request, *subscribers)
    except Stopped as stopped:
        print(stopped)
        return EXIT_MORE_TO_DO
    if as_json:
        return print_json(EXIT_DONE, record(standing))
    for line in lines(standing):
        print(printable(line))
    return EXIT_DONE


def lines(standing: Standing) -> Iterator[str]:
    """Where it wins, by how much, how surely."""
    yield f"{standing.name} on {standing.study}, the same data: {standing.label}"
    yield f"{standing.better} is better; all intervals hold together at {100 * CONFIDENCE:g} %"
    for opponent in standing.opponents:
        yield from _lines(opponent)
    yield f"table: {standing.table}"
    yield f"figure: {standing.figure}"


def _lines(opponent: Against) -> Iterator[str]:
    cells = count(len(opponent.cells), "cell")
    yield (
        f"  against {opponent.opponent}: better in {opponent.count(1):,} of {cells}, worse in "
        f"{opponent.count(-1):,}, undecided in {opponent.count(0):,}"
    )
    ordered = sorted(opponent.cells, key=_reach, reverse=True)
    for cell in ordered[:MOST]:
        interval = f"[{number(cell.low, 3)}, {number(cell.high, 3)}]"
        difference = f"{number(cell.mean, 3)} {interval}, {cell.percent:+.1f} %"
        yield f"    {levels(cell.labels)}: {difference}"
    if len(ordered) > MOST:
        yield f"    the {MOST} of {cells} with the largest differences"


def _reach(cell: CellOfStanding) -> float:
    """How large a difference is, in percent of the other part's mean."""
    return abs(cell.percent)


def record(standing: Standing) -> JsonObject:
    """The comparison as one object of JSON."""
    opponents = [
        {
            "against": opponent.opponent,
            "better": opponent.count(1),
            "worse": opponent.count(-1),
            "undecided": opponent.count(0),
            "cells": [
                {**dataclasses.asdict(cell), "percent": cell.percent} for cell in opponent.cells
            ],
        }
        for opponent in standing.opponents
    ]
    return {
        "study": standing.study,
        "part": standing.name,
        "metric": standing.metric,
        "better": standing.better,
        "confidence": CONFIDENCE,
        "opponents": opponents,
        "table": str(standing.table),
        "figure": str(standing.figure),
    }
