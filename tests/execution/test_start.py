"""What a start asks of a file system: requests are counted, as seconds depend on the machine."""

import collections
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.helpers.engine import ROOT, arguments, environment

STRACE = shutil.which("strace")
# Bars, each about a fifth above what was counted on Python 3.11, and half of what it was before, or less.
IMPORT = 400  # `import pipeline`, beyond Python itself: 324; it was 810
TASK = 15_000  # a task of a job array with one worker: 12,400; it was 26,000
WORKER = 1_600  # each further worker: 1,000; it was 10,800


def requests(folder, *words):
    """Number of system calls that name a file, or look at an open one, by process; that of the last is the command."""
    log = folder / "calls"
    done = subprocess.run(
        [STRACE, "-f", "-qq", "-o", log, "-e", "trace=file", sys.executable, *words],
        cwd=ROOT,
        env=environment(),
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    lines = log.read_text(errors="replace").splitlines()
    return collections.Counter(line.split()[0] for line in lines if re.match(r"\d+ +\w+\(", line))


def task(folder, workers):
    """Requests of one task of an array, with all of its processes."""
    words = arguments(
        folder / f"of {workers}",
        cluster="local",
        shard="1/2",
        replications="20",
        block="10",
        **{"cluster.workers": str(workers), "grid.m": "[2]", "grid.L": "[50]"},
    )
    return requests(folder, "-m", "pipeline", *words).total()


@pytest.mark.skipif(not STRACE, reason="needs strace, which counts")
def test_a_start_asks_half_of_what_it_did(tmp_path):
    alone = requests(tmp_path, "-c", "pass").total()
    imported = requests(tmp_path, "-c", "import pipeline").total() - alone
    one, three = task(tmp_path, 1), task(tmp_path, 3)
    further = (three - one) / 2
    print(
        f"import {imported:,} (bar {IMPORT:,}), task {one:,} (bar {TASK:,}), worker {further:,.0f} (bar {WORKER:,})"
    )
    assert imported <= IMPORT
    assert one <= TASK
    assert further <= WORKER


def modules(statement):
    """Names of all modules that a new process has after a statement."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"],
        cwd=ROOT,
        env=environment(),
        text=True,
        capture_output=True,
        check=True,
    )
    return set(done.stdout.split())


def test_what_a_worker_needs_loads_nothing_that_only_reports_need():
    """Also of a worker that starts from nothing, as on another person's scheduler."""
    loaded = modules(
        "import pipeline.execution.dask_pool, pipeline.execution.runner, pipeline.execution.workers"
    )
    assert not loaded & {"matplotlib", "pandas", "xarray", "hydra", "jinja2", "distributed"}


def test_the_parts_of_a_study_load_no_optimizer():
    """It brings two hundred modules of SciPy, and what needs it loads it then."""
    words = ["task=show", "experiment=xu/lemmas", "size=quick"]
    loaded = modules(f"from pipeline.__main__ import main; main({words!r})")
    assert "scipy.special" in loaded and not loaded & {"scipy.optimize", "scipy.sparse"}


def test_the_package_loads_nothing_but_what_it_chooses_arithmetic_by():
    assert not modules("import pipeline") & {"numpy", "dask", "importlib.metadata"}


def local_start(folder, **variables):
    return subprocess.run(
        [ROOT / "jobs/node_local.sh", "task=show"],
        text=True,
        capture_output=True,
        env=environment(TMPDIR=str(folder), ARCHIVE=str(folder / "environment.tar"), **variables),
    )


def pack(folder, word):
    """An archive whose Python says a word and how it was called."""
    python = folder / "environment/bin/python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f'#!/bin/sh\necho "{word} $*"\n')
    python.chmod(0o755)
    subprocess.run(
        ["tar", "-cf", folder / "environment.tar", "-C", folder / "environment", "."], check=True
    )


def test_an_environment_of_one_file_is_unpacked_once_on_a_node(tmp_path):
    pack(tmp_path, "first")
    said = [local_start(tmp_path).stdout for _ in range(2)]
    copies = [*tmp_path.glob("pipeline-*")]
    assert said == ["first -m pipeline task=show\n"] * 2 and len(copies) == 1
    pack(tmp_path, "second, which is longer")
    assert local_start(tmp_path).stdout == "second, which is longer -m pipeline task=show\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another person's folder")
def test_no_copy_of_another_person_is_run(tmp_path):
    pack(tmp_path, "mine")
    local_start(tmp_path)
    copy = next(tmp_path.glob("pipeline-*"))
    os.chown(copy, 65534, 65534)
    refused = local_start(tmp_path)
    assert (
        refused.returncode == 1
        and "is another person's; set TMPDIR" in refused.stderr
        and not refused.stdout
    )


def test_a_damaged_archive_is_one_line_and_leaves_nothing(tmp_path):
    (tmp_path / "environment.tar").write_bytes(b"no archive")
    refused = local_start(tmp_path)
    assert refused.returncode == 1 and "cannot be unpacked" in refused.stderr
    assert not [*tmp_path.glob("pipeline-*")]
