"""Variables of a sealed dataset, read without Zarr: the same values, or none at all."""

import numpy as np
import pytest

from pipeline.execution.clusters import Executor
from pipeline.storage import layout, results
from pipeline.storage.plain import PlainDataset
from pipeline.storage.replications import Store
from pipeline.study.status import FAILED, NOT_CONVERGED, OK
from pipeline.workflow import reduce
from pipeline.workflow.config import Experiment, Text
from pipeline.workflow.shortfalls import line_of
from pipeline.workflow.studies import StoredStudy
from tests.helpers.engine import GRID, study

WRITER = "0" * 16
CELLS_OF_FIVE = GRID | {"epsilon": [0.5, 1.0, 1.5, 2.0, 2.5]}


def sealed(folder, status=OK, value=1.0):
    """A sealed study whose last unit has a status and a value in one replication."""
    store = Store(study(grid=CELLS_OF_FIVE), folder)
    store.begin()
    chance = np.random.default_rng(1)
    units = [*np.ndindex(store.listing().done.shape)]
    for unit in units:
        values = {name: chance.normal(size=store.study.block) for name in store.study.metrics}
        values["status"] = np.full(store.study.block, OK, np.int8)
        if unit == units[-1]:
            values["status"][0] = status
            values[store.study.metrics[0]][0] = value
        store.write(*unit, values, WRITER)
    stored = StoredStudy(Experiment(store.study, Text(title="small")), store, {})
    reduce.seal(stored, Executor())
    return stored


@pytest.mark.parametrize("units", [layout.SHARD_UNITS, 4])
def test_the_same_values_as_zarr_reads(units, tmp_path, monkeypatch):
    """Also where the last chunk of an axis goes beyond its levels."""
    monkeypatch.setattr(layout, "SHARD_UNITS", units)
    stored = sealed(tmp_path)
    expected = results.load(stored.store, results.SUMMARY)
    chunks = [
        path for path in (tmp_path / results.SUMMARY / "status/c").rglob("*") if path.is_file()
    ]
    assert (len(chunks) > 1) == (units == 4)
    plain = PlainDataset(stored.store.backend, results.SUMMARY)
    for name in ("status", *stored.study.metrics):
        values = plain.read(name)
        assert values.tobytes() == expected[name].values.tobytes(), name
        assert values.shape == expected[name].shape
    assert plain.read("nothing") is None


@pytest.mark.parametrize("change", ["flip", "cut", "away"])
@pytest.mark.parametrize("name", ["status/c", "status/zarr.json", "zarr.json"])
def test_what_is_damaged_is_not_read(change, name, tmp_path):
    stored = sealed(tmp_path)
    folder = tmp_path / results.SUMMARY
    path = folder / name
    while path.is_dir():
        path = min(path.iterdir())
    content = path.read_bytes()
    if change == "away":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if change == "cut" else b"x" + content[1:])
    assert PlainDataset(stored.store.backend, results.SUMMARY).read("status") is None


@pytest.mark.parametrize(
    "status, value, says",
    [
        (OK, 1.0, ""),
        (NOT_CONVERGED, 1.0, "not converged in 1 of"),
        (OK, np.nan, "not finite in 1"),
        (FAILED, np.nan, ""),
    ],
)
def test_a_study_without_shortfalls_is_not_loaded(status, value, says, tmp_path, monkeypatch):
    stored = sealed(tmp_path, status, value)
    monkeypatch.setattr("pipeline.workflow.shortfalls.is_current", lambda store: True)
    loaded = []
    load = results.load
    monkeypatch.setattr(results, "load", lambda *arguments: loaded.append(1) or load(*arguments))
    line = line_of(stored)
    assert says in line and bool(line) == bool(says) == bool(loaded)
