"""Clusters on this machine: worker processes, worker threads, or neither."""

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from pipeline.execution.amounts import format_bytes
from pipeline.execution.clusters.executor import (
    DASK,
    DRIVER,
    LEAST_WORKER,
    Cluster,
    Executor,
    describe,
    retire,
    scheduler,
    scratch,
    size,
    threads,
)
from pipeline.execution.clusters.keys import temporary
from pipeline.execution.clusters.open_files import check_workers
from pipeline.execution.workers import Options, Processes
from pipeline.study.machine import cores, memory, memory_of_machine, processors
from pipeline.study.parameters import Checked, InvalidInput, parameter

STARTING = 2.0  # seconds until worker processes compute, about
FILES = 4  # of this process that a worker takes, at most: connections, and a pipe


def allowed_memory() -> int | None:
    """Bytes that a control group allows this process and its workers together.

    None where only the machine's own memory limits them.
    """
    allowed = memory()
    if allowed >= memory_of_machine():
        return None
    return allowed


def default_workers() -> int:
    """Worker processes where no number is given: one for every core that has memory for it."""
    allowed = allowed_memory()
    if allowed is None:
        return cores()
    with_memory = (allowed - DRIVER) // LEAST_WORKER
    return max(1, min(cores(), with_memory))


def share_of_memory(count: int) -> int | None:
    """Bytes that each of some workers may take, so that a unit that needs more fails by itself.

    Otherwise the operating system would end some process of the control group, or all. None where a
    control group sets no limit, or so low a one that a worker could not start within its share.
    """
    allowed = allowed_memory()
    if allowed is None:
        return None
    share = (allowed - DRIVER) // count
    if share < LEAST_WORKER:
        return None
    return share


@dataclass(frozen=True)
class Local(Cluster, Checked):
    """Worker processes on this machine, one thread each.

    They and the scheduler speak TLS, on loopback.
    """

    starts_processes: ClassVar[bool] = True

    workers: int | None = parameter(
        "worker processes; null: every core this process may use",
        unit="process",
        default=None,
        low=1,
        high=10_000,
    )
    memory: str | None = parameter(
        "most memory of a worker, such as 2GiB; null: its share of a control group's, else no "
        "limit",
        default=None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory is not None and size(self.memory) < LEAST_WORKER:
            raise InvalidInput("memory", self.memory, "must be at least 256MiB")

    @property
    def limits_memory(self) -> bool:
        """Where a person sets a limit, or a control group does."""
        return self._limit(self.workers or default_workers()) is not None

    def needless(self, seconds: float) -> bool:
        """For little work, unless a person sets a number of workers or their memory."""
        if self.workers is not None or self.memory is not None:
            return False
        seconds_saved = seconds * (1 - 1 / max(processors(), 2))
        return seconds_saved <= STARTING

    def check(self) -> None:
        """Raise InvalidInput where this process could not open a connection to each worker."""
        if self.workers is None:
            # The processors of the machine, which are counted faster, are at least as many.
            with contextlib.suppress(InvalidInput):
                _check_files(os.cpu_count() or 1)
                return
        _check_files(self.workers or default_workers())

    def open(self) -> AbstractContextManager[Executor]:
        """Start scheduler and workers; on leaving, kill them, whatever they are doing."""
        return self.open_while(lambda: None)

    @contextlib.contextmanager
    def open_while(self, work: Callable[[], None]) -> Iterator[Executor]:
        """Open the cluster, and do some work while the workers' processes start."""
        self.check()
        count = self.workers or default_workers()
        limit = self._limit(count)
        description = f"{count} worker processes"
        if limit is not None:
            description += f" of up to {format_bytes(limit)} of memory"
        with scratch() as folder:  # noqa: SIM117 -- a comment stands between
            # Processes first: they import while this process imports and starts the scheduler.
            with Processes(count, Options(folder, limit, DASK)) as processes:
                work()
                # Loopback is shared with all users of a login node, and who can speak to a
                # scheduler can run code.
                with scheduler(
                    folder,
                    n_workers=0,
                    processes=True,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    protocol="tls://",
                    security=temporary(),
                ) as (cluster, client):
                    processes.join(cluster)

                    yield Executor(
                        client,
                        count,
                        lambda: threads(cluster),
                        processes.revive,
                        functools.partial(_retire, processes, client),
                        describe(cluster, description),
                        starting=processes.starting,
                    )
                    processes.close()

    def _limit(self, count: int) -> int | None:
        """Bytes that each of some workers may take; None: no limit."""
        if self.memory is not None:
            return size(self.memory)
        return share_of_memory(count)


def _retire(processes: Processes, client: object, address: str) -> bool:
    """Do without a worker that must not compute; whether others will."""
    others_to_come = processes.retire(address)
    retire(client, [address])
    return others_to_come


def _check_files(count: int) -> None:
    """Raise InvalidInput where this process could not open a connection to each of some workers."""
    check_workers("cluster.workers", count, count, FILES)


@dataclass(frozen=True)
class Threads(Cluster, Checked):
    """Worker threads inside this process: for debugging, or where processes are not allowed."""

    workers: int | None = parameter(
        "worker threads; null: every core this process may use",
        unit="thread",
        default=None,
        low=1,
        high=10_000,
    )

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Start scheduler and workers in this process.

        NumPy may be loaded already: set BLAS threads in the shell.
        """
        count = self.workers or cores()
        options = dict(
            n_workers=1,
            processes=False,
            threads_per_worker=count,
            host=None,
            memory_limit=None,
            worker_dashboard_address="127.0.0.1:0",
        )
        with (
            scratch() as folder,
            scheduler(folder, **options, local_directory=folder) as (cluster, client),
        ):
            yield Executor(
                client,
                count,
                lambda: threads(cluster),
                description=describe(cluster, f"{count} worker threads"),
            )


@dataclass(frozen=True)
class Synchronous(Cluster):
    """No Dask at all: one unit after the other in this process."""

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Start nothing."""
        yield Executor()
