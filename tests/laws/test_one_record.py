"""Laws 2 and 3: a unit is done exactly when its file exists, and nothing is simulated twice."""

import multiprocessing
import os
import shutil

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.execution.runner import Runner
from pipeline.storage.integrity import Integrity
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import OK
from pipeline.study.study import Study
from tests.helpers.engine import (
    GRID,
    advance,
    arguments,
    contents,
    damages_of,
    pending,
    sealed,
    stamps,
    study,
    without_report,
)

CELLS, BLOCKS = 16, 3
UNITS = "replications/units"


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
    return Store(what or study(), folder).listing().done


def test_done_is_the_file(copy):
    store = Store(study(), copy)
    assert done(copy).all()
    for cell, block in ((0, 0), (7, 2), (15, 1)):
        (copy / store.key(cell, block)).unlink()
        assert not done(copy)[cell, block] and not store.holds(cell, block)
    assert done(copy).sum() == CELLS * BLOCKS - 3


def test_a_unit_that_is_not_written_to_its_end_is_not_done(tmp_path, monkeypatch):
    """Killed at any moment before the file has its name."""
    store = Store(study(), tmp_path)
    unit = next(iter(pending(study(), store)))[0]

    def killed(*_):
        raise KeyboardInterrupt

    runner = Runner(store)
    runner.agree()
    monkeypatch.setattr("pipeline.study.files.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        runner([unit])
    assert not done(tmp_path).any() and not list((tmp_path / UNITS).rglob("*.*"))


def test_data_that_are_all_nan_are_done(tmp_path):
    store = Store(study(), tmp_path)
    store.begin()
    values = {name: np.full(20, np.nan) for name in study().metrics}
    store.write(3, 1, values | {"status": np.full(20, OK, np.int8)}, "0" * 16)
    assert done(tmp_path)[3, 1] and done(tmp_path).sum() == 1
    assert damages_of(store) == []


def test_stray_files_are_not_units(copy):
    store, units = Store(study(), copy), copy / UNITS
    unit = copy / store.key(0, 0)
    unit.rename(f"{unit}.5f3a.partial")
    for stray in (
        "0/.nfs0001",
        "0/0~",
        "zarr.json",
        "1/x",
        "99/0123456789abcdef",
        "2/0123456789abcdef",
        "1.5",
    ):
        (units / stray).parent.mkdir(exist_ok=True)
        (units / stray).write_bytes(b"?")
    expected = np.ones((CELLS, BLOCKS), bool)
    expected[0, 0] = False
    assert (done(copy) == expected).all()


def test_nothing_twice(copy, monkeypatch):
    before = stamps(copy / UNITS)
    monkeypatch.setattr(Study, "simulate", lambda *_: pytest.fail("simulated again"))
    schedule, outcome = advance(study(), copy)
    assert schedule.pending == 0 == outcome.units_done
    assert sealed(study(), copy) and stamps(copy / UNITS) == before


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
    assert not {
        name
        for name in changed
        if any(part in name for part in ("units", "zarr", "sessions", "report.html"))
    }


@pytest.mark.parametrize("size", [19, 21, 40])
def test_misaligned_units_are_refused(size, tmp_path):
    store = Store(study(), tmp_path)
    store.begin()
    values = {name: np.zeros(size) for name in study().metrics} | {"status": np.ones(size, np.int8)}
    with pytest.raises(ValueError, match="not the values of one unit"):
        store.write(0, 0, values, "0" * 16)
    assert not done(tmp_path).any()


def grow(folder, m, ready, gate):
    what = study(grid=GRID | {"m": m}, replications=20 * len(m))
    ready.release()
    gate.wait()
    advance(what, folder)


def test_two_drivers_with_two_grids_at_once(tmp_path):
    """Both store the units of the levels that they share; whoever is later, each unit is there once and whole."""
    context = multiprocessing.get_context("fork")
    for turn in range(3):
        folder, ready, gate = tmp_path / str(turn), context.Semaphore(0), context.Event()
        drivers = [
            context.Process(target=grow, args=(folder, m, ready, gate))
            for m in ([2, 3, 5], [3, 4, 6, 7])
        ]
        for driver in drivers:
            driver.start()
        for _ in drivers:
            ready.acquire()
        gate.set()
        for driver in drivers:
            driver.join()
            assert driver.exitcode == 0
        store = Store(study(grid=GRID | {"m": [2, 3, 4, 5, 6, 7]}, replications=80), folder)
        blocks = {2: 3, 3: 4, 4: 4, 5: 3, 6: 4, 7: 4}
        expected = [
            [block < blocks[labels["m"]] for block in range(4)] for labels in store.study.grid
        ]
        assert (store.listing().done == expected).all() and len(Integrity(store).files()) == np.sum(
            expected
        )
        assert damages_of(store) == []


class Killed(BaseException):
    """What an injected SIGKILL looks like from inside."""


def test_an_interrupted_beginning_heals(tmp_path, monkeypatch):
    """Killed at each change of the disk up to the tenth: the next run goes on."""
    expected = sealed(study(), tmp_path / "expected")
    changes = {name: getattr(os, name) for name in ("mkdir", "replace", "open")}
    for step in range(1, 11):
        left = iter(range(1, step))

        def change(*arguments, original, left=left, **options):
            if next(left, None) is None:
                raise Killed
            return original(*arguments, **options)

        folder = tmp_path / str(step)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            for name in ("mkdir", "replace"):
                patch.setattr(
                    os,
                    name,
                    lambda *a, o=changes[name], change=change, **k: change(*a, original=o, **k),
                )
            advance(study(), folder)
        if step == 10:
            assert sealed(study(), folder) == expected
        else:
            assert pending(study(), Store(study(), folder)).pending <= CELLS * BLOCKS


def test_a_folder_of_another_study_is_refused(finished):
    with pytest.raises(InvalidInput, match="holds another study .*seed"):
        Store(study(seed=12), finished).begin()
    assert done(finished).all()


def test_an_earlier_version_s_folder_is_refused(tmp_path):
    (tmp_path / "replications.zarr").mkdir()
    before = contents(tmp_path)
    with pytest.raises(
        InvalidInput, match="earlier version .* choose another folder with outputs="
    ):
        Store(study(), tmp_path).begin()
    assert contents(tmp_path) == before
