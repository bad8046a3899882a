"""A disk that fills up, and one that becomes read-only, in mid-sweep: one clear line, and nothing is lost."""

import contextlib
import os
import resource
import subprocess
import time

import psutil
import pytest

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

SEEDS = range(5) if FULL else [0]


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own."""
    where = tmp_path / "disk"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(where)]
    if os.geteuid() or (done := subprocess.run(mount, capture_output=True, text=True)).returncode:
        pytest.skip(
            f"NO DISK TO FILL: {'only root mounts' if os.geteuid() else done.stderr.strip()}"
        )
    yield where
    subprocess.run(["umount", "--lazy", where], check=True)


def stops(tally, driver, where, *says):
    """The driver ends by itself, with one clear line; what was done stays."""
    before = units(where)
    tally.injected += 1
    _, error = driver.communicate(timeout=900)
    line = one_line(error)
    print(f"{tally.kind}: exit code {driver.returncode}, {line}")
    assert (
        driver.returncode == 1
        and any(text in line for text in says)
        and "the same command goes on" in line
    )
    assert ended(driver.pid) and units(where) >= before > 0


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_full_disk(seed, tmp_path, disk, expected):
    tally = Tally("disk full", 1)
    driver = start(disk, tmp_path / "scratch")
    assert reaches(driver, grows(disk, 5 + 20 * seed))
    with contextlib.suppress(OSError), open(disk / "ballast", "wb", buffering=0) as ballast:
        while True:  # page by page, until there is no room for one more
            ballast.write(bytes(4096))
    stops(tally, driver, disk, "No space left on device")
    (disk / "ballast").unlink()
    finish(disk, expected, tally)


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not FULL, reason="takes a minute: make faults")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_disk_that_becomes_read_only(seed, tmp_path, disk, expected):
    tally = Tally("store made read-only", 1)
    driver = start(disk, tmp_path / "scratch")
    assert reaches(driver, grows(disk, 5 + 20 * seed))
    end = time.monotonic() + 60
    while subprocess.run(
        ["mount", "-o", "remount,ro", disk], capture_output=True
    ).returncode:  # busy: being written
        assert time.monotonic() < end and driver.poll() is None
    stops(tally, driver, disk, "Read-only file system")
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    finish(disk, expected, tally)


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not FULL, reason="takes a minute: make faults")
@pytest.mark.parametrize("seed", SEEDS)
def test_files_that_can_only_be_begun(seed, tmp_path, expected):
    """Writes that stop in the middle of a chunk, as under a quota."""
    tally = Tally("quota: writes cut off within a chunk", 1)
    driver = start(tmp_path)
    assert reaches(driver, grows(tmp_path, 5 + 20 * seed))
    for worker in workers(driver):
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.rlimit(resource.RLIMIT_FSIZE, (100 + 100 * seed,) * 2)
    stops(tally, driver, tmp_path, "File too large")
    finish(tmp_path, expected, tally)
