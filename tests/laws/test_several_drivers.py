"""Law: whatever several drivers do to one store at once, a unit is whole or not done, and what is sealed is whole."""

import threading

import numpy as np
import pytest
import xarray as xr

from pipeline.__main__ import main
from pipeline.execution import sweep
from pipeline.execution.clusters import Executor
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.storage import results
from pipeline.storage.replications import RAW, Listing, Store
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import reduce
from tests.helpers.engine import GRID, advance, arguments, contents, stamps, stored, study

WHAT = study(grid=GRID | {"epsilon": [0.5], "m": [3]}, replications=40)


@pytest.fixture
def swept(tmp_path):
    """A store whose units are all done."""
    advance(WHAT, tmp_path)
    return Store(WHAT, tmp_path)


def seal(store, what=WHAT):
    reduce.seal(stored(what, store.folder), Executor())


def test_a_unit_that_is_taken_back_while_another_driver_writes_it_is_whole(swept, monkeypatch):
    """Both consider it not run and one has just taken it back: the file of the other is whole, or not there."""
    record, other = swept.read(0, 0), Store(WHAT, swept.folder)
    values = dict(zip((*WHAT.metrics, "status"), (*record.metrics, record.status), strict=True))
    before, delete = contents(swept.folder / RAW), swept.backend.delete

    def interrupted(*keys):
        delete(*keys)
        monkeypatch.undo()
        other.write(0, 0, values, record.writer)  # in the middle of forgetting

    monkeypatch.setattr(swept.backend, "delete", interrupted)
    swept.forget(0, 0)
    assert swept.listing().done.all() and contents(swept.folder / RAW) == before
    swept.forget(0, 0)
    assert (
        not swept.listing().done[0, 0]
        and swept.listing().done.sum() == len(WHAT.grid) * WHAT.blocks - 1
    )


def test_a_unit_that_fails_for_one_driver_and_not_for_another_counts_once(swept):
    """As where one of them was begun before a mistake was mended: the numbers count."""
    swept.fail(0, 0, "planted", "0" * 16)
    listing = swept.listing()
    assert listing.done.all() and not listing.failed.any() and not swept.read(0, 0).failed
    seal(swept)
    assert (results.load(swept)["status"] == 1).all()


def test_a_lost_unit_is_never_sealed_as_no_number(swept):
    """A unit that fails is NaN, but its file is there."""
    swept.forget(1, 0)
    swept.fail(1, 0, "planted", "0" * 16)
    assert np.isnan(swept.read(1, 0).metrics).all()
    (swept.folder / swept.key(0, 1)).unlink()
    with pytest.raises(InvalidInput, match="its file is missing"):
        seal(swept)
    assert not (swept.folder / results.SEALED).exists()


def test_what_is_sealed_is_left_alone(swept):
    """A second driver that comes to its end must not pull the results from under the first one's report."""
    seal(swept)
    before = stamps(swept.folder / results.SEALED)
    assert before
    seal(swept)
    assert stamps(swept.folder / results.SEALED) == before
    fewer = study(grid=GRID | {"epsilon": [0.5], "m": [3]}, replications=20)
    seal(swept, fewer)
    assert results.is_sealed(Store(fewer, swept.folder)) and results.is_sealed(swept)
    assert stamps(swept.folder / results.SEALED) == before


def test_a_worker_that_does_not_see_the_folder_stops_the_sweep_in_one_line(tmp_path):
    """As on a node that does not mount it: nothing is made there, which would look like a store."""
    schedule = Schedule(WHAT, Listing(*np.zeros((2, len(WHAT.grid), WHAT.blocks), bool)))
    with pytest.raises(
        sweep.SweepError, match="does not see .*unseen; give outputs on storage that driver"
    ):
        sweep.run(Executor(), Runner(Store(WHAT, tmp_path / "unseen")), iter(schedule))
    assert not (tmp_path / "unseen").exists()


def test_nobody_seals_what_is_being_taken_back(swept):
    """Another driver found everything done, and comes to seal between the removal and the marks."""
    seal(swept)
    met = []

    def finish():
        try:
            seal(Store(WHAT, swept.folder))
        except InvalidInput as error:
            met.append(error)

    driver = threading.Thread(target=finish)
    with swept.locked():
        results.unseal(swept)
        driver.start()
        driver.join(0.3)
        assert driver.is_alive()
        swept.forget(0, 0)
    driver.join()
    assert "its file is missing" in str(met[0]) and not (swept.folder / results.SEALED).exists()


@pytest.mark.parametrize("when", ["before", "opened", "gone"])
def test_results_that_another_grid_replaces_while_they_are_reported_are_one_line(
    when, tmp_path, monkeypatch, capsys
):
    """Two drivers, two grids of one study: the report shows one of them or says that it cannot."""
    words, more = (arguments(tmp_path, **{"grid.m": grid}) for grid in ("[3,4]", "[3,5]"))
    assert main(words) == main(more) == 0
    load = results.load

    def replaced(store, name=results.SEALED):
        monkeypatch.undo()
        if when == "before":
            assert main(words) == 0
            return load(store, name)
        found = load(store, name)
        store.backend.remove(results.SEALED)
        return load(store, name) if when == "gone" else found

    monkeypatch.setattr(results, "load", replaced)
    assert main([*more, "task=report"]) == 1
    error = capsys.readouterr().err
    assert (
        "the results changed while the report was written; finished units are kept, the same command"
        in error
    )
    assert main(more) == 0 and error.count("error: ") == 1 and "Traceback" not in error


def test_a_run_whose_results_are_replaced_seals_and_reports_again(tmp_path, monkeypatch, capsys):
    words, more = (arguments(tmp_path, **{"grid.m": grid}) for grid in ("[3,4]", "[3,5]"))
    assert main(words) == main(more) == 0
    load, met = results.load, []

    def replaced(store, name=results.SEALED):
        met.append(store)
        if len(met) == 1:
            with monkeypatch.context() as patch:
                patch.setattr(results, "load", load)
                assert main(words) == 0
        return load(store, name)

    monkeypatch.setattr(results, "load", replaced)
    assert main([*more, "title=again"]) == 0 and len(met) > 1
    out, error = capsys.readouterr()
    assert error.count("error: ") == 0 and "report: " in out.splitlines()[-1]
    with xr.open_zarr(met[0].folder / results.SEALED) as found:
        assert found["m"].values.tolist() == [3, 5]


def test_a_file_that_is_lost_before_results_are_sealed_is_no_hole_in_them(swept, monkeypatch):
    reduced = reduce._reduce

    def losing(*arguments):
        regions = reduced(*arguments)
        shards = [*swept.folder.rglob("results.zarr*/status/c/**/*")]
        next(path for path in shards if path.is_file()).unlink()
        return regions

    monkeypatch.setattr(reduce, "_reduce", losing)
    with pytest.raises(OSError, match="was lost while it was written"):
        seal(swept)
    monkeypatch.setattr(reduce, "_reduce", reduced)
    seal(swept)
