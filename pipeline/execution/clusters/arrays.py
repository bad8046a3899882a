"""A study as jobs without a driver: an array that simulates, and a last job that seals the results and reports.

The job's scripts are those of `jobs/`; what a job may use is given as options of the batch system's command, which
count for more than the directives in a script.
"""

import contextlib
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.clusters.batch import Batch
from pipeline.execution.clusters.executor import DRIVER, LEAST_WORKER
from pipeline.execution.clusters.jobs import SECRET, Refused, call
from pipeline.study.parameters import InvalidInput, path_of

MIB = 2**20
EARLY = 60  # seconds by which SLURM may be early with a warning
START = 30  # seconds in which a job starts


@dataclass(frozen=True)
class Sizes:
    """Of each job: memory in bytes, walltime in seconds, and how long before its end it is warned."""

    shards: int
    memory: int
    seconds: int
    reserve: int

    def memory_of_worker(self, cores: int) -> int:
        """Bytes that each worker of a job may take, so that a unit that needs more fails by itself.

        Otherwise the batch system would end the whole job, and with it what its other workers do.
        """
        return max(LEAST_WORKER, (self.memory - DRIVER) // cores)


def sizes(cluster: Batch, shards: int, memory: int, seconds: int, longest: float) -> Sizes:
    """Sizes with a warning that fits. longest: seconds of the most costly unit. InvalidInput for too short a walltime.

    A job has to start, compare a finished unit and end one of its own before it is warned, or it would be queued again
    for ever; after that it must end what runs.
    """
    reserve = min(max(60, math.ceil(3 * longest) + START), 1800)
    least = -(-(reserve + EARLY + START + math.ceil(2 * longest)) // 60) * 60
    if seconds < least:
        raise InvalidInput("cluster.walltime", cluster.walltime, f"must be at least {clock(least)}: a unit takes about "
                           f"{math.ceil(longest)} s, and a job is warned {reserve} s before its end")
    return Sizes(shards, memory, seconds, reserve)


def clock(seconds: int) -> str:
    """HH:MM:SS."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@dataclass(frozen=True)
class Submission:
    """What is submitted: words of a run, for the jobs; `again`, the words that submit all of it once more."""

    cluster: Batch
    sizes: Sizes
    words: Sequence[str]
    again: Sequence[str] = ()

    def check(self) -> None:
        """Raise InvalidInput for what the batch system would refuse, as far as it can be asked."""
        name = self.cluster.name
        if not shutil.which(self._pipeline):
            raise InvalidInput("PIPELINE", self._pipeline, "is no command; export PIPELINE=PATH of one that all "
                               "nodes see")
        for command in (self.cluster.needed[0], self.cluster.needed[2]):
            if not shutil.which(command):
                raise InvalidInput("cluster", name, f"{command} is not on this machine; start this where jobs are "
                                   "submitted")
        if name in ("pbs", "lsf") and (bad := next((w for w in (*self.words, *self.again) if re.search(r"\s", w)), "")):
            raise InvalidInput("command line", bad, f"no blanks inside a word: jobs of {name} would split it there")
        try:
            self.cluster.make_folders()
        except OSError as error:
            raise InvalidInput("cluster.folder", self.cluster.folder, f"cannot be written: {error.strerror}") from None
        question = {"slurm": ["sbatch", "--test-only"], "sge": ["qsub", "-w", "v"]}.get(name)
        queue = {"pbs": ["qstat", "-Q"], "lsf": ["bqueues"]}.get(name)
        try:
            if question:
                call([*question, *self._options(last=False), str(self._script), *self.words], env=self._environment())
            elif queue and self.cluster.queue:
                call([*queue, self.cluster.queue])
        except Refused as error:
            raise self.cluster.refusal(error) from None

    def submit(self) -> list[str]:
        """Submit; the numbers of the jobs. InvalidInput if one is refused: those before it are then cancelled."""
        numbers: list[str] = []
        try:
            if self.sizes.shards > 1:
                numbers.append(self._submit(last=False, after=None))
            numbers.append(self._submit(last=True, after=numbers[0] if numbers else None))
        except Refused as error:
            with contextlib.suppress(Refused):
                if numbers:
                    call(self.cancel(numbers))
            raise self.cluster.refusal(error) from None
        return numbers

    def watch(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists the jobs."""
        return {"slurm": ["squeue", f"--jobs={','.join(numbers)}"], "pbs": ["qstat", "-t", *numbers],
                "lsf": ["bjobs", *numbers], "sge": ["qstat", "-j", ",".join(numbers)]}[self.cluster.name]

    def cancel(self, numbers: Sequence[str]) -> list[str]:
        """The command that cancels the jobs."""
        return [self.cluster.needed[2], *numbers]

    @property
    def output(self) -> Path:
        """The folder of what jobs print."""
        return path_of(self.cluster.folder, "cluster.folder").absolute() / "output"

    @property
    def _pipeline(self) -> str:
        """The command that jobs run: of this environment, unless a person exports another."""
        return os.environ.get("PIPELINE") or str(Path(sys.executable).with_name("pipeline"))

    @property
    def _script(self) -> Path:
        package = Path(__file__).resolve().parents[2]
        return (package if (package / "jobs").is_dir() else package.parent) / "jobs" / f"{self.cluster.name}.sh"

    def _submit(self, last: bool, after: str | None) -> str:
        name = self.cluster.name
        command = [self.cluster.needed[0], *self._options(last, after)]
        environment = self._environment(after)
        if name == "lsf":  # reads its script from standard input
            said = call(command, text=self._script.read_text("utf-8"), env=environment)
        else:
            words = [] if name == "pbs" else self.words
            said = call([*command, str(self._script), *words], env=environment)
        pattern = {"pbs": r"\d+(\[\])?[\w.-]*", "lsf": r"(?<=<)\d+(?=>)"}.get(name, r"\d+")
        if not (number := re.search(pattern, said)):
            raise Refused(f"{command[0]} says {' '.join(said.split())!r}, which names no job")
        return number[0]

    def _environment(self, after: str | None = None) -> dict[str, str]:
        """Variables for the job's script. after: number of the array that the job follows."""
        cluster = self.cluster
        inherited = {k: v for k, v in os.environ.items() if cluster.hides_environment or not SECRET.search(k)}
        ours = {"SHARDS": str(self.sizes.shards), "CORES": str(cluster.cores), "WORDS": " ".join(self.words),
                "AGAIN": " ".join(self.again), "SECONDS_TO_RUN": str(self.sizes.seconds - self.sizes.reserve),
                "WORKER_MEMORY": f"{self.sizes.memory_of_worker(cluster.cores)}B",
                "AFTER": after or "", "PIPELINE": self._pipeline, "MORE": str(self.output.parent / "environment")}
        return inherited | ours

    def _options(self, last: bool, after: str | None = None) -> list[str]:
        """Options of the command that submits. last: one job instead of an array. after: number of an earlier job."""
        options = {"slurm": self._slurm, "pbs": self._pbs, "lsf": self._lsf, "sge": self._sge}[self.cluster.name]
        directives = [word for one in self.cluster.further for word in shlex.split(one)]
        return [*options(None if last else f"1-{self.sizes.shards}", after), *directives]

    def _slurm(self, array: str | None, after: str | None) -> list[str]:
        one, of = self.cluster, self.sizes
        return ["--parsable", "--export=ALL",  # whatever SBATCH_EXPORT says: the script reads what it inherits
                f"--cpus-per-task={one.cores}", f"--mem-per-cpu={-(-of.memory // one.cores // MIB)}M",
                f"--time={clock(of.seconds)}", f"--signal=B:USR1@{of.reserve}",
                f"--output={self.output}/{'%A_%a' if array else '%j'}.out",
                *_given("--partition=", one.queue), *_given("--account=", one.account),
                *_given("--array=", array), *_given("--dependency=afterany:", after)]

    def _pbs(self, array: str | None, after: str | None) -> list[str]:
        one, of = self.cluster, self.sizes
        return ["-l", f"select=1:ncpus={one.cores}:mem={-(-of.memory // MIB)}mb", "-l", f"walltime={clock(of.seconds)}",
                "-o", f"{self.output}/", *_option("-q", one.queue), *_option("-A", one.account),
                *_option("-J", array), *_option("-W", after and f"depend=afterany:{after}")]

    def _lsf(self, array: str | None, after: str | None) -> list[str]:
        one, of = self.cluster, self.sizes
        memory, minutes = f"{-(-of.memory // MIB)}MB", -(-of.seconds // 60)
        return ["-J", f"pipeline[{array}]" if array else "pipeline", "-n", str(one.cores),
                "-R", f"span[hosts=1] rusage[mem={memory}]", "-W", f"{minutes // 60:02}:{minutes % 60:02}",
                "-wt", str(-(-of.reserve // 60)), "-o", f"{self.output}/{'%J-%I' if array else '%J'}.out",
                *_option("-q", one.queue), *_option("-P", one.account), *_option("-w", after and f"ended({after})")]

    def _sge(self, array: str | None, after: str | None) -> list[str]:
        one, of = self.cluster, self.sizes
        return ["-terse", "-l", f"s_rt={clock(of.seconds - of.reserve)},h_rt={clock(of.seconds)}",
                "-o", f"{self.output}/", *_option("-q", one.queue), *_option("-P", one.account),
                *_option("-t", array), *_option("-hold_jid", after)]


def _given(option: str, value: str | None) -> list[str]:
    return [] if value is None else [option + value]


def _option(option: str, value: str | None) -> list[str]:
    return [] if value is None else [option, value]
