"""Batch jobs in which Dask workers run: submitted, replaced when they end, cancelled in the end."""

import contextlib
import getpass
import math
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pipeline.execution.clusters.executor import retire
from pipeline.study.files import read_regular

UPDATE = 2.0  # seconds between two comparisons of the jobs with the workers
ASK = 15.0  # seconds between questions to the batch system, and before an idle job is ended
FAILED_STARTS = 3  # jobs in a row that end before any worker joins, or more if more are wanted: then it is hopeless
REFUSED = 4  # refusals in a row, while there is no job, after which it is hopeless
REPLACEMENTS = 3  # of jobs whose workers must not compute; those that end otherwise are always replaced
TIMEOUT = 60.0  # seconds that a batch system may take to answer
SECRET = re.compile("ACCESS_KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL")  # in the name of an environment variable


class Refused(OSError):
    """The batch system does not accept a job or a command: its message, in one line."""


def call(command: Sequence[str], *, text: str | None = None, stdin: IO[str] | None = None,
         env: Mapping[str, str] | None = None) -> str:
    """Output of a batch system's command, given `text` or a file on its standard input; Refused if it fails."""
    try:
        done = subprocess.run(command, input=text, stdin=stdin, env=env, capture_output=True, text=True,
                              timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Refused(f"{command[0]} did not answer within {TIMEOUT:g} s") from None
    except OSError as error:
        raise Refused(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise Refused(_main_line(done.stderr or done.stdout) or f"{command[0]} ended with code {done.returncode}")
    return done.stdout + done.stderr


@dataclass
class Job:
    """One job: its number in the queue, the name of its workers, and when they were last seen."""

    number: str
    name: str
    joined: float = 0.0  # when a worker of it was last there; 0: never
    busy: float = 0.0  # when it last had units to compute, or waited in the queue


class Jobs:
    """The jobs of one cluster; a context manager that cancels them.

    Args:
        make: name of the workers -> dask-jobqueue's Job, with its script and its commands.
        listing: command that lists this user's unfinished jobs, one a line, its number first.
        wanted: most jobs at once.
        least: fewest jobs at once; in between, as many as there are bundles for.
        workers: worker processes of one job.
        folder: for the jobs' scripts.
        output: folder in which the batch system writes what jobs print.
        client: of the scheduler that their workers join, which runs in this process.
        scheduler: that scheduler.
        hides_environment: whether the batch system hides a job's environment from other users; if not, jobs inherit no
            secrets.
    """

    def __init__(self, make: Callable[[str], Any], listing: Sequence[str], wanted: int, least: int, workers: int,
                 folder: Path, output: Path, client: Any, scheduler: Any, hides_environment: bool = False):
        self.make, self.listing, self.wanted, self.least = make, listing, wanted, least
        self.workers, self.folder, self.output, self.hides_environment = workers, folder, output, hides_environment
        self.client, self.scheduler = client, scheduler
        self.jobs: list[Job] = []
        self.submitted = self.failed_starts = self.refused = 0
        self.replacements_left = REPLACEMENTS
        self.last_update = self.last_asked = 0.0

    def __enter__(self) -> "Jobs":
        return self

    def __exit__(self, *_: object) -> None:
        self.end(self.jobs)

    def submit(self) -> None:
        """Submit one more job; Refused if it is not accepted."""
        self.submitted += 1
        name = f"job{self.submitted}"
        job = self.make(name)
        script = self.folder / f"{name}.sh"
        script.write_text(job.job_script(), "utf-8")
        command = shlex.split(job.submit_command)
        if command != ["bsub"]:  # which reads the script from standard input
            command.append(str(script))
        inherited = {k: v for k, v in os.environ.items() if self.hides_environment or not SECRET.search(k)}
        with open(script) as standard_input:
            output = call(command, stdin=standard_input, env=inherited)
        if not (number := re.search(r"\d+", output)):
            raise Refused(f"{job.submit_command} says {_main_line(output)!r}, which names no job")
        self.jobs.append(Job(number[0], name, busy=time.monotonic()))

    def end(self, jobs: Sequence[Job]) -> None:
        """Cancel jobs; it does not matter if one has ended already."""
        ended = {job.number for job in jobs}
        self.jobs = [job for job in self.jobs if job.number not in ended]
        if ended:
            with contextlib.suppress(Refused):
                call([*shlex.split(self.make("end").cancel_command), *sorted(ended)])

    def update(self) -> None:
        """Replace jobs that ended, submit as many as there are bundles for, end those that idle.

        Raises OSError when jobs keep ending before a worker joins, or none can be submitted.
        """
        if (now := time.monotonic()) - self.last_update < UPDATE:
            return
        self.last_update = now
        self._see_workers(now)
        if now - self.last_asked > ASK and any(now - job.joined > UPDATE for job in self.jobs):
            self.last_asked = now
            self._forget_ended()
        bundles = len(self.scheduler.tasks)
        target = max(self.least, min(self.wanted, math.ceil(bundles / self.workers)))
        self._submit_up_to(target, now)
        idle = [job for job in self.jobs if now - job.busy > ASK]
        self.end(idle[: max(len(self.jobs) - target, 0)])

    def retire(self, address: str) -> bool:
        """End the job of a worker that must not compute, whose other workers are on the same node.

        A few such jobs are replaced. Returns whether other workers are there or to come.
        """
        worker = self.scheduler.workers.get(address)
        name = _job_of(worker) if worker else ""
        workers = list(self.scheduler.workers.values())
        retire(self.client, [other.address for other in workers if _job_of(other) == name])
        self.end([job for job in self.jobs if job.name == name])
        self.replacements_left -= 1
        if self.replacements_left < 0:
            self.wanted -= 1
            self.least = min(self.least, self.wanted)
        return self.wanted > 0

    def _see_workers(self, now: float) -> None:
        """Note which jobs have workers, and which of these have something to compute."""
        busy: dict[str, bool] = {}
        for worker in list(self.scheduler.workers.values()):
            name = _job_of(worker)
            busy[name] = busy.get(name, False) or bool(worker.processing)
        for job in self.jobs:
            if job.name in busy:
                job.joined, self.failed_starts = now, 0
            if busy.get(job.name, job.joined == 0):
                job.busy = now

    def _submit_up_to(self, target: int, now: float) -> None:
        try:
            while len(self.jobs) < target:
                self.submit()
                self.refused = 0
        except Refused:  # a limit on jobs, or a system that is away: ask again later
            self.last_update, self.refused = now + ASK, self.refused + 1
            if not self.jobs and self.refused >= REFUSED:
                raise

    def _forget_ended(self) -> None:
        """Ask the batch system which jobs have ended; OSError if too many did before their workers joined."""
        try:
            listed = call(self.listing)
        except Refused as error:
            if "No unfinished job" not in str(error):  # busy, or away: ask again later
                return
            listed = ""  # LSF reports an empty list as an error
        present = set(re.findall(r"^\s*(\d+)", listed, re.MULTILINE))
        ended = [job for job in self.jobs if job.number not in present]
        self.jobs = [job for job in self.jobs if job.number in present]
        self.failed_starts += sum(not job.joined for job in ended)
        if self.failed_starts >= max(FAILED_STARTS, self.wanted):
            raise ChildProcessError(f"{self.failed_starts} jobs ended before their workers joined, the last one says: "
                                    f"{self._last_output(ended[-1])}")

    def _last_output(self, job: Job) -> str:
        for path in self.output.iterdir():
            if job.number not in re.findall(r"\d+", path.name):
                continue
            with contextlib.suppress(OSError):  # no file that a job wrote
                line = _main_line(read_regular(path).decode(errors="replace"))
                if line:
                    return f"{line} ({path})"
        return f"nothing ({self.output})"


def user() -> str:
    """Name of the user, as batch systems list it; the number of one whom no list names, as in containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # of no entry in passwd: the first up to Python 3.12, the second from then on
        return str(os.getuid())


def _job_of(worker: Any) -> str:
    """Name of the job that a scheduler's worker runs in: several workers of a job are numbered."""
    return str(worker.name).partition("-")[0]


def _main_line(text: str) -> str:
    """The most informative line of a command's output: its last error, or its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Try ")]
    errors = [line for line in lines if re.search("error|unable", line, re.IGNORECASE)] or lines
    return re.sub(r"^(\w+: error|Unable to run job): ", "", errors[-1]) if errors else ""
