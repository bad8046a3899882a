"""What is known of all cells at once is what a look at each cell tells."""

import pickle

import numpy as np
import pytest

from pipeline.execution.schedule import Schedule
from pipeline.storage.layout import Layout, positions
from pipeline.storage.replications import Listing
from pipeline.study import factors
from pipeline.study.grid import Grid, cell_key
from pipeline.study.pairing import Pairing
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study

PARTS = {"model": "btl", "L": 50}
SEVERAL = [
    {
        "m": [5, 10],
        "epsilon": [0.5, 1.0],
        "mechanism": ["randomized_response", "laplace"],
        "estimator": ["plug_in"],
    },
    {"m": [40], "epsilon": [0.5, 2.0], "mechanism": ["laplace"], "estimator": ["plug_in"]},
]
GRIDS = {
    "one axis": {
        "m": list(range(2, 40)),
        "epsilon": [1.0],
        "mechanism": ["randomized_response"],
        "estimator": ["plug_in"],
    },
    "paired": {
        "estimator": ["plug_in", "debiased"],
        "m": [5, 10],
        "mechanism": ["none", "randomized_response"],
        "epsilon": [0.5, 1.0, 1e-3],
    },
    "several products": SEVERAL,
}


def small(grid, **changes):
    return Study(
        "small",
        "ranking",
        seed=1,
        replications=20,
        block=10,
        grid=grid,
        metrics=("error_l2",),
        parameters=PARTS,
        **changes,
    )


def test_standard_errors_cost_where_a_metric_reads_them():
    """A bootstrap of 50 fits, in every cell and for all at once."""
    grid = {"m": [5, 40], "epsilon": [1.0], "mechanism": ["laplace"], "estimator": ["plug_in"]}
    parts = {**PARTS, "bootstrap": 50}
    sizes = dict(seed=1, replications=20, block=10, grid=Grid.of(grid), parameters=parts)
    plain = Study("plain", "ranking", metrics=("error_l2",), **sizes)
    sure = Study("sure", "ranking", metrics=("error_l2", "coverage"), **sizes)
    assert np.allclose(sure.costs, [sure.cost(labels) for labels in sure.grid], rtol=1e-14)
    assert np.array_equal(sure.costs, factors.costs(sure))
    for cell, labels in enumerate(sure.grid):
        errors = sure.components(labels).estimator.errors_cost()
        assert sure.costs[cell] - plain.costs[cell] == pytest.approx(10 * errors)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_costs_keys_and_places_are_those_of_each_cell(grid):
    study = small(grid)
    cells = list(study.grid)
    assert cells == [study.grid.labels(cell) for cell in range(len(study.grid))]
    assert np.allclose(study.costs, [study.cost(labels) for labels in cells], rtol=1e-14)
    assert np.array_equal(study.costs, factors.costs(study))
    sent = pickle.loads(pickle.dumps(study))
    assert "costs" not in vars(sent) and "axes" not in vars(sent.grid) and sent == study
    assert list(study.grid.keys()) == [cell_key(labels) for labels in cells]
    unpaired = [
        cell_key({axis: level for axis, level in labels.items() if axis not in study.paired})
        for labels in cells
    ]
    assert study.grid.digests(without=study.paired).tolist() == unpaired
    assert np.array_equal(
        Pairing(study).of_cell, np.unique(np.array(unpaired, np.uint64), return_inverse=True)[1]
    )
    axes = study.grid.axes
    places = [[levels.index(labels[axis]) for axis, levels in axes.items()] for labels in cells]
    assert study.grid.places().T.tolist() == places
    flat = [int(np.ravel_multi_index(place, Layout.of(study).shape)) for place in places]
    assert positions(study, Layout.of(study)).tolist() == flat
    table = Pairing(study).cells
    assert sorted(table[table >= 0].tolist()) == list(range(len(cells)))


def test_levels_of_all_kinds_have_the_keys_of_their_cells():
    grid = Grid.of({"z": [1, 1.5, 'ε"\n', True], "a": [1e300, -0.5], "é": [False, 10**18]})
    assert list(grid.keys()) == [cell_key(labels) for labels in grid]


def test_a_cell_that_cannot_be_is_named():
    with pytest.raises(InvalidInput) as error:
        small(
            {"m": [5, 6], "mechanism": ["none", "randomized_response"], "estimator": ["debiased"]}
        )
    print(error.value)
    assert (
        error.value.key == "parameters.epsilon" and "'randomized_response'" in error.value.allowed
    )
    assert "[at {'m': 5" in error.value.allowed


def test_a_part_is_made_once_for_all_cells_in_which_it_is_the_same(monkeypatch):
    """Of a thousand cells, each is looked at for its mechanism, which depends on both axes; once, and for no other."""
    looks = []
    values = Study.values
    monkeypatch.setattr(
        Study, "values", lambda self, labels: looks.append(1) or values(self, labels)
    )
    budgets = [float(budget) for budget in np.linspace(0.1, 3, 100)]
    study = Study(
        "small",
        "ranking",
        seed=1,
        replications=20,
        block=10,
        metrics=("error_l2",),
        grid={"L": list(range(2, 12)), "epsilon": budgets},
        parameters={
            "model": "btl",
            "m": 5,
            "mechanism": "randomized_response",
            "estimator": "plug_in",
        },
    )
    print(f"{len(study.grid)} cells, {len(looks)} looks")
    assert len(study.grid) == 1000 and len(looks) < 1100


def test_the_references_of_a_schedule_are_its_most_costly_finished_units():
    study = small(GRIDS["paired"])
    done = np.zeros((len(study.grid), study.blocks), bool)
    schedule = Schedule(study, Listing(done, done.copy()))
    combinations = {(labels["mechanism"], labels["estimator"]): [] for labels in study.grid}
    for cell, labels in enumerate(study.grid):
        combinations[labels["mechanism"], labels["estimator"]].append(cell)
    assert [unit.cell for unit in schedule.references] == [
        min(cells, key=lambda cell: schedule.costs[cell]) for cells in combinations.values()
    ]
    done[:, 1] = True
    finished = Schedule(study, Listing(done, np.zeros_like(done))).references
    assert [unit.cell for unit in finished[: len(combinations)]] == [
        max(cells, key=lambda cell: schedule.costs[cell]) for cells in combinations.values()
    ]
    assert all(block == 1 for _, block in finished)
    assert len(set(finished)) == len(finished)
