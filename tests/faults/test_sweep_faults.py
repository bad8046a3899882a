"""Faults: killed, poisoned and vanishing workers, signals to the whole process group, a killed driver."""

import contextlib
import ctypes
import functools
import os
import random
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from pipeline.execution.clusters import Local
from pipeline.execution.sweep import Bundling, LostWorkers, SweepError, run
from tests.helpers.engine import environment
from tests.helpers.fault_runs import FULL

KILLS = 20 if FULL else 8  # each is paid for by the start of another worker

DRIVER = """
import functools, pathlib, sys
from tests.faults.test_sweep_faults import record
from pipeline.execution.clusters import Local, Synchronous
from pipeline.execution.progress import interruptible
from pipeline.execution.sweep import run
folder = pathlib.Path(sys.argv[1])
cluster = Synchronous() if sys.argv[2] == "synchronous" else Local(workers=2)
with interruptible() as stop, cluster.open() as executor:
    outcome = run(executor, functools.partial(record, folder, float(sys.argv[3])),
                  ((unit, 1.0) for unit in range(10**6)), stop=stop)
print(outcome.units_done, outcome.interrupted, outcome.lost, flush=True)
"""


def record(folder, seconds, units):
    """Note that a unit began, take some time, note that it ended."""
    (folder / f"{os.getpid()}.worker").touch()
    for unit in units:
        (folder / f"{unit}.begun").touch()
        time.sleep(seconds)
        (folder / f"{unit}.ended").touch()
    return units


def poison(folder, bad, units):
    return poisons(folder, {bad: os._exit}, units)


def poisons(folder, bad, units):
    """Bad units call a function with 0, which ends the process."""
    for unit in bad.keys() & set(units):
        bad[unit](0)
    return record(folder, 0.0, units)


def pairs(count):
    return ((unit, 1.0) for unit in range(count))


def ended(folder):
    return {int(path.stem) for path in folder.glob("*.ended")}


def workers_of(pid):
    return psutil.Process(pid).children()


@contextlib.contextmanager
def killing(*arguments):
    """Kill workers meanwhile, in the thread it gives."""
    over = threading.Event()
    killer = threading.Thread(target=kill_workers, args=(over, *arguments))
    killer.start()
    try:
        yield killer
    finally:
        over.set()
        killer.join()


def kill_workers(stop, times, every, folder=None):
    """SIGKILL a random worker of this process, `times` times; half of them after work in `folder`."""
    chance, killed = random.Random(7), 0
    while killed < times and not stop.wait(every):
        children = workers_of(os.getpid())
        if folder and killed % 2:
            children = [child for child in children if (folder / f"{child.pid}.worker").exists()]
        if children:
            with contextlib.suppress(psutil.NoSuchProcess):
                chance.choice(children).kill()
                killed += 1


@pytest.mark.timeout(1800)
def test_killed_workers_cost_time_only(tmp_path):
    done, taken = [], []

    def until_all_are_killed(killer):
        while killer.is_alive():
            taken.append(len(taken))
            yield taken[-1], 1.0

    with Local(workers=2).open() as executor, killing(KILLS, 0.25, tmp_path) as killer:
        outcome = run(
            executor,
            functools.partial(record, tmp_path, 0.01),
            until_all_are_killed(killer),
            bundling=Bundling(seconds=0.2),
            on_done=lambda results, *_: done.extend(results),
        )
    assert sorted(done) == taken and ended(tmp_path) == set(taken)
    assert outcome.units_done == len(taken) and not outcome.interrupted
    assert 1 <= outcome.lost <= KILLS  # those killed before the scheduler knew them are not counted


@pytest.fixture(scope="module")
def two_workers():
    """They are replaced when they die, so one sweep leaves them to the next."""
    with Local(workers=2).open() as executor:
        yield executor


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("bad, units, kills", [(150, 400, 4), (0, 4, 3), (3, 4, 3)])
def test_a_unit_that_kills_its_workers_is_named_and_the_rest_is_kept(
    bad, units, kills, two_workers, tmp_path
):
    """Also the first and the last of a few, beside which innocent ones run."""
    with pytest.raises(SweepError, match=f"unit {bad}: its worker was killed [{kills}-8] times"):
        run(
            two_workers,
            functools.partial(poison, tmp_path, bad),
            pairs(units),
            lost_workers=LostWorkers(kills=kills, doubt=1e-4),
        )
    assert bad not in ended(tmp_path) and (not bad or bad - 1 in ended(tmp_path))
    record_alone = functools.partial(record, tmp_path, 0.0)
    assert run(two_workers, record_alone, [(bad, 1.0)]).units_done == 1


@pytest.mark.timeout(1800)
def test_units_that_kill_their_workers_are_blamed_and_the_sweep_goes_on(two_workers, tmp_path):
    """One by an exit, one by a segmentation fault."""
    blamed, done, bad = [], [], {7: os._exit, 12: ctypes.string_at}
    outcome = run(
        two_workers,
        functools.partial(poisons, tmp_path, bad),
        pairs(20),
        lost_workers=LostWorkers(
            kills=2, doubt=1.0, blame=lambda unit, event: blamed.append((unit, event)) or "bad"
        ),
        on_done=lambda values, bundle, _: done.extend(zip(bundle.units, values, strict=True)),
    )
    assert sorted(blamed) == [(unit, "its worker was killed 2 times") for unit in bad]
    assert outcome.units_done == 20 and not outcome.interrupted
    assert sorted(done, key=str) == sorted(
        [(unit, "bad" if unit in bad else unit) for unit in range(20)], key=str
    )


@pytest.mark.timeout(1800)
def test_workers_that_never_come_back_end_the_sweep(tmp_path):
    with Local(workers=2).open() as executor:
        run(executor, functools.partial(record, tmp_path, 0.0), [(0, 1.0)])
        with killing(10**9, 0.01), pytest.raises(SweepError, match="no worker for 2 s"):
            run(
                executor,
                functools.partial(record, tmp_path, 0.1),
                pairs(1000),
                lost_workers=LostWorkers(worker_timeout=2.0, kills=10**6),
            )


def drive(folder, kind, seconds):
    """A driver in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), kind, str(seconds)],
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "kind, number",
    [
        (kind, number)
        for kind in ("local", "synchronous")
        for number in (signal.SIGINT, signal.SIGTERM)
        if FULL or (kind == "local") == (number == signal.SIGINT)  # others: test_kills.py
    ],
)
def test_a_signal_to_the_group_drains(tmp_path, number, kind):
    driver = drive(tmp_path, kind, 0.05)
    wait_for(lambda: len(ended(tmp_path)) > 10)
    os.killpg(driver.pid, number)
    out, err = driver.communicate(timeout=300)
    assert driver.returncode == 0, err
    units_done, interrupted, lost = out.split()
    begun = {int(path.stem) for path in tmp_path.glob("*.begun")}
    assert begun == ended(tmp_path) and int(units_done) == len(begun)
    assert (interrupted, lost) == ("True", "0")
    assert "finishing what is running" in err and "Traceback" not in err


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["local", "synchronous"])
def test_a_second_signal_abandons_at_once(tmp_path, kind):
    driver = drive(tmp_path, kind, 30.0)
    wait_for(lambda: any(tmp_path.glob("*.begun")))
    workers = workers_of(driver.pid)
    os.killpg(driver.pid, signal.SIGINT)
    time.sleep(0.5)
    assert driver.poll() is None
    os.killpg(driver.pid, signal.SIGINT)
    out, err = driver.communicate(timeout=25)
    assert out.split() == ["0", "True", "0"] and "Traceback" not in err
    assert not any(worker.is_running() for worker in workers)


@pytest.mark.timeout(1800)
def test_workers_do_not_outlive_a_killed_driver(tmp_path):
    driver = drive(tmp_path, "local", 30.0)
    wait_for(lambda: any(tmp_path.glob("*.begun")))
    workers = workers_of(driver.pid)
    driver.kill()
    driver.communicate()
    assert len(workers) == 2
    wait_for(
        lambda: not any(w.is_running() and w.status() != psutil.STATUS_ZOMBIE for w in workers), 5
    )
    assert not list(tmp_path.glob("pipeline-workers-*"))
