"""What the tests on real batch systems share."""

import os
import sys

import pytest

from pipeline.__main__ import main
from tests.helpers.engine import command, contents, environment
from tests.helpers.servers.study import UNITS, Run
from tests.helpers.servers.waiting import PATIENCE


@pytest.fixture(scope="session")
def laptop(tmp_path_factory) -> dict[str, bytes]:
    """Bytes of the sealed result of a run on this machine that nothing happens to."""
    run = Run(tmp_path_factory.mktemp("laptop"))
    done = command(run.words(**{"cluster.workers": "2"}), timeout=PATIENCE)
    assert done.returncode == 0 and run.done() == UNITS, done.stderr
    return contents(run.folder / "results.zarr")


@pytest.fixture
def study(tmp_path, laptop) -> Run:
    """A run of the study in a fresh folder."""
    return Run(tmp_path, laptop)


@pytest.fixture
def submitted(study, shell, monkeypatch, capsys):
    """`task=submit` with words of a run on a running batch system: the numbers of its jobs, and what it printed."""

    def call(system, kind: str, **changes: str) -> tuple[list[str], str]:
        for name, value in (os.environ | shell | system.environment).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(study.where)
        words = {"task": "submit", "cluster": kind, "cluster.folder": str(study.where / "shared")}
        assert main(study.words(**words | changes)) == 0
        said = capsys.readouterr().out
        (cancel,) = (line.split() for line in said.splitlines() if line.startswith("cancel: "))
        return cancel[2:], said

    return call


@pytest.fixture(scope="session")
def shell(tmp_path_factory) -> dict[str, str]:
    """Environment for job scripts: `PIPELINE` is this checkout's command."""
    path = tmp_path_factory.mktemp("bin") / "pipeline"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m pipeline "$@"\n')
    path.chmod(0o755)
    return environment(PIPELINE=str(path))
