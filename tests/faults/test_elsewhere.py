"""A sweep begun here and resumed on another CPU type or under another NumPy: the same bits, or it is refused."""

import os
import platform
import socket
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.storage.agreement import FOLDER
from pipeline.storage.replications import Store
from pipeline.workflow.config import read_experiment
from tests.helpers.commands_counted import command_in_a_fork
from tests.helpers.engine import ROOT, arguments, command, contents, environment, without_report
from tests.helpers.fault_runs import FULL, Tally, one_line

RANKINGS = {"grid.m": "[10,20]", "grid.L": "[20]", "replications": "200", "block": "100"}
ITEMS = {"experiment": "nguyen/figure_3", "size": "quick", "replications": "4", "block": "2"}
OLDER = "numpy<2.4"  # its sums of products round in another order


def variables(kind, folder):
    """Environment in which this machine computes as another one."""
    if kind == "another NumPy":
        subprocess.run(
            [
                str(ROOT / ".venv/bin/uv"),
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--python",
                sys.executable,
                "--target",
                str(folder),
                OLDER,
            ],
            check=True,
            timeout=900,
        )
        path = os.pathsep.join([str(folder), environment()["PYTHONPATH"]])
        return {"PYTHONPATH": path}
    if platform.machine() != "x86_64":
        pytest.skip("NO OTHER CPU TYPE: known on x86-64 only")
    return {"OPENBLAS_CORETYPE": "Sandybridge", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"}


def folder(where):
    (found,) = where.rglob("replications")
    return found.parent


def numbers(where):
    """Bytes of all values of the sealed results."""
    return {
        name: content
        for name, content in contents(folder(where) / "results.zarr").items()
        if "/c/" in name
    }


def run(where, words, **changes):
    given = arguments(where, **words)
    if "experiment" in words:  # whose grid has other axes
        given = [word for word in given if not word.startswith("grid.")]
    if not changes and not FULL:
        return command_in_a_fork(given, where.parent)
    return command(given, env=environment(**changes), timeout=900)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "kind, words",
    [("another CPU type", RANKINGS)]
    + ([("another NumPy", RANKINGS), ("another NumPy", ITEMS)] if FULL else []),
)
def test_elsewhere(kind, words, tmp_path):
    there = variables(kind, tmp_path / "packages")
    more = words | {"replications": str(2 * int(words["replications"]))}
    for where, changes in ((tmp_path / "here", {}), (tmp_path / "there", there)):
        done = run(where, more, **changes)
        assert done.returncode == 0, done.stderr
    expected = contents(folder(tmp_path / "here") / "results.zarr")
    same = numbers(tmp_path / "here") == numbers(tmp_path / "there")
    tally = Tally(f"resume under {kind}, numbers {'the same' if same else 'differ'}", 1)
    assert run(tmp_path / "begun", words).returncode == 0
    before = contents(folder(tmp_path / "begun") / "replications/units")
    tally.injected += 1
    done = run(tmp_path / "begun", more, **there)
    print(
        f"{kind}: {'the same' if same else 'other'} numbers, exit code {done.returncode} {done.stderr[-600:]}"
    )
    if not same:
        assert done.returncode == 2 and "come out differently on" in one_line(done.stderr)
        assert kind != "another NumPy" or f"numpy {version('numpy')} → 2.3" in done.stderr
        assert contents(folder(tmp_path / "begun") / "replications/units") == before
        done = run(tmp_path / "begun", more)  # where it was begun, it goes on
    sealed = contents(folder(tmp_path / "begun") / "results.zarr")
    if same:  # the versions are written down
        sealed, expected = ({k: v for k, v in s.items() if "/c/" in k} for s in (sealed, expected))
    tally.check(done.returncode == 0, sealed == expected)


@pytest.mark.parametrize("metric", [0, -1])
def test_one_unit_in_the_last_place(metric, tmp_path, monkeypatch, capsys):
    """Numbers that another machine would have computed, whole and with a record of it."""
    without_report(monkeypatch)
    tally = Tally("finished numbers off by one unit in the last place", 1)
    more = RANKINGS | {"replications": "400"}
    for where, words in (("begun", RANKINGS), ("here", more)):
        assert main(arguments(tmp_path / where, **words)) == 0
    given = arguments(tmp_path / "begun", **more)
    store = Store(read_experiment(compose(given)[0]).study, folder(tmp_path / "begun"))
    whole = {
        path: path.read_bytes()
        for path in (store.folder / "replications").rglob("*")
        if path.is_file()
    }
    for unit in np.argwhere(store.listing().done):
        record = store.read(*unit)
        values = dict(
            zip((*store.study.metrics, "status"), (*record.metrics, record.status), strict=True)
        )
        name = store.study.metrics[metric]
        store.write(*unit, values | {name: np.nextafter(values[name], np.inf)}, "0" * 16)
    (agreed,) = store.backend.keys(FOLDER)
    store.backend.delete(f"{FOLDER}/{agreed}")
    tally.injected += 1
    refused = main(given) == 2
    error = capsys.readouterr().err
    refused &= (
        f"come out differently on {socket.gethostname()}: {store.study.metrics[metric]} of "
        in error
    )
    for path, content in whole.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    sealed = [
        contents(folder(tmp_path / where) / "results.zarr")
        for where in ("begun", "here")
        if where == "here" or main(given) == 0
    ]
    tally.check(refused, len(sealed) == 2 and sealed[0] == sealed[1])
