"""What a claim may use of a sealed dataset: levels, numbers of levels, enough sound replications."""

import json

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.selection import (
    LEAST,
    InsufficientEvidence,
    LostReplications,
    NotTested,
    RecordedData,
    at_levels,
    constant,
    select,
)


def grid(reps=LEAST, status=1, values=1.0):
    values = np.broadcast_to(values, (2, 3, reps)).astype(float)
    return xr.Dataset(
        {
            "v": (("arm", "L", "replication"), values),
            "status": (("arm", "L", "replication"), np.full(values.shape, status, "int8")),
        },
        {"arm": ["one", "two"], "L": [1, 2, 3]},
    )


ONE = dict(arm="one")


def test_a_level_is_taken_and_other_axes_stay():
    chosen = select(grid(), "v", at=ONE, min_levels=dict(L=3))
    assert chosen["v"].dims == ("L", "replication") and set(chosen.data_vars) == {"v", "status"}
    assert select(grid().isel(arm=[0]), "v", min_levels=dict(L=3))["v"].dims == ("L", "replication")
    assert select(grid(), "v", at=dict(L=2), min_levels=dict(arm=2))["v"].dims == (
        "arm",
        "replication",
    )


@pytest.mark.parametrize(
    "results, at, min_levels, reason, kind",
    [
        (grid(), dict(arm="three"), dict(L=3), "arm=three", NotTested),
        (grid(), dict(L=7), dict(arm=1), "L=7", NotTested),
        (grid(), dict(m=1), dict(arm=1, L=1), "m=1", NotTested),
        (grid(), ONE, dict(L=4), "4 levels of L, has 3", NotTested),
        (grid(), ONE, dict(L=1, m=1), "1 levels of m, has 0", NotTested),
        (grid(), None, dict(L=3), "one level of arm", NotTested),
        (grid(status=0), ONE, dict(L=3), "no cell", NotTested),
        (grid().drop_vars("v"), ONE, dict(L=3), "needs v", NotTested),
        (
            grid(LEAST - 1),
            ONE,
            dict(L=3),
            f"{LEAST - 1} replications, {LEAST} are needed",
            InsufficientEvidence,
        ),
        (grid(status=2), ONE, dict(L=3), "did not converge", LostReplications),
        (grid(values=np.inf), ONE, dict(L=3), "not finite", LostReplications),
    ],
)
def test_what_is_missing_is_told_apart_from_what_is_too_little(
    results, at, min_levels, reason, kind
):
    with pytest.raises(InsufficientEvidence, match=reason) as raised:
        select(results, "v", at=at, min_levels=min_levels)
    assert type(raised.value) is kind


def test_the_least_number_of_replications_can_be_set():
    assert select(grid(20), "v", at=ONE, min_levels=dict(L=3), least=20).sizes["replication"] == 20


def test_a_failure_outside_the_cells_in_use_does_not_matter():
    results = grid()
    results["status"][0, 0, 5] = 3
    with pytest.raises(InsufficientEvidence, match="verdict: 1 of them"):
        select(results, "v", at=ONE, min_levels=dict(L=3))
    select(results, "v", at=dict(arm="two"), min_levels=dict(L=3))
    chosen = select(results, "v", at=ONE, min_levels=dict(L=3), within=lambda d: d["L"] > 1)
    assert (chosen["status"] > 0).any("replication").values.tolist() == [False, True, True]
    with pytest.raises(NotTested, match="no cell"):
        select(results, "v", at=ONE, min_levels=dict(L=3), within=lambda d: d["L"] > 9)
    assert (results["status"] != 0).all()  # the dataset itself is not changed


def test_levels_that_are_not_there_are_not_tested():
    assert at_levels(grid(), dict(L=2))["v"].dims == ("arm", "replication")
    with pytest.raises(NotTested, match="needs L=9"):
        at_levels(grid(), dict(L=9))


def test_a_claim_on_real_data_asks_for_their_file():
    results = grid().assign_attrs(study=json.dumps({"parameters": {"data_path": "sha256:a"}}))
    assert constant(results, "data_path") == "sha256:a" and constant(grid(), "data_path") is None
    RecordedData({"sha256:a": "films"}, "data.path").require(results)
    for other in (
        grid(),
        results.assign_attrs(study=json.dumps({"parameters": {"data_path": "sha256:b"}})),
    ):
        with pytest.raises(
            NotTested, match="is about films, and these are other data: give data.path"
        ):
            RecordedData({"sha256:a": "films"}, "data.path").require(other)
