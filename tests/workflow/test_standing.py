"""Another part on all cells of a finished study: paired with each of its own parts."""

import csv
import json
import re
import shutil

import pytest
import yaml

from pipeline.__main__ import main
from pipeline.identity import own_files, registry
from tests.helpers.engine import GRID, contents, mapping

MINE = '''"""An estimator of a person: it shrinks the debiased one's scores by half."""
import dataclasses

import pipeline as pl
from pipeline.identity.registry import problem

Debiased = problem("ranking").part("estimator", "debiased")


class Shrunk(Debiased):
    """Half of the debiased scores."""

    def fit(self, release, rng):
        """The scores, (reps, m)."""
        estimate = super().fit(release, rng)
        return dataclasses.replace(estimate, theta=estimate.theta / 2)


pl.register("ranking", estimators={"shrunk": Shrunk})
'''


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A finished study with two estimators."""
    folder = tmp_path_factory.mktemp("standing")
    grid = {**GRID, "m": [3], "L": [20]}
    config = mapping(claims=False, figures=[], replications=40, grid=grid)
    (folder / "small.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    words = [f"experiment={folder / 'small.yaml'}", f"outputs={folder / 'outputs'}"]
    assert main([*words, "cluster=synchronous"]) == 0
    return folder / "outputs"


def _words(outputs, *more):
    (study,) = [path for path in (outputs / "laws").iterdir() if path.is_dir()]
    return [
        "compare",
        f"against=laws/{study.name}",
        f"outputs={outputs}",
        "cluster=synchronous",
        *more,
    ]


def test_a_part_equals_itself_and_wins_where_it_must(outputs, capsys):
    """The plug-in estimator has no difference from itself, to the last bit, as data are shared."""
    (study,) = [path for path in (outputs / "laws").iterdir() if path.is_dir()]
    before = contents(study)
    assert main(_words(outputs, "estimator=plug_in", "metric=error_l2", "--json")) == 0
    answer = json.loads(capsys.readouterr().out)
    by_name = {opponent["against"]: opponent for opponent in answer["opponents"]}
    itself = by_name["plug_in"]
    assert itself["undecided"] == 2 and all(cell["mean"] == 0 for cell in itself["cells"])
    other = by_name["debiased"]
    assert other["better"] + other["worse"] + other["undecided"] == 2
    for cell in other["cells"]:
        assert cell["low"] <= cell["mean"] <= cell["high"]
        assert cell["wins"] == (cell["high"] < 0) - (cell["low"] > 0)
    assert contents(study) == before  # nothing of the finished study changed
    with open(answer["table"], newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 and {row["against"] for row in rows} == set(by_name)
    with open(answer["figure"]) as file:
        assert file.read().count("<svg") == 1


def test_higher_may_be_better(outputs, capsys):
    """The same differences, and the other side wins."""
    answers = []
    for better in ("lower", "higher"):
        words = _words(outputs, "estimator=plug_in", "metric=kendall", f"better={better}", "--json")
        assert main(words) == 0
        answers.append(json.loads(capsys.readouterr().out))
    for low, high in zip(answers[0]["opponents"], answers[1]["opponents"], strict=True):
        assert (low["better"], low["worse"]) == (high["worse"], high["better"])


def test_in_lines(outputs, capsys):
    assert main(_words(outputs, "estimator=plug_in")) == 0
    out = capsys.readouterr().out
    assert re.search(r"against debiased: better in \d of 2 cells, worse in \d", out)
    assert "figure: " in out and "the same data" in out


def test_a_part_of_a_person(outputs, tmp_path, capsys):
    """Given with --with: it leaves the finished study as it is, and is another one."""
    (tmp_path / "mine.py").write_text(MINE)
    with registry.registered(), own_files.restored():
        words = [f"--with={tmp_path / 'mine.py'}", *_words(outputs, "estimator=shrunk", "--json")]
        assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["part"] == "shrunk" and len(answer["opponents"]) == 2
    assert any(cell["mean"] for cell in answer["opponents"][0]["cells"])


def test_a_study_of_a_suite_has_no_report_of_its_own(tmp_path, capsys):
    """What its config says is in the report of the suite; without that, it is told in one line."""
    outputs = tmp_path / "outputs"
    suite = ["suite=demo", "experiments=[xu/scenario_2]", "replications=20", "block=20"]
    grid = ["grid.m=[3]", "grid.L=[20]", "claims=false", "figures=[]"]
    assert main([*suite, *grid, f"outputs={outputs}", "cluster=synchronous"]) == 0
    (study,) = (outputs / "xu").glob("scenario_2-*")
    words = ["compare", f"against=xu/{study.name}", "estimator=plug_in", f"outputs={outputs}"]
    assert main([*words, "cluster=synchronous"]) == 0
    assert "table: " in capsys.readouterr().out
    (report,) = outputs.glob("suite-*")
    shutil.rmtree(report)
    assert main([*words, "cluster=synchronous"]) == 2
    assert "has no report, of its own or of a suite" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, says",
    [
        (["estimator=nobody"], "nobody"),
        ([], "is needed with against=…"),
        (["estimator=plug_in", "metric=nothing"], "error_l2"),
        (["estimator=plug_in", "better=more"], "lower"),
        (["estimator=plug_in", "grid.m=[3]"], "is no word of task=compare"),
    ],
)
def test_mistakes_are_one_line(outputs, words, says, capsys):
    assert main(_words(outputs, *words)) == 2
    captured = capsys.readouterr()
    assert says in captured.err and captured.err.count("\n") == 1
