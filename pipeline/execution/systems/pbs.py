"""PBS Pro, OpenPBS and Torque."""

from collections.abc import Sequence

from pipeline.execution.systems.base import System, apart
from pipeline.execution.systems.commands import user
from pipeline.execution.systems.listing import Columns
from pipeline.execution.systems.sizes import Sizes


class PBS(System):
    """Jobs of PBS Pro, OpenPBS or Torque; never executed on a real one."""

    name = "pbs"
    untried = True
    submits = "qsub"
    cancels = "qdel"
    listing = ("qselect", "-u", user())
    hosts = ("pbsnodes", "-a")
    shows_queue = ("qstat", "-Q")
    number_pattern = r"\d+(\[\])?[\w.-]*"
    jobqueue = "PBSCluster"
    charges = "account"
    columns = Columns(state=-2, running="R")
    nothing_left = "Unknown Job|has finished"
    job_variable = "PBS_JOBID"  # which names the task of an array as well

    def options(self, sizes: Sizes, array: str | None, after: str | None) -> list[str]:
        """Options of qsub."""
        return [
            *("-l", f"select=1:ncpus={self.cores}:mem={sizes.mebibytes}mb"),
            *("-l", f"walltime={self.time_limit(sizes.seconds)}"),
            *("-o", f"{self.output}/"),
            *apart("-q", self.queue),
            *apart("-A", self.account),
            *apart("-J", array),
            *apart("-W", after and f"depend=afterany:{after}"),
        ]

    def directives_of_workers(self) -> list[str]:
        """Where output goes, the environment, and that a job whose node fails is queued again."""
        return [f"-o {self.output}/", "-j oe", "-V", "-r y"]

    def watch(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs for a person."""
        return ["qstat", "-t", *numbers]

    def ask(self, numbers: Sequence[str]) -> list[str]:
        """The same command: it has their states."""
        return self.watch(numbers)
