"""Workers in jobs of a batch system, with a scheduler in this process; dask-jobqueue writes the job scripts."""

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pipeline.execution.clusters import route
from pipeline.execution.clusters.executor import DASK, Cluster, Executor, describe, scheduler, scratch, size, threads
from pipeline.execution.clusters.jobs import Jobs, Refused, call, user
from pipeline.execution.clusters.keys import temporary
from pipeline.execution.clusters.open_files import check_workers
from pipeline.execution.clusters.private_files import check_sourced, make_folder, source_lines
from pipeline.execution.workers import variables_of_workers
from pipeline.study.parameters import Checked, InvalidInput, parameter, path_of

FILES = 3  # connections of the driver to a worker, at most
LOOPBACK = "lo"  # the interface of every machine to itself
UNTRIED = "never executed on a real system: look at the first jobs"  # where none can be had for tests
PLAIN = r"(?!-)[\w.@:+,/%~=*-]+"  # a name of a queue or an account: no character that a shell would interpret


@dataclass(frozen=True)
class Batch(Cluster, Checked):
    """What all batch systems share. Each job runs `cores` worker processes of one thread each."""

    jobs: int = parameter("batch jobs, the most at once", unit="job", default=2, low=1, high=10_000)
    least_jobs: int | None = parameter(
        "fewest jobs at once, then as many as there are units for; null: always all of them", unit="job", default=None,
        low=0)
    cores: int = parameter("cores of a job, one worker process on each", unit="core", default=1, low=1, high=10_000)
    memory: str | None = parameter(
        "memory of a job, such as 4GiB; null: as planned with task=submit, else 1GiB a core", default=None)
    walltime: str | None = parameter(
        "time limit of a job, HH:MM:SS; null: as planned with task=submit, else 01:00:00", default=None)
    queue: str | None = parameter("queue or partition; null: the system's default", default=None)
    account: str | None = parameter("account or project that is charged", default=None)
    directives: str | None = parameter("further directives, as '--constraint=ib; --exclusive'", default=None)
    interface: str | None = parameter(
        "network interface of this machine on which workers reach the scheduler, such as ib0; null: the one that leads "
        "to the nodes", default=None)
    ports: str | None = parameter(
        "ports that a firewall between this machine and the nodes lets through, as 40000:40999; null: any",
        default=None)
    folder: str = parameter("folder that all nodes see, for the jobs' output and temporary keys", default="~/.pipeline")
    patience: float = parameter("give up after so long without any worker", unit="s", default=86400.0, above=0)

    elsewhere: ClassVar[bool] = True
    name: ClassVar[str]
    jobqueue: ClassVar[str]  # class of dask-jobqueue
    needed: ClassVar[tuple[str, ...]]  # commands, the first of which submits
    listing: ClassVar[tuple[str, ...]]  # command that lists this user's unfinished jobs, numbers first
    hosts: ClassVar[tuple[str, ...]]  # command that lists the names or addresses of the nodes, first in each line
    untried: ClassVar[bool] = False  # whether no such system could be had for tests
    cancels_follower: ClassVar[bool] = False  # whether a job that follows a cancelled array sees that, and ends
    hides_environment: ClassVar[bool] = False  # whether it hides a job's environment from other users

    @abstractmethod
    def _account(self) -> dict[str, str | None]:
        """Options of dask-jobqueue for account and walltime, which are called differently in each system."""

    @abstractmethod
    def _own_directives(self) -> list[str]:
        """Where output goes, and that a job whose node fails is queued again."""

    @abstractmethod
    def _ask(self, script: str) -> None:
        """Ask the batch system whether it would accept the script; Refused if not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory is not None and size(self.memory) < 2**28 * self.cores:
            raise InvalidInput("memory", self.memory, f"must be at least 256MiB a core, {self.cores / 4:g}GiB here")
        if self.least_jobs is not None and self.least_jobs > self.jobs:
            raise InvalidInput("least_jobs", self.least_jobs, f"must be at most jobs={self.jobs}")
        self.seconds()
        self._port_range()
        for name in ("queue", "account", "interface", "folder"):
            value = getattr(self, name)
            if value is not None and not re.fullmatch(PLAIN, value):
                raise InvalidInput(name, value, "must be one plain name, without blanks and quotes")
        for directive in self.further:
            # -S would run any program on the script, -C change how a directive begins.
            if not re.fullmatch(r"-[\w-].*", directive) or re.match(r"-[SC]\b|--wrap|.*[`$\\]", directive):
                raise InvalidInput("directives", directive, "must be options of the batch system, as '--exclusive'; "
                                   "neither -S, -C, --wrap nor ` $ \\")

    @property
    def workers(self) -> int:
        """Worker processes when all jobs run."""
        return self.jobs * self.cores

    @property
    def lifetime(self) -> float:
        """Seconds for which each worker certainly lives: the walltime less a reserve, and less a random part of it."""
        return self.seconds() - 3 * self._reserve()

    def seconds(self) -> int:
        """The walltime of a job in seconds."""
        match = re.fullmatch(r"(\d{1,4}):([0-5]\d):([0-5]\d)", self._walltime)
        seconds = sum(int(n) * unit for n, unit in zip(match.groups(), (3600, 60, 1), strict=True)) if match else 0
        if seconds < 60:
            raise InvalidInput("walltime", self.walltime, "must be HH:MM:SS, at least 00:01:00")
        return seconds

    def check(self) -> None:
        """Ask the batch system whether it would accept such jobs; InvalidInput if not, or if it is not there."""
        script = self.script()
        check_sourced(self._sourced)
        if self.interface not in (None, *(known := [name for _, name in socket.if_nameindex()])):
            raise InvalidInput("cluster.interface", self.interface, f"this machine has {', '.join(known)}")
        check_workers("cluster.jobs", self.jobs, self.workers, FILES)
        self._check_route()
        for command in self.needed:
            if not shutil.which(command):
                raise InvalidInput("cluster", self.name, f"{command} is not on this machine; "
                                   "start this where jobs are submitted, or use task=submit there")
        with self._keys():  # so that a folder that cannot be written is reported now
            pass
        try:
            self._ask(script)
        except Refused as error:
            raise self.refusal(error) from None

    def script(self) -> str:
        """The script of one job as submitted, with placeholders for the scheduler's address and the keys' folder."""
        if importlib.util.find_spec("dask_jobqueue") is None:
            raise InvalidInput("cluster", self.name, "needs this package: pip install dask-jobqueue (or make hpc)")
        job = self._make("tls://SCHEDULER:PORT", self._root / "KEYS", "job1")
        return str(job.job_script())

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Start a scheduler here and submit the jobs; on leaving, cancel them and remove the temporary keys."""
        with contextlib.ExitStack() as stack:
            keys, security = stack.enter_context(self._keys()), temporary()
            for name, text in (("cert.pem", security.tls_worker_cert), ("key.pem", security.tls_worker_key)):
                with open(os.open(keys / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
                    handle.write(text)
            cluster, client = stack.enter_context(scheduler(
                stack.enter_context(scratch()), n_workers=0, processes=True, host=self.host(), interface=self.interface,
                scheduler_port=self._port(), protocol="tls://", security=security))
            fewest = self.jobs if self.least_jobs is None else self.least_jobs
            jobs = stack.enter_context(Jobs(
                lambda name: self._make(cluster.scheduler_address, keys, name), self.listing, self.jobs, fewest,
                self.cores, keys, self._output(), client, cluster.scheduler, self.hides_environment))
            try:
                for _ in range(fewest):
                    jobs.submit()
            except Refused as error:
                raise self.refusal(error) from None
            numbers = ", ".join(job.number for job in jobs.jobs) or "as there are units"
            what = f"{self.jobs} {self.name} jobs of {self.cores} workers ({numbers})"
            if self.untried:
                what += f", {UNTRIED}"
            yield Executor(client, self.workers, lambda: threads(cluster), jobs.update, jobs.retire,
                           describe(cluster, what), self.patience)

    def host(self) -> str | None:
        """This machine's address on the network that leads to the nodes; None where a person named an interface.

        Where the batch system does not tell its nodes, or none can be resolved here, the network of the default route.
        """
        if self.interface is not None:
            return None
        return route.address_towards(self._nodes()) or route.default_address()

    def _port_range(self) -> range | None:
        """The ports that may be used; None for any. InvalidInput for what is no range of ports."""
        if self.ports is None:
            return None
        match = re.fullmatch(r"(\d{4,5}):(\d{4,5})", self.ports)
        first, last = map(int, match.groups()) if match else (0, 0)
        if not 1024 <= first < last <= 65535:
            raise InvalidInput("ports", self.ports, "must be FIRST:LAST, such as 40000:40999, from 1024 to 65535")
        return range(first, last + 1)

    def _port(self) -> int:
        """A port for the scheduler; 0 for any. InvalidInput if none is free."""
        allowed = self._port_range()
        if allowed is None:
            return 0
        port = route.free_port(allowed)
        if port is None:
            raise InvalidInput("cluster.ports", self.ports, "none of them is free on this machine: give a larger range")
        return port

    def _port_options(self) -> list[str]:
        """Options of a job's workers for their ports."""
        if self.ports is None:
            return []
        return ["--worker-port", self.ports, "--nanny-port", self.ports]

    def _check_route(self) -> None:
        """Refuse loopback where the nodes are other machines: no worker would ever join."""
        if self.interface != LOOPBACK:
            return
        address = route.address_towards(self._nodes())
        if address is not None and not address.startswith("127."):
            raise InvalidInput("cluster.interface", self.interface, "is this machine's own and leads to no node; leave "
                               f"it out, and workers come to {address}")

    def _nodes(self) -> list[str]:
        """Names or addresses of the nodes, as the batch system lists them."""
        try:
            lines = call(self.hosts).splitlines()
        except Refused:
            return []
        return [line.split()[0] for line in lines if line and not line[0].isspace()]

    @contextlib.contextmanager
    def _keys(self) -> Iterator[Path]:
        """A private folder for the keys, removed on leaving; also remove those of drivers that were killed."""
        root, host = self._root, re.sub(r"\W", "_", socket.gethostname())
        try:
            self.make_folders()
            for left in root.glob(f"keys-{host}-*"):
                if not _alive(int(left.name.split("-")[2])):
                    shutil.rmtree(left, ignore_errors=True)
            folder = tempfile.TemporaryDirectory(prefix=f"keys-{host}-{os.getpid()}-", dir=root)
        except OSError as error:
            raise InvalidInput("cluster.folder", self.folder, f"cannot be written: {error.strerror}") from None
        with folder as name:
            yield Path(name)

    def make_folders(self) -> None:
        """The folder and that of the jobs' output; OSError if they cannot be made."""
        make_folder(self._root)
        make_folder(self._output())

    @property
    def _root(self) -> Path:
        return path_of(self.folder, "cluster.folder").absolute()

    @property
    def _sourced(self) -> Path:
        """The file that jobs source if it is there."""
        return self._root / "environment"

    def _output(self) -> Path:
        return self._root / "output"

    @property
    def _walltime(self) -> str:
        return "01:00:00" if self.walltime is None else self.walltime

    def _reserve(self) -> int:
        return max(10, min(300, self.seconds() // 12))

    @property
    def further(self) -> list[str]:
        """The further directives of the person, one each."""
        return [one.strip() for one in (self.directives or "").split(";") if one.strip()]

    def _make(self, address: str, keys: Path, name: str) -> Any:
        """dask-jobqueue's Job."""
        import dask_jobqueue
        from distributed.security import Security

        cert = str(keys / "cert.pem")
        python = shlex.quote(sys.executable)
        driver = address.removeprefix("tls://").rpartition(":")[0]
        ours = {f"DASK_{key.upper().replace('.', '__').replace('-', '_')}": value
                for key, value in DASK.items() if key.startswith("distributed.worker.")}
        variables = variables_of_workers() | {name: str(value) for name, value in ours.items()}
        return getattr(dask_jobqueue, self.jobqueue).job_cls(
            address, name=name, job_name="pipeline-workers", cores=self.cores, processes=self.cores,
            memory=f"{size(self.memory or f'{max(2, self.cores)}GiB')}B", queue=self.queue,
            protocol="tls://",
            security=Security(require_encryption=True, tls_ca_file=cert, tls_worker_cert=cert,
                              tls_worker_key=str(keys / "key.pem")),
            nanny=True, death_timeout=120, local_directory=tempfile.gettempdir(), python=python,
            worker_extra_args=[
                "--host", f"$({python} -m {route.__name__} {driver})", *self._port_options(),
                "--no-dashboard", "--dashboard-address", "127.0.0.1:0",
                "--lifetime", f"{self.seconds() - 2 * self._reserve()}s", "--lifetime-stagger", f"{self._reserve()}s"],
            job_script_prologue=[
                *(f"export {variable}={shlex.quote(value)}" for variable, value in variables.items()),
                *source_lines(self._sourced)],
            job_extra_directives=[*self._own_directives(), *self.further], **self._account())

    def refusal(self, error: Refused) -> InvalidInput:
        """The field that the batch system's message most likely refers to, with the message."""
        message = str(error)
        for name, pattern in (("account", "account|project"), ("queue", "partition|queue"), ("walltime", "time"),
                              ("memory", "memory"), ("cores", "cpu|processor|slots")):
            if re.search(pattern, message, re.IGNORECASE):
                used = self._walltime if name == "walltime" else getattr(self, name)
                return InvalidInput(f"cluster.{name}", used, f"{self.needed[0]} says: {message}")
        return InvalidInput("cluster", self.name, f"{self.needed[0]} says: {message}")


@dataclass(frozen=True)
class Slurm(Batch):
    """Jobs of SLURM."""

    name, jobqueue, hides_environment, cancels_follower = "slurm", "SLURMCluster", True, True
    needed = ("sbatch", "squeue", "scancel")
    listing = ("squeue", "--noheader", "--format=%i", "--me")
    hosts = ("sinfo", "--noheader", "--Node", "--format=%o")

    def _account(self) -> dict[str, str | None]:
        return {"account": self.account, "walltime": self._walltime}

    def _own_directives(self) -> list[str]:
        return [f"-o {self._output()}/%j.out", "--requeue", "--open-mode=append"]

    def _ask(self, script: str) -> None:
        call(["sbatch", "--test-only"], text=script)


@dataclass(frozen=True)
class PBS(Batch):
    """Jobs of PBS Pro, OpenPBS or Torque; never executed on a real one."""

    name, jobqueue, untried = "pbs", "PBSCluster", True
    needed = ("qsub", "qselect", "qdel")
    listing = ("qselect", "-u", user())
    hosts = ("pbsnodes", "-a")

    def _account(self) -> dict[str, str | None]:
        return {"account": self.account, "walltime": self._walltime}

    def _own_directives(self) -> list[str]:
        return [f"-o {self._output()}/", "-j oe", "-V", "-r y"]

    def _ask(self, script: str) -> None:
        if self.queue:
            call(["qstat", "-Q", self.queue])


@dataclass(frozen=True)
class LSF(Batch):
    """Jobs of IBM Spectrum LSF; never executed on a real one."""

    name, jobqueue, untried = "lsf", "LSFCluster", True
    needed = ("bsub", "bjobs", "bkill")
    listing = ("bjobs", "-noheader", "-o", "jobid")
    hosts = ("bhosts", "-w")

    def _account(self) -> dict[str, str | None]:
        hours, minutes = divmod(self.seconds() // 60, 60)
        return {"project": self.account, "walltime": f"{hours:02}:{minutes:02}"}

    def _own_directives(self) -> list[str]:
        return [f"-o {self._output()}/%J.out", "-r"]

    def _ask(self, script: str) -> None:
        if self.queue:
            call(["bqueues", self.queue])


@dataclass(frozen=True)
class SGE(Batch):
    """Jobs of Grid Engine. Several cores need a parallel environment, whose name differs from site to site."""

    name, jobqueue = "sge", "SGECluster"
    needed = ("qsub", "qstat", "qdel")
    listing = ("qstat", "-u", user())
    hosts = ("qconf", "-sel")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cores > 1 and "-pe " not in (self.directives or ""):
            raise InvalidInput("cores", self.cores, "needs a parallel environment, as "
                               f"cluster.directives='-pe smp {self.cores}'; qconf -spl lists them")

    def _account(self) -> dict[str, str | None]:
        return {"project": self.account, "walltime": self._walltime}

    def _own_directives(self) -> list[str]:
        return [f"-o {self._output()}/", "-V", "-r y"]

    def _ask(self, script: str) -> None:
        call(["qsub", "-w", "v"], text=script)


def _alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
