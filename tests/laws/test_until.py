"""Law: a study that stops when its claims are decided has the numbers of one with so many replications, anywhere."""

import dataclasses
import json

import pytest
import toy_paper
import xarray as xr
from engine import contents, without_report

import pipeline as pl
from pipeline.__main__ import main
from pipeline.analysis.controls import scaled
from pipeline.analysis.tolerances import AtMost, Within
from pipeline.cli import run
from pipeline.cli.config import Settings
from pipeline.cli.rounds import reached
from pipeline.execution.clusters import Local, Synchronous, Threads
from pipeline.library import requests
from pipeline.storage.results import SEALED, SUMMARY
from pipeline.study.errors import Stopped
from pipeline.study.parameters import InvalidInput
from pipeline.study.registry import adopt, registered

MOST = 6000
WANTED = {**toy_paper.CONFIG, "grid": {"n": [10], "share": [1.0], "estimator": ["mean", "half"]}, "replications": MOST,
          "block": 250, "until": {"claims": {"least": 750}}, "figures": []}
ONE = toy_paper.CLAIMS[0]
CLAIMS = (dataclasses.replace(ONE, id="toy.early", tolerance=AtMost(1.6), control=dataclasses.replace(
    ONE.control, make=scaled("error_squared", 4))), dataclasses.replace(ONE, tolerance=Within(1, 0.15)))


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The toy paper with two claims, of which one needs few replications."""
    before = registered()
    monkeypatch.setattr(toy_paper, "CLAIMS", CLAIMS)
    pl.register(toy_paper.PROBLEM)
    yield
    adopt(before)


def asked(folder, **changes):
    """The study as a command has it."""
    return requests.read(WANTED, {"outputs": str(folder), **changes}, "synchronous").stored


def complete(stored, folder, cluster=None, **settings):
    """The study when all claims are decided, sealed."""
    (one,), _ = run.complete([stored], Settings(outputs=str(folder), **settings), cluster or Synchronous(), "test")
    run.seal([one], Synchronous())
    return one


def sealed(one):
    return {part: contents(one.store.folder / part) for part in (SEALED, SUMMARY)}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        before = registered()
        patch.setattr(toy_paper, "CLAIMS", CLAIMS)
        pl.register(toy_paper.PROBLEM)
        one = complete(asked(folder), folder)
        adopt(before)
    return one, sealed(one)


def test_it_stops_at_the_first_look_at_which_all_claims_are_decided(expected, tmp_path):
    one, _ = expected
    looks = [look.replications for look in one.study.until.looks(250)]
    number, data = one.study.replications, xr.open_zarr(one.store.folder / SEALED).load()
    assert number == looks[1] and data.sizes["replication"] == number and (data["status"] == 1).all()
    early, late = pl.judge(data)
    assert early.check.verdict == late.check.verdict == "supported" and early.sound and late.sound
    assert early.check.text.startswith("after 750 ") and late.check.text.startswith(f"after {number:,} ")
    fixed = pl.simulate({**WANTED, "until": None, "replications": number})
    xr.testing.assert_equal(fixed, data)


@pytest.mark.parametrize("cluster", [Local(workers=2), Threads(workers=3)], ids=["processes", "threads"])
def test_same_bytes_on_any_cluster(cluster, tmp_path, expected):
    assert sealed(complete(asked(tmp_path), tmp_path, cluster)) == expected[1]


def test_same_bytes_after_stops_and_with_what_there_was_before(tmp_path, expected, capsys):
    number = expected[0].study.replications
    for _ in range(3):
        try:
            complete(asked(tmp_path), tmp_path, stop_after=0.02)
        except Stopped:
            pass
    assert sealed(complete(asked(tmp_path), tmp_path)) == expected[1]
    complete(asked(tmp_path, until=None), tmp_path)  # all replications, fixed in advance
    again = complete(asked(tmp_path), tmp_path)
    assert again.study.replications == number
    other = tmp_path / "other"
    complete(asked(other, until=None), other)
    capsys.readouterr()
    after = complete(asked(other), other)
    assert "nothing to do" in capsys.readouterr().out and after.study == expected[0].study
    where = next((after.store.folder / "requests").iterdir())
    assert {part: contents(where / part) for part in (SEALED, SUMMARY)} == expected[1]


def test_what_is_reached_follows_from_sealed_results_alone(expected):
    one, _ = expected
    assert reached(asked(one.store.folder.parent.parent)).study == one.study
    assert one.study.until.most == MOST


def test_the_command_and_the_page(tmp_path, capsys, monkeypatch):
    words = ["experiment=xu/lemmas", "until.claims.least=40", "figures=[]", "cluster=synchronous", "grid.m=[3]",
             "grid.L=[20]", "grid.epsilon=[0.5,1,2]", "replications=80", "block=20", f"outputs={tmp_path}"]
    assert main([*words, "task=plan"]) == 0
    assert "claims decided, after 40 to 80 replications" in capsys.readouterr().out
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "not all claims are decided after 40 replications; 60 at the next look, 80 at most" in text
    page = next(tmp_path.rglob("report.html")).read_text()
    assert "What stopped the study" in page and "All 80 replications that were allowed were simulated" in page
    assert json.loads(pl.open_results(next(tmp_path.glob("xu/*"))).attrs["until"])["most"] == 80
    assert main([*words, "task=status"]) == 0 and "12 of 12 units done" in capsys.readouterr().out


@pytest.mark.parametrize("words, message", [
    (["until=verdicts"], "until=verdicts: must be claims, or a mapping"),
    (["until.claims.spending=obrien"], "until.claims.spending=obrien: did you mean 'obrien_fleming'"),
    (["until.claims.last=3"], "until.claims.last=3: no such key; did you mean 'least'"),
    (["until.claims=3"], "until.claims=3: must be a mapping"),
    (["until=claims", "claims=false"], "has no claims to decide"),
    (["until=claims", "precision.lean_true.relative=0.1"], "goes with no precision"),
    (["until=claims", "shard=1/2"], "shard=1/2: goes with no until"),
])
def test_mistakes_are_one_line(words, message, tmp_path, capsys):
    assert main(["experiment=xu/lemmas", f"outputs={tmp_path}", "cluster=synchronous", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not any(tmp_path.iterdir())


def test_the_library_takes_it(tmp_path, monkeypatch):
    without_report(monkeypatch)
    results = pl.run(WANTED, cluster="synchronous", progress=False, outputs=str(tmp_path), replications=750)
    assert results.sizes["replication"] == 750
    assert {one.check.verdict for one in pl.judge(results)} == {"supported"}  # at the only look, with the whole error
    made = pl.Study(**{name: one for name, one in WANTED.items() if name not in ("title", "question", "figures")})
    assert made.until.most == MOST and asked(tmp_path).study.until == made.until
    with pytest.raises(InvalidInput, match="goes with run"):
        pl.simulate(WANTED)
    with pytest.raises(InvalidInput, match="goes with no precision"):
        dataclasses.replace(made, precision={"error_squared": {"relative": 0.1}})
    assert requests.read(made, {}).stored.study == made
