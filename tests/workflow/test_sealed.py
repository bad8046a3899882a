"""Sealed results that other code reduced are reduced again; the numbers, and the units, stay."""

import json

from pipeline.analysis import moments
from pipeline.execution.clusters import Executor
from pipeline.storage.replications import Store
from pipeline.workflow import reduce, sealed
from tests.helpers import engine
from tests.helpers.engine import stored, study


def other(a, b):
    """Merges as `merged` does, in other words."""
    return moments.merged(a, b)


def test_other_code_seals_again(tmp_path, monkeypatch):
    before = engine.sealed(study(), tmp_path)
    store = Store(study(), tmp_path)
    stamp = store.backend.stamp("results.zarr/zarr.json")
    assert sealed.is_current(store)
    reduce.seal(stored(study(), tmp_path), Executor())
    assert store.backend.stamp("results.zarr/zarr.json") == stamp  # nothing to do
    monkeypatch.setattr(sealed, "merged", other)
    assert not sealed.is_current(store)
    reduce.seal(stored(study(), tmp_path), Executor())
    assert sealed.is_current(store)
    after = {
        f"{part}/{name}": content
        for part in ("results.zarr", "summary.zarr")
        for name, content in engine.contents(tmp_path / part).items()
    }
    roots = {"results.zarr/zarr.json", "summary.zarr/zarr.json"}
    assert {
        name for name in before if before[name] != after[name]
    } == roots and before.keys() == after.keys()
    was, now = (json.loads(one["results.zarr/zarr.json"])["attributes"] for one in (before, after))
    assert {name for name in was if was[name] != now[name]} == {"reduced_by", "digest"}
