"""Jobs of a study in the queue of a batch system: which were submitted, and what each waits for."""

import json
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.clusters.jobs import Refused, call, user
from pipeline.study.files import read_regular, write_whole

FOLDER = "submitted"  # of a study: a file for each submission
WORKERS = "pipeline-workers"  # name of the jobs of a driver
RUNNING = re.compile(r"R(UNNING)?|RUN|r|COMPLETING|CG", re.ASCII)  # states of a job that has begun
WAITS = {"slurm": ("squeue", "--noheader", "--format=%i|%T|%r"), "pbs": ("qstat", "-t"),
         "lsf": ("bjobs", "-noheader", "-o", "jobid stat pend_reason delimiter='|'"), "sge": ("qstat", "-u", user())}
NOTHING_LEFT = "Invalid job id|Unknown Job|not found|has finished"


@dataclass(frozen=True)
class Queued:
    """A job, or a task of an array: whether it has begun, and why it has not, where the batch system says so."""

    number: str
    running: bool
    reason: str = ""


@dataclass(frozen=True)
class Submitted:
    """The jobs of one `task=submit`: the batch system, their numbers, and the folder of what they print."""

    system: str
    jobs: tuple[str, ...]
    output: str


def record(folder: Path, submitted: Submitted) -> None:
    """Note in the folder of a study which jobs were submitted for it. Raises OSError."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    name = re.sub(r"\W", "_", submitted.jobs[0])
    content = {"system": submitted.system, "jobs": list(submitted.jobs), "output": submitted.output}
    write_whole(folder / FOLDER / f"{stamp}-{name}.json", (json.dumps(content, indent=1) + "\n").encode())


def latest(folder: Path) -> Submitted | None:
    """What was submitted last for the study in a folder; None where nothing was, or the note is damaged."""
    paths = sorted((folder / FOLDER).glob("*.json"))
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        content = json.loads(read_regular(paths[-1]))
        submitted = Submitted(str(content["system"]), tuple(map(str, content["jobs"])), str(content["output"]))
        return submitted if submitted.system in WAITS and submitted.jobs else None
    return None


def unfinished(submitted: Submitted) -> list[Queued] | None:
    """Jobs that are in the queue, waiting or running; None where the batch system cannot be asked here."""
    command = list(WAITS[submitted.system])
    if submitted.system == "slurm":
        command.append(f"--jobs={','.join(submitted.jobs)}")
    elif submitted.system != "sge":
        command += submitted.jobs
    numbers = {re.findall(r"\d+", number)[0] for number in submitted.jobs}
    lines = _ask(command)
    if lines is None:
        return None
    return [job for job in _read(submitted.system, lines) if re.findall(r"\d+", job.number)[0] in numbers]


def waiting_workers(system: str) -> list[Queued]:
    """Jobs of this person's drivers that wait; none where the batch system cannot be asked so."""
    if system != "slurm":
        return []
    lines = _ask([*WAITS[system], "--me", f"--name={WORKERS}"]) or []
    return [job for job in _read(system, lines) if not job.running]


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


def _ask(command: Sequence[str]) -> list[str] | None:
    """Lines that a command of the batch system prints; none where it knows no such job; None where it fails."""
    if not shutil.which(command[0]):
        return None
    try:
        return call(command).splitlines()
    except Refused as error:
        return [] if re.search(NOTHING_LEFT, str(error)) else None


def _read(system: str, lines: Sequence[str]) -> list[Queued]:
    """The jobs in what a batch system prints."""
    jobs = []
    place = {"pbs": -2, "sge": 4}.get(system, 1)
    for line in lines:
        words = line.split("|") if system in ("slurm", "lsf") else line.split()
        if len(words) <= abs(place) or not words[0].strip()[:1].isdigit():
            continue
        state = words[place].strip()
        running = bool(RUNNING.fullmatch(state))
        reason = words[2].strip() if system in ("slurm", "lsf") and len(words) > 2 and not running else ""
        jobs.append(Queued(words[0].strip(), running, "" if reason in ("None", "-") else reason))
    return jobs
