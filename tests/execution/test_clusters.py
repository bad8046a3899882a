"""Clusters: what they start, where they listen, how they end."""

import logging
import os
import subprocess
import sys
import tempfile
import time

import distributed  # noqa: F401  its first import sets the level of its logger
import psutil
import pytest

from pipeline.execution.clusters import CLUSTERS, Local, Synchronous, Threads
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.clusters.executor import scratch
from pipeline.execution.sweep import SweepError, run
from pipeline.execution.systems.slurm import Slurm
from pipeline.study.machine import cores
from pipeline.study.parameters import InvalidInput, describe, fields


def tell(units):
    time.sleep(0.01 * len(units))  # long enough for every worker to get some
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return [(os.getpid(), *(os.environ.get(name) for name in names)) for _ in units]


def too_much(units):
    return [len(bytearray(2**30)) for _ in units]


def family():
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def listening(process):
    return {c.laddr for c in process.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN}


@pytest.mark.parametrize(
    "cluster",
    [Local(workers=2), Threads(workers=2), Synchronous()],
    ids=["local", "threads", "synchronous"],
)
def test_listens_on_loopback_only_and_leaves_nothing(cluster):
    children, sockets = len(family()), listening(psutil.Process())
    level = logging.getLogger("distributed").level
    with cluster.open() as executor:
        assert run(executor, tell, ((unit, 1.0) for unit in range(20))).units_done == 20
        found = set().union(*(listening(process) for process in family()))
        assert {address.ip for address in found} <= {"127.0.0.1"}
        assert (len(found) > len(sockets)) == (executor.client is not None)
    assert len(family()) == children and listening(psutil.Process()) == sockets
    assert logging.getLogger("distributed").level == level


def test_workers_are_processes_with_one_blas_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    seen = []
    with Local(workers=2).open() as executor:
        run(
            executor,
            tell,
            ((unit, 1.0) for unit in range(200)),
            on_done=lambda results, *_: seen.extend(results),
        )
    assert len({pid for pid, *_ in seen} - {os.getpid()}) == 2
    assert {threads for _, *threads in map(list, seen) for threads in threads} == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_a_worker_out_of_memory_is_one_clear_line():
    with (
        Local(workers=1, memory="512MiB").open() as executor,
        pytest.raises(SweepError, match="MemoryError"),
    ):
        run(executor, too_much, [(0, 1.0)])


def test_default_uses_every_core_this_process_may_use():
    command = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from pipeline.study.machine import cores; print(cores())"
    )
    assert subprocess.check_output([sys.executable, "-c", command], text=True).strip() == "1"
    assert cores() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("memory", ["lots", "-1GB", "1MiB", ""])
def test_memory_is_checked(memory):
    with pytest.raises(InvalidInput, match="memory"):
        Local(memory=memory)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1GB", 10**9),
        ("1.5GiB", 3 * 2**29),
        ("500 MB", 5 * 10**8),
        ("3e8", 3 * 10**8),
        ("2g", 2 * 10**9),
    ],
)
def test_memory_sizes(text, expected):
    from pipeline.execution.clusters.executor import size

    assert size(text) == expected


@pytest.mark.parametrize("text", ["GB", "", "nan", "1e999", "-1", "5 foos", "1..2GB", "1GB2"])
def test_what_is_no_size_is_one_line(text):
    from pipeline.execution.clusters.executor import size

    with pytest.raises(InvalidInput, match="must be a size such as 500MB or 2GiB"):
        size(text)


def test_every_parameter_describes_itself():
    for cluster in CLUSTERS.values():
        assert all(describe(field) for field in fields(cluster).values())


def test_naming_clusters_loads_no_dask():
    command = "import sys, pipeline.execution.clusters as _; print({'dask', 'distributed', 'numpy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", command], text=True).strip() == "set()"


def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_are_not(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "pipeline-workers-killed").mkdir()
    (tmp_path / "pipeline-workers-killed/lock").touch()
    (tmp_path / "pipeline-workers-begins").mkdir()  # not locked yet
    with scratch() as living, scratch() as another:
        assert {path.name for path in tmp_path.iterdir()} == {
            "pipeline-workers-begins",
            os.path.basename(living),
            os.path.basename(another),
        }
    with Threads(workers=1).open() as executor:
        run(executor, len, [(1, 1.0)])
    assert [path.name for path in tmp_path.iterdir()] == ["pipeline-workers-begins"]


def test_no_machine_has_so_many_cores():
    with pytest.raises(InvalidInput, match="workers=999999999999"):
        Local(workers=999999999999)


def test_more_workers_than_files_may_be_open_are_one_line(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 1024))
    with pytest.raises(InvalidInput) as error, Local(workers=500).open():
        pass
    assert str(error.value).startswith(
        "cluster.workers=500: makes 500 workers, which take 2200 open files here; "
        "this machine allows 1024 (ulimit -Hn), enough for 206 workers; "
    )
    Local(workers=206).check()
    monkeypatch.setattr(
        "pipeline.execution.clusters.batch_workers.BatchWorkers.script", lambda self: ""
    )
    with pytest.raises(InvalidInput, match="^cluster.jobs=100: makes 400 workers"):
        BatchWorkers(Slurm(jobs=100, cores=4, memory="4GiB")).check()


def test_the_driver_may_open_as_many_files_as_the_system_allows():
    """In a process of its own, whose limit is low at first."""
    code = (
        "import resource; from pipeline.execution.clusters import Threads\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))\n"
        "with Threads(workers=1).open():\n"
        "    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
