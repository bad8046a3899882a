"""What a run says of itself while it goes on, when it ends, and when it no longer can."""

import dataclasses
import json
import os
import subprocess
import sys
import time

import pytest

from pipeline.__main__ import main
from pipeline.execution import sessions
from pipeline.execution.progress import Advance
from pipeline.execution.sessions import SILENT, Session
from pipeline.execution.sweep import SweepOutcome
from pipeline.execution.systems import registry
from pipeline.workflow.tasks import TASKS
from tests.helpers.engine import arguments, environment, without_report


def outcome(units):
    return SweepOutcome(units, 1.0, 2.04, 2, 0, interrupted=False)


def end_elsewhere(session, state, **changes):
    """End a session as if it had been in another place."""
    session.record = dataclasses.replace(session.record, **changes)
    session.end(state)


def states(folder):
    return [facts.state for facts in sessions.sessions(folder)]


def test_a_run_is_followed_while_it_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "BEAT", 0.02)
    one = Session(tmp_path, "pipeline", 10, cost=5.0, shard="2/8")
    one.advance(Advance(3, 1.5, 2))
    until = time.monotonic() + 60
    while sessions.sessions(tmp_path)[0].units < 3 and time.monotonic() < until:
        time.sleep(0.01)
    (seen,) = sessions.sessions(tmp_path)
    assert (seen.state, seen.units, seen.cost_done, seen.workers) == ("running", 3, 1.5, 2)
    assert seen.shard == "2/8" and seen.process == os.getpid() and seen.seconds >= 0
    one.end("finished", outcome(10))
    (seen,) = sessions.sessions(tmp_path)
    assert seen.state == "finished" and seen.units == 10 and not sessions.damaged(tmp_path)


@pytest.mark.parametrize(
    "changes, age, state",
    [
        ({"host": "another"}, 0, "running"),
        ({"host": "another"}, SILENT + 60, "killed"),
        ({}, 0, "running"),
        ({"process": 2**22 - 1}, 0, "killed"),
        ({}, SILENT + 60, "killed"),
        ({"host": "another"}, -SILENT - 60, "killed"),
    ],
)
def test_no_sign_of_life_is_the_end(tmp_path, changes, age, state):
    """By the file's age and, where the process was on this machine, by whether it is there."""
    one = Session(tmp_path, "pipeline", 10)
    end_elsewhere(one, "running", **changes)
    os.utime(one.path, (time.time() - age,) * 2)
    assert states(tmp_path) == [state]


def test_an_ended_run_stays_what_it_was(tmp_path):
    one = Session(tmp_path, "pipeline", 10)
    end_elsewhere(one, "stopped", host="another")
    os.utime(one.path, (0, 0))
    assert states(tmp_path) == ["stopped"]


def test_status_of_shards_that_run_and_of_one_that_was_killed(tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    monkeypatch.setattr(Session, "_seconds", lambda _: 10.0)
    words = arguments(tmp_path)
    assert main([*words, "shard=1/2"]) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    for k in range(2, 27):
        one = Session(folder, "pipeline", 8, cost=8.0, shard=f"{k}/26")
        one.path = one.path.rename(one.path.with_name(f"2100-{k:02d}.json"))
        one.advance(Advance(4, 4.0, 1, units_made=4, cost_made=4.0, seconds=10.0))
        end_elsewhere(one, "running", host="killed" if k == 2 else "node")
        os.utime(one.path, (0, 0)) if k == 2 else None
    capsys.readouterr()
    assert main([*words, "task=status"]) == 75
    said = capsys.readouterr().out
    assert (
        "running: 24 sessions on 1 host, 24 workers, 9.6 units/s, " in said and " left\n" in said
    ), said
    assert (
        said.count(": running, 4 of 8 units in 10.00 s") == 20 and "and 4 sessions before" in said
    )
    assert "shard 2/26, on killed: killed, 4 of 8 units in 10.00 s" in said
    assert main([*words, "task=status", "--json"]) == 75
    told = json.loads(capsys.readouterr().out)
    (study,) = told["studies"]
    assert told["exit_code"] == study["exit_code"] == 75 and len(study["sessions"]) == 26
    assert study["units"] == {"all": 8, "done": 4, "failed": 0, "at_most": False}
    assert study["units_per_second"] == pytest.approx(9.6) and study["seconds_left"] > 0
    assert main(["task=skill", "--json"]) == 2
    takers = ", ".join(f"task={name}" for name, task in TASKS.items() if task.answers)
    line = f"error: command line=--json: is answered by {takers}, not by task=skill\n"
    assert capsys.readouterr().err == line


def test_a_session_with_another_number_is_damaged(tmp_path):
    """Still whole JSON, with all of its facts."""
    for units in (12, 34):
        Session(tmp_path, "pipeline", 40).end("finished", outcome(units))
    path = sorted((tmp_path / "sessions").iterdir())[0]
    text = path.read_text()
    path.write_text(text.replace('"units": 12', '"units": 13'))
    assert text != path.read_text() and [facts.units for facts in sessions.sessions(tmp_path)] == [
        34
    ]
    assert sessions.damaged(tmp_path) == [f"sessions/{path.name}"]
    path.write_text(text)
    assert [facts.units for facts in sessions.sessions(tmp_path)] == [12, 34]
    assert not sessions.damaged(tmp_path)


def test_files_of_other_versions_are_read(tmp_path):
    """Of one that noted less, and of one that will note more."""
    one = Session(tmp_path, "pipeline", 40)
    one.end("finished", outcome(40))
    content = json.loads(one.path.read_text())
    del content["digest"], content["cost_made"]
    content["color"] = "blue"
    one.path.write_text(json.dumps(content | {"digest": sessions._digest(content)}))
    (seen,) = sessions.sessions(tmp_path)
    assert (seen.units, seen.cost_made) == (40, 0.0)


def test_an_abandoned_run_beats_no_more(tmp_path, monkeypatch):
    """As in a notebook, whose process lives on."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.workflow.simulate.sweep.run", interrupted)
    assert main(arguments(tmp_path)) == 75
    (folder,) = (tmp_path / "xu").iterdir()
    assert states(folder) == ["abandoned"]


@pytest.mark.parametrize(
    "variables, name",
    [
        ({"SLURM_JOB_ID": "8", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}, "7_2"),
        ({"SLURM_JOB_ID": "8"}, "8"),
        ({"PBS_JOBID": "9[3].server"}, "9[3].server"),
        ({"LSB_JOBID": "5", "LSB_JOBINDEX": "4"}, "5.4"),
        ({"LSB_JOBID": "5", "LSB_JOBINDEX": "0"}, "5"),
        ({"SGE_ROOT": "/", "JOB_ID": "6", "SGE_TASK_ID": "2"}, "6.2"),
        ({"SGE_ROOT": "/", "JOB_ID": "6", "SGE_TASK_ID": "undefined"}, "6"),
        ({"JOB_ID": "of something else"}, None),
    ],
)
def test_jobs_have_the_names_that_their_queues_show(variables, name):
    assert registry.job(variables) == name


def test_a_killed_process_is_not_running(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from pipeline.execution.sessions import Session\n"
        "Session(Path(sys.argv[1]), 'pipeline', 3); print('there', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == "there\n" and states(tmp_path) == ["running"]
    process.kill()
    process.wait()
    process.stdout.close()
    assert states(tmp_path) == ["killed"]


def test_another_users_process_is_running(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError

    one = Session(tmp_path, "pipeline", 10)
    one.end("running")
    monkeypatch.setattr(os, "kill", refused)
    assert states(tmp_path) == ["running"]
