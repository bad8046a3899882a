"""What a cluster is, what a sweep needs of it, and a Dask scheduler in this process.

Most clusters start one.
"""

import contextlib
import gc
import importlib.util
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pipeline.execution.clusters.open_files import raise_limit
from pipeline.execution.workers import CONNECT, NOISY, STARTING, steady
from pipeline.storage.file_locks import lock, lock_at_once
from pipeline.study.files import open_regular
from pipeline.study.parameters import InvalidInput

if TYPE_CHECKING:
    import distributed

DRIVER = 2**29  # bytes for the process that gives workers their units, where they share a limit
LEAST_WORKER = 2**28  # bytes of a worker: less does not hold what it imports
SCRATCH = "pipeline-workers-"
LOCK = "lock"  # temporary folders of workers, and the file in each that is locked
DASK = {
    # The sweep itself retries a lost bundle (split, so that the guilty unit is found); Dask reports
    # at once.
    "distributed.scheduler.allowed-failures": 0,
    # Bundles go to workers ahead of time; the sweep's window bounds how many.
    "distributed.scheduler.worker-saturation": float("inf"),
    "distributed.scheduler.work-stealing-interval": "100ms",
    "distributed.scheduler.active-memory-manager.start": False,
    # Without a sign of life: then a worker's bundles count as lost.
    "distributed.scheduler.worker-ttl": "60s",
    CONNECT: "10s",
    # Results are tiny, so there is nothing to spill; memory is limited by the operating system
    # instead.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.diagnostics.nvml": False,
    "distributed.admin.low-level-log-length": 20,
    "distributed.admin.log-length": 20,
    "distributed.diagnostics.computations.max-history": 2,
}


@dataclass(frozen=True)
class Executor:
    """An open cluster, as a sweep uses it.

    Attributes:
        client: a `distributed.Client`, or None to compute in this process.
        workers: bundles that run at once when all workers are there; each thread of a worker
            counts.
        alive: addresses of the workers that there are now, with their numbers of threads.
        revive: replace workers that died; cheap, called often; raises OSError when that is
            hopeless.
        retire: do without a worker, given by its address, that must not compute; whether other
            workers may still come.
        description: one line for a person.
        patience: seconds without any worker after which the sweep gives up; None: the sweep's own
            default.
        starting: age in seconds of the oldest process of this machine that is yet to become a
            worker; 0 where there is none.
        admit: called in each worker before it gets units, also in those that join later; the reason
            why it must not compute, or None.
        window: bundles handed out for each worker, computing or waiting.
        guest: whether scheduler and workers are another person's: none is ended, and nothing is
            left there.
        unfit: addresses of workers that must not compute, as sweeps see.
    """

    client: Any = None
    workers: int = 1
    alive: Callable[[], Mapping[str, int]] = lambda: {"this process": 1}
    revive: Callable[[], None] = lambda: None
    retire: Callable[[str], bool] = lambda _: False
    description: str = "no cluster, computing in this process"
    patience: float | None = None
    starting: Callable[[], float] = lambda: 0.0
    admit: Callable[[], str | None] | None = None
    window: int = 2
    guest: bool = False
    unfit: set[str] = field(default_factory=set)


class Cluster(Protocol):
    """A kind of cluster: a frozen dataclass whose fields a person sets, checked when it is made.

    A bad field raises InvalidInput naming it. Making one starts nothing; `check` and `script` come
    before `open`. elsewhere: whether workers may be on machines of another type than this one.
    starts_processes: whether they are processes of this machine that `open` starts, which code may
    end without harm.
    """

    elsewhere: ClassVar[bool] = False
    starts_processes: ClassVar[bool] = False

    @property
    def workers(self) -> int | None:
        """Worker processes or threads when all are there.

        None: as many as this process may use cores.
        """
        return None

    @property
    def lifetime(self) -> float | None:
        """Seconds for which each worker certainly lives; None: as long as the cluster is open."""
        return None

    @property
    def walltime(self) -> str | None:
        """As a person gave it; None where workers have none."""
        return None

    def needless(self, seconds: float) -> bool:
        """Whether this process should do that many seconds of work itself.

        It should where workers would take longer to start.
        """
        return False

    @property
    def limits_memory(self) -> bool:
        """Whether workers get less memory than this process may take."""
        return False

    def check(self) -> None:
        """Raise InvalidInput where the cluster could not be opened, before any folder or job is
        created.
        """
        return  # nothing can go wrong

    def script(self) -> str | None:
        """Text of the job that `open` would submit; None if it submits none."""
        return None

    def open(self) -> AbstractContextManager[Executor]:
        """Start or join the cluster; on leaving, end all that was started.

        InvalidInput where it cannot be opened.
        """
        ...

    @contextlib.contextmanager
    def open_while(self, work: Callable[[], None]) -> Iterator[Executor]:
        """Do some work in this process, and `open`.

        The work is done before workers are requested, or while they start.
        """
        work()
        with self.open() as executor:
            yield executor


FEW_FILES = 20_000  # are read faster than worker processes start


def workers_of(cluster: Cluster, worthwhile: bool) -> AbstractContextManager[Executor]:
    """The cluster's workers, or this process where starting workers takes longer than the work."""
    if worthwhile:
        return cluster.open()
    return contextlib.nullcontext(Executor())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Set Dask's options for a sweep and silence its loggers: the sweep reports lost workers
    itself.
    """
    import dask

    raise_limit()
    steady()
    loggers = [logging.getLogger(name) for name in NOISY]
    with dask.config.set(DASK), contextlib.ExitStack() as stack:
        for logger in loggers:
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        except BaseException:
            # Tasks left undone log a traceback when they are freed: so that happens now, while the
            # loggers are silent.
            gc.collect()
            raise


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """A folder for temporary files of workers.

    Removes those of processes that were killed, whose lock is free.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):  # another process's, or not locked yet
            _remove_if_free(left)
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as folder:
        new = Path(folder, "new")
        with open(new, "w") as handle:
            lock(handle)
            new.rename(Path(folder, LOCK))
            yield folder


def _remove_if_free(folder: Path) -> None:
    """Remove a temporary folder of this person's; OSError where its lock is taken."""
    if folder.lstat().st_uid != os.getuid():
        return
    with open_regular(folder / LOCK) as handle:
        lock_at_once(handle)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def scheduler(folder: str, **options: object) -> Iterator[tuple[Any, Any]]:
    """A Dask scheduler in this process: a `distributed.LocalCluster`, and its client.

    Its dashboard is on loopback. folder: for its temporary files.
    """
    import dask
    import distributed

    with quiet(), dask.config.set({"temporary-directory": folder}):
        # It connects to itself, which may take long on a machine with much else to do.
        with dask.config.set({CONNECT: STARTING}):
            started = distributed.LocalCluster(
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
                **options,
                scheduler_kwargs={"dashboard": _has_dashboard()},
            )
        with started as cluster:
            if not cluster.scheduler_address.startswith("inproc:"):
                # For the client, which then encrypts nothing.
                cluster.sync(cluster.scheduler.listen, "inproc://")
            address = cluster.scheduler.listeners[-1].contact_address
            joined = distributed.Client(
                address, timeout=STARTING, loop=cluster.loop, set_as_default=False
            )
            with joined as client:
                yield cluster, client


def threads(cluster: "distributed.LocalCluster") -> dict[str, int]:
    """Address of each worker of a `distributed.LocalCluster`, with its number of threads."""
    return {worker.address: worker.nthreads for worker in list(cluster.scheduler.workers.values())}


def retire(client: "distributed.Client", addresses: Collection[str]) -> None:
    """Close workers at once; what they were given goes to others.

    Not by `client.retire_workers`, which first copies results to other workers, and gives up if
    there are none.
    """
    from pipeline.execution.clusters.lost import GONE

    for address in addresses:
        with contextlib.suppress(*GONE):
            client.sync(
                client.scheduler.unregister, address=address, expected=True, stimulus_id="retire"
            )


def describe(cluster: "distributed.LocalCluster", workers: str) -> str:
    """One line for a person: what workers there are, and where scheduler and dashboard are."""
    port = cluster.scheduler.http_server.port
    page = "info/main/workers.html"
    if _has_dashboard():
        page = "status"
    return (
        f"{workers}, scheduler at {cluster.scheduler_address}, dashboard at "
        f"http://127.0.0.1:{port}/{page}"
    )


def size(text: str, key: str = "memory") -> int:
    """Bytes of a size such as 500MB or 2GiB; InvalidInput if it is none."""
    from dask.utils import parse_bytes

    wrong = InvalidInput(key, text, "must be a size such as 500MB or 2GiB")
    if not any(map(str.isdigit, text)):  # of a unit alone there would be one
        raise wrong
    try:
        count: int = parse_bytes(text)
    except (ValueError, OverflowError):
        raise wrong from None
    if count < 0:
        raise wrong
    return count


def _has_dashboard() -> bool:
    return importlib.util.find_spec("bokeh") is not None
