"""Law: a batch system is one class; nothing else of the program knows its name.

A fifth one, the class in docs/clusters.md, computes a study for real: its queue is three scripts.
"""

import ast
import os
import re
import subprocess
import sys
import time

import pytest

from pipeline.__main__ import main
from pipeline.execution.systems import registry
from pipeline.execution.systems.base import System
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import ROOT, arguments, command, contents, environment, without_report
from tests.laws.test_packages import install

SYSTEMS = registry.systems()
PATIENCE = 300  # seconds, on however busy a machine
TEXT = (ROOT / "docs/clusters.md").read_text()
(LAB,) = re.findall(r"```python\n# lab.py\n(.*?)```", TEXT, re.S)

SUBMIT = """#!/bin/bash
while [[ $1 == --* ]]; do export "${1#--}"="$2"; shift 2; done
export script=$1 number=$(($(cat FOLDER/count 2>/dev/null) + 1))
echo $number > FOLDER/count
touch FOLDER/queue/$number
[[ -n $tasks ]] && export tasks=$(seq -s ' ' 1 ${tasks#1-}) || export tasks=0
setsid bash -c '
    echo $$ > FOLDER/queue/$number
    while [[ -n $after && -e FOLDER/queue/$after ]]; do sleep .1; done
    for task in $tasks; do
        LAB_TASK=$task bash $script > $output/$number-$task.out 2>&1 &
    done
    wait
    rm FOLDER/queue/$number' > /dev/null 2>&1 < /dev/null &
echo "queued as $number, within $minutes minutes on $cores cores"
"""
JOBS = """#!/bin/bash
cd FOLDER/queue && for number in *; do [[ -e $number ]] && echo "$number R"; done; exit 0
"""
CANCEL = """#!/bin/bash
cd FOLDER/queue && for number; do [[ -s $number ]] && kill -- -$(cat $number) 2>/dev/null; rm -f $number; done
"""


def names_compared(tree, names):
    """Lines in which something is compared with, or looked up by, the name of a system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        else:
            continue
        texts = {inner.value for part in parts for inner in ast.walk(part) if is_text(inner)}
        if texts & names:
            yield node.lineno if hasattr(node, "lineno") else 0


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_name_of_a_system_decides_anything():
    for path in sorted((ROOT / "pipeline").rglob("*.py")):
        text = path.read_text()
        if any(f'"{name}"' in text for name in SYSTEMS):  # the others cannot compare with it
            lines = [*names_compared(ast.parse(text), set(SYSTEMS))]
            assert lines == [], f"{path}: lines {lines}"


@pytest.mark.parametrize(
    "code",
    [
        'if name == "slurm": pass',
        'x = name in ("pbs", "lsf")',
        'x = {"sge": 1}[name]',
        'x = known["lsf"]',
        'match name:\n    case "pbs": pass',
    ],
)
def test_a_comparison_is_found(code):
    """The negative control."""
    assert [*names_compared(ast.parse(code), set(SYSTEMS))]
    assert not [
        *names_compared(ast.parse(re.sub("slurm|pbs|lsf|sge", "other", code)), set(SYSTEMS))
    ]


@pytest.fixture
def lab(tmp_path):
    """A folder with lab.py, and the environment of a shell that has the lab's commands."""
    (tmp_path / "queue").mkdir()
    (tmp_path / "lab.py").write_text(LAB)
    for name, text in (("submit", SUBMIT), ("jobs", JOBS), ("cancel", CANCEL)):
        script = tmp_path / f"lab-{name}"
        script.write_text(text.replace("FOLDER", str(tmp_path)))
        script.chmod(0o755)
    pipeline = tmp_path / "pipeline"
    pipeline.write_text(f'#!/bin/sh\nexec {sys.executable} -m pipeline "$@"\n')
    pipeline.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    yield tmp_path, environment(PATH=path, PIPELINE=str(pipeline))
    subprocess.run([tmp_path / "lab-cancel", *os.listdir(tmp_path / "queue")], check=True)


def sealed(outputs):
    """Bytes of all numbers of the only study in a folder; `lab.py` is recorded beside them."""
    (folder,) = (outputs / "xu").iterdir()
    files = contents(folder / "results.zarr")
    return {name: content for name, content in files.items() if name != "zarr.json"}


def wait_for_queue(folder):
    ends = time.monotonic() + PATIENCE
    while any((folder / "queue").iterdir()):
        assert time.monotonic() < ends, [path.read_text() for path in folder.rglob("*.out")]
        time.sleep(0.2)


def test_a_fifth_system_computes_a_study(lab, monkeypatch):
    """As an array from the command, through Dask from Python: both give the laptop's bytes."""
    without_report(monkeypatch)
    folder, shell = lab
    assert len(LAB.strip().splitlines()) <= 20
    assert main(arguments(folder / "laptop")) == 0
    there = {"cluster": "lab", "cluster.folder": str(folder / "shared")}

    words = arguments(folder / "array", **there, task="submit", shards="2")
    done = command(["--with", "lab.py", *words], env=shell, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "array 1 of 2 shards simulates, job 2 reduces and reports" in done.stdout
    assert "cancel: lab-cancel 1 2\n" in done.stdout and "watch:  lab-jobs\n" in done.stdout
    state = command(["--with", "lab.py", *words[:-2], "task=status"], env=shell, cwd=folder)
    assert "jobs of lab: 2 running" in state.stdout, state
    wait_for_queue(folder)
    assert sealed(folder / "array") == sealed(folder / "laptop")
    assert len([*(folder / "shared/output").glob("1-[12].out")]) == 2

    program = (
        "import lab, pipeline as pl; pl.run('xu/lemmas', grid={'m': [3, 4], 'L': [20], 'epsilon': [.5, 1]}, "
        "replications=40, block=20, claims=False, figures=[], outputs='python', "
        "cluster={'kind': 'lab', 'jobs': 1, 'folder': 'shared'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=shell, cwd=folder, capture_output=True, text=True
    )
    assert "1 lab jobs of 1 workers" in done.stdout, done.stderr
    assert sealed(folder / "python") == sealed(folder / "laptop")
    wait_for_queue(folder)


CLASS = LAB.replace("@register\n", "")
BROKEN = {
    "import nowhere\n": "ModuleNotFoundError: No module named 'nowhere'",
    "class Lab: pass\n": "is no subclass of System",
    CLASS.replace('name = "lab"', 'name = "sge"'): "calls itself sge",
    CLASS.replace("def options", "def wishes"): "lacks options",
    CLASS.replace(
        'submits, cancels, listing = "lab-submit",', "cancels, listing ="
    ): "lacks submits",
}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on Python's path; systems are found anew."""
    monkeypatch.syspath_prepend(tmp_path)
    for known in ("_INSTALLED", "_REGISTERED", "_LEFT_OUT"):
        monkeypatch.setattr(registry, known, {})
    yield tmp_path
    sys.modules.pop("lab", None)


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_package_is_named_where_it_is_asked_for_and_stops_no_other(text, site):
    install(site, "mine", registry.SYSTEMS, "lab = lab:Lab", {"lab.py": text})
    assert registry.systems() == SYSTEMS
    with pytest.raises(InvalidInput, match="cluster=lab: package mine 1 is left out: ") as error:
        registry.system("lab")
    assert BROKEN[text] in str(error.value)
    assert registry.system("slurm") is SYSTEMS["slurm"]


def test_a_package_brings_a_system(site):
    install(site, "mine", registry.SYSTEMS, "lab = lab:Lab", {"lab.py": CLASS})
    assert registry.systems().keys() == {*SYSTEMS, "lab"} and registry.names().startswith(
        "lab or sge"
    )


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(
        InvalidInput, match="slurm: is pipeline.execution.systems.slurm.Slurm already"
    ):
        registry.register(type("Other", (SYSTEMS["slurm"],), {}))
    with pytest.raises(
        InvalidInput, match="Incomplete: lacks name, submits, cancels, listing, options"
    ):
        registry.register(type("Incomplete", (System,), {}))
