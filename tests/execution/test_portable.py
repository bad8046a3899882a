"""What only Linux has is asked for at few places, and nothing fails where it is missing, as on macOS."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import pipeline as pl
from pipeline.execution import arithmetic, copies, probe, room, unit_work
from pipeline.study import machine
from tests.helpers.engine import ROOT

ONLY_THERE = {
    "fcntl": {"storage/file_locks.py"},
    "/proc/": {
        "execution/arithmetic.py",
        "execution/copies.py",
        "execution/probe.py",
        "execution/room.py",
        "execution/unit_work.py",
        "identity/surroundings.py",  # whose files are no content of a person's
    },
    r"os\.fork": {"auditing/guarded.py", "execution/copies.py"},
    "sched_getaffinity": {"study/machine.py"},
}


@pytest.mark.parametrize("what", ONLY_THERE)
def test_what_only_some_systems_have_is_asked_for_at_few_places(what):
    folder = ROOT / "pipeline"
    named = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(what, path.read_text())
    }
    assert named == ONLY_THERE[what]


@pytest.fixture
def without_linux(monkeypatch, tmp_path):
    """Files of /proc are missing, and so is the affinity mask."""
    for module, name in (
        (unit_work, "STATUS"),
        (unit_work, "CLEAR"),
        (room, "MOUNTS"),
        (copies, "THREADS"),
        (copies, "FILES"),
        (arithmetic, "PROCESSORS"),
        (probe, "PAGES"),
    ):
        assert getattr(module, name).is_relative_to("/proc")
        monkeypatch.setattr(module, name, tmp_path / "no proc" / name)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_study_gives_the_same_numbers(without_linux, monkeypatch):
    options = {"grid": {"m": [2], "L": [50]}, "replications": 2000}
    results = pl.run("xu/lemmas", cluster="synchronous", progress=False, **options)
    monkeypatch.undo()
    again = pl.simulate("xu/lemmas", **options)
    assert np.array_equal(results["estimate_sum"], again["estimate_sum"])


def test_each_place_has_another_way(without_linux, monkeypatch):
    monkeypatch.setattr(copies, "_allowed", [True])
    assert unit_work.peak() > 2**20
    assert room.room_in(Path(".")).bytes > 0
    assert machine.processors() >= 1
    environment = {}
    arithmetic.pin(environment)
    probe._limit_memory()
    assert not copies.possible({})  # a new process does what a copy would


def test_macos_counts_the_peak_in_bytes(without_linux, monkeypatch):
    here = unit_work.peak()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert here / unit_work.peak() == pytest.approx(unit_work.KIB, rel=0.1)
