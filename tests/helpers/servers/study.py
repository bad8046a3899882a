"""A small study on a batch system: what it must come to, how to watch it, how to submit it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from tests.helpers.engine import ROOT, arguments, command, contents, environment
from tests.helpers.servers.waiting import ended, until

GRID = {
    "grid.m": "[20,40]",
    "grid.L": "[20,50]",
    "replications": "1000",
    "block": "100",
    "cluster": "local",
}
UNITS = 80  # of some 40 ms


class System(Protocol):
    """A batch system that runs. environment: with which its commands find it."""

    environment: Mapping[str, str]


class Run:
    """One run of the study in a folder of its own."""

    def __init__(self, where: Path, expected: dict[str, bytes] | None = None):
        self.where, self.expected = where, expected

    def words(self, **changes: str) -> list[str]:
        """Words of the command line."""
        return arguments(self.where / "outputs", **GRID | changes)

    @property
    def folder(self) -> Path:
        """The study's folder; one that does not exist before there is any."""
        return next(iter((self.where / "outputs" / "xu").glob("lemmas-*")), self.where / "none")

    def done(self) -> int:
        """Units done so far: their files on disk."""
        return sum(
            path.suffix != ".partial" for path in (self.folder / "replications/units").glob("*/*")
        )

    def reaches(self, units: int, possible: Callable[[], object] | None = None) -> None:
        """Wait until so many units are done. possible: as in `waiting.until`."""
        until(lambda: self.done() >= units, possible, pause=0.01)

    def is_right(self) -> bool:
        """Whether the sealed result is the laptop's, to the last byte."""
        return contents(self.folder / "results.zarr") == self.expected

    def finish(self) -> None:
        """Run what is left here, and compare; more replications may be sealed already."""
        done = command(self.words(cluster="synchronous"))
        assert done.returncode == 0, done.stderr
        own = [*self.folder.glob("requests/*/results.zarr")] or [self.folder / "results.zarr"]
        assert [contents(path) for path in own] == [self.expected]


def drive(
    system: System, run: Run, kind: str, prefix: Sequence[str] = (), **changes: str
) -> subprocess.Popen[str]:
    """The driver of `cluster=KIND`, in a session of its own. prefix: words before the command."""
    words = run.words(**{"cluster": kind, "cluster.folder": str(run.where / "shared")} | changes)
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "pipeline", *words],
        cwd=run.where,
        env=environment(**system.environment),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def leaves_alone_who_does_not_see_the_disk(driver: subprocess.Popen[str], run: Run) -> None:
    """Wait for a driver one of whose jobs has no disk: it says so in one line, and the others do its units."""
    _, errors = ended(driver)
    (line,) = (line for line in errors.splitlines() if line.startswith("warning: "))
    assert re.fullmatch(
        rf"warning: worker \S+ is retired: \S+ does not see {run.folder}; give outputs on .*", line
    )
    assert driver.returncode == 0 and "Traceback" not in errors, errors
    run.finish()


PAUSE = """
import os, sys, time
from pipeline.__main__ import main
from pipeline.execution import sweep
run = sweep.run

def paused(executor, runner, *rest, **options):
    outcome = run(executor, runner, *rest, **options)
    if type(runner).__name__ == "Reduce" and not os.path.exists("reduced"):
        open("reduced", "w").close()
        time.sleep(600)
    return outcome

sweep.run = paused
sys.exit(main(sys.argv[1:]))
"""


def pausing(folder: Path) -> str:
    """A command that works in this folder and there, once, waits in the reduction: when values are written and the
    documents by which they count are not; the file `reduced` then says so."""
    (folder / "pause.py").write_text(PAUSE)
    program = folder / "pipeline"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {folder}/pause.py "$@"\n')
    program.chmod(0o755)
    return str(program)


def without_disk(run: Run) -> str:
    """Lines of a shell by which the first job has an empty folder of its own in place of the outputs."""
    where = run.where
    (where / "outputs").mkdir()
    return (
        f'if [ -z "$APART" ] && mkdir {where}/first 2>/dev/null; then\n'
        f"  export APART=yes\n"
        f'  exec unshare -m sh -c \'mount -t tmpfs none {where}/outputs && exec bash "$1"\' - "$0"\n'
        "fi\n"
    )


def unavailable(reason: str) -> None:
    """Skip loudly; in CI there is no such excuse."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
        f"NOT TESTED ON A REAL BATCH SYSTEM: {reason}"
    )


def edited(system: str, folder: Path, **changes: str) -> Path:
    """A copy of jobs/ in which the script of one system is edited as a person does it: in the marked place only."""
    target = folder / "jobs"
    shutil.copytree(ROOT / "jobs", target)
    script = target / f"{system}.sh"
    head, mark, rest = script.read_text().partition("# ---- edit here")
    place, end, tail = rest.partition("\n# ------")
    for before, after in changes.items():
        assert before in place, before
        place = place.replace(before, after)
    script.write_text(head + mark + place + end + tail)
    return target
