"""docs/extending.md, word for word, where nothing but the wheel and its dependencies is installed."""

import json
import re
import shlex
import subprocess
import sys
import sysconfig

import pytest

from tests.helpers.engine import ROOT
from tests.laws.test_no_privilege import build_and_install

TEXT = (ROOT / "docs/extending.md").read_text()
PARTS, CONFIG = (re.search(rf"```{kind}\n(.*?)```", TEXT, re.S)[1] for kind in ("python", "yaml"))
COMMANDS = re.search(r"```\n(pipeline.*?)```", TEXT, re.S)[1].splitlines()


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter that has the wheel, and the dependencies, but not this checkout."""
    where = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", where], check=True)
    (site,) = where.glob("lib/python*/site-packages")
    build_and_install(ROOT, site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return where / "bin/python"


def run(python, words, where):
    return subprocess.run(
        [python, "-m", "pipeline", *words],
        cwd=where,
        capture_output=True,
        text=True,
        timeout=900,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(where)},
    )


@pytest.fixture(scope="module")
def ran(python, tmp_path_factory):
    """The folder of files as the document has them, and what its commands printed."""
    where = tmp_path_factory.mktemp("survey")
    (where / "parts.py").write_text(PARTS)
    (where / "survey.yaml").write_text(CONFIG)
    words = [shlex.split(command)[1:] for command in COMMANDS]
    return where, [run(python, [*one, "cluster.workers=1"], where) for one in words]


def test_it_is_short_and_the_checkout_is_not_seen(python, tmp_path):
    assert len(PARTS.splitlines()) <= 60 and len(COMMANDS) == 2
    where = subprocess.run(
        [python, "-c", "import pipeline; print(pipeline.__file__)"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=True,
        env={},
    ).stdout
    assert str(python.parent.parent) in where


def test_it_runs_as_printed(ran):
    where, (done, status) = ran
    assert done.returncode == 0 and "supported     survey.best" in done.stdout, done.stderr
    assert status.returncode == 0 and "8 of 8 units done" in status.stdout
    (folder,) = where.glob("outputs/survey-*")
    assert (folder / "parts.py").read_text() == PARTS
    attributes = json.loads((folder / "results.zarr/zarr.json").read_text())["attributes"]
    assert set(json.loads(attributes["own_files"])) == {"parts.py"}
    (writer,) = json.loads(attributes["writers"])
    assert {"mechanism discretised", "estimator borda", "metric best_found"} <= writer[
        "code"
    ].keys()


def test_the_report_says_how_to_repeat_it(python, ran):
    where, _ = ran
    (folder,) = where.glob("outputs/survey-*")
    page = (folder / "report.html").read_text()
    command = re.search(r"<pre>(pipeline[^<]*)</pre>", page)[1]
    assert command == "pipeline --with=parts.py experiment=report.yaml cluster.workers=1"
    again = run(python, shlex.split(command)[1:], folder)
    assert again.returncode == 0 and "supported     survey.best" in again.stdout, again.stderr
    (repeated,) = folder.glob("outputs/survey-*")
    for name in ("best_found", "error_l2", "status"):
        files = [
            sorted((path / "results.zarr" / name / "c").rglob("*")) for path in (folder, repeated)
        ]
        contents = [[file.read_bytes() for file in one if file.is_file()] for one in files]
        assert contents[0] == contents[1] and contents[0]


def test_another_definition_of_a_part_is_refused(python, ran):
    where, _ = ran
    changed = PARTS.replace("theta[:, second[pair]] -= lead", "theta[:, second[pair]] -= 2 * lead")
    assert changed != PARTS
    (where / "parts.py").write_text(changed)
    try:
        words = ["--with", "parts.py", "experiment=survey.yaml", "replications=600"]
        done = run(python, [*words, "cluster.workers=1"], where)
        assert (
            done.returncode == 2
            and "numbers come out differently" in done.stderr
            and "borda" in done.stderr
        )
        assert done.stderr.count("\n") == 1
    finally:
        (where / "parts.py").write_text(PARTS)


def test_without_the_file_the_part_is_unknown(python, ran):
    where, _ = ran
    done = run(python, ["experiment=survey.yaml", "task=plan"], where)
    assert done.returncode == 2 and "no such metric in problem=ranking" in done.stderr, done.stderr
