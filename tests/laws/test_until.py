"""Law: where the cells of a study end whose claims are decided follows from its numbers alone, anywhere."""

import contextlib
import dataclasses
import json

import pytest
import xarray as xr

import pipeline as pl
from pipeline.__main__ import main
from pipeline.analysis.claims import NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import mean_cells, measure, measure_every_cell, spending
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtMost, Within
from pipeline.execution.clusters import Local, Synchronous, Threads
from pipeline.identity import registry
from pipeline.library import requests
from pipeline.storage.results import SEALED, SUMMARY
from pipeline.study.errors import Stopped
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import run
from pipeline.workflow.events import NothingToDo
from pipeline.workflow.rounds import continued
from tests.helpers import toy_paper
from tests.helpers.engine import contents, job_of, started, without_report

MOST = 6000
WANTED = {
    **toy_paper.CONFIG,
    "grid": {"n": [10, 40], "share": [1.0], "estimator": ["mean", "half"]},
    "replications": MOST,
    "block": 250,
    "until": {"claims": {"least": 500}},
    "figures": [],
}
ONE = dataclasses.replace(
    toy_paper.CLAIMS[0],
    control=NegativeControl("100 times the errors", scaled("error_squared", 100)),
)


@measure_every_cell("mean square error times the people")
def in_every_cell(results):
    data = select(results, "error_squared", at=dict(share=1.0), min_levels=dict(n=1, estimator=1))
    return mean_cells(data.assign(error_squared=data["error_squared"] * data["n"]), "error_squared")


@measure("mean square error over its closed form")
def of_ten(results):
    data = select(results, "error_squared", at=dict(n=10, share=1.0, estimator="mean"))
    (mean,) = mean_cells(data / toy_paper.risk(10, 1.0, "mean"), "error_squared").values()
    return mean


CLAIMS = (
    dataclasses.replace(ONE, id="toy.cells", measure=in_every_cell, tolerance=AtMost(0.405)),
    dataclasses.replace(ONE, measure=of_ten, tolerance=Within(1, 0.11)),
)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The toy paper with two claims, of which one needs few replications."""
    monkeypatch.setattr(toy_paper, "CLAIMS", CLAIMS)
    with registry.registered(toy_paper.PROBLEM):
        yield


def asked(folder, **changes):
    """The study as a command has it."""
    return requests.read(WANTED, {"outputs": str(folder), **changes}, "synchronous").studies[0]


def complete(stored, folder, cluster=None, told=None, **settings):
    """The study when all claims are decided, sealed. told: a list that takes the events."""
    job = job_of([stored], cluster, outputs=str(folder), **settings)
    if told is not None:
        job = job.subscribed(told.append)
    (part,) = run.complete(job)
    run.seal_results([part.stored], Synchronous())
    return part.stored


def sealed(one):
    return {part: contents(one.store.folder / part) for part in (SEALED, SUMMARY)}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch, registry.registered(toy_paper.PROBLEM):
        patch.setattr(toy_paper, "CLAIMS", CLAIMS)
        one = complete(asked(folder), folder)
    return one, sealed(one)


def test_a_cell_ends_once_all_that_reads_it_is_decided(expected):
    one, _ = expected
    looks = [look.replications for look in one.study.until.looks(250)]
    data = xr.open_zarr(one.store.folder / SEALED).load()
    run = (data["status"] > 0).sum("replication").isel(share=0)
    ends = {
        (n, name): int(run.sel(n=n, estimator=name)) for n in (10, 40) for name in ("mean", "half")
    }
    assert ends[40, "mean"] == looks[0] < ends[10, "half"] <= ends[40, "half"] < ends[10, "mean"]
    assert ends[10, "mean"] == one.study.replications == data.sizes["replication"]
    assert [end for end, _ in one.study.until.stops] == run.values.ravel().tolist() and {
        *ends.values()
    } < {*looks}
    assert [claim for _, claim in one.study.until.stops] == [
        "toy.risk",
        "toy.cells",
        "",
        "toy.cells",
    ]
    cells, risk = pl.judge(data)
    assert cells.check.verdict == risk.check.verdict == "supported" and cells.sound and risk.sound
    assert cells.check.text.startswith(
        f"after {looks[0]} to {ends[40, 'half']:,} replications (look 1 to "
    )
    assert risk.check.text.startswith(f"after {ends[10, 'mean']:,} replications (look ")
    fixed = pl.simulate({**WANTED, "until": None, "replications": data.sizes["replication"]})
    xr.testing.assert_equal(
        fixed.where(data["status"] > 0), data.where(data["status"] > 0)
    )  # no other numbers
    assert bool(data["error_squared"].isnull().equals(data["status"] == 0))


def test_the_verdict_of_a_cell_is_that_of_its_own_look(expected):
    data = xr.open_zarr(expected[0].store.folder / SEALED).load()
    shown = {label: one for label, one, _ in pl.judge(data)[0].check.cells}
    looks = expected[0].study.until.looks(250)
    with spending(looks[0].share):
        first = in_every_cell.compute(data.isel(replication=slice(looks[0].replications)))
    same = [label for label, one in first.items() if shown[label] == one]
    assert "n=40, estimator=mean" in same and "n=40, estimator=half" not in same


@pytest.mark.parametrize(
    "cluster", [Local(workers=2), Threads(workers=3)], ids=["processes", "threads"]
)
def test_same_bytes_on_any_cluster(cluster, tmp_path, expected):
    """That rounds may start workers anew is shown by test_stopping.py and test_refined_levels.py."""
    with cluster.open() as executor:
        completed = complete(asked(tmp_path), tmp_path, started(cluster, executor))
    assert sealed(completed) == expected[1]


def test_same_bytes_after_stops_and_with_what_there_was_before(tmp_path, expected):
    number = expected[0].study.replications
    for _ in range(3):
        with contextlib.suppress(Stopped):
            complete(asked(tmp_path), tmp_path, stop_after=0.02)
    assert sealed(complete(asked(tmp_path), tmp_path)) == expected[1]
    complete(asked(tmp_path, until=None), tmp_path)  # all replications, fixed in advance
    again = complete(asked(tmp_path), tmp_path)
    assert again.study.replications == number
    other = tmp_path / "other"
    complete(asked(other, until=None), other)
    told = []
    after = complete(asked(other), other, told=told)
    assert any(isinstance(event, NothingToDo) for event in told)
    assert after.study == expected[0].study
    where = next((after.store.folder / "requests").iterdir())
    assert {part: contents(where / part) for part in (SEALED, SUMMARY)} == expected[1]


def test_what_is_reached_follows_from_sealed_results_alone(expected):
    one, _ = expected
    assert continued(asked(one.store.folder.parent.parent)).study == one.study
    assert one.study.until.most == MOST


def test_the_command_and_the_page(tmp_path, capsys, monkeypatch):
    words = [
        "experiment=xu/lemmas",
        "until.claims.least=40",
        "figures=[]",
        "cluster=synchronous",
        "grid.m=[3]",
        "grid.L=[20]",
        "grid.epsilon=[0.5,1,2]",
        "replications=80",
        "block=20",
        f"outputs={tmp_path}",
    ]
    assert main([*words, "task=plan"]) == 0
    assert "claims decided, after 40 to 80 replications" in capsys.readouterr().out
    assert main(words) == 0
    text = capsys.readouterr().out
    assert (
        "not all claims are decided after 40 replications; 60 at the next look, 80 at most" in text
    )
    page = next(tmp_path.rglob("report.html")).read_text()
    assert (
        "What stopped the study" in page
        and "All 80 replications that were allowed were simulated" in page
    )
    assert json.loads(pl.open_results(next(tmp_path.glob("xu/*"))).attrs["until"])["most"] == 80
    assert main([*words, "task=status"]) == 0 and "12 of 12 units done" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, message",
    [
        (["until=verdicts"], "until=verdicts: must be claims, or a mapping"),
        (
            ["until.claims.spending=obrien"],
            "until.claims.spending=obrien: did you mean 'obrien_fleming'",
        ),
        (["until.claims.last=3"], "until.claims.last=3: no such key; did you mean 'least'"),
        (["until.claims=3"], "until.claims=3: must be a mapping"),
        (["until=claims", "claims=false"], "has no claims to decide"),
        (["until=claims", "precision.lean_true.relative=0.1"], "cannot be combined with precision"),
        (["until=claims", "shard=1/2"], "shard=1/2: cannot be combined with until"),
    ],
)
def test_mistakes_are_one_line(words, message, tmp_path, capsys):
    assert main(["experiment=xu/lemmas", f"outputs={tmp_path}", "cluster=synchronous", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not any(tmp_path.iterdir())


def test_the_library_takes_it(tmp_path, monkeypatch):
    without_report(monkeypatch)
    results = pl.run(
        WANTED, cluster="synchronous", progress=False, outputs=str(tmp_path), replications=4000
    )
    assert results.sizes["replication"] < 4000
    assert {one.check.verdict for one in pl.judge(results)} == {"supported"}
    made = pl.Study(
        **{
            name: one
            for name, one in WANTED.items()
            if name not in ("title", "question", "figures")
        }
    )
    assert made.until.most == MOST and asked(tmp_path).study.until == made.until
    with pytest.raises(InvalidInput, match="needs run"):
        pl.simulate(WANTED)
    with pytest.raises(InvalidInput, match="cannot be combined with precision"):
        dataclasses.replace(made, precision={"error_squared": {"relative": 0.1}})
    assert requests.read(made, {}).studies[0].study == made
