"""SLURM."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pipeline.execution.systems.base import System, attached
from pipeline.execution.systems.listing import Columns
from pipeline.execution.systems.sizes import Sizes


class Slurm(System):
    """Jobs of SLURM."""

    name = "slurm"
    submits = "sbatch"
    cancels = "scancel"
    listing = ("squeue", "--noheader", "--format=%i", "--me")
    hosts = ("sinfo", "--noheader", "--Node", "--format=%o")
    tries = ("--test-only",)
    takes_words = True
    hides_environment = True
    cancels_follower = True
    jobqueue = "SLURMCluster"
    charges = "account"
    columns = Columns(state=1, reason=2, separator="|", running="RUNNING|COMPLETING")
    nothing_left = "Invalid job id"
    queue_format: ClassVar[tuple[str, ...]] = ("squeue", "--noheader", "--format=%i|%T|%r")

    def options(self, sizes: Sizes, array: str | None, after: str | None) -> list[str]:
        """Options of sbatch."""
        memory_of_core = -(-sizes.mebibytes // self.cores)
        output = "%j"
        if array is not None:
            output = "%A_%a"
        return [
            "--parsable",
            # Whatever SBATCH_EXPORT says: the script reads what it inherits.
            "--export=ALL",
            f"--cpus-per-task={self.cores}",
            f"--mem-per-cpu={memory_of_core}M",
            f"--time={self.time_limit(sizes.seconds)}",
            f"--signal=B:USR1@{sizes.reserve}",
            f"--output={self.output}/{output}.out",
            *attached("--partition=", self.queue),
            *attached("--account=", self.account),
            *attached("--array=", array),
            *attached("--dependency=afterany:", after),
        ]

    def directives_of_workers(self) -> list[str]:
        """Where output goes, and that a job whose node fails is queued again."""
        return [f"-o {self.output}/%j.out", "--requeue", "--open-mode=append"]

    def watch(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs for a person."""
        return ["squeue", f"--jobs={','.join(numbers)}"]

    def ask(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs, their states and what they wait for."""
        return [*self.queue_format, f"--jobs={','.join(numbers)}"]

    def ask_for_workers(self, job_name: str) -> list[str]:
        """The command that lists this user's jobs of a name, with states and reasons."""
        return [*self.queue_format, "--me", f"--name={job_name}"]

    @classmethod
    def job_of(cls, environment: Mapping[str, str]) -> str | None:
        """The job of a process: 8, or 7_2 for task 2 of array 7."""
        if "SLURM_JOB_ID" not in environment:
            return None
        number = environment.get("SLURM_ARRAY_JOB_ID", environment["SLURM_JOB_ID"])
        task = environment.get("SLURM_ARRAY_TASK_ID")
        if not task:
            return number
        return f"{number}_{task}"
