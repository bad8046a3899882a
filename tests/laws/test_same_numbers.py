"""Law 1: a result depends on the study, the seed, the cell's labels and the block, and on nothing else."""

import random
import threading

import numpy as np
import pytest
import xarray as xr

from pipeline.execution.clusters import Executor, Local, Synchronous, Threads
from pipeline.execution.runner import Runner
from pipeline.execution.sweep import Bundling
from pipeline.storage.replications import Store
from pipeline.workflow import reduce
from tests.helpers.engine import GRID, advance, contents, pending, sealed, stamps, stored, study


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return sealed(study(), tmp_path_factory.mktemp("expected"))


def shuffled(units):
    random.Random(3).shuffle(units)
    return units


@pytest.mark.parametrize(
    "cluster",
    [
        Local(workers=1),
        Local(workers=2),
        Local(workers=4),
        Threads(workers=1),
        Threads(workers=2),
        Threads(workers=4),
        Synchronous(),
    ],
    ids=lambda c: f"{type(c).__name__}-{getattr(c, 'workers', 1)}",
)
def test_scheduler_and_workers(cluster, tmp_path, expected):
    with cluster.open() as executor:
        assert sealed(study(), tmp_path / "in order", executor) == expected
        # Short bundles: every worker gets some, in many.
        assert (
            sealed(
                study(), tmp_path / "shuffled", executor, shuffled, bundling=Bundling(seconds=1e-3)
            )
            == expected
        )


@pytest.mark.parametrize(
    "order", [shuffled, lambda units: units[::-1]], ids=["shuffled", "reversed"]
)
def test_order_of_units(order, tmp_path, expected):
    assert sealed(study(), tmp_path, order=order) == expected


def test_interruptions(tmp_path, expected):
    before, interruptions = -1, 0
    while True:
        stop = threading.Event()
        schedule, outcome = advance(
            study(),
            tmp_path,
            stop=stop,
            bundling=Bundling(seconds=1e-9),
            on_done=lambda *_, stop=stop: stop.set(),
        )
        done = int(Store(study(), tmp_path).listing().done.sum())
        assert done > before
        before = done
        if not outcome.interrupted:
            break
        interruptions += 1
    assert interruptions > 5 and sealed(study(), tmp_path) == expected


def datasets(folder):
    """Bytes of every file of the sealed datasets."""
    return {
        name: content
        for name, content in contents(folder).items()
        if name.startswith(("results.zarr/", "summary.zarr/"))
    }


def cells(folder):
    """Every cell's values as bytes, by its labels, from the sealed dataset."""
    results = xr.open_zarr(folder / "results.zarr").load()
    axes = [d for d in results["status"].dims if d != "replication"]
    stacked = results.stack(cell=axes).transpose("cell", "replication")
    found = {}
    for row, labels in enumerate(stacked["cell"].values):
        if (stacked["status"][row] > 0).any():
            key = tuple(sorted(zip(axes, map(str, labels), strict=True)))
            found[key] = {name: stacked[name].values[row] for name in results.data_vars}
    return found


def equal(old, new, replications=None):
    return all(
        values[:replications].tobytes() == new[cell][name][:replications].tobytes()
        for cell, variables in old.items()
        for name, values in variables.items()
    )


@pytest.mark.parametrize(
    "grid",
    [
        GRID | {"m": [3, 5, 7], "epsilon": [0.25, 0.5, 2.0]},
        GRID | {"m": [7, 5, 3, 2], "estimator": ["plug_in", "debiased"]},
    ],
    ids=["appended", "inserted before"],
)
def test_added_levels_keep_every_finished_unit(grid, tmp_path):
    sealed(study(), tmp_path)
    old, units = cells(tmp_path), stamps(tmp_path / "replications/units")
    sealed(study(grid=grid), tmp_path)
    new = cells(tmp_path)
    assert len(units) == 48 and units.items() <= stamps(tmp_path / "replications/units").items()
    assert len(new) > len(old) == 16 and equal(old, new)
    fresh = sealed(study(grid=grid), tmp_path / "fresh")
    assert datasets(tmp_path) == fresh


def test_added_replications_keep_every_finished_unit(tmp_path):
    sealed(study(), tmp_path)
    old, units = cells(tmp_path), stamps(tmp_path / "replications/units")
    sealed(study(replications=100), tmp_path)
    new = cells(tmp_path)
    found = stamps(tmp_path / "replications/units")
    assert units.items() <= found.items() and len(found) == 16 * 5
    assert len(old) == len(new) and equal(old, new, 60)
    assert datasets(tmp_path) == sealed(study(replications=100), tmp_path / "fresh")


def test_fewer_replications_and_levels_afterwards(tmp_path, expected):
    sealed(study(grid=GRID | {"m": [2, 3, 5]}, replications=100), tmp_path)
    schedule, outcome = advance(study(), tmp_path)
    assert schedule.pending == 0 == outcome.units_done
    assert sealed(study(), tmp_path) == expected


def test_order_of_levels(tmp_path, expected):
    backwards = {axis: levels[::-1] for axis, levels in GRID.items()}
    sealed(study(), tmp_path / "forwards")
    found = sealed(study(grid=backwards), tmp_path / "backwards")
    assert equal(cells(tmp_path / "forwards"), cells(tmp_path / "backwards")) and found != expected
    # One store, asked in two orders: the same bytes as from a store of its own.
    schedule, outcome = advance(study(), tmp_path / "backwards")
    assert (
        schedule.pending == 0 == outcome.units_done
        and sealed(study(), tmp_path / "backwards") == expected
    )


def test_list_of_products_against_a_rectangle(tmp_path, expected):
    products = [GRID | {"m": [3], "L": [20, 50]}, GRID | {"m": [5], "L": [50]}]
    sealed(study(grid=products), tmp_path / "products")
    sealed(study(), tmp_path / "rectangle")
    found, whole = cells(tmp_path / "products"), cells(tmp_path / "rectangle")
    assert len(found) == 12 and found.keys() < whole.keys() and equal(found, whole)
    left_out = xr.open_zarr(tmp_path / "products/results.zarr").sel(m=5, L=20)
    assert (left_out["status"] == 0).all() and np.isnan(left_out["error_l2"]).all()
    # The same cells, cut into products in another way, are the same dataset.
    assert (
        sealed(study(grid=[GRID | {"m": [3]}, GRID | {"m": [5]}]), tmp_path / "rectangle").keys()
        == expected.keys()
    )
    assert equal(whole, cells(tmp_path / "rectangle")) and equal(
        cells(tmp_path / "rectangle"), whole
    )


class Forgetful(Runner):
    """Runner that never shares data between cells."""

    def __call__(self, units):
        return [self._run(unit, {}, self.agree(), limit=None, again=False) for unit in units]


def test_shared_data_is_the_data_drawn_alone(tmp_path, expected):
    store = Store(study(), tmp_path)
    Forgetful(store)([unit for unit, _ in pending(study(), store)])
    reduce.seal(stored(study(), tmp_path), Executor())
    assert datasets(tmp_path) == expected
    memo, labels = {}, study().grid.labels(0)
    shared = study().simulate(labels, 1, memo)
    again, alone = study().simulate(labels, 1, memo), study().simulate(labels, 1)
    assert all(shared[n].tobytes() == again[n].tobytes() == alone[n].tobytes() for n in shared)


@pytest.mark.parametrize("change", [{"seed": 12}, {"block": 30}], ids=["seed", "block"])
def test_another_seed_or_block_is_another_study(change, tmp_path, expected):
    """The negative control: these must change the numbers, and their store is not taken for the same."""
    found = sealed(study(**change), tmp_path)
    assert study(**change).key != study().key
    name = "results.zarr/error_l2/c/0/0/0/0/0"
    assert found[name] != expected[name]
