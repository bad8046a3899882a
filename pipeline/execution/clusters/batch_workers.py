"""A driver of batch jobs: a scheduler in this process, whose workers run in jobs of a batch system.

dask-jobqueue writes the scripts of these jobs.
"""

import contextlib
import functools
import importlib.util
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pipeline.execution.clusters import route
from pipeline.execution.clusters.executor import (
    DASK,
    Cluster,
    Executor,
    describe,
    scheduler,
    scratch,
    threads,
)
from pipeline.execution.clusters.jobs import WORKERS, Jobs
from pipeline.execution.clusters.keys import temporary
from pipeline.execution.clusters.open_files import check_workers
from pipeline.execution.clusters.private_files import check_sourced, source_lines
from pipeline.execution.systems.base import UNTRIED, System
from pipeline.execution.systems.commands import Refused, call
from pipeline.execution.workers import variables_of_workers
from pipeline.study import signals
from pipeline.study.parameters import InvalidInput

if TYPE_CHECKING:
    import dask_jobqueue

FILES = 3  # connections of the driver to a worker, at most
LOOPBACK = "lo"  # the interface of every machine to itself
SHEBANG = "#!/usr/bin/env bash"
# Workers of a job are copies of a process that has loaded Dask and NumPy: some 1,000 requests to
# the file system for each in place of 6,000. For a single worker, that process costs more.
COPIES = {"distributed.worker.multiprocessing-method": "forkserver"}


@dataclass(frozen=True)
class BatchWorkers(Cluster):
    """Workers in jobs of a batch system, as `cluster=NAME` has them."""

    system: System
    elsewhere: ClassVar[bool] = True

    @property
    def workers(self) -> int:
        """Worker processes when all jobs run."""
        return self.system.workers

    @property
    def lifetime(self) -> float:
        """Seconds for which each worker certainly lives."""
        return self.system.lifetime

    @property
    def walltime(self) -> str | None:
        """As the person gave it."""
        return self.system.walltime

    def check(self) -> None:
        """Ask the system whether it would accept the jobs; InvalidInput if not, or without it."""
        system = self.system
        script = self.script()
        check_sourced(system.sourced)
        self._check_interface()
        check_workers("cluster.jobs", system.jobs, system.workers, FILES)
        for command in (system.submits, system.listing[0], system.cancels):
            if not shutil.which(command):
                allowed = (
                    f"{command} is not on this machine; start this where jobs are submitted, or "
                    "use task=submit there"
                )
                raise InvalidInput("cluster", system.name, allowed)
        with self._keys():  # so that a folder that cannot be written is reported now
            pass
        try:
            system.try_out(*system.options_of_workers(), text=script)
        except Refused as error:
            raise system.refusal(error) from None

    def script(self) -> str:
        """The script of one job, with placeholders for the scheduler's address and the keys."""
        if importlib.util.find_spec("dask_jobqueue") is None:
            allowed = "needs this package: pip install dask-jobqueue (or make hpc)"
            raise InvalidInput("cluster", self.system.name, allowed)
        return self._script_of("tls://SCHEDULER:PORT", self.system.root / "KEYS", "job1")

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Start the scheduler and submit jobs; on leaving, cancel them and remove the keys."""
        system = self.system
        with contextlib.ExitStack() as stack:
            keys = stack.enter_context(self._keys())
            security = temporary()
            _write_private(keys / "cert.pem", security.tls_worker_cert)
            _write_private(keys / "key.pem", security.tls_worker_key)
            folder = stack.enter_context(scratch())
            started = scheduler(
                folder,
                n_workers=0,
                processes=True,
                host=self.host(),
                interface=system.interface,
                scheduler_port=self._port(),
                protocol="tls://",
                security=security,
            )
            cluster, client = stack.enter_context(started)
            script = functools.partial(self._script_of, cluster.scheduler_address, keys)
            jobs = stack.enter_context(Jobs(system, script, keys, client, cluster.scheduler))
            try:
                for _ in range(system.fewest):
                    jobs.submit()
            except Refused as error:
                raise system.refusal(error) from None
            yield Executor(
                client,
                system.workers,
                lambda: threads(cluster),
                jobs.update,
                jobs.retire,
                describe(cluster, self._in_words(jobs)),
                system.patience,
            )

    def _in_words(self, jobs: Jobs) -> str:
        """How many jobs of what system, and their numbers."""
        system = self.system
        numbers = ", ".join(job.number for job in jobs.jobs) or "as there are units"
        line = f"{system.jobs} {system.name} jobs of {system.cores} workers ({numbers})"
        if system.untried:
            line += f", {UNTRIED}"
        return line

    def host(self) -> str | None:
        """This machine's address on the network that leads to the nodes.

        None where a person named an interface. Where the batch system does not tell its nodes, or
        none can be resolved here, the address on the network of the default route.
        """
        if self.system.interface is not None:
            return None
        return route.address_towards(self._nodes()) or route.default_address()

    def _port(self) -> int:
        """A port for the scheduler; 0 for any. InvalidInput if none is free."""
        allowed = self.system.port_range()
        if allowed is None:
            return 0
        port = route.free_port(allowed)
        if port is None:
            advice = "none of them is free on this machine: give a larger range"
            raise InvalidInput("cluster.ports", self.system.ports, advice)
        return port

    def _check_interface(self) -> None:
        """Refuse an interface that is not there, or that no node could reach."""
        interface = self.system.interface
        if interface is None:
            return
        known = [name for _, name in socket.if_nameindex()]
        if interface not in known:
            allowed = f"this machine has {', '.join(known)}"
            raise InvalidInput("cluster.interface", interface, allowed)
        if interface != LOOPBACK:
            return
        address = route.address_towards(self._nodes())
        if address is not None and not address.startswith("127."):
            allowed = (
                "is this machine's own and leads to no node; leave it out, and workers come to "
                f"{address}"
            )
            raise InvalidInput("cluster.interface", interface, allowed)

    def _nodes(self) -> list[str]:
        """Names or addresses of the nodes, as the batch system lists them."""
        if not self.system.hosts:
            return []
        try:
            lines = call(self.system.hosts).splitlines()
        except Refused:
            return []
        return [line.split()[0] for line in lines if line and not line[0].isspace()]

    @contextlib.contextmanager
    def _keys(self) -> Iterator[Path]:
        """A private folder for keys, removed on leaving.

        Those of drivers that were killed are removed as well.
        """
        root = self.system.root
        host = re.sub(r"\W", "_", socket.gethostname())
        try:
            self.system.make_folders()
            for left in root.glob(f"keys-{host}-*"):
                if not signals.process_exists(int(left.name.split("-")[2])):
                    shutil.rmtree(left, ignore_errors=True)
            prefix = f"keys-{host}-{os.getpid()}-"
            folder = tempfile.TemporaryDirectory(prefix=prefix, dir=root)
        except OSError as error:
            allowed = f"cannot be written: {error.strerror}"
            raise InvalidInput("cluster.folder", self.system.folder, allowed) from None
        with folder as name:
            yield Path(name)

    def _script_of(self, address: str, keys: Path, name: str) -> str:
        """The script of the job whose workers have a name, for the scheduler at an address."""
        from distributed.security import Security

        system = self.system
        cert = str(keys / "cert.pem")
        security = Security(
            require_encryption=True,
            tls_ca_file=cert,
            tls_worker_cert=cert,
            tls_worker_key=str(keys / "key.pem"),
        )
        limits = {
            system.charges: system.account,
            "queue": system.queue,
            "walltime": system.time_limit(system.seconds()),
        }
        job = self._job_class()(
            address,
            name=name,
            job_name=WORKERS,
            cores=system.cores,
            processes=system.cores,
            memory=f"{system.memory_of_workers}B",
            protocol="tls://",
            security=security,
            nanny=True,
            death_timeout=120,
            local_directory=tempfile.gettempdir(),
            python=shlex.quote(sys.executable),
            worker_extra_args=self._options_of_workers(address),
            job_script_prologue=[*_exports(system.cores), *source_lines(system.sourced)],
            job_extra_directives=[*system.directives_of_workers(), *system.further],
            **limits,
        )
        script = str(job.job_script())
        if script.startswith("#!"):
            return script
        return f"{SHEBANG}\n{script.lstrip()}"

    def _job_class(self) -> "dask_jobqueue.core.Job":
        """The class of dask-jobqueue that writes scripts; one that only starts workers if none."""
        if not self.system.jobqueue:
            from dask_jobqueue.local import LocalJob

            return LocalJob
        import dask_jobqueue

        # The system names the class, as this package is loaded only where jobs are submitted.
        return getattr(dask_jobqueue, self.system.jobqueue).job_cls

    def _options_of_workers(self, address: str) -> Sequence[str]:
        """Options of `dask worker`, in the words of a shell."""
        system = self.system
        driver = address.removeprefix("tls://").rpartition(":")[0]
        towards_driver = f"$({shlex.quote(sys.executable)} -m {route.__name__} {driver})"
        options = ["--host", towards_driver]
        if system.ports is not None:
            options += ["--worker-port", system.ports, "--nanny-port", system.ports]
        options += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        lifetime = system.seconds() - 2 * system.reserve()
        options += ["--lifetime", f"{lifetime}s", "--lifetime-stagger", f"{system.reserve()}s"]
        return options


def _exports(cores: int) -> list[str]:
    """Lines of a shell that set the variables of the workers of a job."""
    variables = variables_of_workers()
    settings = DASK.items()
    if cores > 1:
        settings = (DASK | COPIES).items()
    for key, value in settings:
        if key.startswith("distributed.worker."):
            name = key.upper().replace(".", "__").replace("-", "_")
            variables = variables | {f"DASK_{name}": str(value)}
    return [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]


def _write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(text)
