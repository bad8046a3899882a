"""Where a sweep runs: one frozen dataclass per kind of cluster, whose `open()` yields an `Executor`.

A new kind is one more dataclass and one more row in `CLUSTERS`. Nothing listens beyond loopback.
"""

import contextlib
import importlib.util
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.parameters import InvalidInput, parameter
from pipeline.workers import NOISY, Processes

DASK = {
    # The sweep itself retries a lost bundle (split, so that the guilty unit is found); Dask reports at once.
    "distributed.scheduler.allowed-failures": 0,
    # Bundles go to workers ahead of time; the sweep's window bounds how many.
    "distributed.scheduler.worker-saturation": float("inf"),
    "distributed.scheduler.work-stealing-interval": "100ms",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.comm.timeouts.connect": "10s",
    # Results are tiny, so there is nothing to spill; memory is limited by the operating system instead.
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
    """What a sweep needs to know of a cluster.

    `client` is a `distributed.Client`, or None to compute in this process; `workers` × `threads` bundles run
    at once when all workers are there; `alive()` gives the addresses of the workers there are; `revive()`
    replaces those that vanished (cheap, called often).
    """

    client: Any = None
    workers: int = 1
    threads: int = 1
    alive: Callable[[], set[str]] = lambda: {"this process"}
    revive: Callable[[], None] = lambda: None
    description: str = "no cluster, computing in this process"


def cores() -> int:
    """Cores this process may use: an affinity mask or a batch system may allow fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Local:
    """Worker processes on this machine, one thread each."""

    workers: int | None = parameter(
        "worker processes; null: every core this process may use", unit="process", default=None, low=1
    )
    memory: str | None = parameter("most memory of a worker, such as 2GiB; null: no limit", default=None)

    def __post_init__(self):
        if self.memory is not None and _bytes(self.memory) < 2**28:
            raise InvalidInput("memory", self.memory, "must be at least 256MiB")

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Start scheduler and workers; on leaving, end them at once, whatever they are doing."""
        count = self.workers or cores()
        limit = _bytes(self.memory) if self.memory else None
        with tempfile.TemporaryDirectory(prefix="pipeline-workers-") as folder:
            # Processes first: they import while this process imports and starts the scheduler.
            with Processes(count, dict(folder=folder, memory=limit, dask=DASK)) as processes:
                with _scheduler(n_workers=0, processes=True, threads_per_worker=1, host="127.0.0.1") as parts:
                    cluster, client = parts
                    processes.join(cluster)
                    yield Executor(client, count, 1, lambda: set(list(cluster.scheduler.workers)),
                                   processes.revive, _describe(cluster, f"{count} worker processes"))
                    processes.close()


@dataclass(frozen=True)
class Threads:
    """Worker threads inside this process: for debugging, or where processes are not allowed."""

    workers: int | None = parameter(
        "worker threads; null: every core this process may use", unit="thread", default=None, low=1
    )

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Start scheduler and worker in this process; set BLAS threads in the shell, NumPy may be loaded."""
        count = self.workers or cores()
        options = dict(n_workers=1, processes=False, threads_per_worker=count, host=None, memory_limit=None,
                       worker_dashboard_address="127.0.0.1:0")
        with tempfile.TemporaryDirectory(prefix="pipeline-workers-") as folder:
            with _scheduler(**options, local_directory=folder) as (cluster, client):
                yield Executor(client, 1, count, lambda: set(list(cluster.scheduler.workers)),
                               description=_describe(cluster, f"{count} worker threads"))


@dataclass(frozen=True)
class Synchronous:
    """No Dask at all: one unit after the other in this process."""

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Nothing to start."""
        yield Executor()


CLUSTERS: dict[str, type] = {"local": Local, "threads": Threads, "synchronous": Synchronous}


@contextlib.contextmanager
def _scheduler(**options):
    """A Dask scheduler in this process, with its client, quiet: a lost worker is the sweep's to report."""
    import dask
    import distributed

    loggers = [logging.getLogger(name) for name in NOISY]
    levels = [logger.level for logger in loggers]
    has_dashboard = importlib.util.find_spec("bokeh") is not None
    with dask.config.set(DASK), contextlib.ExitStack() as stack:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(logging.CRITICAL + 1)
            stack.callback(logger.setLevel, level)
        cluster = stack.enter_context(distributed.LocalCluster(
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL, **options,
            scheduler_kwargs={"dashboard": has_dashboard}))
        yield cluster, stack.enter_context(distributed.Client(cluster, set_as_default=False))


def _describe(cluster, what: str) -> str:
    port = cluster.scheduler.http_server.port
    page = "status" if importlib.util.find_spec("bokeh") else "info/main/workers.html"
    return f"{what}, scheduler at {cluster.scheduler_address}, dashboard at http://127.0.0.1:{port}/{page}"


def _bytes(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if not match:
        raise InvalidInput("memory", text, "must be a size such as 500MB or 2GiB")
    number, prefix, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))
