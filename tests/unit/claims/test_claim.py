"""Deciders: what an interval may and may not support."""

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from pipeline.claims.claim import (
    CONTRADICTED,
    INCONCLUSIVE,
    SUPPORTED,
    Check,
    Claim,
    TooLittle,
    at_least,
    at_most,
    equivalence,
    every,
    judge,
    throughout,
)
from pipeline.claims.evidence import LEAST, enough, named, share
from pipeline.reduce.estimate import Estimate

number = st.floats(-10, 10)
width = st.floats(0, 10)
DECIDERS = (
    lambda estimate: equivalence(estimate, 0.5, 1.0),
    lambda estimate: at_least(estimate, 0.5),
    lambda estimate: at_most(estimate, 0.5),
)


def interval(low, high):
    return Estimate((low + high) / 2, low, high)


@pytest.mark.parametrize("low, high, verdict", [
    (-0.1, 0.1, SUPPORTED), (-0.3, 0.3, SUPPORTED), (0.2, 0.4, INCONCLUSIVE), (-1, 1, INCONCLUSIVE),
    (0.31, 0.4, CONTRADICTED), (-2, -0.31, CONTRADICTED),
])
def test_equivalence(low, high, verdict):
    assert equivalence(interval(low, high), 0, 0.3).verdict == verdict


@pytest.mark.parametrize("decide", DECIDERS)
@given(value=number, low=width, high=width, ends=st.sampled_from("low high both value".split()),
       missing=st.sampled_from([math.inf, math.nan]))
def test_an_open_interval_decides_nothing(decide, value, low, high, ends, missing):
    numbers = dict(value=value, low=value - low, high=value + high)
    numbers |= {"low": -missing} if ends in ("low", "both") else {}
    numbers |= {"high": missing} if ends in ("high", "both") else {}
    numbers |= {"value": math.nan} if ends == "value" else {}
    assert decide(Estimate(**numbers)).verdict == INCONCLUSIVE


@pytest.mark.parametrize("decide", DECIDERS)
@given(low=number, size=width, inner=st.floats(0, 1), start=st.floats(0, 1))
def test_a_narrower_interval_keeps_a_decision(decide, low, size, inner, start):
    wide = interval(low, low + size)
    begin = low + start * (1 - inner) * size
    narrow = interval(begin, min(begin + inner * size, low + size))
    if decide(wide).verdict != INCONCLUSIVE:
        assert decide(narrow).verdict == decide(wide).verdict


@pytest.mark.parametrize("decide, holds", [
    (DECIDERS[0], lambda truth: -0.5 <= truth <= 1.5),
    (DECIDERS[1], lambda truth: truth >= 0.5),
    (DECIDERS[2], lambda truth: truth <= 0.5),
])
@given(truth=number, below=width, above=width)
def test_an_interval_with_the_truth_never_decides_against_it(decide, holds, truth, below, above):
    found = decide(interval(truth - below, truth + above)).verdict
    assert found != (CONTRADICTED if holds(truth) else SUPPORTED)


@given(low=number, size=width, bound=number)
def test_one_sided_deciders_mirror_each_other(low, size, bound):
    assert (at_least(interval(low, low + size), bound).verdict
            == at_most(interval(-low - size, -low), -bound).verdict)


@given(st.lists(st.sampled_from([SUPPORTED, INCONCLUSIVE, CONTRADICTED]), min_size=1, max_size=6))
def test_every(verdicts):
    found = every(*(Check(v, Estimate(i, i, i), f"part {i}") for i, v in enumerate(verdicts)))
    worst = (CONTRADICTED if CONTRADICTED in verdicts
             else INCONCLUSIVE if INCONCLUSIVE in verdicts else SUPPORTED)
    assert found.verdict == worst
    assert found.estimate.value == verdicts.index(worst)
    assert all(f"part {i}" in found.text for i in range(len(verdicts)))


def test_throughout_reports_the_worst_cell():
    cells = {"a": interval(0.9, 1.1), "b": interval(1.1, 1.3), "c": interval(0.7, 1.25)}
    within = throughout(cells, lambda e, name: equivalence(e, 1, 0.5, name), 1)
    assert (within.verdict, within.estimate) == (SUPPORTED, cells["b"])
    assert within.text.startswith("b ") and "3 cells" in within.text
    assert throughout(cells, lambda e, name: at_most(e, 1.05, name), 1).verdict == CONTRADICTED
    with pytest.raises(TooLittle):
        throughout({}, lambda e, name: at_most(e, 1, name), 1)


def grid(reps=LEAST, status=1, values=1.0):
    values = np.broadcast_to(values, (2, 3, reps)).astype(float)
    return xr.Dataset(
        {"v": (("arm", "L", "replication"), values), "status": (("arm", "L", "replication"),
                                                               np.full(values.shape, status, "int8"))},
        {"arm": ["one", "two"], "L": [1, 2, 3]},
    )


def test_enough_takes_a_level_and_what_is_there():
    found = enough(grid(), "v", arm="one", L=3)
    assert found["v"].dims == ("L", "replication") and set(found.data_vars) == {"v", "status"}
    assert enough(grid().isel(arm=[0]), "v", L=3)["v"].dims == ("L", "replication")


@pytest.mark.parametrize("results, axes, reason", [
    (grid(), dict(arm="three", L=3), "arm=three"),
    (grid(), dict(arm="one", L=4), "4 levels of L"),
    (grid(), dict(arm="one", m=1), "1 levels of m"),
    (grid(), dict(L=3), "one level of arm"),
    (grid(LEAST - 1), dict(arm="one", L=3), "replications"),
    (grid(status=0), dict(arm="one", L=3), "no cell"),
    (grid(status=2), dict(arm="one", L=3), "did not converge"),
    (grid(values=np.inf), dict(arm="one", L=3), "not finite"),
    (grid().drop_vars("v"), dict(arm="one", L=3), "needs v"),
])
def test_too_little_says_what_is_missing(results, axes, reason):
    with pytest.raises(TooLittle, match=reason):
        enough(results, "v", **axes)


def test_a_failure_outside_the_cells_in_use_does_not_matter():
    results = grid()
    results["status"][0, 0, 5] = 3
    with pytest.raises(TooLittle, match="1 replications failed"):
        enough(results, "v", arm="one", L=3)
    found = enough(results, "v", arm="one", L=3, within=lambda d: d["L"] > 1)
    assert found["status"].sum("replication").values.tolist() == [0, LEAST, LEAST]
    enough(results, "v", arm="two", L=3)


def test_simultaneous_confidence():
    data = enough(grid(), "v", arm="one", L=3)
    assert share(1) == pytest.approx(0.99) and share(0.5) == pytest.approx(0.995)
    assert share(0.5, data) == pytest.approx(1 - 0.005 / 3)


def test_named_cells():
    cells = xr.Dataset(dict(v=("L", [1.0, np.nan]), low=("L", [0.0, 0.0]), high=2.0, e=0.5), {"L": [10, 20]})
    assert named(cells, "v", "low", "high", "e") == {"L=10": Estimate(1.0, 0.0, 2.0, 0.5)}


def test_judge_reports_too_little_as_inconclusive():
    def check(results):
        low, high, _ = enough(results, "v", arm="one", L=3)["v"].mean("replication").values
        return at_least(interval(low, high), 0.5)

    claim = Claim("toy", *[""] * 7, check, "quartered", lambda r: r.assign(v=r["v"] / 4))
    verdict = judge(claim, grid())
    assert (verdict.check.verdict, verdict.twin.verdict) == (SUPPORTED, CONTRADICTED)
    verdict = judge(claim, grid(LEAST - 1))
    assert verdict.check == verdict.twin == Check(INCONCLUSIVE, None, verdict.check.text)
    assert "replications" in verdict.check.text
