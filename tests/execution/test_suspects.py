"""Whole jobs that are killed: what was in work is done last, one by one, and given up after some jobs; same bytes."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import types

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.execution import suspects
from pipeline.execution.bundles import KILLS, Bundle
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule, Unit
from pipeline.execution.suspects import FIRST, SHARE, Notes
from pipeline.storage import in_work
from pipeline.storage.in_work import FOLDER, Driver
from pipeline.storage.replications import Store
from pipeline.workflow.config import read_experiment
from tests.helpers import fault_runs
from tests.helpers.engine import (
    ROOT,
    advance,
    arguments,
    contents,
    environment,
    study,
    without_report,
)

STUDY = study()
NOTES_EVERY_BUNDLE = "from pipeline.execution import suspects; suspects.FIRST = float('inf')"
ENDS_ITS_JOB = f"""
import os, signal, sys
{NOTES_EVERY_BUNDLE}
from pipeline.execution.runner import Runner

def simulate(self, unit, *rest, before=Runner._simulate):
    if str(tuple(unit)) == os.environ.get("DEADLY"):
        os.killpg(0, signal.SIGKILL)
    return before(self, unit, *rest)

Runner._simulate = simulate
from pipeline.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def run(words, deadly=""):
    """The command as a job, in which one unit ends all processes."""
    return subprocess.run(
        [sys.executable, "-c", ENDS_ITS_JOB, *words],
        cwd=ROOT,
        env=environment(DEADLY=deadly),
        text=True,
        capture_output=True,
        start_new_session=True,
    )


def files(where, pattern):
    return sorted(path.name for path in where.glob(f"xu/*/{pattern}") if path.suffix != ".partial")


def done(where):
    return len(files(where, "replications/units/*/*"))


def sealed_bytes(where):
    return contents(next(where.glob("xu/*/results.zarr")))


def test_a_unit_that_ends_whole_jobs_holds_up_no_other_and_fails_in_the_end(tmp_path):
    """Of 8 units one ends its job, all processes of it; each job goes on where the last one ended."""
    where = tmp_path / "jobs"
    words, deadly = arguments(where), "(3, 1)"
    counts = []
    for _ in range(KILLS):
        assert run(words, deadly).returncode == -signal.SIGKILL
        counts.append(done(where))
    # The second job may begin with the deadly one of the units that were in work; later ones do it last.
    assert counts == sorted(counts) and counts[2:] == [7] * (KILLS - 2), counts
    after = run(words, deadly)
    assert after.returncode == 1, after.stderr
    assert (
        f"job killed: {KILLS} whole jobs ended while they made this unit"
        in after.stdout + after.stderr
    )
    assert "limit that of their workers (cluster.memory)" in after.stdout + after.stderr
    assert len(files(where, "replications/units/1/*.failed")) == 1 and not files(
        where, "replications/in_work/*"
    )
    assert run([*words, "retry_failed=true"]).returncode == 0, "with more memory, as it were"
    assert run(arguments(tmp_path / "whole")).returncode == 0
    assert sealed_bytes(where) == sealed_bytes(tmp_path / "whole")


def units_in_work(where):
    """Units that notes of a run name and that are not done."""
    words = fault_runs.words(where, replications="4000")
    store = Store(read_experiment(compose(words)[0]).study, fault_runs.folder(where))
    cells = {int(name): cell for cell, name in enumerate(store.study.grid.digests())}
    units = [unit for note in in_work.read(store).values() for unit in note.units]
    return [(cells[name], block) for block, name in units if not store.holds(cells[name], block)]


def test_a_job_with_workers_that_is_killed_leaves_notes_and_the_next_one_says_so(tmp_path):
    """It is killed at a moment at which a unit is in work, whatever the pace of the machine."""
    (tmp_path / "sitecustomize.py").write_text(NOTES_EVERY_BUNDLE)
    path = f"{tmp_path}:{environment()['PYTHONPATH']}"
    driver = fault_runs.start(tmp_path, variables={"PYTHONPATH": path}, replications="4000")
    assert fault_runs.reaches(driver, lambda: fault_runs.units(tmp_path) > 40)
    os.killpg(driver.pid, signal.SIGSTOP)
    while not units_in_work(tmp_path):
        os.killpg(driver.pid, signal.SIGCONT)
        time.sleep(0.01)
        assert driver.poll() is None
        os.killpg(driver.pid, signal.SIGSTOP)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    assert fault_runs.ended(driver.pid)
    assert 1 <= len(files(tmp_path, "replications/in_work/*")) <= 2
    again = fault_runs.start(tmp_path, replications="4000")
    _, error = again.communicate()
    assert again.returncode == 0 and not files(tmp_path, "replications/in_work/*")
    assert "in work when a job was killed as a whole: done last, one by one" in error


def test_what_is_told_to_stop_leaves_no_notes(tmp_path, monkeypatch):
    without_report(monkeypatch)
    words = arguments(tmp_path)
    assert main([*words, "stop_after=0.000001"]) == 75
    assert main(words) == 0
    assert not files(tmp_path, "replications/in_work/*")


def begun(folder, **changes):
    """A store with a note of two units, one of which is done; made by a driver that is gone."""
    store = Store(STUDY, folder)
    advance(STUDY, folder)
    store.forget(0, 0)
    driver = Driver("elsewhere", 1, "7_2", "aa")
    fields = {
        "host": driver.host,
        "process": driver.process,
        "job": driver.job,
        "token": driver.token,
    }
    in_work.write(store, Driver(**fields | changes), [(0, 0), (0, 1)], 0)
    return store


def found(store):
    schedule = Schedule(STUDY, store.listing())
    suspects.find(store, schedule)
    return schedule


def test_what_was_in_work_comes_last_and_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "7")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    schedule = found(begun(tmp_path))
    assert schedule.suspects == {Unit(0, 0): 1} and [*schedule] == [] and schedule.pending == 1
    (bundle,) = suspects.bundles(schedule)
    assert bundle == Bundle([Unit(0, 0)], schedule.costs[0], 1)


def test_units_of_a_driver_that_may_be_at_work_are_no_suspects(tmp_path, monkeypatch):
    """Of another host, without a session that ended; of this process; of a process of this host that is there."""
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "SGE_ROOT"):
        monkeypatch.delenv(name, raising=False)
    here = Driver.here(None)
    others = ({}, {"host": here.host, "process": os.getppid()}, here.__dict__)
    for number, changes in enumerate(others):
        assert found(begun(tmp_path / str(number), **changes)).suspects == {}
    gone = subprocess.Popen(["true"])
    gone.wait()
    changes = {"host": here.host, "process": gone.pid}
    assert len(found(begun(tmp_path / "gone", **changes)).suspects) == 1


def test_notes_without_a_unit_to_do_are_removed_and_damaged_ones_are_left_out(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SLURM_JOB_ID", "7_2")
    store = begun(tmp_path)
    (key,) = store.backend.keys(FOLDER)
    content = store.backend.read(f"{FOLDER}/{key}")
    for damage in (
        b"",
        content[:-5],
        b"[]",
        json.dumps(json.loads(content) | {"units": [[0, "x"]]}).encode(),
    ):
        store.backend.put(f"{FOLDER}/{key}", damage)
        assert found(store).suspects == {}
    store.backend.put(f"{FOLDER}/{key}", content)
    advance(STUDY, tmp_path)
    assert found(store).suspects == {} and [*store.backend.keys(FOLDER)] == []


def test_workers_write_in_the_name_of_their_driver(tmp_path):
    driver = Driver.here("7")
    runner = Runner(Store(STUDY, tmp_path), noted=driver)
    assert pickle.loads(pickle.dumps(runner)).notes.driver == driver


@pytest.mark.parametrize("seconds", [0.002, 0.02])
def test_notes_take_little_of_the_time(seconds, tmp_path, monkeypatch):
    """Where a note takes as long as a bundle, few are written: n = 300 bundles."""
    written, clock = [], [0.0]

    def write(*_):
        written.append(1)
        clock[0] += seconds

    timer = types.SimpleNamespace(perf_counter=lambda: clock[0])
    monkeypatch.setattr(suspects, "time", timer)
    monkeypatch.setattr(in_work, "write", write)
    notes = Notes(Store(STUDY, tmp_path), Driver.here(None))
    for number in range(300):
        notes.begin(Bundle([Unit(0, 0)], 1.0), number * seconds)
    allowed = SHARE * 300 * seconds + FIRST + seconds
    print(f"{len(written)} notes of 300 bundles, {notes.noting:.3f} s, at most {allowed:.3f}")
    assert 1 <= len(written) < 300 and FIRST < notes.noting <= allowed


def test_a_shard_leaves_suspects_of_others_to_them(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7_2")
    store = begun(tmp_path)
    for number in range(2):
        part = Schedule(STUDY, store.listing(), (number, 2))
        suspects.find(store, part)
        assert bool(part.suspects) == bool(part.mine[0, 0])


def test_workers_that_a_unit_ended_are_not_noted_as_jobs(tmp_path):
    """Or a unit that lost some workers would be given up as soon as one job ends."""
    store = Store(STUDY, tmp_path)
    notes = Notes(store, Driver.here(None))
    notes.begin(Bundle([Unit(0, 0)], 1.0, kills=KILLS + 1, jobs=1), 1.0)
    (note,) = in_work.read(store).values()
    assert note.ends == 1


def test_bundles_of_suspects_are_in_the_order_of_the_jobs_that_they_ended(tmp_path):
    schedule = Schedule(STUDY, Store(STUDY, tmp_path).listing())
    schedule.suspects = {Unit(0, 0): 3, Unit(1, 0): 1, Unit(2, 1): 2}
    assert [bundle.kills for bundle in suspects.bundles(schedule)] == [1, 2, 3]
    assert [bundle.jobs for bundle in suspects.bundles(schedule)] == [1, 2, 3]
    assert np.isfinite([bundle.cost for bundle in suspects.bundles(schedule)]).all()
