"""Time limits: a unit that takes too long fails, wherever it hangs, and nothing else does."""

import threading
import time

import pytest
from engine import arguments, pending, study, without_report

from pipeline.__main__ import main
from pipeline.execution.clusters import Local
from pipeline.execution.limits import TimeLimit, limited
from pipeline.execution.runner import Runner
from pipeline.execution.sweep import run
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.storage.replications import Store


def endless():
    while True:
        time.sleep(0.01)


def never(thread):
    raise AssertionError("it can be interrupted")


def test_a_call_without_end_is_ended_where_it_is():
    threads = threading.active_count()
    with pytest.raises(TimeLimit, match=r"^longer than 0\.1 s$") as caught:
        limited(endless, 0.1, never, grace=1e6)
    assert "endless" in [entry.name for entry in caught.traceback]
    while threading.active_count() > threads:  # the one that waited ends, too
        time.sleep(0.01)


def test_a_call_in_time_returns_or_raises_as_ever():
    assert limited(lambda: 7, 1e6, never) == 7
    with pytest.raises(KeyError):
        limited(lambda: {}[1], 1e6, never)


def test_a_call_that_catches_the_exception_is_over_its_limit_all_the_same():
    """Or half of a computation would be stored as a result."""
    def deaf():
        try:
            endless()
        except TimeLimit:
            return 7

    with pytest.raises(TimeLimit):
        limited(deaf, 0.1, never, grace=1e6)


def test_a_call_in_compiled_code_is_reported_as_stuck_and_then_over_its_limit():
    reported, release = [], threading.Event()

    def report(thread):
        reported.append(thread)
        release.set()

    with pytest.raises(TimeLimit):  # lock.acquire waits in C
        limited(release.wait, 0.05, report, grace=0.05)
    assert reported == [threading.get_ident()]


def test_many_calls_that_end_at_their_limit_leave_nothing_behind():
    """The exception must come within the call or not at all, however close the two are."""
    for _ in range(300):
        try:
            assert limited(lambda: time.sleep(0.001) or 7, 0.001, never, grace=1e6) == 7
        except TimeLimit:
            pass


def test_the_command_ends_endless_units_and_names_them(tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    words = arguments(tmp_path, cluster="synchronous")
    fit = Debiased.fit
    with monkeypatch.context() as patch:
        hung = []

        def hangs(self, *inputs, **more):
            if not hung:
                hung.append(1)
                endless()
            return fit(self, *inputs, **more)

        patch.setattr(Debiased, "fit", hangs)
        patch.setattr(Runner, "agree", lambda self, compare_only=False: "0" * 16)
        assert main([*words, "most_seconds=5"]) == 1
    out, err = capsys.readouterr()
    assert "1 failed unit" in out and "TimeLimit: longer than 5 s" in out and "task=replay" in out
    assert "Traceback" not in out + err
    assert main([*words, "retry_failed=true", "accept_code=yes"]) == 0


class Stuck(Runner):
    """A runner one unit of which never returns from compiled code."""

    grace = 0.5
    bad = (7, 1)

    def _simulate(self, unit, memo=None):
        if tuple(unit) == self.bad:
            time.sleep(1e6)
        return super()._simulate(unit, memo)


def test_a_worker_stuck_in_compiled_code_is_ended_and_its_unit_blamed(tmp_path):
    store = Store(study(), tmp_path)
    schedule = pending(store.study, store)
    assert Stuck.bad not in schedule.references
    failed = []
    with Local(workers=1).open() as executor:
        outcome = run(executor, Stuck(store, schedule.references, most_seconds=5.0), iter(schedule),
                      total_cost=schedule.cost, on_done=lambda flags, bundle, _: failed.extend(
                          unit for unit, bad in zip(bundle.units, flags, strict=True) if bad))
    listing = store.listing()
    assert listing.done.all() and failed == [Stuck.bad] and listing.failed.sum() == 1 and listing.failed[Stuck.bad]
    error = store.read(*Stuck.bad).error
    assert "in _simulate" in error and error.endswith("longer than 5 s, in code that cannot be interrupted")
    assert outcome.units_done == listing.done.size and not outcome.interrupted
