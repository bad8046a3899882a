"""What a worker compares before its first unit."""

import os
import re
import socket
import time

import numpy as np
import pytest

from pipeline.execution import runner
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import Local
from pipeline.execution.errors import Unfit
from pipeline.execution.looks import Looks
from pipeline.execution.runner import TRIES, Runner, writer
from pipeline.execution.schedule import Schedule, Unit, find_unit, unit_name
from pipeline.execution.sweep import Bundling, LostWorkers, run
from pipeline.execution.unit_work import UnitWork
from pipeline.storage import agreement
from pipeline.storage.backend import Unreachable
from pipeline.storage.replications import RAW, Store
from pipeline.study.study import Study
from tests.helpers.engine import pending, study


def fails(*_):
    raise ZeroDivisionError("planted")


def begun(folder):
    """A store in which the reference units are done, by a writer that nobody remembers."""
    store = Store(study(), folder)
    schedule = pending(store.study, store)
    Runner(store)(list(schedule.references))
    for key in store.backend.keys(agreement.FOLDER):
        store.backend.delete(f"{agreement.FOLDER}/{key}")
    return store, schedule


def other_unit(schedule):
    return next(unit for unit, _ in schedule if unit not in schedule.references)


def test_a_unit_that_failed_under_older_code_stops_nobody(tmp_path):
    """A shard whose own failures are done again meets one of another shard's, which has not begun."""
    store, schedule = begun(tmp_path)
    for unit in schedule.references:
        store.forget(*unit)
        store.fail(*unit, "Traceback", "0" * 16)
    other = other_unit(schedule)
    assert Runner(store, schedule.references)([other]) == [False] and store.holds(*other)
    assert all(store.read(*unit).failed for unit in schedule.references)


def test_where_a_reference_failed_another_finished_unit_is_compared(tmp_path, monkeypatch):
    store, schedule = begun(tmp_path)
    for unit in schedule.references:
        store.forget(*unit)
        store.fail(*unit, "Traceback", "0" * 16)
    first, *others = (unit for unit, _ in schedule if unit not in schedule.references)
    assert Runner(store, schedule.references)([first]) == [False]
    for key in store.backend.keys(agreement.FOLDER):
        store.backend.delete(f"{agreement.FOLDER}/{key}")
    simulate = Runner._simulate
    monkeypatch.setattr(
        Runner,
        "_simulate",
        lambda *words: {name: values * 2 for name, values in simulate(*words).items()},
    )
    with pytest.raises(Unfit, match="come out differently"):
        Runner(store, schedule.references)(others[:1])


def test_a_unit_that_failed_is_no_reference_where_others_are_done(tmp_path):
    """A small study is compared wholly: all units that hold numbers, and only these."""
    store, schedule = begun(tmp_path)
    Runner(store)([unit for unit, _ in schedule])
    failed = schedule.references[0]
    store.forget(*failed)
    store.fail(*failed, "Traceback", "0" * 16)
    listing = store.listing()
    assert listing.done.all() and set(Schedule(store.study, listing).references) == {
        Unit(cell, block) for cell, block in np.ndindex(listing.done.shape)
    } - {failed}


def test_a_writer_that_only_compares_is_recorded_once_all_references_are_there(tmp_path):
    store = Store(study(), tmp_path)
    one, other = pending(store.study, store).references
    Runner(store)([one])
    for key in store.backend.keys(agreement.FOLDER):
        store.backend.delete(f"{agreement.FOLDER}/{key}")
    for there in (False, True):
        if there:
            Runner(store, (one, other))([other])
            for key in store.backend.keys(agreement.FOLDER):
                store.backend.delete(f"{agreement.FOLDER}/{key}")
        assert Runner(store, (one, other)).check([other]) == [False]
        assert bool(agreement.recorded(store)) == store.holds(*other) == there


def test_a_unit_that_was_made_to_compare_is_not_made_again(tmp_path, monkeypatch):
    """Also where a process has no time to look whether others have finished a unit."""
    store = Store(study(), tmp_path)
    schedule = pending(store.study, store)
    runner = Runner(store, schedule.references)
    monkeypatch.setattr(Looks, "is_done", lambda *_: False)
    simulated = []
    simulate = Runner._simulate

    def count(self, unit, *rest):
        simulated.append(unit)
        return simulate(self, unit, *rest)

    monkeypatch.setattr(Runner, "_simulate", count)
    units = [unit for unit, _ in schedule]
    runner(units)
    assert sorted(simulated) == sorted(units), "every unit, once"


def test_units_are_found_by_their_names():
    what = study()
    unit = Unit(3, what.blocks - 1)
    name = unit_name(what, unit)
    assert find_unit(what, name) == unit
    start = name.rpartition("-")[0]
    for other in (f"{start}-{what.blocks}", f"{start}--1", f"{start}-", start, "c0123-0", "unit-0"):
        assert find_unit(what, other) is None, other


def test_a_failure_here_of_what_was_finished_elsewhere_stops(tmp_path, monkeypatch):
    store, schedule = begun(tmp_path)
    monkeypatch.setattr(Runner, "_simulate", fails)
    with pytest.raises(Unfit, match="come out differently"):
        Runner(store, schedule.references)([other_unit(schedule)])
    assert not store.holds(*other_unit(schedule))


def test_a_damaged_reference_is_named(tmp_path):
    store, schedule = begun(tmp_path)
    path = tmp_path / store.key(*schedule.references[0])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Unfit, match="is damaged .*task=verify repair=true"):
        Runner(store, schedule.references)([other_unit(schedule)])


def test_a_reference_of_every_combination_of_parts(tmp_path):
    schedule = pending(study(), Store(study(), tmp_path))
    combinations = {study().grid.labels(unit.cell)["estimator"] for unit in schedule.references}
    assert combinations == {"debiased", "plug_in"} and len(schedule.references) == 2


def wide(**grid):
    """A crowd of many workers and 500 tasks: some 200 MB for 200 workers."""
    return study(
        problem="crowd",
        grid=grid,
        replications=400,
        block=400,
        metrics=["label_error"],
        parameters=dict(
            model="dawid_skene",
            m=500,
            mechanism="randomized_response",
            epsilon=1.0,
            estimator="majority_vote",
        ),
    )


def test_a_worker_with_little_memory_makes_the_same_numbers_in_smaller_slices(tmp_path):
    """Real workers, which may have 256 MiB, as they are. No slice of 40,000 workers fits: their abilities take more."""
    what = wide(n=[200, 40_000])
    store = Store(what, tmp_path)
    schedule = pending(what, store)
    with Local(workers=1, memory="256MiB").open() as executor:
        outcome = run(executor, Runner(store), [(Unit(1, 0), 1.0), (Unit(0, 0), 1.0)])
    assert (
        outcome.units_done == 2
        and outcome.lost == 0
        and store.listing().failed.tolist() == [[False], [True]]
    )
    error = store.read(1, 0).error
    assert error.endswith(
        "also in slices of 16.00 MiB; give workers more memory, then retry_failed=true\n"
    )
    assert schedule.pending == 2 and "Unable to allocate 122. MiB" in error
    here = what.simulate(what.grid.labels(0), 0)["label_error"]
    assert store.read(0, 0).metrics.tobytes() == here.tobytes()


def test_a_unit_whose_worker_died_gets_smaller_slices(tmp_path, monkeypatch):
    store, schedule = begun(tmp_path)
    simulate, asked = Study.simulate, []
    monkeypatch.setattr(
        Study,
        "simulate",
        lambda self, labels, block, memo, size: (
            asked.append(size),
            simulate(self, labels, block, memo),
        )[1],
    )
    unit = other_unit(schedule)
    for kills in (0, 1, 2, 9):
        store.forget(*unit)  # or it would be left as it is
        Runner(store, schedule.references).careful(Bundle([unit], 1.0, kills=kills))
    assert [size for size in asked if size != 2**30] == [2**28, 2**26, 2**24]


class Deadly(Runner):
    """A runner in whose workers the first of the reference units ends the process, as a segmentation fault does."""

    most_tries = 1

    def _simulate(self, unit, memo=None):
        if unit == self.references[0] and self.driver[1] != os.getpid():
            os._exit(1)
        return super()._simulate(unit, memo)


def test_a_reference_unit_that_ends_processes_is_blamed_and_no_other_unit(tmp_path):
    """The sweep goes on, although the process that would compare ends each time, with units that it never began."""
    store = Store(study(), tmp_path)
    schedule = pending(store.study, store)
    work, flags = Deadly(store, schedule.references), {}
    with Local(workers=1).open() as executor:
        outcome = run(
            executor,
            work,
            iter(schedule),
            bundling=Bundling(total_cost=schedule.cost),
            lost_workers=LostWorkers(kills=1, doubt=1.0, blame=work.blame),
            on_done=lambda works, bundle, _: flags.update(zip(bundle.units, works, strict=True)),
        )
    bad, listing = schedule.references[0], store.listing()
    assert (
        outcome.lost == 2
        and outcome.units_done == len(flags) == listing.done.size
        and listing.done.all()
    )
    assert [unit for unit, work in flags.items() if work.failed] == [bad]
    assert listing.failed.sum() == listing.failed[bad]
    assert store.read(*bad).error.startswith(
        "worker killed: 1 processes ended while they made this unit"
    )
    assert not agreement.tries(store) and len(agreement.recorded(store)) == 1


def test_where_a_finished_unit_ends_processes_that_compare_it_these_must_not_compute(tmp_path):
    store, schedule = begun(tmp_path)
    other, (first, *_) = other_unit(schedule), schedule.references
    work = Runner(store, schedule.references)
    agreement.begin(store, writer(store.study).id, unit_name(store.study, first), before=TRIES)
    for _ in range(2):  # no process dies of it any more
        with pytest.raises(Unfit, match="was finished before.* ended 4 processes; give "):
            work([other])
    assert not store.holds(*other) and store.holds(*first)
    assert Runner(store, schedule.references, accept=True)([other]) == [
        False
    ] and not agreement.tries(store)


def test_a_finished_unit_that_does_not_end_here_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LEAST_SECONDS", 0.01)
    monkeypatch.setattr(runner, "SLOW", 0.0)
    store, schedule = begun(tmp_path)
    monkeypatch.setattr(Runner, "_simulate", lambda *_: [time.sleep(0.01) for _ in range(10**6)])
    with pytest.raises(Unfit, match="was finished before, .* but does not end on"):
        Runner(store, schedule.references)([other_unit(schedule)])


def test_a_unit_that_killed_its_workers_is_blamed_unless_it_was_stored(tmp_path):
    store, schedule = begun(tmp_path)
    bad = other_unit(schedule)
    assert Runner(store).blame(bad, "its worker was killed 4 times").failed
    assert store.read(*bad).error.startswith(
        "worker killed: its worker was killed 4 times by this unit"
    )
    good = schedule.references[0]
    files = sorted(store.backend.keys(f"{RAW}/units"))
    assert Runner(store).blame(good, "") == UnitWork(failed=False) and not store.read(*good).failed
    assert (
        sorted(store.backend.keys(f"{RAW}/units")) == files
    )  # it has no second file, as one that failed


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(13, "Permission denied"),
        Unreachable("s3://b denies access"),
        OSError(30, "access denied"),
    ],
)
def test_a_worker_without_access_to_the_store_is_unfit_and_named(error, tmp_path, monkeypatch):
    store, schedule = begun(tmp_path)

    def refuse(self):
        raise error

    monkeypatch.setattr(Store, "exists", refuse)
    with pytest.raises(Unfit, match=f"^{re.escape(socket.gethostname())}: .*(denied|denies)"):
        Runner(store, schedule.references)([other_unit(schedule)])
