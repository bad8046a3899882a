"""What a worker compares before its first unit."""

import pytest
from engine import pending, study

from pipeline.execution.errors import Unfit
from pipeline.execution.runner import Runner
from pipeline.storage import agreement
from pipeline.storage.replications import Store


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
    monkeypatch.setattr(Runner, "_simulate", lambda *words: {
        name: values * 2 for name, values in simulate(*words).items()})
    with pytest.raises(Unfit, match="come out differently"):
        Runner(store, schedule.references)(others[:1])


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
