"""Jobs of a study in the queue of a batch system: which were submitted, and what each waits for."""

import json
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.clusters.jobs import WORKERS
from pipeline.execution.systems.base import System
from pipeline.execution.systems.commands import Refused, call
from pipeline.execution.systems.listing import Queued
from pipeline.execution.systems.registry import systems
from pipeline.study.files import read_regular, write_whole

FOLDER = "submitted"  # of a study: a file for each submission


@dataclass(frozen=True)
class Submitted:
    """The jobs of one `task=submit`: the batch system, their numbers, and the folder of what they
    print.
    """

    system: str
    jobs: tuple[str, ...]
    output: str


def record(folder: Path, submitted: Submitted) -> None:
    """Note in the folder of a study which jobs were submitted for it. Raises OSError."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    name = re.sub(r"\W", "_", submitted.jobs[0])
    content = {"system": submitted.system, "jobs": list(submitted.jobs), "output": submitted.output}
    write_whole(
        folder / FOLDER / f"{stamp}-{name}.json", (json.dumps(content, indent=1) + "\n").encode()
    )


def latest(folder: Path) -> Submitted | None:
    """What was submitted last for the study in a folder.

    None where nothing was, or the note is damaged.
    """
    paths = sorted((folder / FOLDER).glob("*.json"))
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        content = json.loads(read_regular(paths[-1]))
        numbers = tuple(map(str, content["jobs"]))
        submitted = Submitted(str(content["system"]), numbers, str(content["output"]))
        return submitted if submitted.system in systems() and submitted.jobs else None
    return None


def unfinished(submitted: Submitted) -> list[Queued] | None:
    """Jobs that are in the queue, waiting or running; None where the system cannot be asked here."""
    system = systems()[submitted.system]()
    jobs = _ask(system, system.ask(submitted.jobs))
    if jobs is None:
        return None
    numbers = {_digits(number) for number in submitted.jobs}
    return [job for job in jobs if _digits(job.number) in numbers]


def waiting_workers(system: System) -> list[Queued]:
    """Jobs of this person's drivers that wait; none where the system cannot be asked so."""
    command = system.ask_for_workers(WORKERS)
    jobs = _ask(system, command) if command else None
    return [job for job in jobs or () if not job.running]


def in_words(jobs: Iterable[Queued]) -> str:
    """How many run, how many wait, and why.

    >>> in_words([Queued("7_1", True), Queued("7_[2-9]", False, "Priority"), Queued("8", False, "Dependency")])
    '1 running, 2 waiting (Priority 1, Dependency 1)'
    """
    known = list(jobs)
    waiting = [job for job in known if not job.running]
    counts: dict[str, int] = {}
    for job in waiting:
        counts[job.reason] = counts.get(job.reason, 0) + 1
    reasons = ", ".join(f"{reason} {count}" for reason, count in counts.items() if reason)
    words = []
    if len(known) > len(waiting):
        words.append(f"{len(known) - len(waiting)} running")
    if waiting:
        words.append(f"{len(waiting)} waiting" + (f" ({reasons})" if reasons else ""))
    return ", ".join(words) or "none in the queue"


def _ask(system: System, command: Sequence[str]) -> list[Queued] | None:
    """The jobs that a command lists; none where it knows no such job; None where it fails."""
    if not shutil.which(command[0]):
        return None
    try:
        return system.columns.read(call(command).splitlines())
    except Refused as error:
        return [] if system.says_none(error) else None


def _digits(number: str) -> str:
    """The number of a job without that of a task."""
    return str(re.findall(r"\d+", number)[0])
