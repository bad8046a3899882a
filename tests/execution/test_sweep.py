"""Sweeps on every kind of cluster: all units, bounded, lazy, bundled, stopped, failed."""

import contextlib
import dataclasses
import functools
import os
import random
import signal
import threading
import time

import psutil
import pytest

from pipeline.execution import dask_pool, workers
from pipeline.execution.bundles import MOST_UNITS, Bundle, Bundler
from pipeline.execution.clusters import Executor, Local, Synchronous, Threads
from pipeline.execution.clusters.executor import DASK
from pipeline.execution.errors import Unfit
from pipeline.execution.progress import interruptible
from pipeline.execution.sweep import ALONE, KILLS, Bundling, LostWorkers, Sweep, SweepError, run
from pipeline.execution.task import Ending


@pytest.fixture(scope="module", params=["local", "threads", "synchronous"])
def executor(request):
    cluster = {
        "local": Local(workers=2),
        "threads": Threads(workers=2),
        "synchronous": Synchronous(),
    }
    with cluster[request.param].open() as opened:
        yield opened


def record(folder, units, seconds=0.0):
    """Store the square of each unit, and who computed it."""
    for unit in units:
        time.sleep(seconds)
        (folder / f"{unit}").write_text(f"{unit**2}")
    return [(unit, os.getpid()) for unit in units]


def fail_at(folder, bad, units):
    record(folder, [unit for unit in units if unit != bad])
    if bad in units:
        raise OSError(28, "No space left on device\nsecond line")
    return units


class Heavy:
    """Work that counts how often it is pickled, which happens in the driver."""

    pickled = 0

    def __reduce__(self):
        Heavy.pickled += 1
        return Heavy, ()

    def __call__(self, units):
        return units


def pairs(units, cost=1.0):
    return ((unit, cost) for unit in units)


def unfit_at_first(folder, times, units):
    """Raise Unfit in the first processes that are asked, and in them always."""
    mine = folder / str(os.getpid())
    if mine.exists() or len(list(folder.iterdir())) < times:
        mine.touch()
        raise Unfit("has another type of CPU")
    return record(folder / "..", units, 0.01)


@pytest.mark.parametrize("times", [1, 3])
def test_unfit_processes_of_this_machine_are_replaced(times, tmp_path):
    (tmp_path / "unfit").mkdir()
    lines = []
    with Local(workers=2).open() as executor:
        outcome = run(
            executor,
            functools.partial(unfit_at_first, tmp_path / "unfit", times),
            pairs(range(400)),
            lost_workers=LostWorkers(on_retired=lines.append),
        )
    assert (
        outcome.units_done == 400
        and outcome.lost == 0
        and len(lines) == len(list((tmp_path / "unfit").iterdir()))
    )
    assert lines and all(line.endswith("is retired: has another type of CPU") for line in lines)


def test_if_all_workers_are_unfit_the_reason_is_the_error(tmp_path):
    for cluster, most in ((Local(workers=2), 5), (Threads(workers=2), 1), (Synchronous(), 1)):
        lines = []
        with (
            cluster.open() as executor,
            pytest.raises(SweepError, match="^has another type of CPU$"),
        ):
            run(
                executor,
                functools.partial(unfit_at_first, tmp_path, 100),
                pairs(range(10)),
                lost_workers=LostWorkers(on_retired=lines.append),
            )
        assert len(lines) < most


def test_order_changes_nothing(executor, tmp_path):
    contents = []
    for name, shuffle in (("ordered", False), ("shuffled", True)):
        units = list(range(300))
        if shuffle:
            random.Random(1).shuffle(units)
        folder = tmp_path / name
        folder.mkdir()
        seen = []
        outcome = run(
            executor,
            functools.partial(record, folder),
            pairs(units),
            bundling=Bundling(total_cost=300.0),
            on_done=lambda results, bundle, workers, seen=seen: seen.extend(results),
        )
        assert outcome.units_done == 300 and not outcome.interrupted and outcome.lost == 0
        assert sorted(unit for unit, _ in seen) == list(range(300))
        contents.append({path.name: path.read_text() for path in folder.iterdir()})
    assert contents[0] == contents[1] == {f"{unit}": f"{unit**2}" for unit in range(300)}


def test_units_are_taken_lazily_and_the_window_is_bounded(executor, tmp_path):
    taken, done, widest = [0], [0], [0]

    def stream():
        for unit in range(200):
            taken[0] += 1
            widest[0] = max(widest[0], taken[0] - done[0])
            yield unit, 1.0

    def on_done(results, bundle, workers):
        done[0] += len(results)
        assert bundle.cost == len(bundle.units) == len(results)

    # 5 ms of work in a bundle of at most 10 ms: at most 2 or 3 units a bundle, 4 bundles at once.
    run(
        executor,
        functools.partial(record, tmp_path, seconds=0.005),
        stream(),
        bundling=Bundling(seconds=0.01),
        on_done=on_done,
    )
    assert taken[0] == done[0] == 200 and widest[0] <= 4 * 4


def test_an_endless_stream_needs_no_memory_and_stops(executor):
    """What was read and not done is what was handed out, however many units there were."""
    taken, done, stop = [0], [0], threading.Event()

    def endless():
        while True:
            taken[0] += 1
            yield taken[0], 1.0

    def on_done(results, bundle, workers):
        done[0] += len(results)
        assert taken[0] - done[0] <= 4 * MOST_UNITS
        if done[0] > 10_000:
            stop.set()

    outcome = run(executor, Heavy(), endless(), stop=stop, on_done=on_done)
    assert outcome.interrupted and outcome.units_done == done[0] > 10_000


def test_an_exception_ends_the_sweep_in_one_line_and_keeps_the_rest(executor, tmp_path):
    with pytest.raises(SweepError) as error:
        run(executor, functools.partial(fail_at, tmp_path, 50), pairs(range(100_000)))
    assert str(error.value) == "[Errno 28] No space left on device second line"
    assert len(list(tmp_path.iterdir())) >= 49


def test_an_executor_serves_several_sweeps(executor):
    for size in (0, 1, 5):
        assert run(executor, Heavy(), pairs(range(size))).units_done == size


def test_work_is_sent_once(executor):
    Heavy.pickled = 0
    run(executor, Heavy(), pairs(range(100)), bundling=Bundling(seconds=1e-9))
    assert Heavy.pickled <= 3  # measuring, sending, and in threads the copy


def test_stop_drops_what_waits_and_finishes_what_runs(executor, tmp_path):
    stop = threading.Event()
    outcome = run(
        executor,
        functools.partial(record, tmp_path, seconds=0.3),
        pairs(range(100)),
        stop=stop,
        on_done=lambda *_: stop.set(),
    )
    assert outcome.interrupted
    assert outcome.units_done == len(list(tmp_path.iterdir())) <= 4


def test_a_stop_does_not_need_the_client(tmp_path):
    """A client whose scheduler is gone closes its connections after a while, maybe as it tells the
    workers to stop.
    """
    stop = threading.Event()
    with Local(workers=1).open() as executor:

        def on_done(*_):
            if not stop.is_set():
                executor.client.sync(executor.client.rpc.close)
                with pytest.raises(RuntimeError, match="closed"):
                    executor.client.run(os.getpid)
            stop.set()

        outcome = run(
            executor,
            functools.partial(record, tmp_path, seconds=0.1),
            pairs(range(100)),
            stop=stop,
            on_done=on_done,
        )
    assert outcome.interrupted and outcome.units_done == len(list(tmp_path.iterdir()))


def test_a_stop_after_the_last_unit_interrupts_nothing(executor):
    stop = threading.Event()
    outcome = run(executor, Heavy(), pairs([7]), stop=stop, on_done=lambda *_: stop.set())
    assert outcome.units_done == 1 and not outcome.interrupted


def test_work_seconds_are_measured_in_workers(executor, tmp_path):
    outcome = run(
        executor,
        functools.partial(record, tmp_path, seconds=0.02),
        pairs(range(40)),
        bundling=Bundling(total_cost=40.0),
    )
    assert 0.8 <= outcome.seconds_work <= executor.workers * outcome.seconds_wall


def drain(bundler, price):
    """All bundles, each of which takes `price` seconds per unit of cost."""
    while bundle := bundler.next(2):
        bundler.learn(bundle, price * bundle.cost)
        yield bundle


def test_bundles_start_with_one_unit_and_reach_the_wanted_seconds():
    bundles = list(drain(Bundler(pairs(range(10_000)), Bundling(seconds=1.0)), price=0.01))
    sizes = [len(bundle.units) for bundle in bundles]
    assert sizes[:4] == [1, 4, 16, 64] and set(sizes[4:-1]) == {100}
    assert [unit for bundle in bundles for unit in bundle.units] == list(range(10_000))


def test_bundles_shrink_towards_the_end_when_the_total_is_known():
    sizes = [
        len(b.units) for b in drain(Bundler(pairs(range(1000)), Bundling(1000.0, 1.0)), price=0.01)
    ]
    assert max(sizes) == 100 and sizes[-1] <= 5 and sizes[-10:] == sorted(sizes[-10:], reverse=True)


def test_bundles_follow_costs_and_never_exceed_the_largest_size():
    stream = [(0, 100.0), *((unit, 1.0) for unit in range(1, 500))]
    sizes = [len(b.units) for b in drain(Bundler(stream, Bundling(seconds=1.0)), price=0.01)]
    assert sizes[0] == 1 and max(sizes) <= 101
    free = Bundler(pairs(range(50_000), 0.0), Bundling(seconds=1.0))
    assert max(len(b.units) for b in drain(free, 1e-9)) == MOST_UNITS


@pytest.mark.parametrize("group, sizes", [(6, {12}), (15, {15}), (50, {20, 10}), (1, {10})])
def test_bundles_end_with_units_that_share_data(group, sizes):
    """Where that takes less than twice what is wanted; longer groups are cut."""
    bundler = Bundler(
        pairs(range(600)), Bundling(seconds=1.0, shares=lambda unit: unit % group != group - 1)
    )
    bundles = list(drain(bundler, price=0.1))
    ends = [bundle.units[-1] + 1 for bundle in bundles]
    assert {
        len(bundle.units) for bundle in bundles if bundle.units[0] >= 100 and bundle.units[-1] < 590
    } == sizes
    assert all(end % group == 0 for end in ends if 100 < end < 590) == (group < 50)


@pytest.mark.parametrize("cost, first", [(1e6, 1000), (1e8, 17), (1e9, 2), (1e12, 1)])
def test_first_bundles_follow_predicted_cost(cost, first):
    """Two bundles for each of 1,000 workers, before any has ended.

    None is planned for longer than 1.7 s.
    """
    bundler = Bundler(((unit, cost) for unit in range(10_000_000)), Bundling(1e7 * cost, pace=1e-9))
    assert {len(bundler.next(1000).units) for _ in range(2000)} == {first}


def test_first_bundles_leave_something_for_every_worker():
    bundler, sizes = Bundler(pairs(range(20_000), 1e7), Bundling(2e11, pace=1e-9)), []
    sizes.extend(len(bundler.next(500).units) for _ in range(400))
    assert sizes[0] == 20 and sizes == sorted(sizes, reverse=True) and sum(sizes) < 20_000
    assert (
        len(Bundler(pairs(range(20_000), 1e7), Bundling(2e11, pace=1e-9)).next(10).units) == 1
    )  # few workers: no hurry


@pytest.mark.parametrize("wrong", [0.01, 1, 100])
def test_a_wrong_prediction_is_forgotten_after_the_first_bundle(wrong):
    """Units of 10 ms that were predicted to take 100 times as long, or as short: then bundles of 2
    s follow.
    """
    bundler, sizes = Bundler(pairs(range(100_000), 1e7), Bundling(pace=wrong * 1e-9)), []
    while (bundle := bundler.next(480)) and len(sizes) < 8:
        bundler.learn(bundle, 0.01 * len(bundle.units))
        sizes.append(len(bundle.units))
    assert sizes[0] == {0.01: 1000, 1: 100, 100: 1}[wrong] and sizes[5:] == [200, 200, 200]


def test_units_of_a_lost_bundle_are_rerun_one_by_one():
    singles = Bundle(list(range(25)), 50.0).singles()
    assert singles == [Bundle([unit], 2.0, kills=1) for unit in range(25)]
    assert singles[3].singles() == [Bundle([3], 2.0, kills=2)]


class Deadly:
    """A pool of two workers, of which each dies that has the unit "bad".

    Notes what was handed out beside it at last.
    """

    workers = capacity = room = most = 2
    lost, deserted = 0, False

    def __init__(self):
        self.handed_out, self.beside, self.deaths = [], [], 0

    def submit(self, bundle):
        self.handed_out.append(bundle)
        suspects = [
            one for one in self.handed_out if "bad" in one.units and one.kills >= KILLS - ALONE
        ]
        if suspects and len(self.handed_out) > 1:
            self.beside.append([one.units for one in self.handed_out])

    def finished(self):
        bundle = self.handed_out.pop(0)
        if "bad" in bundle.units:
            self.deaths += 1
            yield bundle, Ending("lost", "killed")
        else:
            yield bundle, Ending("done", [None] * len(bundle.units))

    def halt(self):
        pass

    def watch(self):
        pass


@pytest.mark.parametrize("before", [0, 20])
def test_a_unit_is_blamed_only_after_its_workers_died_while_nothing_else_ran(before):
    """Also where units wait that were never handed out, as behind a bad unit that is the first."""
    pool, blamed = Deadly(), []
    units = [*pairs(range(before)), ("bad", 1.0), *pairs(range(before, 100))]
    sweep = Sweep(
        pool,
        Bundler(units),
        lost_workers=LostWorkers(blame=lambda unit, _: blamed.append(unit) or True),
    )
    sweep.drive(threading.Event())
    assert blamed == ["bad"] and sweep.units_done == len(units) and pool.beside == []
    assert KILLS == 4 and KILLS <= pool.deaths <= KILLS + 3


class Unprepared(Deadly):
    """A pool whose first two bundles come back undone, as from workers that have no runner yet."""

    def __init__(self):
        super().__init__()
        self.undone, self.order = 2, []

    def finished(self):
        if self.undone:
            self.undone -= 1
            yield self.handed_out.pop(0), Ending("unprepared")
            return
        self.order += [one.units[0] for one in self.handed_out[:1]]
        yield from super().finished()


def test_what_ended_most_jobs_stays_last_where_workers_were_not_prepared():
    """As in a new job: all of its workers are unprepared at first."""
    ended = [Bundle(["first"], 1.0, 1), Bundle(["second"], 1.0, 1), Bundle(["third"], 1.0, 2)]
    pool = Unprepared()
    sweep = Sweep(pool, Bundler([], Bundling(last=lambda: ended)))
    sweep.drive(threading.Event())
    assert sorted(pool.order[:2]) == ["first", "second"] and pool.order[2:] == ["third"]


def test_no_worker_is_an_error_not_a_hang(tmp_path):
    class Deaf:
        def subscribe_topic(self, topic, handler):
            pass

        def map(self, function, numbers, *_, **__):
            class Never:
                def add_done_callback(self, call):
                    pass

            return [Never() for _ in numbers]

    revived = []
    empty = Executor(
        Deaf(), 2, dict, lambda: revived.append(1), description="two imaginary workers"
    )
    with pytest.raises(SweepError, match=r"no worker for 0.5 s \(two imaginary workers\)"):
        run(empty, Heavy(), pairs(range(3)), lost_workers=LostWorkers(worker_timeout=0.5))
    assert revived


STOP_AT_ONCE = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); "


def stopped_at_once():
    """The worker processes that were told so. This process may have other children, of other tests."""
    children = psutil.Process().children()
    return [child for child in children if STOP_AT_ONCE in " ".join(child.cmdline())]


@pytest.mark.parametrize("fate", [signal.SIGCONT, signal.SIGKILL], ids=["slow", "dead"])
def test_a_worker_that_is_slow_to_start_is_waited_for_and_a_dead_one_is_not(
    fate, tmp_path, monkeypatch
):
    """Its process stops itself before it loads anything, until much more time than the sweep's has
    passed without a worker.
    """
    patience = 0.3
    monkeypatch.setattr(workers, "START", STOP_AT_ONCE + workers.START)
    looks = []

    def look():
        looks.append(time.monotonic())
        if looks[-1] - looks[0] > 5 * patience:
            os.kill(process.pid, fate)

    with Local(workers=1).open() as executor:
        [process] = stopped_at_once()
        watched = dataclasses.replace(executor, revive=look)
        sweep = functools.partial(
            run,
            watched,
            functools.partial(record, tmp_path),
            pairs(range(3)),
            lost_workers=LostWorkers(worker_timeout=patience),
        )
        if fate == signal.SIGCONT:
            assert sweep().units_done == 3
        else:
            with pytest.raises(SweepError, match="no worker for 0.3 s"):
                sweep()
    assert looks[-1] - looks[0] > 5 * patience


def test_a_process_that_does_not_start_is_replaced_in_the_end(monkeypatch):
    monkeypatch.setattr(workers, "START", STOP_AT_ONCE + workers.START)
    monkeypatch.setattr(workers, "STARTING", 0.5)
    with Local(workers=1).open() as executor:
        [stopped] = stopped_at_once()
        while executor.starting() <= workers.STARTING:
            executor.revive()
            assert stopped.is_running()
        executor.revive()
        [another] = stopped_at_once()
        assert another.pid != stopped.pid


def test_handlers_are_restored_and_a_second_signal_interrupts():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with interruptible() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


def test_outside_the_main_thread_signals_are_left_alone():
    events = []

    def body():
        with interruptible(stop_after=0.01) as stop:
            events.append(stop.wait(2))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert events == [True]


@pytest.mark.parametrize("workers, units", [(1, 100), (240, 100), (1000, 417)])
def test_many_workers_get_longer_bundles(workers, units):
    """Of 1 s for up to 240 workers, of 4 s for 1,000: or they would ask more often than a scheduler
    can answer.
    """
    bundler = Bundler(pairs(range(10_000)))
    sizes = []
    while bundle := bundler.next(workers):
        bundler.learn(bundle, 0.01 * bundle.cost)
        sizes.append(len(bundle.units))
    assert max(sizes) == units


def freeze_at(folder, bad, units):
    """Stop the process, as a signal or a machine without memory does, that gets to the bad unit
    first.
    """
    with contextlib.suppress(FileExistsError):
        if bad in units:
            (folder / "frozen").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGSTOP)
    return record(folder, units)


def test_what_a_frozen_worker_has_is_done_by_another(tmp_path, monkeypatch):
    """Dask misses that worker after a minute or two, here after 5 s, and then counts it as lost."""
    monkeypatch.setitem(DASK, "distributed.scheduler.worker-ttl", "1s")
    done = []
    with Local(workers=2).open() as executor:
        outcome = run(
            executor,
            functools.partial(freeze_at, tmp_path, 150),
            pairs(range(200)),
            bundling=Bundling(total_cost=200.0),
            on_done=lambda results, *_: done.extend(unit for unit, _ in results),
        )
    assert sorted(done) == list(range(200)) and outcome.units_done == 200
    assert outcome.lost <= 1 and not outcome.interrupted and (tmp_path / "frozen").exists()


def test_a_frozen_worker_does_not_hold_up_a_stop(tmp_path, monkeypatch):
    """It can neither be told to start nothing more nor end what it has."""
    monkeypatch.setattr(dask_pool, "ANSWERS", 0.5)
    monkeypatch.setitem(
        DASK, "distributed.scheduler.worker-ttl", "1s"
    )  # Dask waits 10 heartbeats, 5 s, at least
    stop = threading.Event()

    def on_done(results, *_):
        if (tmp_path / "frozen").exists():
            stop.set()

    with Local(workers=2).open() as executor:
        start = time.monotonic()
        outcome = run(
            executor,
            functools.partial(freeze_at, tmp_path, 3),
            pairs(range(10**6)),
            stop=stop,
            on_done=on_done,
        )
    assert outcome.interrupted and (tmp_path / "frozen").exists()
    assert time.monotonic() - start < 250, "Dask's own limit is five minutes"
