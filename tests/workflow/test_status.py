"""What `task=status` says of a study: what is done, how long the rest takes, and the exit code."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.cli.status import lines
from pipeline.execution.clusters import queued
from pipeline.execution.sessions import SessionRecord
from pipeline.storage import efforts, replications
from pipeline.storage.replications import Store
from pipeline.study.study import Study
from pipeline.workflow import status
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.status import State
from tests.helpers.engine import advance, arguments, pending, stored, study

SESSION = SessionRecord(units=0, seconds=1.0)


def status_in(folder):
    one = stored(study(), folder)
    return status.status_of(one, one.store.listing(), Invocation(()))


@pytest.mark.parametrize("shard, state", [(None, State.FAILED), ("1/2", State.MORE_TO_DO)])
def test_a_shard_that_failed_is_no_study_that_failed(tmp_path, monkeypatch, shard, state):
    """Others may do what it left."""
    pending(study(), Store(study(), tmp_path))
    monkeypatch.setattr(
        status, "sessions", lambda folder: [replace(SESSION, state="failed", shard=shard)]
    )
    assert status_in(tmp_path).state == state


def test_time_left_is_the_cost_that_is_left_over_the_pace_of_all_sessions(tmp_path, monkeypatch):
    """Two that did 3 units each, of a cost of 50, in 10 seconds of work; hours in a queue before that do not count."""
    schedule = pending(study(), Store(study(), tmp_path))
    session = replace(SESSION, state="running", seconds=7200.0, units=5, cost_done=80.0)
    session = replace(session, workers_now=4, units_made=3, cost_made=50.0, seconds_made=10.0)
    waiting = replace(SESSION, state="running", seconds=60.0)
    monkeypatch.setattr(status, "sessions", lambda folder: [session] * 2 + [waiting])
    progress = status_in(tmp_path).progress
    assert progress.seconds_left == pytest.approx(schedule.cost / (2 * 4 * 50 / 10))
    assert progress.units_per_second == pytest.approx(2 * 4 * 3 / 10)


def test_slow_cells_and_memory_are_shown_and_survive_packing(tmp_path, monkeypatch, capsys):
    """Each unit has seconds and memory beside it, no part of its numbers; a damaged file of these is found."""
    monkeypatch.setattr(replications, "PACKED_FROM", 2)
    simulate = Study.simulate

    def slow(self, labels, *rest):
        if labels["m"] == 4:
            time.sleep(0.05)
        return simulate(self, labels, *rest)

    monkeypatch.setattr(Study, "simulate", slow)
    assert main(arguments(tmp_path)) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    assert list(folder.glob("replications/packs/*")) and not list(
        folder.glob("replications/units/*/*")
    )
    entries = efforts.read(Store(study(), folder))
    units = {(int(entry["block"]), int(entry["cell"])) for entry in entries}
    assert len(entries) == len(units) == 8, "every unit, once"
    capsys.readouterr()
    assert main([*arguments(tmp_path), "task=status", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["studies"]
    print(found["effort"])
    slowest = [cell["cell"]["m"] for cell in found["effort"]["slowest"]]
    assert slowest[:2] == [4, 4] and all(
        cell["seconds"] > 0.05 for cell in found["effort"]["slowest"][:2]
    )
    assert 2**25 < found["effort"]["memory_of_worker"] < 2**34
    assert main([*arguments(tmp_path), "task=status"]) == 0
    text = capsys.readouterr().out
    assert "slowest cells: m=4, epsilon=" in text and "a worker took up to" in text
    file, *_ = folder.glob("efforts/*")
    content = bytearray(file.read_bytes())
    content[9] ^= 4
    file.write_bytes(content)
    assert main([*arguments(tmp_path), "task=verify"]) == 1
    assert f"efforts/{file.name}: is not what this program wrote" in capsys.readouterr().out
    assert main([*arguments(tmp_path), "task=verify", "repair=true"]) == 0 and not file.exists()
    assert main([*arguments(tmp_path), "task=status"]) == 0


def test_what_a_person_sees_of_a_failed_unit_are_labels(tmp_path, monkeypatch, capsys):
    simulate = Study.simulate

    def failing(self, labels, block, *rest):
        if labels["m"] == 3 and labels["epsilon"] == 1.0 and block == 1:
            raise ArithmeticError("planted")
        return simulate(self, labels, block, *rest)

    monkeypatch.setattr(Study, "simulate", failing)
    assert main(arguments(tmp_path)) == 1
    text = capsys.readouterr().out
    assert "  # m=3, epsilon=1.0, block 1: ArithmeticError: planted\n" in text, text


SQUEUE = """#!/bin/sh
case "$*" in *--jobs=7,8*) ;; *) exit 1;; esac
cat FOLDER/queue && exit 0
echo 'slurm_load_jobs error: Invalid job id specified' >&2
exit 1
"""


def test_jobs_in_the_queue_and_their_reasons_are_shown_and_none_is_an_end(
    tmp_path, monkeypatch, capsys
):
    """So that `until pipeline task=status …` ends where the jobs died."""
    pending(study(), Store(study(), tmp_path))
    squeue = tmp_path / "squeue"
    squeue.write_text(SQUEUE.replace("FOLDER", str(tmp_path)))
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert status_in(tmp_path).state == State.MORE_TO_DO, "nothing was submitted"
    queued.record(tmp_path, queued.SubmittedJobs("slurm", ("7", "8"), "logs"))
    (tmp_path / "queue").write_text(
        "7_1|RUNNING|None\n7_[2-9]|PENDING|Priority\n8|PENDING|Dependency\n"
    )
    known = status_in(tmp_path)
    assert known.state == State.MORE_TO_DO and known.queue.left == 3
    jobs = "  jobs of slurm: 1 running, 2 waiting (Priority 1, Dependency 1)"
    assert jobs in lines(known)
    (tmp_path / "queue").unlink()
    gone = status_in(tmp_path)
    assert gone.state == State.FAILED and gone.deserted
    assert any(
        "the same task=submit goes on; the jobs' output is in logs" in line for line in lines(gone)
    )
    monkeypatch.setattr(status, "sessions", lambda folder: [replace(SESSION, state="running")])
    assert status_in(tmp_path).state == State.MORE_TO_DO, "somebody else is at it"
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "/nowhere")
    assert status_in(tmp_path).state == State.MORE_TO_DO, "the queue cannot be asked here"


def test_units_that_do_not_count_are_not_counted_as_done(tmp_path, monkeypatch):
    """As where a cell ended before its last block, which was done before that."""
    schedule, _ = advance(study(), tmp_path)
    cells, blocks = schedule.mine.shape
    first = np.broadcast_to(np.arange(blocks) == 0, (cells, blocks))
    monkeypatch.setattr(status, "counted", lambda study: first)
    units = status_in(tmp_path).units
    assert (units.all, units.done) == (cells, cells)
