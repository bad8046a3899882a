"""Experiments of a person's own, and what the command says of itself."""

import dataclasses
import os
import re

import pytest
import yaml

from pipeline.__main__ import main
from pipeline.cli import first_study
from pipeline.cli.compose import compose
from pipeline.identity.registry import problems
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study
from pipeline.workflow import own_experiments
from pipeline.workflow.config import read_experiment
from pipeline.workflow.invocation import Invocation

SMALL = dict(
    problem="ranking",
    seed=1,
    replications=20,
    block=10,
    grid={"epsilon": [1.0, 1e-3]},
    metrics=["error_l2"],
    parameters=dict(model="btl", mechanism="randomized_response", estimator="debiased", m=3, L=20),
    quick={"replications": 10},
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "my survey.yaml").write_text("name: survey\n" + yaml.safe_dump(SMALL))
    return "experiment=my survey.yaml"


def study(*words):
    return read_experiment(compose([*words])[0]).study


def test_a_file_is_an_experiment(survey, tmp_path, capsys):
    words = [survey, "grid.epsilon=[1e-3,2]", "+parameters.lambda_scale=2", "cluster=synchronous"]
    assert main(words) == 0 and "report: outputs/survey-" in capsys.readouterr().out
    assert (
        study(survey).grid.axes == {"epsilon": (1.0, 1e-3)}
        and study(survey, "size=quick").replications == 10
    )
    (folder,) = tmp_path.glob("outputs/survey-*")
    for again in (f"experiment={folder}", f"experiment={folder}/report.yaml"):  # a finished study
        assert study(again) == study(*words)
        assert main([again, "cluster=synchronous"]) == 0
        assert "nothing to do: all 4 units were done before" in capsys.readouterr().out
    assert main([f"experiment={folder}", "cluster=synchronous", "replications=40"]) == 0
    assert "4 units to do, 4 done before" in capsys.readouterr().out


def test_its_name_is_that_of_the_file(tmp_path):
    (tmp_path / "second.yml").write_text(yaml.safe_dump(SMALL))
    assert (
        study("experiment=./second.yml").name == "second"
        and study("experiment=second.yml", "name=x").name == "x"
    )


def test_what_it_would_run_is_shown_and_runs(survey, tmp_path, capsys):
    words = [survey, "grid.epsilon=[3]", "size=quick"]
    assert main([*words, "task=show"]) == 0
    (tmp_path / "shown.yaml").write_text(capsys.readouterr().out)
    assert study("experiment=shown.yaml") == study(*words)
    assert main([survey, "--cfg", "job"]) == 0
    config = yaml.safe_load(capsys.readouterr().out)
    assert config["grid"] == SMALL["grid"] and config["cluster"]["kind"] == "local"
    assert main(["--cfg", "job", "suite=demo"]) == 0
    configs = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [one["name"] for one in configs] == configs[0]["experiments"]
    assert not (tmp_path / "outputs").exists()


WISHES = {
    "ranking": "kendall<=0.1",
    "response": "error_l2<=0.5",
    "crowd": "label_error<=0.2",
    "clustering": "misclassified<=0.1",
}


@pytest.mark.parametrize("name", problems())
def test_a_first_one_has_ten_lines_that_are_a_study(name, tmp_path, capsys):
    words = [f"problem={name}", "people=60", "items=6", f"target={WISHES[name]}"]
    assert main(["new", "first.yaml", *words]) == 0
    lines = (tmp_path / "first.yaml").read_text().splitlines()
    assert len(lines) <= 14 and max(map(len, lines)) < 200
    made = study("experiment=first.yaml")
    metric, level = WISHES[name].split("<=")
    assert made.problem == name and made.metrics == (metric,)
    assert (made.refine.metric, made.refine.level) == (metric, float(level))
    assert {60, 6} <= set(made.parameters.values())


def test_a_file_alone_is_enough(tmp_path):
    assert main(["new", "first.yaml"]) == 0
    assert study("experiment=first.yaml").problem == "ranking"


def test_three_questions_are_asked_at_a_terminal(tmp_path, monkeypatch, capsys):
    answers = iter(["crowd", "100, 40", "label_error<=0.2"])
    monkeypatch.setattr(first_study, "at_a_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question="": next(answers))
    assert main(["new"]) == 0
    made = study("experiment=survey.yaml")
    assert (made.problem, made.parameters["n"], made.parameters["m"]) == ("crowd", 100, 40)
    assert "labels of tasks" in capsys.readouterr().out and next(answers, None) is None


@pytest.mark.parametrize("like", [f"{one.experiments[0]}/" for one in problems().values()])
def test_a_first_one_is_written_with_comments(like, tmp_path, capsys):
    from pipeline.workflow.config_files import options

    name = next(option for option in options("experiment") if option.startswith(like))
    assert main(["task=new", "experiment=first.yaml", f"like={name}"]) == 0
    text = (tmp_path / "first.yaml").read_text()
    assert text.count("#") > 20 and max(map(len, text.splitlines())) < 500
    made, base = (
        study("experiment=first.yaml"),
        study(f"experiment={name}", "size=quick"),
    )
    assert made.name == "first" and made.grid == base.grid and made.parameters == base.parameters
    assert made.metrics == base.metrics and made.derive == base.derive
    assert (
        main(["task=new", "experiment=first.yaml", f"like={name}"]) == 2
        and "is there already" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "like, file", [("own/ranking", "my donnees.yaml"), ("own/response", "-2.1.yml")]
)
def test_a_first_one_for_a_file_runs_with_its_path(like, file, tmp_path, capsys):
    assert main(["task=new", f"experiment={file}", f"like={like}"]) == 0
    (tmp_path / "rows.csv").write_text(
        {
            "own/ranking": "winner,loser\na,b\nb,c\nc,a\n",
            "own/response": "sum,root\n1,0\n0,1\n1,1\n",
        }[like]
    )
    text = (tmp_path / file).read_text()
    assert (
        "data_path: null" in text and main([f"experiment={file}", "task=plan"]) == 0
    )  # a synthetic stand-in
    (tmp_path / file).write_text(text.replace("data_path: null", "data_path: rows.csv"))
    made, base = (
        study(f"experiment={file}"),
        study(f"experiment={like}", "size=quick", "data.path=rows.csv"),
    )
    assert made.name == {"own/ranking": "my_donnees", "own/response": "2_1"}[like]
    assert (
        dataclasses.replace(made, name=base.name) == base
        and made.paired == base.paired != Study.paired
    )
    capsys.readouterr()
    assert main([f"experiment={file}", "task=plan"]) == 0


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "problem=null: is needed"),
        ("[1]", "must hold keys and values"),
        ("a: [", "is no YAML"),
        ("a: 1\n---\nb: 2", "holds several studies"),
        ("grid: &g {m: [3], x: *g}", "experiment=bad.yaml: holds itself"),
        ("cluster: {kind: local}", "cluster={'kind': 'local'}: is no part of an experiment"),
        ("_target_: os.system", "is no part of an experiment"),
        ("problem: ranking", "seed=null: is needed"),
        ("problem: '${oc.env:HOME}'", "must be written out"),
        (
            "{problem: ranking, seed: 1, block: 1, replications: 1, metrics: [error_l2], "
            "grid: {m: [1]}, parameters: {}}",
            "parameters.model=null: is needed",
        ),
        ("\0", "is no YAML"),
        (
            "{problem: rankin, seed: 1, block: 1, replications: 1, metrics: [error_l2], "
            "grid: {m: [1]}, parameters: {}}",
            "did you mean 'ranking'",
        ),
    ],
)
def test_a_bad_file_is_one_line(text, message, tmp_path, capsys):
    (tmp_path / "bad.yaml").write_text(text)
    assert main(["experiment=bad.yaml"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    "words, message",
    [
        (["experiment=no.yaml"], "experiment=no.yaml: cannot be read (No such file or directory)"),
        (["experiment=survey"], "no such experiment"),
        (["task=new"], "must be the path of the new file"),
        (["task=new", "experiment=a/b.yaml"], "its folder is not there"),
        (["task=new", "experiment=….yaml"], "letters"),
        (["task=new", "experiment=/proc/b.yaml"], "experiment=/proc/b.yaml: cannot be written"),
        (["task=new", f"experiment={'x' * 300}.yaml"], "cannot be written (File name too long)"),
        (
            ["task=new", "experiment=b.yaml", "seed=1"],
            "takes a file, and problem, people, items, target, or like=NAME",
        ),
        (["task=new", "experiment=b.yaml", "like=xu/lemma"], "did you mean 'xu/lemmas'"),
        (["new", "b.yaml", "problem=rankings"], "problem=rankings: did you mean 'ranking'?"),
        (["new", "b.yaml", "people=some"], "people=some: must be a whole number from 1 to"),
        (["new", "b.yaml", "target=kendal<=0.1"], "did you mean 'kendall'?"),
        (["new", "b.yaml", "target=kendall"], "target=kendall: must be like kendall<=0.1"),
        (["new", "b.yaml", "like=xu/lemmas", "people=3"], "cannot be combined with like="),
        (["experiment=xu/lemmas", "grid={epsilon:[1],q:[2]}"], "write each by itself: grid.NAME="),
        (
            ["experiment=xu/lemmas", "parameters.epsilon=1"],
            "is an axis of this study; write grid.epsilon=[…]",
        ),
        (
            ["experiment=xu/lemmas", "epsilon=1"],
            "epsilon=1: is an axis of this study; write grid.epsilon=[…]",
        ),
        (["xu/lemmas"], "write experiment=xu/lemmas"),
        (["demo"], "write suite=demo"),
        (["task=new", "survey.yaml"], "command line=survey.yaml: write experiment=survey.yaml"),
        (["experiment=xu/scenario_5", "parameters.estimator=debiased"], "is an axis of this study"),
        (
            ["experiment=xu/lemmas", "grid.estimator=debiased"],
            "is a constant of this study; write parameters.estimator=",
        ),
        (["claims=[]"], "claims=[]: write claims=false"),
        (["-m", "grid.m=[3]"], "write grid.m=[10,20]"),
        (["--multirun"], "the levels of a grid are all run"),
        (["--info"], "task=show prints the experiment"),
        (["--cfg", "hydra"], "write --cfg job"),
        (["--config-dir", "x"], "experiment=PATH.yaml"),
        (["--nonsense"], "no such flag"),
        (["--help", "metrics", "more"], "--help=more: takes kinds of parts only"),
        (["precision.a b.relative=1"], "command line=precision.a b.relative=1: cannot be read"),
        (["--help", "mechanism"], "did you mean 'mechanisms'"),
        (["--with"], "needs a Python file"),
        (["with=no.py"], "write --with FILE.py"),
        (["--with", "no.py"], "--with=no.py: cannot be read"),
    ],
)
def test_mistakes_are_answered_by_what_helps(words, message, capsys, tmp_path):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text, message",
    [
        ("import sys\nsys.exit(3)", "--with=own.py: stops in line 2 with SystemExit: 3"),
        ("1/0", "--with=own.py: stops in line 1 with ZeroDivisionError: division by zero"),
        ("x = 1\ndef f(:", "stops in line 2 with SyntaxError"),
        (
            "pl.register('rankin', metrics={})",
            "stops in line 2 with problem=rankin: no such problem",
        ),
        (
            "pl.register('ranking', estimators={'debiased': pl.ranking.PlugIn})",
            "is .estimators.moments:Debiased in problem=ranking already",
        ),
        (
            "class M: pass\npl.register('ranking', mechanisms={'m': M})",
            "is no mechanism: it lacks guarantee",
        ),
        (
            "pl.register('ranking', metrics={'e': pl.ranking.Debiased})",
            "is no metric: it lacks long_name, units",
        ),
    ],
)
def test_a_bad_file_of_parts_is_one_line(text, message, tmp_path, capsys):
    (tmp_path / "own.py").write_text(
        "import pipeline as pl\n" * text.startswith(("pl", "class")) + text
    )
    assert main(["--with=own.py", "task=status"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_version_and_lists_of_parts(capsys):
    assert main(["--version"]) == 0 and re.fullmatch(
        r"pipeline \d+\.\d+\.\d+\n", capsys.readouterr().out
    )
    for kind in ("models", "mechanisms", "estimators", "metrics", "derivations"):
        assert main(["--help", kind]) == 0
        text = capsys.readouterr().out
        for one in problems().values():
            assert all(f"  {name}\n" in text for name in one.names(kind[:-1]))
    assert main(["--help", "mechanisms"]) == 0
    text = capsys.readouterr().out
    assert (
        re.search(r"epsilon +privacy budget of one comparison", text)
        and "neighbours: that comparison" in text
    )
    assert main(["--help", "figures", "experiment=xu/lemmas"]) == 0
    assert capsys.readouterr().err.startswith(
        "note: --help says the same with and without experiment=xu/lemmas;"
    )
    assert main(["--help", "figures"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("phase_diagram", "mean at the boundary", "map"))
    assert main(["--help", "problems"]) == 0
    sections = capsys.readouterr().out.strip().split("\n\n")
    for one, section in zip(problems().values(), sections, strict=True):
        assert section.startswith(f"problem={one.name}: {one.title}\n")
        assert set(one.names("mechanism")) <= set(re.findall(r"\w+", section))
        folders = {
            name.partition("/")[0]
            for name in section.partition("experiments ")[2].strip().split(", ")
        }
        assert folders == set(one.experiments)


def test_what_repeats_a_study_names_no_folder():
    words = (
        "--with=/a/b/parts.py",
        "experiment=xu/lemmas",
        "data.path=/home/x.csv",
        "outputs=/tmp/o",
        "task=report",
    )
    again = Invocation(words).again()
    assert str(again) == "pipeline --with=parts.py experiment=xu/lemmas data.path=x.csv"
    own = (
        "experiment=/a/survey.yaml",
        "+parameters.K=3",
        "cluster.workers=2",
        "outputs=/tmp/o",
    )
    assert str(Invocation(own).again()) == "pipeline experiment=report.yaml cluster.workers=2"


def test_a_mapping_holds_what_a_file_may():
    assert compose([], content=dict(SMALL, name="x"))[0]["name"] == "x"
    with pytest.raises(InvalidInput, match="outputs=x: is no part of an experiment"):
        compose([], content=dict(SMALL, outputs="x"))


@pytest.mark.parametrize(
    "text, says",
    [
        ("3", "must hold keys and values"),
        (f"replications: {'1' * 4400}", "is no YAML"),
        (
            "a0: &a0 [x]\n"
            + "".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]\n" for k in range(1, 30)),
            "anchors",
        ),
        (None, "is a pipe or a device"),
    ],
    ids=["number", "digits", "anchors", "pipe"],
)
@pytest.mark.timeout(60)
def test_what_no_file_of_an_experiment_is(text, says, tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(text) if text else os.mkfifo(path)
    with pytest.raises(InvalidInput, match=says):
        own_experiments.read(str(path))
