"""Quotas of a control group count, not what the machine has: a real group of version 1, and files as of version 2.

Both as a container shows them to its processes.
"""

import contextlib
import os
import uuid
from pathlib import Path

import pytest

from tests.helpers.servers import pods
from tests.helpers.servers.pods import Pod

MIB = 2**20
LIMIT = 1280 * MIB
GROUPS = Path("/sys/fs/cgroup")
SHOWN = """
import os
from pipeline.execution.clusters.local import default_workers, share_of_memory
from pipeline.study.machine import cores, memory
print(cores(), memory(), default_workers(), share_of_memory(1), share_of_memory(9))
"""
FOLDERS = """
mkdir -p "$root/sys"
mount -t tmpfs -o mode=755 sys "$root/sys"
mkdir -p "$root/sys/fs/cgroup"
"""
VERSION_2 = (
    FOLDERS
    + f"""
echo "150000 100000" > "$root/sys/fs/cgroup/cpu.max"
echo {LIMIT} > "$root/sys/fs/cgroup/memory.max"
"""
)
UNLIMITED = (
    FOLDERS
    + """
echo "max 100000" > "$root/sys/fs/cgroup/cpu.max"
echo max > "$root/sys/fs/cgroup/memory.max"
"""
)
ENTER = (
    'for kind in cpu memory; do echo $$ > "/sys/fs/cgroup/$kind/$0/cgroup.procs"; done; exec "$@"'
)
TOO_MUCH = """
from pipeline.execution.clusters import Local
from pipeline.execution.errors import SweepError
from pipeline.execution.sweep import run

def too_much(units):
    return [len(bytearray(2**30)) for _ in units]

with Local(workers=1).open() as executor:
    print(executor.description)
    try:
        run(executor, too_much, [(0, 1.0)])
    except SweepError as error:
        print(error)
"""


@pytest.fixture(scope="module", autouse=True)
def possible():
    if reason := pods.missing():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"NO PODS: {reason}")


@pytest.fixture(scope="module")
def group():
    """A pod in a real control group of version 1, with one processor and 1,280 MiB."""
    name = f"pipeline-{uuid.uuid4().hex[:8]}"
    folders = {kind: GROUPS / kind / name for kind in ("cpu", "memory")}
    try:
        for folder in folders.values():
            folder.mkdir()
        (folders["cpu"] / "cpu.cfs_quota_us").write_text("100000")
        (folders["memory"] / "memory.limit_in_bytes").write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no control group of version 1 can be made here: {error}")
    mounts = (
        FOLDERS
        + f"""
        mkdir "$root/sys/fs/cgroup/cpu,cpuacct" "$root/sys/fs/cgroup/memory"
        mount --bind {folders["cpu"]} "$root/sys/fs/cgroup/cpu,cpuacct"
        mount --bind {folders["memory"]} "$root/sys/fs/cgroup/memory"
    """
    )
    yield Pod("quota", {}, mounts, before=("sh", "-c", ENTER, name))
    for folder in folders.values():
        with contextlib.suppress(OSError):
            folder.rmdir()


def shown(pod):
    """Processors, bytes of memory, default workers, and the shares of one of one worker and of one of nine."""
    done = pod.run(["-c", SHOWN])
    assert done.returncode == 0, done.stderr
    return [None if word == "None" else int(word) for word in done.stdout.split()]


def test_a_real_group_of_version_1(group):
    """Nine workers have no room; one gets all but what the driver takes."""
    assert shown(group) == [1, LIMIT, 1, LIMIT - 512 * MIB, None]


def test_version_2():
    """A processor and a half are two workers, of a machine that has as many; rounded up as Dask does."""
    processors = min(2, len(os.sched_getaffinity(0)))
    assert shown(Pod("quota", {}, VERSION_2)) == [
        processors,
        LIMIT,
        processors,
        LIMIT - 512 * MIB,
        None,
    ]


def test_without_a_quota_the_machine_counts():
    processors = len(os.sched_getaffinity(0))
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert shown(Pod("quota", {}, UNLIMITED)) == [processors, machine, processors, None, None]


def test_a_unit_that_is_too_large_for_the_group_fails_and_ends_no_process(group):
    """768 MiB for the worker: 1 GiB is refused in it, before the group's limit ends a process."""
    done = group.run(["-c", TOO_MUCH])
    first, second = done.stdout.splitlines()
    assert first.startswith("1 worker processes of up to 768.00 MiB of memory, scheduler at "), (
        done.stderr
    )
    assert second.startswith("MemoryError")
