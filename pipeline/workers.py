"""Worker processes on this machine: replaced when they die, and never left behind."""

import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

ONE_BLAS_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
DRAIN_SIGNALS = {signal.SIGINT, signal.SIGTERM}
# These have levels of their own; a lost worker is the sweep's to report, not theirs.
NOISY = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "asyncio")
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import pipeline.workers as w; w._serve()"
UNANSWERED = 30.0  # seconds after which a worker process that the scheduler does not know is replaced


class Processes:
    """`count` Dask worker processes of one thread, started at once; a context manager that kills them.

    `options`: `folder` for scratch files, `memory` in bytes or None, `dask` configuration. They learn their keys
    from the pipe that tells them where the scheduler is; no file holds them.
    """

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
                                       stdout=subprocess.DEVNULL, env=os.environ | ONE_BLAS_THREAD,
                                       bufsize=0)  # or closing would try to flush to a dead process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process, f"worker-{self.born}", time.monotonic()

    def _introduce(self, process, name):
        tls = self.cluster.security.get_tls_config_for_role("worker")
        order = self.options | dict(address=self.cluster.scheduler_address, name=name, tls=dict(
            tls_ca_file=tls["ca_file"], tls_worker_cert=tls["cert"], tls_worker_key=tls["key"]))
        with contextlib.suppress(OSError):  # it died already; revive() will see
            process.stdin.write(json.dumps(order).encode() + b"\n")

    def join(self, cluster):
        """Tell the workers which scheduler to register with."""
        self.cluster = cluster
        for process, name, _ in self.running:
            self._introduce(process, name)

    def revive(self):
        """Replace workers that died, and those the scheduler does not know after `UNANSWERED` seconds."""
        known = {worker.name for worker in list(self.cluster.scheduler.workers.values())}
        with self.lock:
            for slot, (process, name, start) in enumerate(self.running):
                if process.poll() is None and name not in known and time.monotonic() - start > UNANSWERED:
                    process.kill()  # stopped, or cut off from the scheduler
                    process.wait()
                if process.poll() is not None:
                    process.stdin.close()
                    with contextlib.suppress(OSError):  # no more processes for now: the next call tries again
                        self.running[slot] = self._spawn()
                        self._introduce(*self.running[slot][:2])

    def close(self):
        """Kill all workers: what is worth keeping was stored by the work itself."""
        with self.lock:
            for process, *_ in self.running:
                process.kill()
            for process, *_ in self.running:
                process.wait()
                process.stdin.close()
            self.running = []


def steady() -> None:
    """Let Dask's timers in this process run on a clock that never jumps.

    They are set by the wall clock: turned back by an hour, Dask holds messages and heartbeats for an hour.
    """
    import distributed.batched
    from tornado.ioloop import IOLoop

    IOLoop.time = lambda _: time.monotonic()  # as its documentation allows
    distributed.batched.time = time.monotonic  # compares with deadlines of the loop


def _serve():
    """Life of a worker process: orders come on standard input, whose end is the order to stop."""
    order_line = threading.Event()
    lines: list[bytes] = []

    def listen():
        with open(0, "rb", buffering=0, closefd=False) as stdin:
            while line := stdin.readline():
                lines.append(line)
                order_line.set()
        if lines:  # the process that would have removed the folder was killed
            shutil.rmtree(json.loads(lines[0])["folder"], ignore_errors=True)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    import asyncio

    import dask
    import distributed
    from distributed.security import Security

    order_line.wait()
    order = json.loads(lines[0])
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if order["memory"]:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (order["memory"],) * 2)

    async def serve():
        worker = distributed.Worker(
            order["address"], nthreads=1, name=order["name"], local_directory=order["folder"], memory_limit=0,
            host="127.0.0.1", protocol="tls://", security=Security(require_encryption=True, **order["tls"]),
            dashboard=False, dashboard_address="127.0.0.1:0", death_timeout=30)
        async with worker:
            await worker.finished()

    dask.config.set(order["dask"])
    steady()
    with contextlib.suppress(Exception):  # scheduler gone: nobody is left to read why
        asyncio.run(serve())
    os._exit(0)
