"""A scheduler that is killed, and workers that are gone for good: one clear line, soon, and nothing is lost."""

import contextlib
import json
import subprocess
import sys
import threading
import time

import distributed
import psutil
import pytest

from tests.helpers.engine import environment
from tests.helpers.fault_runs import (
    FULL,
    Tally,
    ended,
    finish,
    grows,
    one_line,
    reaches,
    start,
    units,
    workers,
)

MINUTE = 60  # seconds from the fault to the exit, at most
GRACE = 15  # for a machine that does other things as well


@contextlib.contextmanager
def running(where, count=2):
    """A scheduler and workers that somebody else runs: (words that use it, its process, the workers')."""
    shared = where / "scheduler.json"
    options = dict(
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    dask = [sys.executable, "-m", "dask"]
    processes = [
        subprocess.Popen(
            [
                *dask,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(shared),
            ],
            **options,
        )
    ]
    try:
        processes += [
            subprocess.Popen(
                [
                    *dask,
                    "worker",
                    "--scheduler-file",
                    str(shared),
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--host",
                    "127.0.0.1",
                    "--local-directory",
                    str(where / "workers"),
                ],
                **options,
            )
            for _ in range(count)
        ]
        yield address(shared, processes, count), processes[0], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def address(shared, processes, count, seconds=60):
    """Wait until the scheduler has its workers; its address."""
    end = time.monotonic() + seconds
    found = None
    while not found:  # the file is not written at once
        assert all(process.poll() is None for process in processes) and time.monotonic() < end
        time.sleep(0.05)
        with contextlib.suppress(FileNotFoundError, ValueError):
            found = json.loads(shared.read_text())["address"]
    with distributed.Client(found, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=seconds)
    return found


def gone(tally, driver, where, expected, fault):
    """Do it once the sweep is going, and see the driver end with one clear line within a minute."""
    assert reaches(driver, grows(where, 5))
    start = time.monotonic()
    fault()
    tally.injected += 1
    out, error = driver.communicate(timeout=2 * MINUTE)
    seconds = time.monotonic() - start
    line = one_line(
        "\n".join(line for line in error.splitlines() if not line.startswith("warning: "))
    )
    print(f"{tally.kind}: exit code {driver.returncode} after {seconds:.0f} s: {line}")
    assert driver.returncode == 1 and ("no worker for" in line or "no scheduler" in line)
    assert "the same command goes on" in line
    assert seconds < MINUTE + GRACE and ended(driver.pid)
    assert units(where) >= 5
    finish(where, expected, tally)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("which", ["scheduler", "workers"] if FULL else ["scheduler"])
def test_a_scheduler_or_its_workers_are_killed(which, tmp_path, expected):
    tally = Tally(
        f"SIGKILL of the {'scheduler' if which == 'scheduler' else 'workers, all for good'}", 1
    )
    with running(tmp_path) as (found, scheduler, others):
        driver = start(tmp_path, cluster="address", **{"cluster.address": found})
        gone(
            tally,
            driver,
            tmp_path,
            expected,
            lambda: [
                process.kill() for process in ([scheduler] if which == "scheduler" else others)
            ],
        )


@pytest.mark.skipif(not FULL, reason="takes a minute: make faults")
@pytest.mark.timeout(1800)
def test_every_worker_of_this_machine_is_killed_as_it_is_born(tmp_path, expected):
    tally, over = Tally("SIGKILL of the workers, all for good", 1), threading.Event()
    driver = start(tmp_path)

    def kill():
        while not over.wait(0.01):
            for worker in workers(driver):
                with contextlib.suppress(psutil.NoSuchProcess):
                    worker.kill()

    killer = threading.Thread(target=kill)
    try:
        gone(tally, driver, tmp_path, expected, killer.start)
    finally:
        over.set()
        killer.join()
