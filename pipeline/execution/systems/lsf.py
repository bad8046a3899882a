"""IBM Spectrum LSF."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.execution.systems.base import System, apart
from pipeline.execution.systems.commands import call
from pipeline.execution.systems.listing import Columns
from pipeline.execution.systems.sizes import Sizes


class LSF(System):
    """Jobs of IBM Spectrum LSF; never executed on a real one."""

    name = "lsf"
    untried = True
    submits = "bsub"
    cancels = "bkill"
    listing = ("bjobs", "-noheader", "-o", "jobid")
    hosts = ("bhosts", "-w")
    shows_queue = ("bqueues",)
    number_pattern = r"(?<=<)\d+(?=>)"
    jobqueue = "LSFCluster"
    columns = Columns(state=1, reason=2, separator="|", running="RUN")
    nothing_left = "is not found|No unfinished job"
    job_variable = "LSB_JOBID"
    task_variable = "LSB_JOBINDEX"

    def options(self, sizes: Sizes, array: str | None, after: str | None) -> list[str]:
        """Options of bsub."""
        job_name = "pipeline"
        output = "%J"
        if array is not None:
            job_name = f"pipeline[{array}]"
            output = "%J-%I"
        return [
            *("-J", job_name),
            *("-n", str(self.cores)),
            *("-R", f"span[hosts=1] rusage[mem={sizes.mebibytes}MB]"),
            *("-W", self.time_limit(sizes.seconds)),
            *("-wt", str(-(-sizes.reserve // 60))),
            *("-o", f"{self.output}/{output}.out"),
            *apart("-q", self.queue),
            *apart("-P", self.account),
            *apart("-w", after and f"ended({after})"),
        ]

    def directives_of_workers(self) -> list[str]:
        """Where output goes, and that a job whose node fails is queued again."""
        return [f"-o {self.output}/%J.out", "-r"]

    def time_limit(self, seconds: int) -> str:
        """HH:MM, rounded up."""
        minutes = -(-seconds // 60)
        return f"{minutes // 60:02}:{minutes % 60:02}"

    def give(
        self, options: Sequence[str], script: Path, words: Sequence[str], env: Mapping[str, str]
    ) -> str:
        """Give the script to bsub, which reads it from its standard input."""
        return call([self.submits, *options], text=script.read_text("utf-8"), env=env)

    def watch(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs for a person."""
        return ["bjobs", *numbers]

    def ask(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs, their states and what they wait for."""
        columns = "jobid stat pend_reason delimiter='|'"
        return ["bjobs", "-noheader", "-o", columns, *numbers]
