"""Papers that the engine has never heard of, through all of it: no engine file is touched.

One is defined here, with parts that fail on purpose; the other is a whole paper, docs/examples/frequency, installed as
a wheel.
"""

import dataclasses
import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.summary import paired_difference, summarise
from pipeline.cli import tasks
from pipeline.execution.clusters import Local, Synchronous
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import failures
from pipeline.identity import registry
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput
from pipeline.workflow.config import read_experiment
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.settings import Settings
from tests.helpers import toy_paper
from tests.helpers.checks import mean_agrees
from tests.helpers.engine import ROOT, contents, environment, without_report
from tests.laws.test_no_privilege import build_and_install


@pytest.fixture(scope="module", autouse=True)
def registered():
    with registry.registered(toy_paper.PROBLEM):
        yield


def perform(where, cluster, task="run", **changes):
    config = toy_paper.CONFIG | changes
    experiment = read_experiment(config)
    settings = Settings(task=task, outputs=str(where))
    code = tasks.perform(
        settings, cluster, [experiment], [config], Invocation(("experiment=toy/mean",))
    )
    return code, experiment.folder(settings)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    code, folder = perform(tmp_path_factory.mktemp("toy"), Local(workers=2))
    assert code == 0
    return folder


def cells(study):
    return [(labels, toy_paper.risk(**labels)) for labels in study.grid]


def test_numbers_are_those_of_the_closed_form(ran):
    results = xr.open_zarr(ran / "results.zarr").load()
    assert (results["status"] == 1).all() and results["epsilon"].sel(share=8.0).item() == 3**0.5
    assert results["error_squared"].attrs == {
        "long_name": "squared error of the mean",
        "units": "1",
        "least": 0.0,
    }
    for labels, risk in cells(read_experiment(toy_paper.CONFIG).study):
        sample = results["error_squared"].sel(labels).values
        assert sample.size == 4000 and mean_agrees(sample, risk, str(labels))
        assert not mean_agrees(sample, 1.3 * risk, f"negative control {labels}")


def test_summary_and_pairs(ran):
    results = xr.open_zarr(ran / "results.zarr").load()
    summary = summarise(results)
    assert (summary["n_ok"] == 4000).all() and set(summary["error_squared"].dims) == {
        "n",
        "share",
        "estimator",
    }
    # Estimators share their release: half of each error is common, so the difference is less variable.
    paired = paired_difference(results, "error_squared", "estimator", "half", "mean")
    alone = np.hypot(*(summary["error_squared_mcse"].sel(estimator=e) for e in ("half", "mean")))
    assert (paired["mcse"] < 0.95 * alone).all() and (paired["pairs"] == 4000).all()


def test_the_claim_is_judged(ran):
    from pipeline.analysis.claims import judge

    (claim,) = toy_paper.PROBLEM.load(toy_paper.PROBLEM.claims)
    verdict = judge(claim, xr.open_zarr(ran / "results.zarr").load())
    assert verdict.check.verdict == "supported" and verdict.control.verdict == "contradicted"


def test_the_report_shows_it(ran, capsys):
    code, folder = perform(ran.parent.parent, Synchronous(), "report")
    assert code == 0 and folder == ran and "supported     toy.risk: 1.0" in capsys.readouterr().out
    page = (ran / "report.html").read_text()
    assert all(word in page for word in ("The private mean", "toy.risk", "pure ε-LDP per answer"))


def test_workers_did_it_and_any_scheduler_does_the_same(ran, tmp_path, monkeypatch):
    (session,) = [json.loads(p.read_text()) for p in (ran / "sessions").glob("*.json")]
    assert session["workers"] == 2 and session["units"] == 8 * 8 and session["state"] == "finished"
    without_report(monkeypatch)
    _, folder = perform(tmp_path, Synchronous())
    assert contents(folder / "results.zarr") == contents(ran / "results.zarr")


def test_a_process_that_never_heard_of_it_can_work(tmp_path):
    """What a worker gets tells it the names; nothing else has to."""
    study = read_experiment(toy_paper.CONFIG).study
    store = Store(study, tmp_path)
    store.begin()
    (tmp_path / "work").write_bytes(pickle.dumps(Runner(store)))
    script = (
        "import pickle, sys; from pipeline.identity.registry import problems; assert 'toy' not in problems();"
        "from pipeline.execution.runner import Unit; work = pickle.load(open(sys.argv[1], 'rb'));"
        "print(work([Unit(2, 1), Unit(3, 1)]), 'toy' in problems())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "work")],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[0] == "[False, False] True" and store.listing().done.sum() == 2


def test_its_failures_in_workers_are_kept_and_told(tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    grid = {"n": [10], "share": [1.0, 8.0], "estimator": ["mean", "raises"]}
    code, folder = perform(tmp_path, Local(workers=2), grid=grid)
    assert code == 1 and "16 failed units" in capsys.readouterr().out
    store = Store(read_experiment(toy_paper.CONFIG | {"grid": grid}).study, folder)
    texts = [store.read(*unit, failed=True).error for unit in failures(store.listing())]
    assert len(texts) == 16 and all(
        "toy_paper.py" in t and t.endswith("ZeroDivisionError: planted\n") for t in texts
    )
    summary = summarise(xr.open_zarr(folder / "results.zarr").load())
    assert (summary["n_failed"] == [0, 4000]).all() and (summary["n_ok"] == [4000, 0]).all()
    # What does not fit into memory fails in the same way.
    grid |= {"n": [10, 40], "estimator": ["mean", "exhausted"]}
    code, folder = perform(tmp_path, Local(workers=2), grid=grid)
    assert (
        code == 1 and "MemoryError: planted, also in slices of 16.00 MiB" in capsys.readouterr().out
    )
    study = read_experiment(toy_paper.CONFIG | {"grid": grid}).study
    listing = Store(study, folder).listing()
    fits = np.array([labels["n"] == 10 or labels["estimator"] == "mean" for labels in study.grid])
    assert listing.done.all() and listing.failed[~fits].all() and not listing.failed[fits].any()


def test_its_mistakes_are_reported_like_any_other():
    config = toy_paper.CONFIG | {"parameters": {"model": "answer", "mechanism": "laplace"}}
    with pytest.raises(
        InvalidInput, match="parameters.model=answer: no such model in problem=toy; did you mean"
    ):
        read_experiment(config)
    mixed = dataclasses.replace(
        toy_paper.PROBLEM, models={"btl": "pipeline.problems.ranking.model:BTL"}
    )
    config = toy_paper.CONFIG | {
        "parameters": {"model": "btl", "mechanism": "laplace", "m": 3, "L": 5}
    }
    needs = pytest.raises(InvalidInput, match="needs Matrix, but is given Comparisons")
    with registry.registered(mixed), needs:
        read_experiment(config | {"grid": {"share": [1.0], "estimator": ["mean"]}})


EXAMPLE = ROOT / "docs/examples/frequency"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Environment of an interpreter that has the wheel of docs/examples/frequency; its source is elsewhere."""
    project, site = (
        tmp_path_factory.mktemp("project") / "frequency",
        tmp_path_factory.mktemp("site"),
    )
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    build_and_install(project, site)
    return environment(PYTHONPATH=os.pathsep.join([str(site), str(ROOT)]))


def test_a_whole_paper_runs_as_its_page_says(installed, tmp_path):
    """From elsewhere: the first command of the page simulates, judges and draws. Its own tests are beside it."""
    command = re.search(r"^pipeline (experiment=.*)$", (EXAMPLE / "README.md").read_text(), re.M)[1]
    words = [*shlex.split(command), "cluster=synchronous"]
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *words],
        cwd=tmp_path,
        env=installed,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0 and "supported     frequency.privacy" in done.stdout, done.stderr
    (folder,) = tmp_path.glob("outputs/frequency/*")
    page = (folder / "report.html").read_text()
    assert all(word in page for word in ("What one report tells", "pure ε-LDP per person"))
    assert len(list((folder / "figures").glob("*.narrow.svg"))) == 1
    (writer,) = json.loads(
        json.loads((folder / "results.zarr/zarr.json").read_text())["attributes"]["writers"]
    )
    assert {"mechanism subset_selection", "metric support_held"} <= writer["code"].keys()
