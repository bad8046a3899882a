"""Batch jobs that hold Dask workers: submitted, replaced when they end, never left behind."""

import contextlib
import getpass
import math
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOK = 2.0  # seconds between looks at the workers
ASK = 15.0  # seconds between questions to the batch system, and before an idle job is ended
STILLBORN = 3  # jobs in a row that end before any worker joins, or more if more are wanted
REFUSED = 4  # times in a row that no job is taken while none is left
SECRET = re.compile("ACCESS_KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL")  # in the name of a variable
PATIENCE = 60.0  # seconds a batch system may take to answer


class Refused(OSError):
    """The batch system does not take a job: what it says, on one line."""


def call(command: Sequence[str], **options: Any) -> str:
    """Output of a batch system's command; Refused says what it says when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)
    except subprocess.TimeoutExpired:
        raise Refused(f"{command[0]} did not answer within {PATIENCE:g} s") from None
    except OSError as error:
        raise Refused(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise Refused(_essence(done.stderr or done.stdout) or f"{command[0]} ended with code {done.returncode}")
    return done.stdout + done.stderr


@dataclass
class Job:
    """One job: its number in the queue, the name of its workers, and what was seen of them."""

    number: str
    name: str
    seen: float = 0.0  # when a worker of it was last there; 0: never
    busy: float = 0.0  # when it last had work, or waited in the queue


class Jobs:
    """The jobs of one cluster; a context manager that cancels them.

    Args:
        make: name of the workers -> dask-jobqueue's Job, with its script and its commands.
        listing: command that lists this user's unfinished jobs, one a line, its number first.
        wanted: most jobs at once; least: fewest, with as many as there is work for in between.
        workers: worker processes of one job.
        folder: for the jobs' scripts; output: where what they print goes.
        scheduler: the Dask scheduler that their workers join.
        discreet: whether the batch system shows nobody what a job inherits; if not, jobs inherit no secrets.
    """

    def __init__(self, make: Callable[[str], Any], listing: Sequence[str], wanted: int, least: int, workers: int,
                 folder: Path, output: Path, scheduler: Any, discreet: bool = False):
        self.make, self.listing, self.wanted, self.least = make, listing, wanted, least
        self.workers, self.folder, self.output, self.scheduler = workers, folder, output, scheduler
        self.discreet = discreet
        self.jobs: list[Job] = []
        self.born = self.stillborn = self.refused = 0
        self.looked = self.asked = 0.0

    def __enter__(self) -> "Jobs":
        return self

    def __exit__(self, *_: Any) -> None:
        self.end(self.jobs)

    def submit(self) -> None:
        """Submit one more job; Refused says why it cannot be."""
        self.born += 1
        name = f"job{self.born}"
        made = self.make(name)
        script = self.folder / f"{name}.sh"
        script.write_text(made.job_script(), "utf-8")
        with open(script) as standard_input:  # bsub reads it there
            said = call([*shlex.split(made.submit_command), *([] if made.submit_command == "bsub" else [str(script)])],
                        stdin=standard_input,
                        env={k: v for k, v in os.environ.items() if self.discreet or not SECRET.search(k)})
        if not (number := re.search(r"\d+", said)):
            raise Refused(f"{made.submit_command} says {_essence(said)!r}, which names no job")
        self.jobs.append(Job(number[0], name, busy=time.monotonic()))

    def end(self, jobs: Sequence[Job]) -> None:
        """Cancel jobs; one that is gone already is as good."""
        ended = {job.number for job in jobs}
        self.jobs = [job for job in self.jobs if job.number not in ended]
        if ended:
            with contextlib.suppress(Refused):
                call([*shlex.split(self.make("end").cancel_command), *sorted(ended)])

    def tend(self) -> None:
        """Replace jobs that ended, submit as many as there is work for, end those that idle.

        Raises OSError when jobs keep ending before a worker joins, or none can be submitted.
        """
        if (now := time.monotonic()) - self.looked < LOOK:
            return
        self.looked = now
        there: dict[str, bool] = {}
        for worker in list(self.scheduler.workers.values()):
            job = str(worker.name).partition("-")[0]  # several workers of a job are numbered
            there[job] = there.get(job, False) or bool(worker.processing)
        for job in self.jobs:
            if job.name in there:
                job.seen, self.stillborn = now, 0
            if there.get(job.name, job.seen == 0):
                job.busy = now
        if now - self.asked > ASK and any(now - job.seen > LOOK for job in self.jobs):
            self.asked = now
            self._bury()
        target = max(self.least, min(self.wanted, math.ceil(len(self.scheduler.tasks) / self.workers)))
        try:
            while len(self.jobs) < target:
                self.submit()
                self.refused = 0
        except Refused:  # a limit on jobs, or a system that is away: ask again later
            self.looked, self.refused = now + ASK, self.refused + 1
            if not self.jobs and self.refused >= REFUSED:
                raise
        idle = [job for job in self.jobs if now - job.busy > ASK]
        self.end(idle[: max(len(self.jobs) - target, 0)])

    def _bury(self) -> None:
        try:
            said = call(self.listing)
        except Refused as error:
            if "No unfinished job" not in str(error):  # busy, or away: ask again later
                return
            said = ""  # LSF says so with an error code
        present = set(re.findall(r"^\s*(\d+)", said, re.MULTILINE))
        gone = [job for job in self.jobs if job.number not in present]
        self.jobs = [job for job in self.jobs if job.number in present]
        self.stillborn += sum(not job.seen for job in gone)
        if self.stillborn >= max(STILLBORN, self.wanted):
            raise ChildProcessError(f"{self.stillborn} jobs ended before their workers joined, the last one says: "
                                    f"{self._last_words(gone[-1])}")

    def _last_words(self, job: Job) -> str:
        for path in self.output.iterdir():
            if job.number in re.findall(r"\d+", path.name) and (words := _essence(path.read_text(errors="replace"))):
                return f"{words} ({path})"
        return f"nothing ({self.output})"


def user() -> str:
    """Name of the user, as batch systems list it."""
    return getpass.getuser()


def _essence(text: str) -> str:
    """The line of a command's output that says most: its last error, or its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Try ")]
    telling = [line for line in lines if re.search("error|unable", line, re.IGNORECASE)] or lines
    return re.sub(r"^(\w+: error|Unable to run job): ", "", telling[-1]) if telling else ""
