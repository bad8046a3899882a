"""A user without an entry in passwd, as containers start programs, can do what others can.

All runs in one process that has such a user: by a user namespace of the kernel where that is
allowed, so that workers have it, too, else by a `pwd` that knows nobody.
"""

import re
import subprocess
import sys

import pytest

from pipeline.execution.systems.commands import user
from pipeline.study.parameters import InvalidInput, path_of
from tests.helpers.engine import ROOT, arguments, environment

NUMBER = 54321
NAMESPACE = ["unshare", "--user", f"--map-user={NUMBER}", f"--map-group={NUMBER}"]
PROGRAM = """
import os, pwd, sys
if os.getuid() != 54321:
    def nobody(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")
    pwd.getpwuid = nobody
try:
    pwd.getpwuid(os.getuid())
except KeyError:
    print("nameless")
import pipeline as pl
from pipeline.__main__ import main
from pipeline.execution.systems.commands import user
print("user", user() == str(os.getuid()))
for words in eval(sys.argv[1]):
    print("code", main(words))
"""


def prefix():
    """What starts a program as that user; nothing where namespaces are not allowed."""
    try:
        done = subprocess.run([*NAMESPACE, "true"], capture_output=True)
    except FileNotFoundError:
        return []
    return NAMESPACE if done.returncode == 0 else []


def test_every_task_works(tmp_path):
    """Without a home folder; with one that only the environment names."""
    place = tmp_path / "outputs"
    run = arguments(
        place,
        **{"grid.m": "[3]", "grid.epsilon": "[1]", "cluster": "local", "cluster.workers": "1"},
    )
    tasks = [
        ["--help"],
        run,
        [*run, "task=report"],
        [*run, "task=status"],
        ["task=list", f"outputs={place}"],
    ]
    run_all(tasks)
    run_all([["--help"], run], HOME=str(tmp_path))


def run_all(tasks, **more):
    """Run the tasks as the nameless user, with `more` variables of the environment."""
    variables = {
        key: value
        for key, value in environment().items()
        if key not in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME")
    } | more
    words = [*prefix(), sys.executable, "-c", PROGRAM, repr(tasks)]
    done = subprocess.run(words, cwd=ROOT, env=variables, capture_output=True, text=True)
    told = done.stdout + done.stderr
    assert "Traceback" not in told and "nameless" in told and "user True" in told, told
    assert re.findall(r"^code (\d+)$", done.stdout, re.MULTILINE) == ["0"] * len(tasks), told


def test_a_name_is_taken_where_there_is_one(monkeypatch):
    monkeypatch.setenv("LOGNAME", "somebody")
    assert user() == "somebody"


def test_without_a_home_folder_the_whole_path_is_asked_for(monkeypatch):
    def unknown(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.expanduser", unknown)
    with pytest.raises(
        InvalidInput,
        match="cluster.folder=~/.pipeline: no home folder is known here; write the whole",
    ):
        path_of("~/.pipeline", "cluster.folder")
    with pytest.raises(InvalidInput, match="outputs=~ada/x: there is no such user"):
        path_of("~ada/x", "outputs")
