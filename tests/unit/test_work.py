"""What a worker compares before its first unit."""

import numpy as np
import pytest
from engine import pending, study

from pipeline.parameters import InvalidInput
from pipeline.store import Store
from pipeline.work import Work


def test_a_unit_that_failed_under_older_code_stops_nobody(tmp_path):
    """A shard whose own failures are done again meets one of another shard's, which has not begun."""
    what, store = study(), Store(tmp_path)
    agenda = pending(what, store)
    witness = agenda.witness(store, elsewhere=True)
    store.fail(what, witness.row, witness.block, "Traceback")
    other = next(unit for unit, _ in agenda if unit != witness)
    assert Work(what, store, witness)([other]) == [False] and store.holds(other.row, other.block)
    assert (store.read("status", witness.row, witness.block) == 3).all()


def test_a_failure_here_of_what_was_finished_elsewhere_stops(tmp_path, monkeypatch):
    what, store = study(), Store(tmp_path)
    agenda = pending(what, store)
    witness = agenda.witness(store, elsewhere=True)
    Work(what, store)([witness])
    monkeypatch.setattr(Work, "_simulate", lambda *_: np.linalg.inv(np.zeros((2, 2))))
    with pytest.raises(InvalidInput, match="comes out differently"):
        Work(what, store, witness)([next(unit for unit, _ in agenda if unit != witness)])
