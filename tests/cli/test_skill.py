"""The page for assistants: short, and every command in it runs as it stands."""

import json
import re
import shlex

import pytest

from pipeline.__main__ import main
from pipeline.cli.skill import page
from pipeline.workflow.tasks import TASKS
from tests.helpers import documented_json

BLOCKS = re.findall(r"^```\n(.*?)^```$", page(), re.M | re.S)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("skill")


def test_it_is_short(capsys):
    assert main(["skill"]) == 0
    assert capsys.readouterr().out == page()
    assert len(page().splitlines()) <= 300 and len(COMMANDS) > 15


def test_it_is_written(tmp_path, capsys):
    assert main(["skill", f"save={tmp_path / 'SKILL.md'}"]) == 0
    assert (tmp_path / "SKILL.md").read_text() == page()
    assert main(["skill", f"save={tmp_path / 'SKILL.txt'}"]) == 2
    assert "error: save=" in capsys.readouterr().err


def _task(words):
    """The task of a command, as the page on answers in JSON has it."""
    if words[0] not in TASKS:
        return "run"
    return "compare against=…" if words[1].startswith("against=") else words[0]


def test_every_command_runs(folder, monkeypatch, capsys):
    """One after the other, in one folder, as the page says."""
    monkeypatch.chdir(folder)
    for command in COMMANDS:
        program, *words = shlex.split(command)
        assert program == "pipeline"
        code = main(words)
        captured = capsys.readouterr()
        assert code == 0 and captured.out, f"{command}: {captured.err}"
        if "--json" in words:
            documented_json.check(_task(words), json.loads(captured.out))
    index = (folder / "site/index.html").read_text()
    assert index.count("<li data-words=") == 1 and "src=" not in index.replace("-src", "")
    assert (folder / "site/study/study.zip").read_bytes() == (folder / "study.zip").read_bytes()
    assert (folder / "site/study/report.html").exists()
    # A folder with files of somebody else is left alone.
    assert main(["shelf", "study.zip", "save=."]) == 2
    assert main(["shelf", "protocol.md", "save=site"]) == 2
