"""What the documents promise: programs run, commands are accepted, modules, files and experiments are there."""

import pkgutil
import re
import shlex

import pytest
from engine import ROOT

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.cli.config import read_cluster, read_experiments, read_settings

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = [pytest.param(text, id=f"{path.stem}-{number}") for path in DOCUMENTS if path.stem != "extending"
            for number, text in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.S))]

TEXTS = {path.stem: path.read_text().replace("\\\n", " ") for path in DOCUMENTS}
COMMANDS = [pytest.param(command, id=f"{name}-{number}") for name, text in TEXTS.items()
            for number, command in enumerate(re.findall(r"(?<!\$ )\bpipeline (\w[\w.]*=[^`\n#]*)", text))
            if not re.search("…|data.path|[.]yaml", command)]  # files of people's own are not here
MISTAKES = re.findall(r"\$ pipeline ([^\n]+)\n(error: [^\n]+)\n", "".join(TEXTS.values()))


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_accepted(command):
    mappings = compose(shlex.split(command))
    read_settings(mappings[0]), read_cluster(mappings[0]), read_experiments(mappings)


@pytest.mark.parametrize("command, error", MISTAKES)
def test_mistakes_are_answered_as_shown(command, error, capsys):
    assert main(shlex.split(command)) == 2 and capsys.readouterr().err == f"{error}\n"


def test_there_are_commands_and_mistakes_to_check():
    assert len(COMMANDS) > 15 and MISTAKES


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_run(program, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "document", "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_names_in_the_package_are_there(path):
    for name in re.findall(r"`(pipeline(?:\.\w+)+)`", path.read_text()):
        if name != "pipeline.problems":  # also the group of entry points
            assert pkgutil.resolve_name(name), name


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_files_that_are_named_are_there(path):
    text = path.read_text()
    named = re.findall(r"`((?:pipeline|tests|docs|jobs|conf|benchmarks)/[\w./-]+)`", text)
    named += re.findall(r"\]\((docs/[\w.]+)\)", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_experiments_that_are_named_are_there(path):
    named = re.findall(r"experiment=(\w+/\w+)", path.read_text())
    assert [name for name in named if not (ROOT / f"conf/experiment/{name}.yaml").exists()] == []
