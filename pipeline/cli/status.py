"""`task=status` in the terminal: the state of studies for a person, or as JSON."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.cli.json_answer import print_json
from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.sessions import RUNNING, SessionRecord
from pipeline.reporting.formatting import count
from pipeline.study.untyped import JsonObject
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.lines import lines_of
from pipeline.workflow.seen import EffortSoFar
from pipeline.workflow.status import State, StudyProgress, StudyStatus, status
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.until import ends_in_words

MOST_RUNNING = 20  # running sessions that are listed
MOST_ENDED = 3  # the last ended sessions that are listed
EXIT_CODES = {
    State.DONE: EXIT_DONE,
    State.FAILED: EXIT_FAILED,
    State.MORE_TO_DO: EXIT_MORE_TO_DO,
}
SHOWN = (
    "started",
    "state",
    "units",
    "pending",
    "seconds",
    "workers",
    "lost",
    "host",
    "process",
    "job",
    "shard",
    "error",
)


def perform(studies: Sequence[StoredStudy], invocation: Invocation, as_json: bool = False) -> int:
    """Print the state of studies, for a person or as JSON; returns the exit code."""
    statuses = status(studies, invocation)
    code = max(EXIT_CODES[study.state] for study in statuses)
    if as_json:
        records = [record(study) for study in statuses]
        return print_json(code, {"studies": records})
    for study in statuses:
        print("\n".join(lines(study)))
        if study.progress is not None:
            print("\n".join(lines_of(study.progress.failed)))
    return code


def record(study: StudyStatus) -> JsonObject:
    """A status as one object of JSON; its keys are described in docs/programs.md."""
    entries = {
        "name": study.name,
        "storage": study.storage,
        "begun": study.progress is not None,
        "sealed": False,
        "cells": study.cells,
        "blocks": study.blocks,
        "replications_of_a_block": study.replications_of_a_block,
        "units": dataclasses.asdict(study.units),
        "targets": study.targets,
        "groups_on_target": "",
        "stops": list(map(dataclasses.asdict, study.stops)),
        "shortfalls": "",
        "mixed": [],
        "sessions": [],
        "units_per_second": 0.0,
        "seconds_left": None,
        "exit_code": EXIT_CODES[study.state],
        "effort": dataclasses.asdict(study.effort),
        "queue": {},
        "deserted": study.deserted,
    }
    if study.progress is not None:
        entries |= _record_of_progress(study.progress)
    if study.queue is not None:
        entries["queue"] = dataclasses.asdict(study.queue)
    return entries


def _record_of_progress(progress: StudyProgress) -> JsonObject:
    """The entries of a study that was begun."""
    return {
        "sealed": progress.sealed,
        "groups_on_target": _on_target(progress),
        "shortfalls": progress.shortfalls,
        "mixed": progress.mixed,
        "sessions": [_shown(session) for session in progress.sessions],
        "units_per_second": progress.units_per_second,
        "seconds_left": progress.seconds_left,
    }


def _shown(session: SessionRecord) -> dict[str, Any]:
    """What is shown of a session."""
    known = session.content() | {"error": session.error}
    return {name: known[name] for name in SHOWN}


def _on_target(progress: StudyProgress) -> str:
    """A line on how many groups of cells met their targets; "" without targets."""
    if progress.groups_on_target is None:
        return ""
    return lines_of(progress.groups_on_target)[0]


def lines(study: StudyStatus) -> Iterator[str]:
    """The state of a study, for a person."""
    yield f"{study.name}: {study.storage}"
    if study.progress is None:
        yield "  not begun"
    else:
        yield from _progress(study, study.progress)
    yield from _effort(study.effort)
    yield from _queue(study)


def _progress(study: StudyStatus, progress: StudyProgress) -> Iterator[str]:
    """What is known of a study that was begun."""
    yield _units(study, progress)
    for target in study.targets:
        yield f"  target: {target}"
    if progress.groups_on_target is not None:
        yield f"  {_on_target(progress)}"
    for line in ends_in_words(study.stops):
        yield f"  {line}"
    if progress.shortfalls:
        yield f"  {progress.shortfalls}"
    for accepted in progress.mixed:
        yield f"  mixed: numbers of different code or arithmetic ({accepted})"
    running = [session for session in progress.sessions if session.state == RUNNING]
    ended = [session for session in progress.sessions if session.state != RUNNING]
    if running:
        yield _running(progress, running)
    yield from _sessions(running, MOST_RUNNING)
    yield from _sessions(ended, MOST_ENDED)


def _units(study: StudyStatus, progress: StudyProgress) -> str:
    """How many units are done, of how many cells and blocks."""
    units = study.units
    most = "at most " if units.at_most else ""
    up_to = "up to " if units.all < study.cells * study.blocks else ""
    sealed = "sealed" if progress.sealed else "not sealed"
    return (
        f"  {units.done:,} of {most}{units.all:,} units done "
        f"({100 * units.done / units.all:.1f} %), {study.cells:,} cells × "
        f"{up_to}{study.blocks} blocks of {study.replications_of_a_block:,} replications; {sealed}"
    )


def _running(progress: StudyProgress, running: Sequence[SessionRecord]) -> str:
    """Who simulates, how fast, and how long that will take."""
    left = "time left unknown"
    if progress.seconds_left is not None:
        most = "at most " if progress.units.at_most else ""
        left = f"{most}{format_time(progress.seconds_left)} left"
    hosts = len({session.host for session in running})
    workers = sum(session.workers for session in running)
    return (
        f"  running: {count(len(running), 'session')} on {count(hosts, 'host')}, {workers} "
        f"workers, {progress.units_per_second:.3g} units/s, {left}"
    )


def _sessions(sessions: Sequence[SessionRecord], most: int) -> Iterator[str]:
    """The last sessions, and how many there were before."""
    for session in sessions[-most:]:
        yield _session(session)
    if len(sessions) > most:
        yield f"  and {len(sessions) - most:,} sessions before"


def _session(session: SessionRecord) -> str:
    """A session: where it ran, what it did, and what stopped it."""
    words = [session.started]
    for name, value in (("shard", session.shard), ("on", session.host), ("job", session.job)):
        if value:
            words.append(f"{name} {value}")
    text = (
        f"  session {', '.join(words)}: {session.state}, {session.units:,} of "
        f"{session.pending:,} units in {format_time(session.seconds)}"
    )
    return f"{text}: {session.error}" if session.error else text


def _effort(effort: EffortSoFar) -> Iterator[str]:
    """What units took."""
    if effort.slowest:
        cells = "; ".join(
            f"{cell.name or 'the only one'}: {format_time(cell.seconds)} a unit"
            for cell in effort.slowest
        )
        yield f"  slowest cells: {cells}"
    if effort.memory_of_worker:
        yield (
            f"  work so far: {format_time(effort.seconds_of_work)}; a worker took up to "
            f"{format_bytes(effort.memory_of_worker)}"
        )


def _queue(study: StudyStatus) -> Iterator[str]:
    """Jobs in the queue, and that none is left although there is more to do."""
    queue = study.queue
    if queue is None:
        return
    if queue.known:
        yield f"  jobs of {queue.system}: {queue.jobs}"
    if study.deserted:
        yield (
            "  no job of the last submission is in the queue, and there is more to do: the same "
            f"task=submit goes on; the jobs' output is in {queue.output}"
        )
