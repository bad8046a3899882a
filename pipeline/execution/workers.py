"""Worker processes on this machine: replaced when they die, and never left behind."""

import contextlib
import dataclasses
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.execution import arithmetic, copies
from pipeline.study import signals

# Of a worker: one BLAS thread, and a C library that keeps memory for the next arrays.
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),  # the most that every glibc takes
    "MALLOC_TRIM_THRESHOLD_": str(1 << 27),
}
# These have levels of their own; lost workers are reported by the sweep.
NOISY = (
    "distributed",
    "distributed.client",
    "distributed.gc",
    "tornado",
    "tornado.application",
    "asyncio",
)
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import pipeline.execution.workers "
    "as w; w._serve()"
)
STDERR = 2  # of this process
# Seconds after which a worker process that the scheduler does not know any more is replaced.
UNANSWERED = 30.0
# Seconds that its start may take, on a machine with much else to do.
STARTING = 300.0
CONNECT = "distributed.comm.timeouts.connect"


def variables_of_workers() -> dict[str, str]:
    """Environment variables of each worker.

    Among them what makes its arithmetic that of this process.
    """
    return ENVIRONMENT | arithmetic.chosen(os.environ)


REPLACEMENTS = 3  # of workers that must not compute; those that die are always replaced


@dataclass(frozen=True)
class Options:
    """Settings that all workers share.

    folder: for scratch files. memory: bytes that each may take; None: any number. dask: its
    configuration.
    """

    folder: str
    memory: int | None
    dask: Mapping[str, Any]


@dataclass(frozen=True)
class Order(Options):
    """What one worker is told, in a line on its standard input.

    address: of the scheduler. name: of the worker. ca, cert, key: with which they identify each
    other, in PEM.
    """

    address: str
    name: str
    ca: str
    cert: str
    key: str = field(repr=False)

    def line(self) -> bytes:
        """The order as a line of JSON."""
        return json.dumps(dataclasses.asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> "Order":
        """The order of a line."""
        return cls(**json.loads(line))


@dataclass
class _Worker:
    process: subprocess.Popen[bytes] | copies.Copy
    name: str
    start: float  # seconds of the monotonic clock
    replaced: bool = True  # whether another worker replaces it when it ends
    joined: bool = False  # whether the scheduler has known it

    @property
    def age(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self.start

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it died already: revive() will see that
            self.process.stdin.write(line)

    def end(self) -> None:
        """Kill the process, if it still runs, and wait for it."""
        assert self.process.stdin is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Processes:
    """`count` Dask worker processes of one thread, started at once.

    A context manager that kills them. The scheduler's address and the keys reach them through a
    pipe, so that no file contains the keys.
    """

    def __init__(self, count: int, options: Options):
        self.options = options
        self.cluster: Any = None
        self.started = 0
        self.replacements_left = REPLACEMENTS
        self.lock = threading.Lock()
        self.workers: list[_Worker] = []
        self.workers = [self._start() for _ in range(count)]

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def join(self, cluster: object) -> None:
        """Let the workers register with the scheduler of a `distributed.LocalCluster`."""
        self.cluster = cluster
        for worker in self.workers:
            worker.start = time.monotonic()  # what this process did meanwhile does not count
            self._introduce(worker)

    def revive(self) -> None:
        """Replace workers that died, and those that the scheduler does not know.

        These have `STARTING` seconds to become known.
        """
        with self.lock:
            known = self._known()
            for slot, worker in enumerate(self.workers):
                allowed = STARTING
                if worker.joined:  # stopped, or cut off from the scheduler
                    allowed = UNANSWERED
                silent = worker.name not in known and worker.age > allowed
                if not silent and worker.process.poll() is None:
                    continue
                worker.end()
                if worker.replaced:
                    self._replace(slot)
            self.workers = [
                worker
                for worker in self.workers
                if worker.replaced or worker.process.poll() is None
            ]

    def starting(self) -> float:
        """Age in seconds of the oldest process that is yet to join; 0 where there is none.

        It runs: it is slow, as it is where many other processes want the same processors.
        """
        with self.lock:
            self._known()
            ages = [
                worker.age
                for worker in self.workers
                if not worker.joined and worker.process.poll() is None
            ]
        return max(ages, default=0.0)

    def retire(self, address: str) -> bool:
        """Note that a worker must not compute: a few are replaced, the others not.

        Whether any will still compute.
        """
        known = self.cluster.scheduler.workers.get(address)
        with self.lock:
            for worker in self.workers:
                if known and worker.name == known.name:
                    worker.replaced = self.replacements_left > 0
                    self.replacements_left -= 1
            return any(worker.replaced for worker in self.workers)

    def close(self) -> None:
        """Kill all workers: what is worth keeping was stored by the runner itself."""
        with self.lock:
            for worker in self.workers:
                worker.process.kill()  # all at once, before the first is waited for
            for worker in self.workers:
                worker.end()
            self.workers = []

    def _known(self) -> set[str]:
        """Names of the workers that the scheduler knows, which have thereby joined."""
        names = {worker.name for worker in list(self.cluster.scheduler.workers.values())}
        for worker in self.workers:
            worker.joined = worker.joined or worker.name in names
        return names

    def _replace(self, slot: int) -> None:
        """Start another worker in a place, if that is possible now: the next call tries again."""
        with contextlib.suppress(OSError):
            self.workers[slot] = self._start()
            self._introduce(self.workers[slot])

    def _start(self) -> _Worker:
        self.started += 1
        # A Ctrl-C or a batch system's SIGTERM reaches the whole group: workers must finish their
        # bundle, so they start with these signals blocked. They end when this process closes their
        # standard input.
        with signals.blocked():
            process = _start_process()
        return _Worker(process, f"worker-{self.started}", time.monotonic())

    def _introduce(self, worker: _Worker) -> None:
        tls = self.cluster.security.get_tls_config_for_role("worker")
        order = Order(
            address=self.cluster.scheduler_address,
            name=worker.name,
            folder=self.options.folder,
            memory=self.options.memory,
            dask=self.options.dask,
            ca=tls["ca_file"],
            cert=tls["cert"],
            key=tls["key"],
        )
        worker.write(order.line())


def _start_process() -> subprocess.Popen[bytes] | copies.Copy:
    """A worker process that waits for its order.

    A copy of this process where possible, else one from nothing. What a person's own parts print
    goes where errors go: the output is the driver's alone.
    """
    variables = variables_of_workers()
    if copies.possible(variables):
        # Loaded once for all of them, and for the scheduler of this process.
        import distributed  # noqa: F401

        if copies.possible(variables):  # it started no thread
            return copies.start(_serve, variables)
    path = [entry or os.getcwd() for entry in sys.path]
    return subprocess.Popen(
        [sys.executable, "-c", START, json.dumps(path)],
        stdin=subprocess.PIPE,
        stdout=STDERR,
        env=os.environ | variables,
        bufsize=0,  # or closing would flush to a dead process
    )


def steady() -> None:
    """Let Dask's timers in this process use the monotonic clock.

    By default they use the wall clock: set back by an hour, it would delay messages and heartbeats
    by an hour.
    """
    import distributed.batched
    from tornado.ioloop import IOLoop

    IOLoop.time = lambda _: time.monotonic()  # as its documentation allows
    distributed.batched.time = time.monotonic  # compares with deadlines of the loop


def _serve() -> None:
    """Run a worker process.

    Its order comes on standard input, and the end of that tells it to stop.
    """
    # Without a script this process would count as a notebook, whose code may have changed the
    # program's: all modules would be executed once more, to look for that.
    sys.modules["__main__"].__file__ = __file__
    driver = os.getppid()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Of what parts print, as a worker ends without more ado.
        sys.stdout.reconfigure(line_buffering=True)
    order = _wait_for_order()
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if order.memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (order.memory, order.memory))
    import asyncio

    import dask

    dask.config.set({**order.dask, CONNECT: STARTING})
    steady()
    # Where the scheduler is gone, nobody is there to read a message.
    with contextlib.suppress(Exception):
        asyncio.run(_work(order))
    if os.getppid() != driver:  # which was killed, and would have removed the folder
        _remove(order.folder)
    os._exit(0)


def _wait_for_order() -> Order:
    """The first line of standard input; meanwhile load what every worker needs."""
    came = threading.Event()
    lines: list[bytes] = []

    def listen() -> None:
        with open(0, "rb", buffering=0, closefd=False) as stdin:
            for line in stdin:
                lines.append(line)
                came.set()
        if lines:  # the process that would have removed the folder was killed
            _remove(Order.read(lines[0]).folder)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    import distributed  # noqa: F401

    came.wait()
    return Order.read(lines[0])


def _remove(folder: str) -> None:
    """Remove a folder in which others may still write for a moment."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)


async def _work(order: Order) -> None:
    import distributed
    from distributed.security import Security

    security = Security(
        require_encryption=True,
        tls_ca_file=order.ca,
        tls_worker_cert=order.cert,
        tls_worker_key=order.key,
    )
    worker = distributed.Worker(
        order.address,
        nthreads=1,
        name=order.name,
        local_directory=order.folder,
        memory_limit=0,
        host="127.0.0.1",
        protocol="tls://",
        security=security,
        dashboard=False,
        dashboard_address="127.0.0.1:0",
        death_timeout=STARTING,
    )
    async with worker:
        await worker.finished()
