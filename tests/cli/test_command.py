"""The command as a user has it: help, completion, the whole way from plan to report, and the wheel."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement

from pipeline.__main__ import main
from pipeline.study.parameters import fields
from pipeline.workflow.config_files import options as names_of
from pipeline.workflow.settings import Settings
from pipeline.workflow.tasks import TASKS
from tests.helpers.commands_counted import command_in_a_fork
from tests.helpers.engine import ROOT, arguments, command, environment


@pytest.mark.parametrize("flag", ["--help", "-h", "help"])
def test_help_names_tasks_experiments_and_fields(flag, tmp_path):
    is_first = flag == "--help"
    done = command([flag], cwd=tmp_path) if is_first else command_in_a_fork([flag], tmp_path)
    assert done.returncode == 0 and done.stderr == "" and not list(tmp_path.iterdir())
    for name in (
        *TASKS,
        *names_of("experiment"),
        *names_of("cluster"),
        *fields(Settings),
        "seed",
        "replications",
        "block",
        "grid.AXIS",
    ):
        assert name in done.stdout, name
    assert max(map(len, done.stdout.splitlines())) < 180


def complete(line, **changes):
    """What Hydra's hook for bash asks of the installed script after TAB."""
    script = shutil.which("pipeline", path=os.path.dirname(sys.executable))
    done = subprocess.run(
        [script, "--shell-completion", "query=bash"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(COMP_LINE=line, COMP_POINT=str(len(line)), COMP_WORDBREAKS="", **changes),
    )
    assert "Traceback" not in done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "line, expected",
    [
        (
            "pipeline experiment=xu/",
            {"experiment=xu/lemmas", "experiment=xu/scenario_2", "experiment=xu/phase_transition"},
        ),
        ("pipeline experiment=xu/l", {"experiment=xu/lemmas"}),
        ("pipeline task=ver", {"task=verify"}),
        ("pipeline ver", {"verify"}),
        ("pipeline verify rep", {"repair=", "replications="}),
        ("pipeline task=plan exp", {"experiment="}),
    ],
)
def test_shell_completion(line, expected, tmp_path):
    words = ["--shell-completion", "query=bash"]
    done = command_in_a_fork(words, tmp_path, {"COMP_LINE": line, "COMP_POINT": str(len(line))})
    assert done.returncode == 0 and done.stderr == ""
    found = done.stdout.split()
    assert expected <= set(found) and all(word.startswith(line.split()[-1]) for word in found)


def test_the_installed_script_completes():
    assert complete("pipeline task=ver") == ["task=verify"]


@pytest.fixture
def call(capsys):
    """The command in this process: quicker where processes are not the subject."""

    def perform(words):
        capsys.readouterr()
        code = main(words)
        return code, *capsys.readouterr()

    return perform


def test_from_plan_to_report_and_again(tmp_path, call):
    words = arguments(tmp_path / "out", cluster="local")
    code, out, _ = call([*words, "task=plan"])
    assert code == 0 and "cells         4 = m[2] × L[1] × epsilon[2]" in out
    assert "units         8 = cells × 2 blocks of 20" in out and "to do 8" in out
    assert not (tmp_path / "out").exists()  # a plan leaves nothing
    code, out, _ = call([*words, "task=status"])
    assert code == 75 and "not begun" in out
    code, _, err = call([*words, "task=report"])
    assert code == 2 and "is not begun; run it first" in err and err.count("\n") == 1
    done = command([*words, "cluster.workers=2"])
    assert done.returncode == 0, done.stderr
    assert "8 units to do, 0 done before" in done.stdout
    assert "2 worker processes, scheduler at tls://127." in done.stdout
    assert "dashboard at http://127.0.0.1:" in done.stdout and "8 of 8 units in" in done.stderr
    (report,) = (tmp_path / "out").rglob("report.html")
    assert f"report: {report}" in done.stdout
    code, out, _ = call([*words, "task=status"])
    assert code == 0 and "8 of 8 units done (100.0 %), 4 cells × 2 blocks" in out
    assert "; sealed" in out and "0 failed units" in out and "finished, 8 of 8 units" in out
    code, out, _ = call([*words, "task=verify"])
    assert code == 0 and "8 units checked, 0 damaged" in out
    report.unlink()
    code, out, _ = call([*words, "task=report"])
    assert code == 0 and report.read_text().rstrip().endswith("</html>")
    stamp = report.stat().st_mtime_ns
    done = command(words)
    assert done.returncode == 0 and "nothing to do: all 8 units were done before" in done.stdout
    assert report.stat().st_mtime_ns == stamp and done.stderr == ""
    # A larger grid does what is new, and the report follows.
    code, out, _ = call([*words, "grid.m=[3,4,5]", "cluster=synchronous"])
    assert code == 0 and "4 units to do, 8 done before" in out and report.stat().st_mtime_ns > stamp


def test_plan_tells_what_a_mechanism_remarks(tmp_path, call):
    code, out, _ = call(
        ["experiment=nguyen/shuffling", "size=quick", "task=plan", f"outputs={tmp_path}"]
    )
    assert (
        code == 0
        and "remark        randomized_response: amplification by shuffling does not apply" in out
    )
    assert "remark" not in call([*arguments(tmp_path), "task=plan"])[1]


def test_a_report_older_than_its_results_is_written_again(tmp_path, call):
    """A run that is killed after sealing leaves the page of the grid before."""
    words = arguments(tmp_path)
    assert call(words)[0] == 0
    (report,) = tmp_path.rglob("report.html")
    os.utime(report, (1, 1))
    os.utime(report.parent / "results.zarr/zarr.json", (2, 2))
    code, out, _ = call(words)
    assert (
        code == 0
        and "nothing to do" in out
        and "report written" in out
        and report.stat().st_mtime > 1
    )


def test_stop_after_exits_with_more_to_do(tmp_path, call):
    words = arguments(tmp_path, replications="2000000", block="100")
    code, out, _ = call([*words, "stop_after=4"])  # a slow machine tries the parts first
    assert code == 75 and "units to do, the rest is kept; the same command goes on" in out
    code, out, _ = call([*words, "task=status"])
    assert code == 75 and "session " in out and ": stopped, " in out


def test_a_reader_that_goes_away_is_no_crash():
    done = subprocess.run(
        f"{sys.executable} -m pipeline --help | head -1",
        shell=True,
        cwd=ROOT,
        text=True,
        env=environment(),
        capture_output=True,
    )
    assert "Traceback" not in done.stderr


def packages_that_building_declares(folder):
    """A folder with links to what pyproject.toml says that building needs, and what that needs.

    As `pip install .` has it, which builds in an environment that has nothing else.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    waiting = [Requirement(text) for text in project["build-system"]["requires"]]
    names = set()
    while waiting:
        requirement = waiting.pop()
        if requirement.name in names:
            continue
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        names.add(requirement.name)
        package = distribution(requirement.name)
        waiting += [Requirement(text) for text in package.requires or ()]
        for name in {path.parts[0] for path in package.files or ()} - {".."}:
            if not (folder / name).exists():
                (folder / name).symlink_to(package.locate_file(name))
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    site = packages_that_building_declares(tmp_path_factory.mktemp("packages"))
    script = f"import sys; sys.path.append({str(site)!r}); from hatchling.cli import hatchling; hatchling()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


BUILD_HOOK = ROOT / "tools/hatch_build.py"  # of no use once a wheel is built


def test_the_wheel_carries_configs_and_templates(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    for path in [
        *(ROOT / "conf").rglob("*.yaml"),
        *(p for p in (ROOT / "pipeline").rglob("*") if p.is_file()),
    ]:
        if "__pycache__" not in path.parts and path != BUILD_HOOK:
            name = str(path.relative_to(ROOT))
            assert (f"pipeline/{name}" if path.is_relative_to(ROOT / "conf") else name) in inside
    assert not any(name.startswith(("tests", "outputs", "benchmarks", "conf/")) for name in inside)
    assert str(BUILD_HOOK.relative_to(ROOT)) not in inside


def test_the_wheel_works_from_any_folder(wheel, tmp_path):
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(site),
            str(wheel),
        ],
        check=True,
        capture_output=True,
    )
    options = dict(
        cwd=elsewhere, env=environment(PYTHONPATH=str(site)), capture_output=True, text=True
    )
    script = "import pipeline, pipeline.__main__ as m; print(pipeline.__file__); m.main(['task=plan', 'size=quick'])"
    done = subprocess.run([sys.executable, "-c", script], **options)
    assert done.returncode == 0 and "xu/phase_transition" in done.stdout, done.stderr
    assert done.stdout.splitlines()[0] == str(site / "pipeline/__init__.py")
    words = arguments("out", cluster="local", **{"cluster.workers": "1"})
    done = subprocess.run([sys.executable, "-m", "pipeline", *words], **options)
    assert done.returncode == 0, done.stderr
    assert len(list(elsewhere.glob("out/xu/*/report.html"))) == 1


def test_another_title_or_figure_asks_for_another_report(tmp_path, call):
    words = arguments(tmp_path)
    assert call(words)[0] == 0
    (page,) = tmp_path.rglob("report.html")
    code, out, _ = call([*words, "title=Another heading"])
    assert (
        code == 0
        and "nothing to do" in out
        and "report written" in out
        and "Another heading" in page.read_text()
    )
    assert "report written" not in call([*words, "title=Another heading"])[1]


@pytest.mark.parametrize("task", ["help", "task=plan"])
@pytest.mark.parametrize("where", ["ascii", "no stdin", "no stdout", "no stderr"])
def test_any_terminal_or_none(task, where, tmp_path):
    closed = {"no stdin": "<&-", "no stdout": ">&-", "no stderr": "2>&-"}.get(where, "")
    words = (
        " ".join([task, *(arguments(tmp_path) if task != "help" else ())])
        .replace("[", "'[")
        .replace("]", "]'")
    )
    changes = dict(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") if where == "ascii" else {}
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m pipeline {words} {closed}"],
        cwd=ROOT,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0 and done.stderr == ""
    assert "cells" in done.stdout or where == "no stdout"


@pytest.mark.parametrize(
    "words",
    [
        ["problem=[a]"],
        ["problem={a: 1}"],
        ["parameters.mechanism=[]"],
        ["parameters.mechanism={}"],
        ["parameters.mechanism=[[a]]"],
        ["parameters.model=null"],
        ["grid.mechanism=[[a]]"],
        ["metrics=[[a]]"],
        ["grid.m=[{a: 1}]"],
        ["derive.epsilon=[]"],
        ["coordinates=[1]"],
        ["paired=[[]]"],
        ["seed=1e400"],
    ],
)
def test_a_list_or_mapping_in_place_of_a_name_is_one_line(words, call, tmp_path):
    code, _, error = call([*arguments(tmp_path), *words, "task=plan"])
    assert code == 2 and error.startswith("error: ") and error.count("\n") == 1, error
