"""What a bundle costs the driver, a process that holds Dask's scheduler and client: seconds of CPU,
with many workers.

    python -m benchmarks driver

The workers are Dask's own, each with an encrypted connection of its own; to save memory, many of
them share a process. Bundles of one unit, which takes no time, so that the driver is always behind;
`UNDER_WAY` of them are handed out at any time, and two for each worker at least. What workers cost
that have nothing to do, their heartbeats, is a figure of its own.
"""

import asyncio
import json
import os
import subprocess
import sys
import time

from pipeline.execution.clusters import Executor
from pipeline.execution.clusters.executor import DASK, scheduler, scratch, threads
from pipeline.execution.clusters.keys import temporary
from pipeline.execution.sweep import Bundling, run
from pipeline.execution.task import UnitFunction

PROCESSES, BUNDLES, UNDER_WAY = 2, 4000, 240
WORKERS = (20, 120, 480)
IDLE = 10.0  # seconds
CONNECTED = 1800.0  # seconds, until all workers are: a busy machine starts few at once
AT_ONCE = 5  # workers of a process that connect together; one that waits for 10 s fails


def nothing(units: list[int]) -> list[bool]:
    """Compute no unit; none failed."""
    return [False for _ in units]


def cost(
    workers: int, bundles: int = BUNDLES, runner: UnitFunction = nothing, guest: bool = False
) -> tuple[float, float, float]:
    """CPU seconds of this process for a bundle, and in each second in which there is none.

    Open files a worker.

    guest: whether the scheduler counts as another person's, where bundles name the workers that
    they may go to.
    """
    before = open_files()
    security = temporary()
    tls = security.get_tls_config_for_role("worker")
    with (
        scratch() as folder,
        scheduler(
            folder,
            n_workers=0,
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
        ) as (cluster, client),
    ):
        order = json.dumps(
            {
                "address": cluster.scheduler_address,
                "folder": folder,
                "count": workers // PROCESSES,
                "dask": DASK,
                "tls": {
                    "tls_ca_file": tls["ca_file"],
                    "tls_worker_cert": tls["cert"],
                    "tls_worker_key": tls["key"],
                },
            }
        )
        served = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.driver"],
                stdin=subprocess.PIPE,
                text=True,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(PROCESSES)
        ]
        try:
            for process in served:
                process.stdin.write(order + "\n")
                process.stdin.flush()
            client.wait_for_workers(workers, timeout=CONNECTED)
            executor = Executor(
                client,
                workers,
                lambda: threads(cluster),
                window=max(2, UNDER_WAY // workers),
                guest=guest,
            )
            run(
                executor,
                runner,
                ((unit, 1.0) for unit in range(workers)),
                bundling=Bundling(seconds=1e-9),
            )  # opens connections
            start, wall = time.process_time(), time.monotonic()
            run(
                executor,
                runner,
                ((unit, 1.0) for unit in range(bundles)),
                bundling=Bundling(seconds=1e-9),
            )
            seconds, wall = time.process_time() - start, time.monotonic() - wall
            start = time.process_time()
            time.sleep(IDLE)
            idle = (time.process_time() - start) / IDLE
            return (seconds - idle * wall) / bundles, idle, (open_files() - before) / workers
        finally:
            for process in served:
                process.kill()
                process.wait()


def open_files() -> int:
    """Files and connections that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def loop() -> float:
    """Seconds of ten million additions, by which machines can be compared."""
    start, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - start


def main() -> None:
    """Print a table."""
    print(
        "workers  ms of CPU a bundle  bundles a second  idle: % of a core  files a worker  ten "
        "million additions, s"
    )
    for workers in WORKERS:
        seconds, idle, files = cost(workers)
        print(
            f"{workers:>7} {1e3 * seconds:>19.2f} {(1 - idle) / seconds:>17.0f} {idle:>18.1%} "
            f"{files:>15.1f} {loop():>25.2f}",
            flush=True,
        )


async def serve(order: dict) -> None:
    """Run workers in this process until it is killed."""
    import dask
    import distributed
    from distributed.security import Security

    dask.config.set(order["dask"])
    security = Security(require_encryption=True, **order["tls"])
    workers = [
        distributed.Worker(
            order["address"],
            nthreads=1,
            local_directory=order["folder"],
            memory_limit=0,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
        )
        for _ in range(order["count"])
    ]
    for first in range(0, len(workers), AT_ONCE):
        some = workers[first : first + AT_ONCE]
        await asyncio.gather(*(worker.start() for worker in some))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.stdin.readline())))
