"""Names of tasks as words: both spellings of a task are one thing, and what it takes is said in one place."""

import json
import math
import re
import shutil
from pathlib import Path

import pytest

from pipeline.__main__ import WITHOUT_CONFIG, main
from pipeline.cli.task_words import spelled_out, task_of
from pipeline.cli.tasks import ON_STORED_STUDIES, WITHOUT_STORED_STUDIES
from pipeline.study.parameters import InvalidInput, fields
from pipeline.workflow.settings import Settings
from pipeline.workflow.tasks import TASKS
from tests.helpers import documented_json
from tests.helpers.engine import arguments


@pytest.fixture
def call(capsys):
    """The command in this process: its exit code, and what it prints."""

    def perform(*words):
        capsys.readouterr()
        code = main(list(words))
        return code, *capsys.readouterr()

    return perform


@pytest.mark.parametrize(
    "typed, meant",
    [
        ("verify repair=true", "task=verify repair=true"),
        ("--with=parts.py plan grid.m=[2]", "--with=parts.py task=plan grid.m=[2]"),
        ("--json status suite=demo", "--json task=status suite=demo"),
        ("replay c0-0 outputs=there", "task=replay unit=c0-0 outputs=there"),
        ("replay outputs=there c0-0", "task=replay unit=c0-0 outputs=there"),
        ("compare a b outputs=there", "task=compare studies=a,b outputs=there"),
        ("new survey.yaml like=xu/lemmas", "task=new experiment=survey.yaml like=xu/lemmas"),
        ("experiment=xu/lemmas verify", "experiment=xu/lemmas verify"),  # the task comes first
        ("task=verify", "task=verify"),
    ],
)
def test_words_are_spelled_out(typed, meant):
    assert spelled_out(typed.split()) == meant.split()
    assert spelled_out(spelled_out(typed.split())) == meant.split()


def test_the_last_task_that_is_named_is_performed_and_an_unknown_one_is_refused():
    assert task_of([]).name == "run" and task_of(["+task='new'"]).name == "new"
    assert task_of(["task=plan", "task=show"]).name == "show"
    with pytest.raises(InvalidInput, match="did you mean 'verify'"):
        task_of(["task=verfy"])


def test_both_spellings_print_and_keep_the_same(tmp_path, call):
    ends = []
    for spelling in ("task={}", "{}"):
        folder = tmp_path / "out"
        shutil.rmtree(folder, ignore_errors=True)
        words = arguments(folder, **{"grid.m": "[2]", "grid.epsilon": "[1]"})
        printed = [call(spelling.format(task), *words) for task in ("show", "run", "verify")]
        assert [code for code, *_ in printed] == [0, 0, 0]
        texts = [re.sub(r"[0-9.,]+ (ms|s|MB|kB|GB)", "", out) for _, out, _ in printed]
        (page,) = folder.rglob("report.html")
        commands = re.findall("pipeline [^<]*", page.read_text())
        assert any("experiment=" in command for command in commands)
        ends.append([texts, page.parent.name, commands])
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    "typed, says",
    [
        ("verify task=plan", "task=plan: is given twice"),
        ("verfy", "cannot be read"),
        ("plan xu/lemmas", "write experiment=xu/lemmas"),
        ("plan unit=c0-0", "goes with task=replay only, not task=plan"),
        ("status studies=a", "goes with task=compare or remove only"),
        ("skill --json", "task=advise, task=audit, not by task=skill"),
        ("release --json", "is answered by task=run, task=submit, task=plan, task="),
        ("replay a b", "cannot be read"),
        ("task=verify unit=c0-0", "goes with task=replay only, not task=verify"),
    ],
)
def test_mistakes_are_one_line(typed, says, call):
    code, out, err = call(*typed.split())
    assert code == 2 and out == "" and err.count("\n") == 1
    assert err.startswith("error: ") and says in err


@pytest.mark.parametrize("task", TASKS)
def test_every_task_says_what_it_takes(task, call):
    code, text, err = call(task, "--help")
    assert code == 0 and err == "" and text.startswith(f"pipeline {task}: ")
    assert text == call("--help", f"task={task}")[1] == call("help", task)[1]
    for setting in TASKS[task].alone:
        # A setting with settings of its own is shown by these.
        is_shown = any(f"\n  {setting}{end}" in text for end in (" ", "."))
        assert is_shown and setting in fields(Settings)
    assert f"  {task} " in call("--help")[1]


def test_every_task_is_performed_by_one_function():
    """A task that is declared and performed nowhere would be a KeyError for whoever calls it."""
    performed = [*WITHOUT_CONFIG, *WITHOUT_STORED_STUDIES, *ON_STORED_STUDIES]
    assert sorted(performed) == sorted(TASKS)


def test_json_is_the_same_in_both_spellings(tmp_path, call):
    words = arguments(tmp_path)
    answers = [call(task, "--json", *words) for task in ("status", "task=status")]
    assert answers[0][:2] == answers[1][:2] and json.loads(answers[0][1])


def test_plan_list_verify_and_compare_answer_in_json(tmp_path, call):
    """Each says what it prints for a person; a person's lines are not beside it."""
    words = arguments(tmp_path)
    code, out, _ = call("plan", "--json", *words)
    (planned,) = json.loads(out)["studies"]
    assert code == 0 and planned["done"] == 0 and planned["to_do"] == planned["units"] > 0
    assert planned["cells"] == math.prod(planned["axes"].values())
    assert planned["seconds"] * planned["workers"] == pytest.approx(planned["seconds_of_work"])
    assert call("run", *words)[0] == 0
    (planned,) = json.loads(call("plan", "--json", *words)[1])["studies"]
    assert planned["done"] == planned["units"] and planned["to_do"] == 0
    code, out, _ = call("list", "--json", f"outputs={tmp_path}")
    listed = json.loads(out)
    (study,) = listed["studies"]
    assert code == listed["exit_code"] == 0 and study["state"] == "sealed"
    code, out, _ = call("verify", "--json", *words)
    (verified,) = json.loads(out)["studies"]
    assert code == 0 and verified["sound"] and verified["damaged"] == []
    assert call("run", *arguments(tmp_path, seed="7"))[0] == 0
    listed = json.loads(call("list", "--json", f"outputs={tmp_path}")[1])
    names = [study["name"] for study in listed["studies"]]
    both = f"studies={','.join(names)}"
    difference = json.loads(call("compare", "--json", both, f"outputs={tmp_path}")[1])
    documented_json.check("compare", difference)
    assert [difference["first"], difference["second"]] == names and difference["cells"] == 4
    assert all(len(metric["cells"]) == metric["known"] for metric in difference["metrics"])
    folder = Path(planned["storage"])
    chunks = [path for path in folder.rglob("results.zarr/*/c/**/*") if path.is_file()]
    chunks[0].write_bytes(b"")
    code, out, _ = call("verify", "--json", *words)
    answer = json.loads(out)
    assert code == answer["exit_code"] == 1 and len(answer["studies"][0]["damaged"]) == 1


@pytest.mark.parametrize(
    "word, meant",
    [
        ("staus", "did you mean task=status?"),
        ("xu/lemma", "did you mean experiment=xu/lemmas?"),
        ("demmo", "did you mean suite=demo?"),
        ("foo", "write key=value"),
    ],
)
def test_a_word_that_is_nearly_a_name_is_told_which(word, meant, capsys):
    assert main([word, "size=quick"]) == 2
    assert meant in capsys.readouterr().err
