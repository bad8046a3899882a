"""Time limits: a unit that takes too long fails, wherever it hangs, and nothing else does."""

import contextlib
import itertools
import subprocess
import sys
import threading
import time

import pytest

from pipeline.__main__ import main
from pipeline.execution import runner, time_limit
from pipeline.execution.bundles import Bundle, Bundler
from pipeline.execution.clusters import Executor, Local
from pipeline.execution.runner import Runner
from pipeline.execution.sweep import Bundling, run
from pipeline.execution.time_limit import TimeLimit, _Watch, limited
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.storage.replications import Store
from tests.helpers.engine import arguments, pending, study, without_report


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
        with contextlib.suppress(TimeLimit):
            assert limited(lambda: time.sleep(0.001) or 7, 0.001, never, grace=1e6) == 7


AFTER_A_LIMIT = """
import sys, time
from pipeline.execution.time_limit import TimeLimit, limited
try:
    limited(lambda: time.sleep(1), 0.01, print)
except TimeLimit:
    print("limit")
sys.settrace(lambda *_: None)
(lambda: None)()
print("done")
"""


def test_a_debugger_can_follow_what_comes_after_a_limit():
    """Python 3.11 hangs there if an exception was taken back that was to be raised."""
    words = [sys.executable, "-c", AFTER_A_LIMIT]
    process = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert process.stdout.split() == ["limit", "done"], process.stderr


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
        outcome = run(
            executor,
            Stuck(store, schedule.references, most_seconds=5.0),
            iter(schedule),
            bundling=Bundling(total_cost=schedule.cost),
            on_done=lambda works, bundle, _: failed.extend(
                unit for unit, work in zip(bundle.units, works, strict=True) if work.failed
            ),
        )
    listing = store.listing()
    assert (
        listing.done.all()
        and failed == [Stuck.bad]
        and listing.failed.sum() == 1
        and listing.failed[Stuck.bad]
    )
    error = store.read(*Stuck.bad).error
    assert "in _simulate" in error and error.endswith(
        "TimeLimit: in code that cannot be interrupted, longer than 5 s"
    )
    assert outcome.units_done == listing.done.size and not outcome.interrupted


def test_a_unit_has_a_limit_from_its_predicted_cost(tmp_path, monkeypatch):
    """A hundred times what it should take by the others, and ten minutes at least: here both are short."""
    assert runner.LEAST_SECONDS >= 600 and runner.SLOW >= 100
    monkeypatch.setattr(runner, "LEAST_SECONDS", 0.1)
    monkeypatch.setattr(runner, "SLOW", 2.0)
    store = Store(study(), tmp_path)
    schedule = pending(store.study, store)
    work = Runner(store, schedule.references)
    first, bad = (unit for unit, _ in itertools.islice(schedule, 2))
    assert work([first]) == [False]
    monkeypatch.setattr(Runner, "_simulate", lambda *_: endless())
    (unit,) = work.careful(Bundle([bad], 1.0, expected=0.1))
    assert unit.failed
    assert store.read(*bad).error.endswith(
        "TimeLimit: longer than 0.2 s, and than 2 times its predicted time; "
        "retry_failed=true most_seconds=… gives it more\n"
    )


def test_before_any_unit_has_ended_a_limit_is_ten_times_as_long(tmp_path):
    """A unit that is predicted to take 20 s may take 20,000; the shortest limit is 100 minutes."""
    store = Store(study(), tmp_path)
    assert [Runner(store)._unmeasured(cost) for cost in (0.0, 1e9, 20e9)] == [
        None,
        6000.0,
        20_000.0,
    ]
    assert Runner(store, most_seconds=5.0)._unmeasured(20e9) == 5.0


def test_bundles_say_what_they_should_take_once_others_have_ended():
    expected = []

    class Careful:
        def careful(self, bundle):
            expected.append(bundle.expected)
            return bundle.units

    run(Executor(), Careful(), ((unit, 1.0) for unit in range(20)), bundling=Bundling(seconds=1e-9))
    assert (
        expected[0] is None and len(expected) > 2 and all(seconds > 0 for seconds in expected[1:])
    )
    bundler = Bundler([(0, 3.0), (1, 5.0)])
    bundler.learn(bundler.next(1), 6.0)
    assert bundler.expected(bundler.next(1)) == 10.0


def test_a_time_in_which_the_process_was_stopped_does_not_count(monkeypatch):
    class Lock:
        """Of a process that is stopped in its second wait, for longer than the whole limit."""

        waits = []

        def acquire(self, timeout):
            self.waits.append(timeout)
            return len(self.waits) == 3

    watch = _Watch.__new__(_Watch)
    watch.seconds, watch.over, watch.lock, watch.ended = 600.0, Lock(), threading.Lock(), False
    monkeypatch.setattr(time_limit, "_raise_in", never)
    watch._wait()
    assert Lock.waits == [10.0] * 3
