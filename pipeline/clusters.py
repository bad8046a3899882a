"""Where a sweep runs: one frozen dataclass per kind of cluster, each with `open()`, which yields an `Executor`.

Add a kind by writing one more dataclass and one row in `CLUSTERS`. Nothing listens beyond loopback.
"""

import contextlib
import importlib.util
import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.parameters import InvalidInput, parameter

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
ONE_BLAS_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
DRAIN_SIGNALS = {signal.SIGINT, signal.SIGTERM}
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import pipeline.clusters as c; c._serve()"
UNANSWERED = 30.0  # seconds after which a worker process that the scheduler does not know is replaced


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
    """Cores this process may use (an affinity mask or a batch system may allow fewer than the machine has)."""
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
            with _Processes(count, dict(folder=folder, memory=limit)) as processes:
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

    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
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


class _Processes:
    """Worker processes that are replaced when they die and cannot outlive this process."""

    def __init__(self, count: int, options: dict):
        self.options, self.cluster, self.born = options, None, 0
        self.running: list[tuple[subprocess.Popen, str, float]] = []
        self.lock = threading.Lock()
        self.running = [self._spawn() for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _spawn(self):
        self.born += 1
        path = [entry or os.getcwd() for entry in sys.path]
        # A Ctrl-C or a batch system's SIGTERM reaches the whole group: workers must finish their bundle, so
        # they are born with these signals blocked. They end when this process closes their standard input.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, DRAIN_SIGNALS)
        try:
            process = subprocess.Popen([sys.executable, "-c", START, json.dumps(path)], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, env=os.environ | ONE_BLAS_THREAD)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process, f"worker-{self.born}", time.monotonic()

    def _introduce(self, process, name):
        order = self.options | dict(address=self.cluster.scheduler_address, name=name)
        with contextlib.suppress(OSError):  # it died already; revive() will see
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()

    def join(self, cluster):
        self.cluster = cluster
        for process, name, _ in self.running:
            self._introduce(process, name)

    def revive(self):
        known = {worker.name for worker in list(self.cluster.scheduler.workers.values())}
        with self.lock:
            for slot, (process, name, start) in enumerate(self.running):
                if process.poll() is None and name not in known and time.monotonic() - start > UNANSWERED:
                    process.kill()  # stopped, or cut off from the scheduler
                    process.wait()
                if process.poll() is not None:
                    process.stdin.close()
                    self.running[slot] = self._spawn()
                    self._introduce(*self.running[slot][:2])

    def close(self):
        with self.lock:
            for process, *_ in self.running:
                process.kill()
            for process, *_ in self.running:
                process.wait()
                with contextlib.suppress(OSError):
                    process.stdin.close()
            self.running = []


def _serve():
    """Life of a worker process: orders come on standard input, whose end is the order to stop."""
    order_line = threading.Event()
    lines: list[bytes] = []

    def listen():
        with open(0, "rb", buffering=0, closefd=False) as stdin:
            while line := stdin.readline():
                lines.append(line)
                order_line.set()
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    import asyncio

    import dask
    import distributed

    order_line.wait()
    order = json.loads(lines[0])
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if order["memory"]:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (order["memory"],) * 2)

    async def serve():
        worker = distributed.Worker(
            order["address"], nthreads=1, name=order["name"], local_directory=order["folder"], memory_limit=0,
            host="127.0.0.1", dashboard=False, dashboard_address="127.0.0.1:0", death_timeout=30)
        async with worker:
            await worker.finished()

    dask.config.set(DASK)
    with contextlib.suppress(Exception):  # scheduler gone: nobody is left to read why
        asyncio.run(serve())
    os._exit(0)


def _bytes(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if not match:
        raise InvalidInput("memory", text, "must be a size such as 500MB or 2GiB")
    number, prefix, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))
