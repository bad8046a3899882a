"""Every task that answers something does so as one object of JSON, which programs read."""

import json
import re

import pytest

from pipeline.__main__ import main
from pipeline.cli.submit import record
from pipeline.execution.systems.sizes import Sizes
from pipeline.execution.systems.slurm import Slurm
from pipeline.workflow.submit import Submitted
from pipeline.workflow.tasks import TASKS
from tests.helpers import documented_json
from tests.helpers.engine import arguments, contents

SMALL = {"grid.m": "[2]", "grid.epsilon": "[0.5]"}


@pytest.fixture
def answer(capsys):
    """The exit code and the object of a command, beside which nothing is printed."""

    def call(*words):
        capsys.readouterr()
        code = main([*words, "--json"])
        printed = capsys.readouterr()
        entries = json.loads(printed.out)
        assert entries["exit_code"] == code, printed.err
        documented_json.check(words[0] if words[0] in TASKS else "run", entries)
        return code, entries

    return call


def test_run_report_and_remove(tmp_path, answer, capsys):
    """What it told line by line; the page is that of the same run without --json."""
    words = arguments(tmp_path / "a", claims="true", **SMALL)
    assert main(["protocol", *words]) == 0
    code, ran = answer(*words, "on_end=echo ended")
    (study,) = ran["studies"]
    assert code == 0 and ran["units_ended"] == 2 and ran["stopped"] == ran["error"] == ""
    assert study["name"] == "xu/lemmas" and study["failed"] == 0 and study["deviations"] == 0
    assert {row["study"] for row in ran["verdicts"]} == {"xu/lemmas"}
    assert {row["verdict"] for row in ran["verdicts"]} == {"not tested"}
    code, again = answer(*words)
    assert code == 0 and again["units_ended"] == 0 and again["page"] == ran["page"]
    code, reported = answer("report", *words)
    assert code == 0 and reported["verdicts"] == ran["verdicts"]
    with open(ran["page"]) as page:
        assert "--json" not in page.read()
    name = study["folder"].removeprefix(f"{tmp_path / 'a'}/")
    before = contents(tmp_path)
    code, shown = answer("remove", name, f"outputs={tmp_path / 'a'}")
    assert code == 0 and not shown["removed"] and shown["studies"][0]["name"] == name
    assert contents(tmp_path) == before
    assert answer("remove", name, f"outputs={tmp_path / 'a'}", "sure=true")[1]["removed"]
    assert not list((tmp_path / "a/xu").glob("lemmas-*"))


def test_a_run_with_more_to_do_and_one_that_failed(tmp_path, answer, monkeypatch):
    """Exit codes 75 and 1, and why; replay gives the traceback of a failed unit."""
    from pipeline.problems.ranking.estimators.moments import Debiased

    words = arguments(tmp_path, **SMALL)
    code, stopped = answer(*words, "stop_after=0.000001")
    assert code == 75 and "goes on" in stopped["stopped"] and stopped["page"] is None

    def broken(*_):
        raise ValueError("planted")

    monkeypatch.setattr(Debiased, "fit", broken)
    code, failed = answer(*words, "accept_code=yes", "most_failures=100")
    (study,) = failed["studies"]
    assert code == 1 and study["failed"] >= 1 and "planted" in study["failures"][0]["error"]
    (unit,) = re.findall("unit=([^ ']*)", study["failures"][0]["replay"])
    code, replayed = answer("replay", unit, *words)
    assert code == 1 and "ValueError: planted" in replayed["studies"][0]["error"]
    monkeypatch.undo()
    code, replayed = answer("replay", unit, *words)
    (unit,) = replayed["studies"]
    assert code == 0 and unit["ok"] == unit["replications"] == 20 and unit["error"] == ""
    assert {"name", "mean", "infinite", "size"} == set(unit["metrics"][0])


def test_show_and_controls(tmp_path, answer):
    words = arguments(tmp_path, claims="true", **{**SMALL, "replications": "20"})
    code, shown = answer("show", *words)
    assert code == 0 and shown["experiments"][0]["grid"]["m"] == [2]
    code, judged = answer("controls", *words)
    assert judged["worlds"] or judged["not_simulated"]
    for world in judged["worlds"]:
        assert world["failed"] == (world["outcome"] not in ("as it must", "undecided"))
    assert not list(tmp_path.iterdir())


def test_what_was_submitted():
    system = Slurm()
    entries = record(Submitted(system, ("7", "8"), 40, 12.5, Sizes(3, 2**30, 600, 60), ("seed=1",)))
    documented_json.check("submit", entries)
    assert entries["jobs"] == ["7", "8"] and entries["array"] and entries["shards"] == 3
    assert entries["status"] == "pipeline task=status seed=1" and entries["walltime"] == 600
    assert all(number in entries["cancel"] for number in "78")


def test_every_task_that_answers_is_described():
    answering = {name for name, task in TASKS.items() if task.answers}
    described = {name.partition(" ")[0] for name in documented_json.documented()}
    assert answering == described | documented_json.NOT_THERE
