"""A task tells typed events to whoever subscribed, and nothing to anybody else."""

import subprocess
import sys

from pipeline.execution import notices
from pipeline.execution.clusters import Synchronous
from pipeline.execution.schedule import Unit
from pipeline.library import requests
from pipeline.workflow import events, run
from pipeline.workflow.experiment import Experiment, Text
from pipeline.workflow.invocation import NOTEBOOK, Invocation
from pipeline.workflow.job import Job
from pipeline.workflow.settings import Settings
from tests.helpers.engine import environment, mapping, stored, study

SMALL = {"grid": {"m": [3], "L": [20], "epsilon": [0.5, 2.0]}, "replications": 20, "block": 10}
ESTIMATOR = {"parameters": {**mapping()["parameters"], "estimator": "debiased"}}


def small():
    return study(**SMALL, **ESTIMATOR)


def job_in(folder, *subscribers):
    words = Invocation(("experiment=laws/small",))
    studies = (stored(small(), folder),)
    settings = Settings(outputs=str(folder))
    return Job(studies, settings, Synchronous(), words).subscribed(*subscribers)


def test_events_come_in_order_and_are_typed(tmp_path):
    heard = []
    part = run.results_of(job_in(tmp_path, heard.append))
    assert part.schedule.pending == 0 and not part.schedule.listing.failed.any()
    assert [type(event) for event in heard] == [
        events.SweepBegins,
        events.ExecutorOpened,
        events.SweepStarted,
        *[events.Progressed] * (len(heard) - 4),
        events.Swept,
    ]
    assert heard[0] == events.SweepBegins(pending=4, done=0, shard=None, open_ended=False)
    assert sum(event.advance.units for event in heard[3:-1]) == 4
    heard.clear()
    run.results_of(job_in(tmp_path, heard.append))
    assert heard == [events.NothingToDo(units=4)]


def test_without_a_subscriber_nothing_is_said(tmp_path, capfd):
    run.results_of(job_in(tmp_path))
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_counting_ends_also_where_a_sweep_breaks_off(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.workflow.simulate.sweep.run", interrupted)
    heard = []
    try:
        run.results_of(job_in(tmp_path, heard.append))
    except KeyboardInterrupt:
        heard.append("interrupted")
    assert heard[-2:] == [events.Swept(), "interrupted"]


def test_what_the_engine_says_becomes_events(tmp_path, capfd):
    heard = []
    with job_in(tmp_path, heard.append).taking_notices():
        notices.warn("a worker vanished")
        notices.note("a part reads a file")
    assert heard == [events.Warned("a worker vanished"), events.Noted("a part reads a file")]
    notices.warn("nobody takes this")
    assert capfd.readouterr().err == "warning: nobody takes this\n"


def test_a_study_is_used_as_it_is(tmp_path):
    made = small()
    job = requests.read(made, {"outputs": tmp_path, "title": "A title"})
    assert job.studies[0].study is made
    assert job.studies[0].experiment == Experiment(made, Text(title="A title"))
    more = requests.read(made, {"outputs": tmp_path, "replications": 40}).studies[0].study
    assert more is not made and more.replications == 40 and more.key == made.key


def test_a_call_loads_no_composer_of_words(tmp_path):
    script = """
import sys
import pipeline as pl
pl.run("xu/lemmas", size="quick", grid={"m": [2], "L": [50]}, replications=40, block=20,
       cluster="synchronous", progress=False)
print([name for name in ("hydra", "omegaconf", "pipeline.cli") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n" and done.stderr == ""


def test_an_invocation_knows_what_repeats_it():
    made = small()
    words = ("suite=xu", "size=quick", "cluster.workers=2", "outputs=/tmp/o", "grid.m=[3]")
    invocation = Invocation(words)
    assert str(invocation) == (
        "pipeline suite=xu size=quick cluster.workers=2 outputs=/tmp/o 'grid.m=[3]'"
    )
    assert str(invocation.alone(made)) == "pipeline experiment=laws/small size=quick 'grid.m=[3]'"
    assert str(invocation.interim()).endswith("'grid.m=[3]' task=report")
    assert "outputs" not in str(invocation.again())


def test_of_a_notebook_its_script_is_what_repeats_it(tmp_path):
    made = small()
    invocation = Invocation(("experiment=report.yaml",), NOTEBOOK)
    for same in (invocation, invocation.again(), invocation.alone(made), invocation.interim()):
        assert str(same) == NOTEBOOK
    replay = invocation.replay(made, Unit(1, 0))
    assert eval(replay, {"study": made}).keys() == made.simulate(made.grid.labels(1), 0).keys()
