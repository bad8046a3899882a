"""What not every system has is asked for in one module each, and nothing fails where it is missing."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pipeline as pl
from pipeline.advice import processes
from pipeline.auditing.guarded import guarded
from pipeline.execution import arithmetic, copies, probe, progress, room, unit_work
from pipeline.study import forks, machine, proc, signals
from tests.helpers.engine import ROOT

ONLY_THERE = {
    r"\bfcntl\b": "storage/file_locks.py",
    '"/proc': "study/proc.py",
    r"os\.fork|get_context": "study/forks.py",
    r"import signal\b|os\.kill\b|signal\.SIG": "study/signals.py",
    "sched_getaffinity": "study/machine.py",
}


@pytest.mark.parametrize("what", ONLY_THERE)
def test_what_only_some_systems_have_is_asked_for_in_one_module(what):
    folder = ROOT / "pipeline"
    named = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(what, path.read_text())
    }
    assert named == {ONLY_THERE[what]}


def files_of_proc():
    return [name for name, value in vars(proc).items() if isinstance(value, Path)]


@pytest.fixture
def without_linux(monkeypatch, tmp_path):
    """No files of /proc, no affinity mask, no copies of processes, no masks and timers of signals."""
    for name in files_of_proc():
        monkeypatch.setattr(proc, name, tmp_path / "no proc" / name)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "fork")
    for name in ("pthread_sigmask", "setitimer", "SIGKILL"):
        monkeypatch.delattr(signal, name)
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


def test_without_copies_all_is_computed_in_one_process_or_in_new_ones(without_linux):
    assert processes.most_processes() == 1
    here = os.getpid()
    assert guarded(lambda clock: os.getpid(), "a mechanism", 1.0) == here
    assert forks.context().get_start_method() == "spawn"


def test_without_masks_and_timers_processes_still_start_and_end(without_linux):
    with signals.blocked():
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    signals.kill(child.pid)
    assert child.wait() == -signal.SIGTERM
    signals.end_after(0.001)
    assert sum(range(10**6)) > 0  # and this process goes on


def test_a_child_starts_with_signals_blocked_where_there_are_masks():
    program = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    with signals.blocked():
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "SIGINT" in said.stdout and "SIGTERM" in said.stdout
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_handlers_are_put_back_and_a_second_signal_interrupts():
    before = [signal.getsignal(number) for number in signals.STOPPING]
    with pytest.raises(KeyboardInterrupt), progress.interruptible() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
        signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in signals.STOPPING] == before


def test_a_process_that_computes_too_long_is_ended():
    program = "from pipeline.study import signals; signals.end_after(0.2)\nwhile True: pass"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT)
    assert done.returncode == -signal.SIGPROF


def test_a_study_is_measured_in_a_new_process_where_copies_do_not_work(monkeypatch):
    study = pl.Study(
        "small",
        "ranking",
        seed=1,
        replications=100,
        block=50,
        grid={"epsilon": [1.0]},
        metrics=("error_l2",),
        parameters={
            "model": "btl",
            "m": 3,
            "L": 10,
            "mechanism": "laplace",
            "estimator": "debiased",
        },
    )
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(probe, "PATIENCE", 60)
    assert probe.probe(study, np.ones(1)).pace > 0


def test_macos_counts_the_peak_in_bytes(without_linux, monkeypatch):
    here = unit_work.peak()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert here / unit_work.peak() == pytest.approx(unit_work.KIB, rel=0.1)
