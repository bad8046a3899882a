"""Plain studies take what other studies take: precision, refine, until and claims."""

import numpy as np
import pytest

import pipeline as pl
from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import measure
from pipeline.analysis.tolerances import Within
from pipeline.identity.registry import registered

MEASURES = {"heads": {"least": 0.0, "most": 1.0}}
OPTIONS = {"cluster": "synchronous", "progress": False}


def coins(rng, reps, p):
    return rng.random(reps) < p


def heads(tosses):
    return {"heads": tosses}


@measure("share of heads")
def share(results):
    cell = pl.summarise(results, 0.99).isel(p=0)
    return Estimate(*(float(cell[f"heads{end}"]) for end in ("", "_low", "_high", "_mcse")))


FAIR = Claim(
    id="coins.fair",
    statement="Half of the tosses are heads.",
    source="this file",
    experiment="judged",
    measure=share,
    tolerance=Within(0.5, 0.05),
    why="what a game notices",
    conditions="p = ½",
    control=NegativeControl("half as often", scaled("heads", 0.5)),
)


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """In a folder of its own; parts are not tried in a second process, which takes seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipeline.execution.trials._elsewhere", lambda trial: [])
    with registered():
        yield


def study(name, levels, replications, **rules):
    return pl.study(
        coins,
        heads,
        grid={"p": levels},
        measures=MEASURES,
        replications=replications,
        block=500,
        name=name,
        **rules,
    )


def test_a_cell_stops_once_it_is_precise():
    precise = study("precise", [0.02, 0.5], 20_000, precision={"heads": {"absolute": 0.03}})
    summary = pl.summarise(pl.run(precise, **OPTIONS))
    rare, fair = summary["n_run"].values
    widths = (summary["heads_high"] - summary["heads_low"]).values / 2
    print(f"n = {rare}, {fair}; half widths {widths}, bound 0.03")
    assert 500 <= rare < fair < 20_000 and (widths <= 0.03).all()


def test_levels_are_added_where_a_mean_crosses():
    refine = {"along": "p", "metric": "heads", "level": 0.3, "width": 0.5}
    results = pl.run(study("refined", [0.1, 0.9], 1000, refine=refine), **OPTIONS)
    boundary = pl.boundary(results)
    assert results.sizes["p"] > 2 and boundary["low"] <= 0.35 and boundary["high"] >= 0.25


def test_a_run_stops_once_its_claims_are_decided():
    judged = study("judged", [0.5], 20_000, claims=[FAIR], until="claims")
    results = pl.run(judged, **OPTIONS)
    [judgement] = pl.judge(results)
    assert np.count_nonzero(results["status"]) < 20_000
    assert judgement.check.verdict == "supported"
    assert judgement.control.verdict == "contradicted"
