"""A small study on a batch system: what it must come to, how to watch it, how to submit it."""

import os
import shutil
import time
from pathlib import Path

import pytest
from engine import ROOT, arguments, command, contents

GRID = {"grid.m": "[20,40]", "grid.L": "[20,50]", "replications": "1000", "block": "100", "cluster": "local"}
UNITS = 80  # of some 40 ms


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
        return sum(path.suffix != ".partial" for path in (self.folder / "replications/units").glob("*/*"))

    def reaches(self, units: int, seconds: float = 180) -> None:
        """Wait until so many units are done."""
        end = time.monotonic() + seconds
        while self.done() < units:
            assert time.monotonic() < end, f"{self.done()} of {units} units after {seconds} s"
            time.sleep(0.01)

    def is_right(self) -> bool:
        """Whether the sealed result is the laptop's, to the last byte."""
        return contents(self.folder / "results.zarr") == self.expected

    def finish(self) -> None:
        """Run what is left here, and compare; more replications may be sealed already."""
        done = command(self.words(cluster="synchronous"))
        assert done.returncode == 0, done.stderr
        own = [*self.folder.glob("requests/*/results.zarr")] or [self.folder / "results.zarr"]
        assert [contents(path) for path in own] == [self.expected]


def unavailable(reason: str) -> None:
    """Skip loudly; in CI there is no such excuse."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"NOT TESTED ON A REAL BATCH SYSTEM: {reason}")


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
