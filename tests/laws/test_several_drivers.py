"""Law: whatever several drivers do to one store at once, a unit is whole or not done, and what is sealed is whole."""

import threading

import numpy as np
import pytest
import xarray as xr
from engine import GRID, advance, arguments, contents, stamps, study

from pipeline import seal, sweep
from pipeline.__main__ import main
from pipeline.clusters import Executor
from pipeline.parameters import InvalidInput
from pipeline.store import RAW, Store
from pipeline.work import Agenda, Work

WHAT = study(grid=GRID | {"epsilon": [0.5], "m": [3]}, replications=40)


@pytest.fixture
def swept(tmp_path):
    """A store whose units are all done, and their rows."""
    agenda, _ = advance(WHAT, tmp_path)
    return Store(tmp_path), agenda.rows


def test_a_unit_that_is_taken_back_while_another_driver_writes_it_is_whole(swept, monkeypatch):
    """Both hold it for undone and one has just taken it back: whatever the order, no chunk is left without its data."""
    store, rows = swept
    row, other = int(rows[0]), Store(store.folder)
    values = {name: store.read(name, row, 0) for name in (*WHAT.metrics, "status")}
    before, delete = contents(store.folder / RAW), store.place.delete

    def interrupted(*keys):
        delete(*keys)
        monkeypatch.undo()
        other.write(row, 0, values)  # in the middle of forgetting

    monkeypatch.setattr(store.place, "delete", interrupted)
    store.forget(row, 0)
    assert store.done(WHAT, rows).all() and list(Store(store.folder).verify()) == []
    assert contents(store.folder / RAW) == before
    store.forget(row, 0)
    assert not store.done(WHAT, rows)[0, 0] and store.done(WHAT, rows).sum() == rows.size * WHAT.blocks - 1


@pytest.mark.parametrize("name", ["kendall", "status"])
def test_a_lost_chunk_is_never_sealed_as_no_number(swept, name):
    """Zarr reads a missing chunk as NaN or 0; a unit that fails is NaN as well, but its chunk is there."""
    store, rows = swept
    store.fail(WHAT, int(rows[1]), 0, "planted")
    assert np.isnan(store.read("kendall", int(rows[1]), 0)).all()
    (store.folder / RAW / name / "c" / str(rows[0]) / "1").unlink()
    with pytest.raises(InvalidInput, match="its chunk is missing"):
        seal.seal(store, WHAT, rows, {})
    assert not (store.folder / seal.SEALED).exists()


def test_what_is_sealed_is_left_alone(swept):
    """A second driver that comes to its end must not pull the results from under the first one's report."""
    store, rows = swept
    seal.seal(store, WHAT, rows, {})
    before = stamps(store.folder / seal.SEALED)
    assert before
    seal.seal(Store(store.folder), WHAT, rows, {})
    assert stamps(store.folder / seal.SEALED) == before
    more = study(grid=GRID | {"epsilon": [0.5], "m": [3]}, replications=20)
    seal.seal(store, more, rows, {})
    assert seal.is_sealed(store, more) and not seal.is_sealed(store, WHAT)


def test_a_worker_that_does_not_see_the_folder_stops_the_sweep_in_one_line(swept, tmp_path):
    """As on a node that does not mount it: nothing is made there, which would look like a store."""
    agenda = Agenda(WHAT, swept[1], np.zeros((swept[1].size, WHAT.blocks), bool))
    with pytest.raises(sweep.SweepError, match="does not see .*unseen; give outputs on storage that driver"):
        sweep.run(Executor(), Work(WHAT, Store(tmp_path / "unseen")), iter(agenda))
    assert not (tmp_path / "unseen").exists()


def test_nobody_seals_what_is_being_taken_back(swept):
    """Another driver found everything done, and comes to seal between the removal and the marks."""
    store, rows = swept
    seal.seal(store, WHAT, rows, {})
    met = []

    def finish():
        try:
            seal.seal(Store(store.folder), WHAT, rows, {})
        except InvalidInput as error:
            met.append(error)

    driver = threading.Thread(target=finish)
    with seal.unsealed(store):
        driver.start()
        driver.join(0.3)
        assert driver.is_alive()
        store.forget(int(rows[0]), 0)
    driver.join()
    assert "its chunk is missing" in str(met[0]) and not (store.folder / seal.SEALED).exists()


@pytest.mark.parametrize("when", ["before", "opened", "gone"])
def test_results_that_another_grid_replaces_while_they_are_reported_are_one_line(when, tmp_path, monkeypatch, capsys):
    """Two drivers, two grids of one study: the report shows one of them or says that it cannot."""
    words, more = (arguments(tmp_path, **{"grid.m": grid}) for grid in ("[3,4]", "[3,5]"))
    assert main(words) == main(more) == 0
    load = seal.load

    def replaced(store):
        monkeypatch.undo()
        if when == "before":
            assert main(words) == 0
            return load(store)
        found = load(store)
        store.place.remove(seal.SEALED)
        return load(store) if when == "gone" else found

    monkeypatch.setattr(seal, "load", replaced)
    assert main([*more, "task=report"]) == 1
    error = capsys.readouterr().err
    assert "the results changed while the report was written; finished units are kept, the same command" in error
    assert main(more) == 0 and error.count("error: ") == 1 and "Traceback" not in error


def test_a_run_whose_results_are_replaced_seals_and_reports_again(tmp_path, monkeypatch, capsys):
    words, more = (arguments(tmp_path, **{"grid.m": grid}) for grid in ("[3,4]", "[3,5]"))
    assert main(words) == main(more) == 0
    load, met = seal.load, []

    def replaced(store):
        met.append(store)
        if len(met) == 1:
            with monkeypatch.context() as patch:
                patch.setattr(seal, "load", load)
                assert main(words) == 0
        return load(store)

    monkeypatch.setattr(seal, "load", replaced)
    assert main([*more, "title=again"]) == 0 and len(met) > 1
    out, error = capsys.readouterr()
    assert error.count("error: ") == 0 and "report: " in out.splitlines()[-1]
    with xr.open_zarr(met[0].folder / seal.SEALED) as found:
        assert found["m"].values.tolist() == [3, 5]
