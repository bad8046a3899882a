"""Jobs of a study in the queue of a batch system: which were submitted, and what each waits for."""

import dataclasses
import json
import re
import shutil
import time
from collections import Counter
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
class SubmittedJobs:
    """The jobs of one `task=submit`.

    system: name of the batch system. jobs: their numbers. output: folder of what they print.
    """

    system: str
    jobs: tuple[str, ...]
    output: str


def record(folder: Path, submitted: SubmittedJobs) -> None:
    """Note in the folder of a study which jobs were submitted for it. Raises OSError."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    name = re.sub(r"\W", "_", submitted.jobs[0])
    content = json.dumps(dataclasses.asdict(submitted), indent=1) + "\n"
    write_whole(folder / FOLDER / f"{stamp}-{name}.json", content.encode())


def latest(folder: Path) -> SubmittedJobs | None:
    """What was submitted last for the study in a folder.

    None where nothing was, or the note is damaged.
    """
    paths = sorted((folder / FOLDER).glob("*.json"))
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        content = json.loads(read_regular(paths[-1]))
        numbers = tuple(map(str, content["jobs"]))
        submitted = SubmittedJobs(str(content["system"]), numbers, str(content["output"]))
        if submitted.system in systems() and submitted.jobs:
            return submitted
    return None


def unfinished(submitted: SubmittedJobs) -> list[Queued] | None:
    """Jobs that are in the queue, waiting or running.

    None where the system cannot be queried here.
    """
    system = systems()[submitted.system]()
    jobs = _ask(system, system.ask(submitted.jobs))
    if jobs is None:
        return None
    numbers = {_digits(number) for number in submitted.jobs}
    return [job for job in jobs if _digits(job.number) in numbers]


def waiting_workers(system: System) -> list[Queued]:
    """Jobs of this person's drivers that wait; none where the system cannot list these."""
    command = system.ask_for_workers(WORKERS)
    if not command:
        return []
    jobs = _ask(system, command) or []
    return [job for job in jobs if not job.running]


def in_words(jobs: Iterable[Queued]) -> str:
    """How many run, how many wait, and why.

    >>> in_words([Queued("7_1", True), Queued("7_[2-9]", False, "Priority")])
    '1 running, 1 waiting (Priority 1)'
    """
    running = 0
    waiting: Counter[str] = Counter()  # reasons
    for job in jobs:
        if job.running:
            running += 1
        else:
            waiting[job.reason] += 1
    words = []
    if running:
        words.append(f"{running} running")
    if waiting:
        words.append(f"{waiting.total()} waiting")
    reasons = ", ".join(f"{reason} {count}" for reason, count in waiting.items() if reason)
    if reasons:
        words[-1] += f" ({reasons})"
    return ", ".join(words) or "none in the queue"


def _ask(system: System, command: Sequence[str]) -> list[Queued] | None:
    """The jobs that a command lists; none where it knows no such job; None where it fails."""
    if not shutil.which(command[0]):
        return None
    try:
        return system.columns.read(call(command).splitlines())
    except Refused as error:
        if system.says_none(error):
            return []
        return None


def _digits(number: str) -> str:
    """The number of a job without that of a task."""
    return str(re.findall(r"\d+", number)[0])
