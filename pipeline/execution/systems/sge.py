"""Grid Engine."""

from collections.abc import Mapping, Sequence

from pipeline.execution.systems.base import System, apart
from pipeline.execution.systems.commands import user
from pipeline.execution.systems.listing import Columns
from pipeline.execution.systems.sizes import Sizes
from pipeline.study.parameters import InvalidInput


class SGE(System):
    """Jobs of Grid Engine.

    Several cores need a parallel environment, whose name differs from site to site.
    """

    name = "sge"
    submits = "qsub"
    cancels = "qdel"
    listing = ("qstat", "-u", user())
    hosts = ("qconf", "-sel")
    tries = ("-w", "v")
    takes_words = True
    jobqueue = "SGECluster"
    columns = Columns(state=4, running="R?r")
    job_variable = "JOB_ID"
    task_variable = "SGE_TASK_ID"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cores > 1 and "-pe " not in (self.directives or ""):
            environment = f"cluster.directives='-pe smp {self.cores}'; qconf -spl lists them"
            raise InvalidInput(
                "cores", self.cores, f"needs a parallel environment, as {environment}"
            )

    def options(self, sizes: Sizes, array: str | None, after: str | None) -> list[str]:
        """Options of qsub."""
        soft = self.time_limit(sizes.seconds - sizes.reserve)
        hard = self.time_limit(sizes.seconds)
        return [
            "-terse",
            *("-l", f"s_rt={soft},h_rt={hard}"),
            *("-o", f"{self.output}/"),
            *apart("-q", self.queue),
            *apart("-P", self.account),
            *apart("-t", array),
            *apart("-hold_jid", after),
        ]

    def directives_of_workers(self) -> list[str]:
        """Where output goes, the environment, and that a job whose node fails is queued again."""
        return [f"-o {self.output}/", "-V", "-r y"]

    def watch(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs for a person."""
        return ["qstat", "-j", ",".join(numbers)]

    @classmethod
    def job_of(cls, environment: Mapping[str, str]) -> str | None:
        """The job of a process; other programs have a JOB_ID as well."""
        if "SGE_ROOT" not in environment:
            return None
        return super().job_of(environment)
