"""Law: a broken package of somebody else stops nothing else, and packaged parts have no less than ours.

Packages are folders on Python's path with their metadata, as pip leaves them there.
"""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import pipeline as pl
from pipeline.__main__ import main
from pipeline.identity import packages, registry
from pipeline.problems import ranking
from pipeline.study import problem
from tests.helpers.engine import ROOT, command, environment, without_report
from tests.helpers.own_parts import CONFIG, PRELUDE

TEXT = (ROOT / "docs/extending.md").read_text()
(BESIDE,) = re.findall(r"```python\n# survey_parts/__init__.py\n(.*?)```", TEXT, re.S)
PROBLEM = "from pipeline.study.problem import Problem\nPROBLEM = Problem({!r}, 'Mine', __name__)\n"
REGISTER = "import pipeline as pl\npl.register('{}', {})\n"
PROBLEMS, PARTS = "pipeline.problems", "pipeline.parts"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on Python's path; what is installed is found anew."""
    where = tmp_path / "site"
    where.mkdir()
    monkeypatch.syspath_prepend(where)
    monkeypatch.chdir(tmp_path)
    packages.look_again()
    before = {*sys.modules}
    with registry.registered(alone=True):
        yield where
    packages.look_again()
    for name in {*sys.modules} - before:
        if str(where) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    problem.LEFT_OUT[:] = []


def install(site, name, group, entry, files):
    """Put a package, of that name and version 1, into a folder of packages."""
    info = site / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    content = entry if isinstance(entry, bytes) else f"[{group}]\n{entry}\n".encode()
    (info / "entry_points.txt").write_bytes(content)
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)


def test_metadata_of_packages_is_read_once_for_all_groups_and_again_after_an_install(
    site, monkeypatch
):
    """A start reads a file of every installed package, so it must not do so for each group."""
    readings = []
    before = packages.entry_points
    monkeypatch.setattr(packages, "entry_points", lambda: readings.append(1) or before())
    for group in (PROBLEMS, PARTS, "pipeline.systems", "pipeline.backends", PROBLEMS):
        assert "late" not in [entry.name for entry in packages.entries_of(group)]
    assert len(readings) == 1
    install(site, "late", PROBLEMS, "late = late:PROBLEM", {})
    assert "late" in [entry.name for entry in packages.entries_of(PROBLEMS)]
    assert len(readings) == 2


BROKEN = [  # group, entry point, its module, what is wrong
    (
        PROBLEMS,
        "fifth = mine:PROBLEM",
        "import nowhere\n",
        "ModuleNotFoundError: No module named 'nowhere'",
    ),
    (PROBLEMS, "fifth = mine:PROBLEM", "def f(:\n", "SyntaxError: invalid syntax"),
    (PROBLEMS, "fifth = mine:PROBLEM", "raise SystemExit(3)\n", "SystemExit: 3"),
    (PARTS, "fifth = mine", "raise BaseException('skipped')\n", "BaseException: skipped"),
    (PROBLEMS, "fifth = mine:PROBLEM", "1 / 0\n", "ZeroDivisionError: division by zero"),
    (
        PROBLEMS,
        "fifth = mine:PROBLEM",
        "",
        "AttributeError: module 'mine' has no attribute 'PROBLEM'",
    ),
    (PROBLEMS, "fifth = mine:PROBLEM", "PROBLEM = 5\n", "is not a Problem of that name"),
    (PROBLEMS, "fifth = mine:PROBLEM", PROBLEM.format("sixth"), "is not a Problem of that name"),
    (
        PROBLEMS,
        "fifth = mine:PROBLEM",
        PROBLEM.format("a b"),
        "Problem.name=a b: must be a name of letters",
    ),
    (PARTS, "fifth = mine", "import nowhere\n", "ModuleNotFoundError: No module named 'nowhere'"),
    (PARTS, "fifth = mine:add", "def add():\n    return {}['x']\n", "KeyError: 'x'"),
    (
        PARTS,
        "fifth = mine:add",
        "def add(name): ...\n",
        "TypeError: add() missing 1 required positional argument",
    ),
    (
        PARTS,
        "fifth = mine",
        REGISTER.format("fifth", "estimators={'mine': 'mine:Mine'}"),
        "problem=fifth: no such problem",
    ),
    (
        PARTS,
        "fifth = mine",
        REGISTER.format("ranking", "estimators={'mine': 5}"),
        "must be the estimator itself",
    ),
    (
        PARTS,
        "fifth = mine",
        REGISTER.format("ranking", "estimators={'mine': dict}"),
        "is no estimator: it lacks accepts",
    ),
    (
        PARTS,
        "fifth = mine",
        REGISTER.format("ranking", "estimators={'debiased': 'mine:Mine'}"),
        "is .estimators.moments:Debiased in problem=ranking already",
    ),
]


@pytest.mark.parametrize("group, entry, text, why", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_package_is_named_and_left_out(group, entry, text, why, site, capsys):
    install(site, "private-fifth", group, entry, {"mine.py": text})
    assert main(["--help", "problems"]) == 0
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert (
        line.startswith("warning: package private-fifth 1 is left out: its ")
        and group in line
        and why in line
    )
    assert line.endswith("repair it, or pip uninstall private-fifth")
    assert "problem=ranking" in printed.out and "fifth" not in printed.out
    if group == PROBLEMS:
        with pytest.raises(
            pl.InvalidInput, match="problem=fifth: package private-fifth 1 is left out"
        ):
            registry.problem("fifth")
    with pytest.raises(
        pl.InvalidInput,
        match="no such estimator in problem=ranking; .*left out: package private-fifth",
    ):
        registry.lookup("ranking", "estimator", "mine")


def test_what_a_package_prints_is_no_part_of_an_answer(site, capsys):
    install(site, "private-fifth", PARTS, "fifth = mine", {"mine.py": "print('loud')\n"})
    assert main(["--help", "problems"]) == 0
    printed = capsys.readouterr()
    assert "loud" not in printed.out and "loud" in printed.err


def test_all_tasks_go_on(site, capsys, monkeypatch):
    """With six broken packages of all kinds."""
    without_report(monkeypatch)
    for number, (group, entry, text, _) in enumerate(BROKEN[:4] + BROKEN[9:11]):
        files = {f"mine{number}.py": text}
        install(site, f"mine{number}", group, entry.replace("mine", f"mine{number}"), files)
    words = [
        "experiment=xu/lemmas",
        "size=quick",
        "grid.L=[20]",
        "replications=2000",
        "claims=false",
        "figures=[]",
        "cluster=synchronous",
        "outputs=out",
    ]
    for more in (
        ["--help"],
        ["task=list"],
        [*words, "task=plan"],
        words,
        [*words, "task=status"],
        [*words, "task=verify"],
        [*words, "task=report"],
        ["task=remove", "studies=xu/none", "outputs=out"],
    ):
        assert main(more) in (0, 2 if "task=remove" in more else 0), more
        lines = [
            line
            for line in capsys.readouterr().err.splitlines()
            if line.startswith("warning: package")
        ]
        assert len(lines) == 6, lines
    assert main(["experiment=fifth/mean"]) == 2
    assert (
        "experiment=fifth/mean: no such experiment" in (printed := capsys.readouterr().err)
        and "left out" in printed
    )


def test_metadata_that_are_no_text_hide_no_others(site):
    """Dask does not get over them, but a help page needs no Dask."""
    install(site, "mine", PROBLEMS, "fifth = mine:PROBLEM", {"mine.py": PROBLEM.format("fifth")})
    install(site, "bytes", PROBLEMS, b"\xff\xfe[", {})
    assert {"fifth", "ranking"} <= registry.problems().keys()


def test_a_name_that_two_packages_bring_is_refused_where_it_is_asked_for(site, capsys):
    install(
        site, "mine", PROBLEMS, "ranking = mine:PROBLEM", {"mine.py": PROBLEM.format("ranking")}
    )
    assert main(["--help", "mechanisms"]) == 0
    printed = capsys.readouterr()
    assert "problem=crowd" in printed.out and "problem=ranking" not in printed.out
    assert "warning: package mine 1 is left out" in printed.err and printed.err.count("\n") == 1
    assert main(["task=plan", "experiment=wang/privacy", "size=quick"]) == 0
    capsys.readouterr()
    assert main(["task=plan", "experiment=xu/lemmas"]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert re.search(
        "is brought by (pipeline.problems.ranking and by mine|mine and by pipeline.problems.ranking)",
        line,
    )


def test_experiments_of_one_name_and_broken_ones_stop_no_others(site, capsys):
    conf = "mine/conf/experiment"
    files = {
        "mine/__init__.py": PROBLEM.format("fifth"),
        f"{conf}/xu/lemmas.yaml": "title: x\n",
        f"{conf}/fifth/no.yaml": "title: [\n",
        f"{conf}/fifth/list.yaml": "- 1\n",
    }
    install(site, "mine", PROBLEMS, "fifth = mine:PROBLEM", files)
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert (
        "(cannot be read: " in printed
        and "(is no mapping)" in printed
        and "xu/scenario_2" in printed
    )
    assert main(["task=plan", "experiment=xu/scenario_2", "size=quick"]) == 0
    capsys.readouterr()
    assert main(["task=plan", "experiment=xu/lemmas"]) == 2
    assert "experiment=xu/lemmas: is both" in capsys.readouterr().err


def test_parts_as_in_the_document(site, capsys):
    """The files of docs/extending.md; what they name is imported when it is used, in workers as well."""
    (entry,) = re.findall(
        r'```toml\n\[project.entry-points."pipeline.parts"\]\n(.*?)\n```', TEXT, re.S
    )
    files = {
        "survey_parts/__init__.py": BESIDE,
        "survey_parts/estimators.py": PRELUDE
        + "@dataclass(frozen=True)\nclass Counted(pl.ranking.Debiased):\n"
        "    'Debiased, by another name.'\n    accepts: ClassVar[type] = pl.ranking.ReleasedWins\n",
        "survey_parts/claims.py": "CLAIMS = ()\n",
        "survey_parts/conf/experiment/survey/counted.yaml": "# @package _global_\nname: survey/counted\n"
        "problem: ranking\nseed: 1\nreplications: 20\nblock: 10\ngrid: {epsilon: [1]}\nmetrics: [error_l2]\n"
        "parameters: {model: btl, mechanism: laplace, estimator: counted, m: 4, L: 20}\n",
    }
    install(site, "survey-parts", PARTS, entry.replace('"', ""), files)
    assert main(["--help", "estimators"]) == 0
    printed = capsys.readouterr()
    assert "counted\n      Debiased, by another name." in printed.out and not printed.err
    assert not any(registry.registrations())  # workers have the package
    path = f"{site}:{environment()['PYTHONPATH']}"
    done = command(
        ["experiment=survey/counted", "cluster.workers=1", "outputs=out"],
        cwd=site.parent,
        env=environment(PYTHONPATH=path),
    )
    assert done.returncode == 0 and "2 of 2 units" in done.stderr, done.stderr


def test_an_estimator_taken_out_of_the_program_comes_back_as_a_package(site, monkeypatch):
    """The numbers are the same bytes, and so are the streams; without the package nobody knows it."""
    config = CONFIG | {"parameters": CONFIG["parameters"] | {"estimator": "rank_centrality"}}
    options = dict(cluster="synchronous", progress=False, figures=[], claims=False)
    ours = pl.run(config, outputs="ours", **options)
    others = {
        name: one for name, one in ranking.PROBLEM.estimators.items() if name != "rank_centrality"
    }
    monkeypatch.setattr(ranking, "PROBLEM", replace(ranking.PROBLEM, estimators=others))
    packages.look_again()
    with pytest.raises(pl.InvalidInput, match="no such estimator in problem=ranking"):
        pl.run(config, outputs="without", **options)

    source = (ROOT / "pipeline/problems/ranking/estimators/spectral.py").read_text()
    source = re.sub(r"from \.\.(?=\w)", "from pipeline.problems.ranking.", source)
    source = re.sub(r"from \.(?=\w)", "from pipeline.problems.ranking.estimators.", source)
    register = REGISTER.format(
        "ranking", "estimators={'rank_centrality': 'mine.spectral:RankCentrality'}"
    )
    install(
        site,
        "mine",
        PARTS,
        "mine = mine",
        {"mine/__init__.py": register, "mine/spectral.py": source},
    )
    packages.look_again()
    theirs = pl.run(config, outputs="theirs", **options)
    assert registry.lookup("ranking", "estimator", "rank_centrality").__module__ == "mine.spectral"
    assert theirs["error_l2"].values.tobytes() == ours["error_l2"].values.tobytes()
    assert np.isfinite(ours["error_l2"]).all()
    chunks = [
        sorted(
            path for path in site.parent.glob(f"{name}/*/results.zarr/*/c/**/*") if path.is_file()
        )
        for name in ("ours", "theirs")
    ]
    assert [path.read_bytes() for path in chunks[0]] == [
        path.read_bytes() for path in chunks[1]
    ] and chunks[0]


def test_workers_are_not_stopped_either(site):
    """A worker process finds the same packages."""
    install(site, "mine", PROBLEMS, "fifth = mine:PROBLEM", {"mine.py": "raise SystemExit\n"})
    path = f"{site}:{environment()['PYTHONPATH']}"
    program = (
        "from pipeline.identity.registry import problem, left_out; "
        "print(problem('ranking').name, len(left_out()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
    )
    assert done.stdout == "ranking 1\n", done.stderr
