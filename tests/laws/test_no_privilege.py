"""Law: what ships and what a person brings use one contract.

A problem taken out comes back as a wheel of its own.
"""

import shutil
import subprocess
import sys
import zipfile

import pytest

from pipeline.cli.compose import compose
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import config_files
from tests.helpers.engine import ROOT, command, contents, environment

WORDS = [
    "experiment=wang/privacy",
    "size=quick",
    "cluster=synchronous",
    "figures=[]",
    "replications=100",
    "block=50",
]
CROWD = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "private-crowds"
version = "1"
dependencies = ["private-learning-pipeline"]

[project.entry-points."pipeline.problems"]
crowd = "private_crowds:PROBLEM"
"""


def build_and_install(project, site):
    """Build the wheel of a project and unpack it into a folder of packages: all that installing one
    of Python alone is.
    """
    words = ["hatchling", "build", "-t", "wheel", "-d", str(site)]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = site.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """Two folders of packages: the program without the problem `crowd`, and that problem as a
    package of its own.
    """
    program, crowds = (
        tmp_path_factory.mktemp("program"),
        tmp_path_factory.mktemp("projects") / "crowds",
    )
    unwanted = shutil.ignore_patterns("__pycache__", "crowd", "wang", "wang.yaml")
    for name in ("pipeline", "tools", "conf", "jobs", "docs"):
        shutil.copytree(ROOT / name, program / name, ignore=unwanted)
    project = (ROOT / "pyproject.toml").read_text()
    entry = 'crowd = "pipeline.problems.crowd:PROBLEM"\n'
    assert entry in project
    (program / "pyproject.toml").write_text(project.replace(entry, ""))
    shutil.copy(ROOT / "README.md", program)

    package = crowds / "private_crowds"
    shutil.copytree(
        ROOT / "pipeline/problems/crowd", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "conf/experiment/wang", package / "conf/experiment/wang")
    (package / "conf/suite").mkdir()
    shutil.copy(ROOT / "conf/suite/wang.yaml", package / "conf/suite")
    (crowds / "pyproject.toml").write_text(CROWD)

    folders = (
        tmp_path_factory.mktemp("site program"),
        tmp_path_factory.mktemp("site crowds"),
    )  # with a blank
    for project, site in zip((program, crowds), folders, strict=True):
        build_and_install(project, site)
    return folders


def installed(words, sites, where):
    """The command where these folders of packages come before all others, far from this checkout."""
    path = ":".join(map(str, sites))
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *words],
        cwd=where,
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=900,
    )


def test_without_the_problem_nobody_knows_it(sites, tmp_path):
    """The negative control: the program alone really is without it."""
    done = installed(["--help"], sites[:1], tmp_path)
    assert done.returncode == 0 and "xu/lemmas" in done.stdout and "wang" not in done.stdout, (
        done.stderr
    )
    done = installed(WORDS, sites[:1], tmp_path)
    assert done.returncode == 2 and "experiment=wang/privacy: no such experiment" in done.stderr
    done = installed(["problem=crowd"], sites[:1], tmp_path)
    assert done.returncode == 2 and "problem=crowd: no such problem" in done.stderr


def test_a_problem_in_a_wheel_of_its_own_gives_the_same_bytes(sites, tmp_path):
    done = installed([*WORDS, "outputs=out"], sites, tmp_path)
    assert done.returncode == 0, done.stderr
    ours = command([*WORDS, f"outputs={tmp_path / 'checkout'}"])
    assert ours.returncode == 0, ours.stderr
    (theirs,), (ours,) = (
        tmp_path.glob(f"{name}/wang/*/results.zarr") for name in ("out", "checkout")
    )
    assert contents(theirs) == contents(ours) and contents(ours)
    assert "supported     wang.equation_22" in done.stdout  # its claims are judged


def test_its_experiments_are_offered_like_any_other(sites, tmp_path):
    assert "wang/privacy" in installed(["--help"], sites, tmp_path).stdout
    done = installed(["suite=wang", "size=quick", "task=status"], sites, tmp_path)
    assert done.returncode == 75 and "wang/real" in done.stdout, done.stderr
    path = ":".join(map(str, sites))
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "--shell-completion", "query=bash"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=path, COMP_LINE="pipeline experiment=wang/pr", COMP_POINT="27"),
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["experiment=wang/privacy", "experiment=wang/projection"], (
        done.stderr
    )


def test_an_experiment_that_two_packages_bring_is_refused(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "conf/experiment/xu", tmp_path / "experiment/xu")
    monkeypatch.setattr(config_files, "folders", lambda: [config_files.folder(), tmp_path])
    with pytest.raises(InvalidInput, match="experiment=xu/.*: is both .* and .*; must be only one"):
        compose(["experiment=xu/lemmas"])
