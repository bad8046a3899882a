"""One arithmetic: kernels of BLAS that machines of a kind share, in drivers and workers, unless a person says no."""

import json
import os
import platform
import subprocess
import sys

import pytest

from pipeline.execution import arithmetic
from pipeline.execution.environment import environment as arithmetic_of_this_process
from pipeline.execution.workers import variables_of_workers
from pipeline.study import proc
from tests.helpers.engine import ROOT, environment

X86 = pytest.mark.skipif(
    not arithmetic.has_baseline(), reason="no x86-64 with AVX2: nothing is pinned here"
)
KERNELS = """
import json
{first}
import pipeline
from pipeline.execution.clusters import Local
from pipeline.execution.environment import environment
here = environment()["BLAS"], environment()["CPU features"]
with Local(workers=1).open() as executor:
    executor.client.wait_for_workers(1)
    (there,) = executor.client.run(lambda: (environment()["BLAS"], environment()["CPU features"])).values()
print(json.dumps([here, list(there)]))
"""


def kernels(first="", **changes):
    """What a process and a worker of it have loaded. first: what the process does before anything else."""
    chosen = ("OPENBLAS_CORETYPE", "PIPELINE_ARITHMETIC")
    shell = {name: value for name, value in environment().items() if name not in chosen}
    done = subprocess.run(
        [sys.executable, "-c", KERNELS.format(first=first)],
        env=shell | changes,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@X86
def test_processes_and_their_workers_have_the_kernels_of_the_baseline():
    here, there = kernels()
    blas, _ = here
    assert here == there and blas.count("openblas") == blas.count("Haswell") >= 1, (here, there)


@X86
def test_tests_use_the_arithmetic_of_the_program():
    """What they hold numbers against, such as the cells of atlases, was computed by it."""
    if os.environ.get(arithmetic.SETTING) == arithmetic.FREE:
        pytest.skip("this person wants the processor's own")
    assert (
        os.environ[arithmetic.KERNELS] == arithmetic.BASELINE
        and "Haswell" in arithmetic_of_this_process()["BLAS"]
    )


@X86
def test_numpy_uses_nothing_beyond_the_baseline():
    """Of what it has code for: its functions differ in last digits, too. The control is what a free process uses."""
    script = (
        "import pipeline, numpy._core._multiarray_umath as umath; "
        "print(*(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]))"
    )
    used = {}
    for choice in ("", "free"):
        shell = environment(PIPELINE_ARITHMETIC=choice)
        shell.pop("OPENBLAS_CORETYPE", None)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            env=shell,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        used[choice] = set(done.stdout.split())
    print(used)
    beyond = {*arithmetic.BEYOND.split(), *arithmetic.BEYOND_BEFORE.split()}
    assert not used[""] & beyond and used["free"] >= used[""]


@X86
@pytest.mark.parametrize(
    "first, changes",
    [
        ("import numpy", {}),
        ("", {"PIPELINE_ARITHMETIC": "free"}),
        ("", {"OPENBLAS_CORETYPE": "Sandybridge"}),
    ],
    ids=["NumPy was loaded before", "set free", "others were chosen"],
)
def test_workers_are_as_free_as_their_driver(first, changes):
    here, there = kernels(first, **changes)
    print(here)
    assert here == there, "or the driver's own workers would be refused"
    assert ("Sandybridge" in here[0]) == ("OPENBLAS_CORETYPE" in changes)


@pytest.mark.parametrize(
    "machine, flags, pinned",
    [
        ("x86_64", "flags : fpu avx2 fma", True),
        ("x86_64", "flags : fpu avx", False),
        ("aarch64", "", False),
    ],
)
def test_only_processors_that_have_it_get_the_baseline(
    machine, flags, pinned, tmp_path, monkeypatch
):
    (tmp_path / "cpuinfo").write_text(f"model name : planted\n{flags}\n")
    monkeypatch.setattr(proc, "PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.delitem(sys.modules, "numpy")
    variables = {}
    arithmetic.pin(variables)
    expected = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": arithmetic._beyond()}
    assert variables == (expected if pinned else {})
    monkeypatch.setattr(proc, "PROCESSORS", tmp_path / "none")
    variables = {}
    arithmetic.pin(variables)
    assert variables == {}


def test_jobs_of_a_driver_are_told_the_same(monkeypatch):
    """They do not all inherit the environment, and Dask loads NumPy before this program."""
    monkeypatch.setattr(os, "environ", {"OPENBLAS_CORETYPE": "Haswell"})
    assert variables_of_workers()["OPENBLAS_CORETYPE"] == "Haswell"
    monkeypatch.setattr(os, "environ", {"PIPELINE_ARITHMETIC": "free"})
    assert variables_of_workers()["PIPELINE_ARITHMETIC"] == "free"
    assert "OPENBLAS_CORETYPE" not in variables_of_workers()
