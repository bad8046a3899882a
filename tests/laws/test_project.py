"""The project itself: one version, and what is imported is declared, and what is declared imported."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import pipeline
from tests.conftest import LONGEST
from tests.helpers.engine import ROOT

TOP_FOLDERS = {
    *(".ci", ".github", "benchmarks", "calibration", "conf", "docs", "jobs", "outputs", "paper"),
    *("pipeline", "tests", "tools"),
}
TOP_FILES = {
    *(".git-blame-ignore-revs", ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md"),
    *("CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "constraints.txt"),
    *("pyproject.toml", "SECURITY.md", "CODE_OF_CONDUCT.md"),
}
MADE = {".nc", ".parquet", ".pyc", ".so", ".whl", ".npz", ".npy"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_all_files_name_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert pipeline.__version__ == PROJECT["version"] == citation["version"]
    assert f"## {pipeline.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert (
        PROJECT["license"] == citation["license"]
        and PROJECT["license"] in (ROOT / "LICENSE").read_text()
    )


CONDA = {"dask": "dask-core", "matplotlib": "matplotlib-base"}  # without what we do not import


def test_the_recipe_of_conda_asks_for_what_the_project_asks_for():
    text = (ROOT / "tools/conda/meta.yaml").read_text("utf-8")
    recipe = yaml.safe_load(text.replace('{{ compiler("c") }}', "compiler"))
    asked = {"python >=3.11"}
    for requirement in PROJECT["dependencies"]:
        name = name_of(requirement)
        asked.add(f"{CONDA.get(name, name)} {requirement[len(name) :]}")
    assert {*recipe["requirements"]["run"]} == asked
    assert recipe["package"]["version"] == PROJECT["version"]
    assert PROJECT["requires-python"] == ">=3.11"


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_is_there_within_a_time_and_with_no_more_rights_than_it_needs(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    targets = re.findall(r"^([a-z][a-z ]*):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job or (ROOT / job["uses"]).is_file()
        for step in job.get("steps", ()):
            words = step.get("run", "").split()
            if words[:1] == ["make"]:
                assert words[1] in " ".join(targets).split()
            for word in re.findall(r"tests/\w+", step.get("run", "")):
                assert (ROOT / word).is_dir()


def test_every_release_of_python_that_is_named_is_tested():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    jobs = workflow["jobs"]
    tested = {*jobs["python"]["strategy"]["matrix"]["python"]}
    for job in jobs.values():
        for step in job["steps"]:
            tested.add(step.get("with", {}).get("python-version"))
    prefix = "Programming Language :: Python :: 3."
    named = {line.split(" :: ")[-1] for line in PROJECT["classifiers"] if line.startswith(prefix)}
    assert "3.11" in named and named <= tested


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


LINT = re.findall(r"\$\(BIN\)/deptry (.*)", (ROOT / "Makefile").read_text())


def wrong(words, project, folder):
    """Rules of deptry that are broken, and by which package, with a project file."""
    subprocess.run(
        [
            Path(sys.executable).parent / "deptry",
            *("--config", project, "--json-output", folder / "wrong.json"),
            *words,
        ],
        cwd=ROOT,
        capture_output=True,
    )
    reports = json.loads((folder / "wrong.json").read_text())
    return {(report["error"]["code"], report["module"]) for report in reports}


@pytest.mark.parametrize("words", LINT)
def test_what_is_imported_is_declared(words, tmp_path):
    assert wrong(words.split(), ROOT / "pyproject.toml", tmp_path) == set()


@pytest.mark.parametrize(
    "before, after, expected",
    [
        (r'"pandas>=[^"]*",', "", ("DEP003", "pandas")),  # comes with another package
        (r'"obstore>=[^"]*"', "", ("DEP003", "obstore")),  # of an extra
        ("s3 = .*", "", ("DEP004", "obstore")),  # for tests alone
        (r"\ndependencies = \[", r'\g<0>"joblib",', ("DEP002", "joblib")),  # nothing imports it
    ],
)
def test_what_is_not_declared_is_seen(before, after, expected, tmp_path):
    """The negative control."""
    text, count = re.subn(before, after, (ROOT / "pyproject.toml").read_text())
    (tmp_path / "pyproject.toml").write_text(re.sub(r"\[, ", "[", text.replace(", ,", ",")))
    assert count and wrong(["pipeline"], tmp_path / "pyproject.toml", tmp_path) == {expected}


def test_extras_are_asked_for_by_their_packages():
    """What the extra `test` repeats of the others has the same bounds."""
    extras = PROJECT["optional-dependencies"]
    asked = {name_of(one): one for one in extras["test"]}
    for extra in ("hpc", "s3", "parquet", "release", "boosted"):
        assert [asked.get(name_of(one)) for one in extras[extra]] == extras[extra]


def test_modules_that_are_begun_first_are_there():
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []


def names_of_the_program(text):
    """(module, name) of what a file imports from this program."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pipeline":
            for alias in node.names:
                yield node.module, alias.name


def is_there(module, name):
    """Whether a module of the program has a name, by its text."""
    path = ROOT / module.replace(".", "/")
    file = path.with_suffix(".py")
    if path.is_dir():
        if (path / name).is_dir() or (path / f"{name}.py").exists():
            return True
        file = path / "__init__.py"
    if not file.exists():
        return False
    ways = (rf"(def|class) {name}\b", rf"{name}\b.*=", rf".*import .*\b{name}\b", rf"    {name},$")
    return bool(re.search(f"^({'|'.join(ways)}|def __getattr__)", file.read_text(), re.M))


def test_what_no_test_runs_imports_what_is_there():
    """Benchmarks take minutes each, so a name that was renamed would not be missed."""
    files = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "calibration").glob("*.py")]
    for file in files:
        for module, name in names_of_the_program(file.read_text()):
            assert is_there(module, name), f"{file.name}: no {name} in {module}"
    assert not is_there("pipeline.execution.task", "Runner"), "this one was missed for a while"


def test_the_top_level_holds_what_it_should_and_nothing_that_was_made():
    """Git's own list, where this is a working copy of Git."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("no working copy of Git")
    paths = [Path(line) for line in listed.stdout.splitlines()]
    folders = {path.parts[0] for path in paths if len(path.parts) > 1}
    files = {path.name for path in paths if len(path.parts) == 1}
    assert folders <= TOP_FOLDERS, folders - TOP_FOLDERS
    assert files <= TOP_FILES, files - TOP_FILES
    made = [path for path in paths if path.suffix in MADE]
    assert not made
