"""Shards: every unit in exactly one of them, whatever is done; any order and overlap gives the same result."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.__main__ import main
from pipeline.execution import runner
from pipeline.execution.clusters import Executor, Synchronous
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.execution.sweep import run
from pipeline.storage.replications import Listing, Store
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import reduce
from pipeline.workflow.config import read_settings
from pipeline.workflow.run import RunOutcome
from pipeline.workflow.studies import ScheduledStudy, scheduled
from tests.helpers.engine import (
    advance,
    arguments,
    contents,
    mapping,
    sealed,
    stored,
    study,
    without_report,
)

STUDY = study()
SIZE = (len(STUDY.grid), STUDY.blocks)


def schedule(done, shard):
    return Schedule(STUDY, Listing(done, np.zeros(SIZE, bool)), shard)


def units(done, shard):
    return [(unit.cell, unit.block) for unit, _ in schedule(done, shard)]


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**48))
def test_shards_part_the_units_alike_whatever_is_done(count, seed):
    done = np.random.default_rng(seed).random(SIZE) < 0.5
    whole = [units(np.zeros(SIZE, bool), (k, count)) for k in range(count)]
    assert sorted(unit for shard in whole for unit in shard) == [
        (cell, block) for cell in range(SIZE[0]) for block in range(SIZE[1])
    ]
    for k in range(count):
        part = schedule(done, (k, count))
        assert units(done, (k, count)) == [unit for unit in whole[k] if not done[unit]]
        assert part.units == len(whole[k]) and part.pending == len(units(done, (k, count)))
    assert len(set(map(len, whole))) <= 2, "the same number of draws of data each, or one fewer"


def test_cells_that_share_their_data_stay_together():
    """Both estimators of one release are in one shard: it is drawn once."""
    part = schedule(np.zeros(SIZE, bool), (0, 5))
    labels = [STUDY.grid.labels(cell) for cell in range(SIZE[0])]
    for cell, block in zip(*np.nonzero(part.mine), strict=True):
        data = {k: v for k, v in labels[cell].items() if k != "estimator"}
        controls = [
            c
            for c in range(SIZE[0])
            if {k: v for k, v in labels[c].items() if k != "estimator"} == data
        ]
        assert len(controls) == 2 and part.mine[controls, block].all()


def test_shards_in_any_order_and_twice_give_the_same_bytes(tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    assert main(arguments(tmp_path / "whole")) == 0
    for shard in ("3/3", "1/3", "3/3", "1/2"):
        assert main([*arguments(tmp_path / "parts"), f"shard={shard}"]) == 0
        assert not list((tmp_path / "parts").rglob("results.zarr"))
    assert main(arguments(tmp_path / "parts")) == 0
    whole, parts = (
        contents(next((tmp_path / name).rglob("results.zarr"))) for name in ("whole", "parts")
    )
    assert whole == parts
    assert main([*arguments(tmp_path / "parts"), "shard=2/3"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_two_hundred_shards_give_the_same_bytes(tmp_path):
    """Each has the two units of one release and is a driver of its own; the last one comes first."""
    what = study(replications=500)  # 400 units
    for k in reversed(range(200)):
        store = Store(what, tmp_path / "parts")
        store.begin()
        part = Schedule(what, store.listing(), (k, 200))
        assert part.units == 2
        assert (
            run(Executor(), Runner(store, part.references), iter(part)).units_done == part.pending
        )
    reduce.seal(stored(what, tmp_path / "parts"), Executor())
    assert sealed(what, tmp_path / "parts") == sealed(what, tmp_path / "whole")


@pytest.mark.parametrize("shard", ["0/3", "4/3", "3", "1/0", "-1/3", "1/3/5", "a/b", "", "1.5/3"])
def test_a_shard_that_makes_no_sense_is_named(shard):
    with pytest.raises(InvalidInput, match="shard="):
        read_settings(mapping(shard=shard))
    with pytest.raises(InvalidInput, match="task=run only"):
        read_settings(mapping(shard="1/2", task="status"))


def failed(folder, *shards):
    """All units are done, but one of each of these of two shards failed; the store, and those that failed."""
    advance(STUDY, folder)
    store = Store(STUDY, folder)
    chosen = [
        tuple(map(int, np.argwhere(Schedule(STUDY, store.listing(), (k, 2)).mine)[0]))
        for k in shards
    ]
    for unit in chosen:
        store.forget(*unit)
        store.fail(*unit, "Traceback", "0" * 16)
    return store, chosen


def test_a_shard_takes_back_its_own_failures_only(tmp_path):
    """What another shard may be running again just now is left to it."""
    store, (own, others) = failed(tmp_path, 0, 1)
    settings = read_settings(mapping(shard="1/2", retry_failed=True))
    part = scheduled(stored(STUDY, tmp_path), settings, Synchronous())
    assert part.pending == 1 and not store.holds(*own) and store.has_failed(*others)


def test_the_outcome_of_a_shard_is_about_its_own_units(tmp_path):
    store, _ = failed(tmp_path, 1)
    for k in (0, 1):
        part = ScheduledStudy(None, Schedule(STUDY, store.listing(), (k, 2)))
        assert RunOutcome.of([part]).failed_units == k


@pytest.mark.parametrize("share", [0, 0.5])
@pytest.mark.parametrize("count", [2, 5])
def test_all_shards_are_compared_by_the_same_units(share, count):
    """Before any is done too: else each of them, on a machine of its own, records its arithmetic uncompared."""
    done = np.random.default_rng(1).random(SIZE) < share
    first, *others = (schedule(done, (k, count)).references for k in range(count))
    assert others == [first] * (count - 1)
    assert {STUDY.grid.labels(unit.cell)["estimator"] for unit in first} == {"debiased", "plug_in"}


def test_a_shard_that_begins_after_another_with_other_arithmetic_is_refused(
    tmp_path, monkeypatch, capsys
):
    def last_digits(self, *rest, simulate=runner.Runner._simulate):
        return {
            name: np.nextafter(values, np.inf) if values.dtype.kind == "f" else values
            for name, values in simulate(self, *rest).items()
        }

    words = arguments(tmp_path)
    assert main([*words, "shard=1/2"]) == 0
    capsys.readouterr()
    elsewhere = runner.environment() | {"machine": "another"}
    monkeypatch.setattr(runner, "environment", lambda: elsewhere)
    monkeypatch.setattr(runner.Runner, "_simulate", last_digits)
    assert main([*words, "shard=2/2"]) == 2
    assert "come out differently" in capsys.readouterr().err
