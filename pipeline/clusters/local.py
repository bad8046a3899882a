"""Clusters on this machine: worker processes, worker threads, or neither."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.clusters.executor import DASK, Cluster, Executor, describe, scheduler, size
from pipeline.clusters.keys import temporary
from pipeline.parameters import InvalidInput, parameter
from pipeline.workers import Processes


def cores() -> int:
    """Cores this process may use: an affinity mask or a batch system may allow fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Local(Cluster):
    """Worker processes on this machine, one thread each; they and the scheduler speak TLS, on loopback."""

    workers: int | None = parameter(
        "worker processes; null: every core this process may use", unit="process", default=None, low=1
    )
    memory: str | None = parameter("most memory of a worker, such as 2GiB; null: no limit", default=None)

    def __post_init__(self):
        if self.memory is not None and size(self.memory) < 2**28:
            raise InvalidInput("memory", self.memory, "must be at least 256MiB")

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Start scheduler and workers; on leaving, end them at once, whatever they are doing."""
        count = self.workers or cores()
        limit = size(self.memory) if self.memory else None
        with tempfile.TemporaryDirectory(prefix="pipeline-workers-") as folder:
            # Processes first: they import while this process imports and starts the scheduler.
            with Processes(count, dict(folder=folder, memory=limit, dask=DASK)) as processes:
                # Loopback is shared with everybody on a login node, and whoever speaks to a scheduler runs code.
                with scheduler(n_workers=0, processes=True, threads_per_worker=1, host="127.0.0.1",
                               protocol="tls://", security=temporary()) as (cluster, client):
                    processes.join(cluster)
                    yield Executor(client, count, 1, lambda: set(list(cluster.scheduler.workers)),
                                   processes.revive, describe(cluster, f"{count} worker processes"))
                    processes.close()


@dataclass(frozen=True)
class Threads(Cluster):
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
            with scheduler(**options, local_directory=folder) as (cluster, client):
                yield Executor(client, 1, count, lambda: set(list(cluster.scheduler.workers)),
                               description=describe(cluster, f"{count} worker threads"))


@dataclass(frozen=True)
class Synchronous(Cluster):
    """No Dask at all: one unit after the other in this process."""

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Nothing to start."""
        yield Executor()
