"""The real command, killed at any moment: the next run goes on, and the end is the same to the last bit."""

import contextlib
import os
import random
import signal
import time

import psutil
import pytest

from tests.helpers.fault_runs import (
    FULL,
    UNITS,
    Tally,
    complete,
    ended,
    finish,
    folder,
    grows,
    killed,
    reaches,
    start,
    units,
    workers,
)


def moments(chance):
    """Moments from start-up to reporting, as (what must have happened first, how many s more): ten, or half of them."""
    early = [("start", chance.uniform(0, 2.0)) for _ in range(3)]
    early += [("sweep", chance.uniform(0, 0.3)) for _ in range(4)]
    chance.shuffle(early)
    late = [
        ("seal", chance.uniform(0, 0.1)),
        ("seal", chance.uniform(0, 0.3)),
        ("report", chance.uniform(0, 0.6)),
    ]
    return early + late if FULL else early[:3] + late[1:]


def moment_of(name, where):
    """Condition: a run in a folder has come to a moment, from now on."""
    return {
        "start": lambda: True,
        "sweep": grows(where),
        "seal": lambda: (folder(where) / "results.zarr.partial/zarr.json").exists(),
        "report": lambda: (folder(where) / "results.zarr/zarr.json").exists(),
    }[name]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5] if FULL else [1])
def test_the_whole_group_is_killed_and_the_end_is_the_same(seed, tmp_path, expected):
    chance, study = random.Random(seed), 0
    when = moments(chance)
    tally, where = Tally("SIGKILL of the driver's group", len(when)), tmp_path / "0"
    for moment, seconds in when:
        before = units(where)
        while not killed(start(where), moment_of(moment, where), seconds):
            # It was done before the moment came: check it, and begin another study.
            assert units(where) >= before
            finish(where, expected, tally)
            study += 1
            where, before = tmp_path / str(study), 0
        tally.injected += 1
        assert units(where) >= before
        print(f"{moment}+{seconds:.2f}s: {units(where)} units")
    finish(where, expected, tally, is_alone=False)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "seed, kills", [(seed, 40) for seed in (3, 4, 5, 6, 7)] if FULL else [(3, 5)]
)
def test_killed_workers(seed, kills, tmp_path, expected):
    chance, tally, study = random.Random(seed), Tally("SIGKILL of a worker", kills), 0
    while tally.injected < kills:
        where = tmp_path / str(study)
        driver = start(where)
        while tally.injected < kills and reaches(driver, grows(where)):
            with contextlib.suppress(psutil.NoSuchProcess, IndexError):  # it ended in the meantime
                chance.choice(workers(driver)).kill()
                tally.injected += 1
        _, error = driver.communicate(timeout=900)
        tally.check(driver.returncode == 0, complete(where, expected))
        assert "Traceback" not in error
        study += 1
    print(f"{kills} workers killed in {study} sweeps of {UNITS} units")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10) if FULL else [0])
def test_two_drivers_at_once_and_one_is_killed(seed, tmp_path, expected):
    chance = random.Random(seed)
    at_once = Tally("two drivers on one store", 1)
    one_killed = Tally("one of two drivers killed", seed % 2)
    drivers = [start(tmp_path, tmp_path / name, **{"cluster.workers": "1"}) for name in "ab"]
    if reaches(drivers[0], grows(tmp_path, 5)) and drivers[1].poll() is None:
        at_once.injected += 1
        if seed % 2:
            time.sleep(chance.uniform(0, 1))
            os.killpg(drivers[1].pid, signal.SIGKILL)
            one_killed.injected += 1
    said = [driver.communicate(timeout=900) for driver in drivers]
    codes = [driver.returncode for driver in drivers]
    right = codes[0] == 0 and codes[1] in (0, -signal.SIGKILL if one_killed.injected else 0)
    for tally in (at_once, one_killed):
        tally.check(right, right and complete(tmp_path, expected))
    assert not any("Traceback" in error for _, error in said)
    finish(tmp_path, expected)


def test_signals_to_the_group_drain(tmp_path, expected):
    """Either signal, as early or as late; both at both moments by `FAULTS=full`."""
    term, interrupt = signal.SIGTERM, signal.SIGINT
    sent = [(term, False), (interrupt, True)]
    if FULL:
        sent += [(interrupt, False), (term, True)]
    tally = Tally("SIGTERM or SIGINT to the driver's group", len(sent))
    for number, early in sent:
        driver, happened = start(tmp_path), grows(tmp_path)
        if early:
            assert "units to do" in driver.stdout.readline()  # the cluster is about to start
        else:
            assert reaches(driver, happened)
        os.killpg(driver.pid, number)
        tally.injected += 1
        out, error = driver.communicate(timeout=900)
        assert driver.returncode == 75, (number, early, out, error)
        assert "Traceback" not in error and "stopped" in out + error and ended(driver.pid)
        # Drained: no unit is left half written.
        assert not list((folder(tmp_path) / "replications").rglob("*.partial"))
    assert 0 < units(tmp_path) < UNITS
    finish(tmp_path, expected, tally)
