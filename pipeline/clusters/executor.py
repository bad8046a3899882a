"""What a sweep needs of any cluster, and the Dask scheduler that most of them start in this process."""

import contextlib
import importlib.util
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.parameters import InvalidInput
from pipeline.workers import NOISY, steady

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
    replaces those that vanished (cheap, called often) and raises OSError when that is hopeless. `patience`:
    seconds without any worker after which the sweep gives up, or None for its own default. `admit`: asked in each
    worker before it gets work, also in those that join later; says why it must not compute, or nothing.
    `elsewhere`: workers may be on machines of another type than this one.
    """

    client: Any = None
    workers: int = 1
    threads: int = 1
    alive: Callable[[], set[str]] = lambda: {"this process"}
    revive: Callable[[], None] = lambda: None
    description: str = "no cluster, computing in this process"
    patience: float | None = None
    admit: Callable[[], str | None] | None = None
    elsewhere: bool = False


class Cluster:
    """What all kinds have: `open()` yields an Executor; these may be asked before."""

    workers: int | None = None
    lifetime: float | None = None  # seconds that a worker surely works for; None: as long as there is work

    def check(self) -> None:
        """Raise InvalidInput where the cluster could not be opened, before anything is created."""

    def script(self) -> str | None:
        """What would be submitted, if anything would."""
        return None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Dask as this program wants it, and silent: a lost worker is the sweep's to report."""
    import dask

    steady()
    loggers = [logging.getLogger(name) for name in NOISY]
    with dask.config.set(DASK), contextlib.ExitStack() as stack:
        for logger in loggers:
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        yield


@contextlib.contextmanager
def scheduler(**options: Any) -> Iterator[tuple[Any, Any]]:
    """A Dask scheduler in this process, its dashboard on loopback: (`distributed.LocalCluster`, its client)."""
    import distributed

    with quiet(), contextlib.ExitStack() as stack:
        cluster = stack.enter_context(distributed.LocalCluster(
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL, **options,
            scheduler_kwargs={"dashboard": _has_dashboard()}))
        yield cluster, stack.enter_context(distributed.Client(cluster, set_as_default=False))


def describe(cluster: Any, what: str) -> str:
    """One line for a person: what there is, where its scheduler and its dashboard are."""
    port = cluster.scheduler.http_server.port
    page = "status" if _has_dashboard() else "info/main/workers.html"
    return f"{what}, scheduler at {cluster.scheduler_address}, dashboard at http://127.0.0.1:{port}/{page}"


def size(text: str, key: str = "memory") -> int:
    """Bytes of a size such as 500MB or 2GiB; InvalidInput if it is none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if not match:
        raise InvalidInput(key, text, "must be a size such as 500MB or 2GiB")
    number, prefix, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))


def _has_dashboard() -> bool:
    return importlib.util.find_spec("bokeh") is not None
