"""What `task=status` says of a study: what is done, how long the rest takes, and the exit code."""

import numpy as np
import pytest
from engine import advance, pending, stored, study

from pipeline.cli import status
from pipeline.storage.replications import Store

SESSION = dict(units=0, seconds=1.0, cost_done=0.0, shard=None)


def facts(folder):
    one = stored(study(), folder)
    return status.facts(one, one.store.listing())


@pytest.mark.parametrize("shard, code", [(None, 1), ("1/2", 75)])
def test_a_shard_that_failed_is_no_study_that_failed(tmp_path, monkeypatch, shard, code):
    """Others may do what it left."""
    pending(study(), Store(study(), tmp_path))
    monkeypatch.setattr(status, "sessions", lambda folder: [SESSION | dict(state="failed", shard=shard)])
    assert facts(tmp_path)["exit_code"] == code


def test_time_left_is_the_cost_that_is_left_over_the_pace_of_all_sessions(tmp_path, monkeypatch):
    """Two that did 3 units each, of a cost of 50, in 10 seconds."""
    schedule = pending(study(), Store(study(), tmp_path))
    session = SESSION | dict(state="running", units=3, seconds=10.0, cost_done=50.0)
    monkeypatch.setattr(status, "sessions", lambda folder: [session] * 2)
    found = facts(tmp_path)
    assert found["seconds_left"] == pytest.approx(schedule.cost / (50 / 10 + 50 / 10))
    assert found["units_per_second"] == pytest.approx(3 / 10 + 3 / 10)


def test_units_that_do_not_count_are_not_counted_as_done(tmp_path, monkeypatch):
    """As where a cell ended before its last block, which was done before that."""
    schedule, _ = advance(study(), tmp_path)
    cells, blocks = schedule.mine.shape
    first = np.broadcast_to(np.arange(blocks) == 0, (cells, blocks))
    monkeypatch.setattr(status, "counted", lambda study: first)
    units = facts(tmp_path)["units"]
    assert (units["all"], units["done"]) == (cells, cells)
