"""Packs: the same units, listed, read, checked and taken back as from files of their own."""

import numpy as np
import pytest

from pipeline.execution.clusters import Executor
from pipeline.storage import replications, results
from pipeline.storage.folder import Folder
from pipeline.storage.integrity import Integrity
from pipeline.storage.packs import PackedUnit, Packs
from pipeline.storage.replications import RAW, Store
from pipeline.storage.units import Damaged
from pipeline.workflow import reduce
from tests.helpers.engine import advance, contents, damages_of, stored, study

PACKED = f"{RAW}/packs"


def everything(store):
    """All units, as they are read."""
    return {
        unit: store.read(*unit)
        for unit in np.ndindex(store.listing().done.shape)
        if store.listing().done[unit]
    }


def equal(one, other):
    return one.keys() == other.keys() and all(
        one[unit].metrics.tobytes() == other[unit].metrics.tobytes()
        and one[unit][2:] == other[unit][2:]
        and one[unit].status.tobytes() == other[unit].status.tobytes()
        for unit in one
    )


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """A sealed study of 48 units, one of them failed, in packs of 10; and what its units were before."""
    monkeypatch.setattr(replications, "PACKED_FROM", 10)
    monkeypatch.setattr(replications, "PACK_UNITS", 10)
    advance(study(), tmp_path)
    store = Store(study(), tmp_path)
    store.forget(3, 1)
    store.fail(3, 1, "Traceback", "0" * 16)
    before = everything(store)
    reduce.seal(stored(study(), tmp_path), Executor())
    return store, before


def test_a_sealed_study_is_few_files(packed):
    store, before = packed
    files = Integrity(store).files()
    assert (
        len(files) == 5 + 1 and Integrity(store).units(files) == 48
    )  # the failed unit has a file of its own
    assert equal(everything(Store(study(), store.folder)), before) and damages_of(store) == []
    listing = store.listing()
    assert listing.done.all() and np.argwhere(listing.failed).tolist() == [[3, 1]]
    assert store.holds(0, 0) and not store.has_failed(0, 0) and store.has_failed(3, 1)
    assert [*(store.folder / f"{RAW}/units").iterdir()] == [
        store.folder / f"{RAW}/units/1"
    ]  # no empty folders


def test_sealed_anew_from_packs_the_bytes_are_the_same(packed):
    store, _ = packed
    whole = {name: contents(store.folder / name) for name in (results.SEALED, results.SUMMARY)}
    results.unseal(store)
    reduce.seal(stored(study(), store.folder), Executor())
    assert {name: contents(store.folder / name) for name in whole} == whole


def test_more_replications_join_what_is_packed(packed):
    store, before = packed
    more = study(replications=100)
    schedule, outcome = advance(more, store.folder)
    assert outcome.units_done == 2 * 16 and store.listing().done.all()
    reduce.seal(stored(more, store.folder), Executor())
    assert {
        unit: record
        for unit, record in everything(Store(more, store.folder)).items()
        if unit[1] < 3
    }.keys() == before.keys()
    assert (
        len(Integrity(store).files()) == 5 + 4 + 1 and damages_of(Store(more, store.folder)) == []
    )


@pytest.mark.parametrize("replications", [20, 40])
def test_units_of_packs_beyond_the_replications_that_are_asked_for_do_not_count(
    packed, replications
):
    store, before = packed
    fewer = Store(study(replications=replications), store.folder)
    assert fewer.listing().done.shape == (16, replications // 20) and fewer.listing().done.all()
    assert equal(
        everything(fewer),
        {unit: record for unit, record in before.items() if unit[1] < replications // 20},
    )


def test_a_unit_of_a_pack_is_taken_back(packed):
    store, before = packed
    with store.locked():
        store.forget(0, 0)
    assert (
        not store.holds(0, 0)
        and not store.listing().done[0, 0]
        and store.listing().done.sum() == 47
    )
    del before[0, 0]
    assert equal(everything(Store(study(), store.folder)), before) and damages_of(store) == []
    with pytest.raises(Damaged, match="missing"):
        store.read(0, 0)


def test_units_are_found_in_packs_whose_ranges_overlap(tmp_path):
    """As where levels were added to a study that is packed: new cells lie between those of the first pack."""
    packs = Packs(Folder(tmp_path))
    wide = [
        PackedUnit(block, cell, b"wide %d %d" % (block, cell))
        for block in (0, 1)
        for cell in (1, 5, 9)
    ]
    within = [PackedUnit(0, 6, b"within 0 6"), PackedUnit(1, 2, b"within 1 2")]
    for units in (wide, within):
        packs.write(units)
    for unit in (*wide, *within):
        assert packs.read(unit.block, unit.cell) == unit.content and packs.find(
            unit.block, unit.cell
        )
    assert packs.read(0, 7) is None and packs.find(0, 7) is None


@pytest.mark.parametrize("at", ["unit", "index", "end", "cut", "empty", "name"])
def test_a_damaged_pack_is_found_and_its_sound_units_kept(packed, at):
    store, before = packed
    path = min((store.folder / PACKED).iterdir())
    whole = bytearray(path.read_bytes())
    if at == "name":
        path.rename(path.with_name(path.name.replace("-10-", "-11-")))
    elif at in ("cut", "empty"):
        path.write_bytes(whole[:-3] if at == "cut" else b"")
    else:
        whole[{"unit": 200, "index": -200, "end": -1}[at]] ^= 1
        path.write_bytes(whole)
    store = Store(study(), store.folder)
    (damage,) = damages_of(store)
    assert damage.key.startswith("packs/") and "damaged" in damage.fault or "bytes" in damage.fault
    Integrity(store).repair(damage)
    assert damages_of(store) == []
    left = everything(Store(study(), store.folder))
    assert len(left) == (47 if at == "unit" else 38) and equal(
        left, {unit: before[unit] for unit in left}
    )
    advance(study(), store.folder)
    assert equal(everything(Store(study(), store.folder)), before)


def test_killed_between_pack_and_files(packed):
    """Units that are both in a pack and in files count once, and are packed again."""
    store, before = packed
    name = min((store.folder / PACKED).iterdir()).name
    store.unpack(Packs(store.backend).units(name))
    store = Store(study(), store.folder)
    assert equal(everything(store), before) and damages_of(store) == []
    reduce.seal(stored(study(), store.folder), Executor())
    assert store.listing().done.all() and equal(everything(store), before)
