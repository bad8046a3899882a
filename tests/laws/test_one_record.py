"""Laws 2 and 3: a unit is done exactly when its status chunk exists, and nothing is simulated twice."""

import itertools
import multiprocessing
import shutil

import numpy as np
import pytest
import zarr
from engine import GRID, advance, arguments, contents, pending, sealed, stamps, study, without_report

from pipeline.__main__ import main
from pipeline.codes import OK
from pipeline.parameters import InvalidInput
from pipeline.store import Store
from pipeline.study import Study
from pipeline.work import Work

CELLS, BLOCKS = 16, 3


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    sealed(study(), folder)
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def done(folder, what=None):
    store, what = Store(folder), what or study()
    return store.done(what, store.rows(what))


def test_done_is_the_status_chunk(copy):
    assert done(copy).all()
    for row, block in ((0, 0), (7, 2), (15, 1)):
        (copy / f"replications.zarr/status/c/{row}/{block}").unlink()
        assert not done(copy)[row, block]
    assert done(copy).sum() == CELLS * BLOCKS - 3
    for variable in ("error_l2", "kendall", "sandwich_risk"):
        shutil.rmtree(copy / f"replications.zarr/{variable}/c")
    assert done(copy).sum() == CELLS * BLOCKS - 3  # data say nothing


def test_an_unfinished_unit_is_data_without_status(tmp_path, monkeypatch):
    store = Store(tmp_path)
    agenda = pending(study(), store)
    unit = next(iter(agenda))[0]
    write = zarr.Array.__setitem__

    def killed(array, *rest):
        if array.path == "status" or str(array.store_path).endswith("status"):
            raise KeyboardInterrupt
        write(array, *rest)

    monkeypatch.setattr(zarr.Array, "__setitem__", killed)
    with pytest.raises(KeyboardInterrupt):
        Work(study(), store)([unit])
    monkeypatch.undo()
    assert (tmp_path / f"replications.zarr/error_l2/c/{unit.row}/{unit.block}").exists()
    assert not done(tmp_path).any()


def test_data_that_are_all_nan_are_done(tmp_path):
    store = Store(tmp_path)
    store.prepare(study())
    values = {name: np.full(20, np.nan) for name in study().metrics}
    store.write(3, 1, values | {"status": np.full(20, OK, np.int8)})
    assert done(tmp_path)[3, 1] and done(tmp_path).sum() == 1
    assert list(Store(tmp_path).verify()) == []


def test_stray_files_are_not_units(copy):
    place = copy / "replications.zarr/status/c"
    (place / "0/0").rename(place / "0/0.5f3a.partial")
    for stray in ("0/.nfs0001", "0/0~", "zarr.json", "1/x", "99/0", "2/99", "1.5"):
        (place / stray).parent.mkdir(exist_ok=True)
        (place / stray).write_bytes(b"?")
    expected = np.ones((CELLS, BLOCKS), bool)
    expected[0, 0] = False
    assert (done(copy) == expected).all()


def test_nothing_twice(copy, monkeypatch):
    before = stamps(copy / "replications.zarr", "c/*")
    monkeypatch.setattr(Study, "simulate", lambda *_: pytest.fail("simulated again"))
    agenda, outcome = advance(study(), copy)
    assert agenda.pending == 0 == outcome.units_done
    assert sealed(study(), copy) and stamps(copy / "replications.zarr", "c/*") == before


def test_nothing_twice_with_the_command(tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    words = arguments(tmp_path)
    assert main(words) == 0
    assert "8 units to do" in capsys.readouterr().out
    before = stamps(tmp_path)
    monkeypatch.setattr(Study, "simulate", lambda *_: pytest.fail("simulated again"))
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "nothing to do: all 8 units were done before" in out and "report:" in out
    after = stamps(tmp_path)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert not {name for name in changed if "/c/" in name or "results.zarr" in name or "sessions" in name}
    assert not {name for name in changed if name.endswith("report.html")}


@pytest.mark.parametrize("row, block, size", [(0, 0, 19), (0, 0, 21), (0, 3, 20), (16, 0, 20), (0, 0, 40)])
def test_misaligned_units_are_refused(row, block, size, tmp_path):
    store = Store(tmp_path)
    store.prepare(study())
    values = {name: np.zeros(size) for name in study().metrics} | {"status": np.ones(size, np.int8)}
    with pytest.raises(ValueError, match="not one whole chunk"):
        store.write(row, block, values)
    assert not done(tmp_path).any()


def grow(folder, m, ready, gate):
    what = study(grid=GRID | {"m": m}, replications=20 * len(m))
    ready.release()
    gate.wait()
    Store(folder).prepare(what)


def test_two_drivers_append_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    for turn in range(10):
        folder, ready, gate = tmp_path / str(turn), context.Semaphore(0), context.Event()
        levels = [2, 3, 5], [3, 4, 6, 7]
        if turn % 2:
            Store(folder).prepare(study())
        drivers = [context.Process(target=grow, args=(folder, m, ready, gate)) for m in levels]
        for driver in drivers:
            driver.start()
        for _ in drivers:
            ready.acquire()
        gate.set()
        for driver in drivers:
            driver.join()
            assert driver.exitcode == 0
        store, union = Store(folder), study(grid=GRID | {"m": [2, 3, 4, 5, 6, 7]}, replications=80)
        keys, rows = store.array("key")[:], store.rows(union)
        assert len(set(keys)) == len(keys) == 48 and (rows >= 0).all() and len(set(rows)) == 48
        assert (keys[rows] == list(union.grid.keys())).all()
        assert (store.array("label_m")[:][rows] == [labels["m"] for labels in union.grid]).all()
        assert store.array("status").shape == store.array("kendall").shape == (48, 80)
        assert list(store.verify()) == []


class Killed(BaseException):
    """What an injected SIGKILL looks like from inside."""


def die_at(step, monkeypatch):
    """Raise at the step-th change of the disk."""
    count = itertools.count(1)

    def fragile(original):
        def change(*arguments, **options):
            if next(count) == step:
                raise Killed
            return original(*arguments, **options)
        return change

    for name in ("resize", "__setitem__"):
        monkeypatch.setattr(zarr.Array, name, fragile(getattr(zarr.Array, name)))
    monkeypatch.setattr(zarr, "create_group", fragile(zarr.create_group))
    monkeypatch.setattr(zarr.Group, "create_array", fragile(zarr.Group.create_array))
    return count


@pytest.mark.parametrize("begun", [False, True], ids=["creating", "appending"])
def test_an_interrupted_preparation_heals(begun, tmp_path, monkeypatch):
    other = study(grid=GRID | {"m": [9]})
    wanted = study(grid=GRID | {"m": [3, 5, 7], "L": [20, 30, 50]}, replications=80)
    steps = 0
    while True:
        steps += 1
        folder = tmp_path / str(steps)
        if begun:
            advance(study(replications=20), folder)
        old = contents(folder / "replications.zarr/error_l2/c") if begun else {}
        with monkeypatch.context() as patch:
            die_at(steps, patch)
            try:
                Store(folder).prepare(wanted)
                break
            except Killed:
                pass
        assert not begun or done(folder, study(replications=20)).all()
        Store(folder).prepare(other)  # somebody else's grid comes first
        store = Store(folder)
        rows, keys = store.prepare(wanted), store.array("key")[:]
        assert sorted(set(rows)) == sorted(rows) and (keys[rows] == list(wanted.grid.keys())).all()
        assert len(set(keys[keys > 0])) == (keys > 0).sum() and list(store.verify()) == []
        assert old.items() <= contents(folder / "replications.zarr/error_l2/c").items()
        if steps == 10:
            assert sealed(wanted, folder) == sealed(wanted, tmp_path / "expected")
    print(f"killed at each of {steps - 1} steps")
    assert steps - 1 >= (18 if not begun else 13)


def test_a_folder_of_another_study_is_refused(finished):
    with pytest.raises(InvalidInput, match="holds another study .*seed"):
        Store(finished).prepare(study(seed=12))
    assert done(finished).all()
