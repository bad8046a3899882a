"""Which cells a claim reads: never fewer than those whose numbers its estimates depend on."""

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import exponent, mean_cells, paired_cells
from pipeline.analysis.reads import cells_read
from pipeline.analysis.selection import InsufficientEvidence, select

N, M, ARMS = [10, 20, 40], [1.5, 2.5], ["a", "b"]


@pytest.fixture
def data(sealed):
    values = np.random.default_rng(3).exponential(size=(3, 2, 2, 120))
    return sealed({"n": N, "m": M, "arm": ARMS}, v=values, w=values[::-1] + 1)


def read(measure, data):
    """Label -> cells that its estimates are said to read, as (n, m, arm); a list of estimates becomes a tuple."""
    found = cells_read(lambda some: {label: (one,) for label, one in measure(some).items()}, data)
    return {
        label: {(N[i], M[j], ARMS[k]) for i, j, k in np.argwhere(cells).tolist()}
        for label, cells in found.items()
    }


ALL = {(n, m, arm) for n in N for m in M for arm in ARMS}


def one_arm(some, **options):
    return select(some, "v", at={"arm": "a"}, min_levels={"n": 1, "m": 1}, **options)


def test_a_cell_by_itself_reads_itself(data):
    found = read(lambda some: mean_cells(one_arm(some), "v"), data)
    assert len(found) == 6 and found["n=20, m=2.5"] == {(20, 2.5, "a")}
    large = read(lambda some: mean_cells(one_arm(some, within=lambda d: d["n"] > 10), "v"), data)
    assert large.keys() == {label for label in found if "n=10" not in label}


def test_a_paired_difference_reads_both_of_its_cells(data):
    def apart(some):
        return paired_cells(
            select(some, "v", min_levels={"n": 1, "m": 1, "arm": 2}), "v", "arm", "a", "b"
        )

    assert read(apart, data)["n=10, m=1.5"] == {(10, 1.5, "a"), (10, 1.5, "b")}


def test_an_exponent_reads_all_that_it_selects(data):
    def slope(some):
        chosen = one_arm(some)
        return {"slope": exponent(chosen, "v", ("m",), n=chosen["n"])}

    assert read(slope, data) == {"slope": {cell for cell in ALL if cell[2] == "a"}}


def test_one_cell_alone(data):
    def one(some):
        return mean_cells(select(some, "v", at={"n": 20, "m": 1.5, "arm": "b"}), "v")

    assert read(one, data) == {"": {(20, 1.5, "b")}}


def mixed(some):
    """Estimates by cell of which one depends on the others."""
    chosen = one_arm(some)
    cells = dict(mean_cells(chosen, "v"))
    cells["n=40, m=2.5"] = Estimate(float(chosen["v"].isel(n=[0, 1]).max()), 0, 9)
    return cells


def beside(some):
    """Estimates by cell that use a cell which `select` does not give out."""
    largest = float(some["w"].sel(n=40, m=1.5, arm="b").mean())
    return {
        label: Estimate(one.value * largest, one.low, one.high)
        for label, one in mean_cells(one_arm(some), "v").items()
    }


def without_select(some):
    return {f"n={n}": Estimate(float(some["v"].sel(n=n).mean()), 0, 9) for n in N}


def overlapping(some):
    return {
        label: one
        for axis in ("n", "m")
        for label, one in mean_cells(
            one_arm(some).isel({axis: [0]}).squeeze(axis, drop=True), "v"
        ).items()
    }


def of_ranks(some):
    """A label that names a place in an order, not a cell."""
    values = sorted(one.value for one in mean_cells(one_arm(some), "v").values())
    return {f"rank={k}": Estimate(one, 0, 9) for k, one in enumerate(values)}


@pytest.mark.parametrize(
    "measure, cells",
    [
        (mixed, {cell for cell in ALL if cell[2] == "a"}),
        (of_ranks, {cell for cell in ALL if cell[2] == "a"}),
        (overlapping, {cell for cell in ALL if cell[2] == "a"}),
        (beside, ALL),
    ],
)
def test_where_it_cannot_be_known_more_cells_are_read(measure, cells, data):
    for label, found in read(measure, data).items():
        assert found == cells, label


def test_without_select_it_is_tried_on_all_cells(data):
    found = read(without_select, data)
    assert found["n=20"] == {cell for cell in ALL if cell[0] == 20}


def test_results_that_are_changed_before_they_are_selected(data):
    def other(some):  # numbers of the cells, too
        changed = some.assign(
            {name: one + 1 for name, one in some.data_vars.items() if name != "status"}
        )
        return mean_cells(one_arm(changed), "v")

    assert all(cells == ALL for cells in read(other, data).values())


def test_what_cannot_be_measured_says_so(data):
    with pytest.raises(InsufficientEvidence):
        read(lambda some: mean_cells(one_arm(some, least=500), "v"), data)


def test_results_are_not_changed(data):
    before = data.copy(deep=True)
    read(lambda some: mean_cells(one_arm(some), "v"), data)
    xr.testing.assert_identical(before, data)
