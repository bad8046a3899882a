"""What a person sets for the jobs of any batch system, and what follows from it."""

import re
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.clusters.executor import size
from pipeline.execution.clusters.private_files import make_folder
from pipeline.study.parameters import Checked, InvalidInput, parameter, path_of

LOWEST_PORT = 1024  # those below are the system's
HIGHEST_PORT = 65535
PLAIN = r"(?!-)[\w.@:+,/%~=*-]+"  # a name of a queue or an account, with nothing for a shell
OPTION = r"-[\w-].*"
# -S would run any program on the script, -C change how a directive begins.
HARMFUL = r"-[SC]\b|--wrap|.*[`$\\]"
HOUR = "01:00:00"  # of a driver's jobs, unless a person says more


@dataclass(frozen=True)
class Batch(Checked):
    """Jobs of a batch system. Each runs `cores` worker processes of one thread each."""

    jobs: int = parameter("batch jobs, the most at once", unit="job", default=2, low=1, high=10_000)
    least_jobs: int | None = parameter(
        "fewest jobs at once, then as many as there are units for; null: always all of them",
        unit="job",
        default=None,
        low=0,
    )
    cores: int = parameter(
        "cores of a job, one worker process on each", unit="core", default=1, low=1, high=10_000
    )
    memory: str | None = parameter(
        "memory of a job, such as 4GiB; null: as planned with task=submit, else 1GiB a core",
        default=None,
    )
    walltime: str | None = parameter(
        "time limit of a job, HH:MM:SS; null: as planned with task=submit, else 01:00:00",
        default=None,
    )
    queue: str | None = parameter("queue or partition; null: the system's default", default=None)
    account: str | None = parameter("account or project that is charged", default=None)
    directives: str | None = parameter(
        "further directives, as '--constraint=ib; --exclusive'", default=None
    )
    interface: str | None = parameter(
        "network interface of this machine on which workers reach the scheduler, such as ib0; "
        "null: the one that leads to the nodes",
        default=None,
    )
    ports: str | None = parameter(
        "ports that a firewall between this machine and the nodes lets through, as 40000:40999; "
        "null: any",
        default=None,
    )
    folder: str = parameter(
        "folder that all nodes see, for the jobs' output and temporary keys", default="~/.pipeline"
    )
    patience: float = parameter(
        "give up after so long without any worker", unit="s", default=86400.0, above=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory is not None and size(self.memory) < 2**28 * self.cores:
            allowed = f"must be at least 256MiB a core, {self.cores / 4:g}GiB here"
            raise InvalidInput("memory", self.memory, allowed)
        if self.least_jobs is not None and self.least_jobs > self.jobs:
            raise InvalidInput("least_jobs", self.least_jobs, f"must be at most jobs={self.jobs}")
        self.seconds()
        self.port_range()
        names = {
            "queue": self.queue,
            "account": self.account,
            "interface": self.interface,
            "folder": self.folder,
        }
        for field, value in names.items():
            if value is not None and not re.fullmatch(PLAIN, value):
                allowed = "must be one plain name, without blanks and quotes"
                raise InvalidInput(field, value, allowed)
        for directive in self.further:
            if not re.fullmatch(OPTION, directive) or re.match(HARMFUL, directive):
                allowed = (
                    "must be options of the batch system, as '--exclusive'; neither -S, -C, --wrap "
                    "nor ` $ \\"
                )
                raise InvalidInput("directives", directive, allowed)

    @property
    def workers(self) -> int:
        """Worker processes when all jobs run."""
        return self.jobs * self.cores

    @property
    def fewest(self) -> int:
        """Jobs that are there even if there is little to do."""
        if self.least_jobs is None:
            return self.jobs
        return self.least_jobs

    @property
    def lifetime(self) -> float:
        """Seconds for which each worker certainly lives.

        The walltime less a reserve, and less a random part of it.
        """
        return self.seconds() - 3 * self.reserve()

    def seconds(self) -> int:
        """The walltime of a job in seconds; InvalidInput for what is none."""
        match = re.fullmatch(r"(\d{1,4}):([0-5]\d):([0-5]\d)", self.walltime or HOUR)
        seconds = 0
        if match:
            hours, minutes, rest = map(int, match.groups())
            seconds = 3600 * hours + 60 * minutes + rest
        if seconds < 60:
            allowed = "must be HH:MM:SS, at least 00:01:00"
            raise InvalidInput("walltime", self.walltime, allowed)
        return seconds

    def reserve(self) -> int:
        """Seconds before the walltime in which workers end."""
        return max(10, min(300, self.seconds() // 12))

    def port_range(self) -> range | None:
        """The ports that may be used; None for any. InvalidInput for what is no range of ports."""
        if self.ports is None:
            return None
        match = re.fullmatch(r"(\d{4,5}):(\d{4,5})", self.ports)
        if match:
            first, last = map(int, match.groups())
            if LOWEST_PORT <= first < last <= HIGHEST_PORT:
                return range(first, last + 1)
        allowed = f"must be FIRST:LAST, such as 40000:40999, from {LOWEST_PORT} to {HIGHEST_PORT}"
        raise InvalidInput("ports", self.ports, allowed)

    @property
    def memory_of_workers(self) -> int:
        """Bytes of a driver's job."""
        return size(self.memory or f"{max(2, self.cores)}GiB")

    @property
    def further(self) -> list[str]:
        """The further directives of the person, one each."""
        directives = [directive.strip() for directive in (self.directives or "").split(";")]
        return [directive for directive in directives if directive]

    @property
    def root(self) -> Path:
        """The folder that all nodes see."""
        return path_of(self.folder, "cluster.folder").absolute()

    @property
    def output(self) -> Path:
        """The folder of what jobs print."""
        return self.root / "output"

    @property
    def sourced(self) -> Path:
        """The file that jobs source if it is there."""
        return self.root / "environment"

    def make_folders(self) -> None:
        """The folder and that of the jobs' output; OSError if they cannot be made."""
        make_folder(self.root)
        make_folder(self.output)
