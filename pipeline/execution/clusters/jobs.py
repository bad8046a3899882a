"""Batch jobs in which Dask workers run: submitted, replaced when they end, cancelled in the end."""

import contextlib
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.execution.clusters.executor import retire
from pipeline.execution.systems.base import System
from pipeline.execution.systems.commands import Refused, call, inherited_environment, main_line
from pipeline.study.files import read_regular

if TYPE_CHECKING:
    import distributed

UPDATE = 2.0  # seconds between two comparisons of the jobs with the workers
ASK = 15.0  # seconds between questions to the batch system, and before an idle job is ended
FAILED_STARTS = 3  # jobs in a row that end before any worker joins, or more if more are wanted
REFUSED = 4  # refusals in a row, while there is no job, after which it is hopeless
REPLACEMENTS = 3  # of jobs whose workers must not compute; others that end are always replaced
WORKERS = "pipeline-workers"  # name of all jobs


@dataclass
class BatchJob:
    """One job: its number in the queue, the name of its workers, and when they were last seen."""

    number: str
    name: str
    joined: float = 0.0  # when a worker of it was last there; 0: never
    busy: float = 0.0  # when it last had units to compute, or waited in the queue


class Jobs:
    """The jobs of one cluster; a context manager that cancels them.

    Args:
        system: the batch system, and what a person set of the jobs.
        script: name of the workers -> script of their job.
        folder: for the jobs' scripts.
        client: of the scheduler that their workers join, which runs in this process.
        scheduler: that scheduler.
    """

    def __init__(
        self,
        system: System,
        script: Callable[[str], str],
        folder: Path,
        client: "distributed.Client",
        scheduler: "distributed.Scheduler",
    ):
        self.system = system
        self.script = script
        self.folder = folder
        self.client = client
        self.scheduler = scheduler
        self.wanted = system.jobs
        self.least = system.fewest
        self.jobs: list[BatchJob] = []
        self.submitted = 0
        self.failed_starts = 0
        self.refused = 0
        self.replacements_left = REPLACEMENTS
        self.last_update = 0.0
        self.last_query = 0.0  # of the batch system

    def __enter__(self) -> "Jobs":
        return self

    def __exit__(self, *_: object) -> None:
        self.end(self.jobs)

    def submit(self) -> None:
        """Submit one more job; Refused if it is not accepted."""
        self.submitted += 1
        name = f"job{self.submitted}"
        script = self.folder / f"{name}.sh"
        script.write_text(self.script(name), "utf-8")
        environment = inherited_environment(self.system.hides_environment)
        number = self.system.submit(self.system.options_of_workers(), script, (), environment)
        digits = re.findall(r"\d+", number)[0]  # as they stand in the list of jobs
        self.jobs.append(BatchJob(digits, name, busy=time.monotonic()))

    def end(self, jobs: Sequence[BatchJob]) -> None:
        """Cancel jobs; it does not matter if one has ended already."""
        ended = {job.number for job in jobs}
        self.jobs = [job for job in self.jobs if job.number not in ended]
        if ended:
            with contextlib.suppress(Refused):
                call(self.system.cancel(sorted(ended)))

    def update(self) -> None:
        """Replace jobs that ended, submit as many as there are bundles for, end those that idle.

        Raises OSError when jobs keep ending before a worker joins, or none can be submitted.
        """
        now = time.monotonic()
        if now - self.last_update < UPDATE:
            return
        self.last_update = now
        self._see_workers(now)
        without_workers = any(now - job.joined > UPDATE for job in self.jobs)
        if without_workers and now - self.last_query > ASK:
            self.last_query = now
            self._forget_ended()
        bundles = len(self.scheduler.tasks)
        target = max(self.least, min(self.wanted, math.ceil(bundles / self.system.cores)))
        self._submit_up_to(target, now)
        idle = [job for job in self.jobs if now - job.busy > ASK]
        self.end(idle[: max(len(self.jobs) - target, 0)])

    def retire(self, address: str) -> bool:
        """End the job of a worker that must not compute, whose other workers are on the same node.

        A few such jobs are replaced. Returns whether other workers are there or to come.
        """
        worker = self.scheduler.workers.get(address)
        name = ""  # of a worker that is gone
        if worker:
            name = _job_of(worker)
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
                job.joined = now
                self.failed_starts = 0
            if busy.get(job.name, job.joined == 0):
                job.busy = now

    def _submit_up_to(self, target: int, now: float) -> None:
        try:
            while len(self.jobs) < target:
                self.submit()
                self.refused = 0
        except Refused:  # a limit on jobs, or a system that is away: ask again later
            self.last_update = now + ASK
            self.refused += 1
            if not self.jobs and self.refused >= REFUSED:
                raise

    def _forget_ended(self) -> None:
        """Ask the batch system which jobs have ended.

        OSError if too many did before their workers joined.
        """
        try:
            listed = call(self.system.listing)
        except Refused as error:
            if not self.system.says_none(error):  # busy, or away: ask again later
                return
            listed = ""
        present = set(re.findall(r"^\s*(\d+)", listed, re.MULTILINE))
        ended = [job for job in self.jobs if job.number not in present]
        self.jobs = [job for job in self.jobs if job.number in present]
        self.failed_starts += sum(not job.joined for job in ended)
        if self.failed_starts >= max(FAILED_STARTS, self.wanted):
            raise ChildProcessError(
                f"{self.failed_starts} jobs ended before their workers joined, the last one says: "
                f"{self._last_output(ended[-1])}"
            )

    def _last_output(self, job: BatchJob) -> str:
        for path in self.system.output.iterdir():
            if job.number not in re.findall(r"\d+", path.name):
                continue
            with contextlib.suppress(OSError):  # no file that a job wrote
                line = main_line(read_regular(path).decode(errors="replace"))
                if line:
                    return f"{line} ({path})"
        return f"nothing ({self.system.output})"


def _job_of(worker: "distributed.scheduler.WorkerState") -> str:
    """Name of the job that a scheduler's worker runs in: several workers of a job are numbered."""
    return str(worker.name).partition("-")[0]
