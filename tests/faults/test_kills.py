"""The real command, killed at any moment: the next run goes on, and the end is the same to the last bit."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest
from engine import ROOT, arguments, command, contents, environment

UNITS = 160
GRID = {"grid.m": "[10,20]", "grid.L": "[20,50]", "replications": "2000", "block": "100"}


def words(where):
    return arguments(where, cluster="local", **GRID, **{"cluster.workers": "2"})


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    where = tmp_path_factory.mktemp("undisturbed")
    done = command(words(where))
    assert done.returncode == 0, done.stderr
    return contents(folder(where) / "results.zarr")


def folder(where):
    """The study's folder; one that does not exist before there is any."""
    return next(iter((where / "xu").glob("lemmas-*")), where / "none")


def units(where):
    """Units done so far: status chunks on disk."""
    return sum(path.name.isdigit() for path in (folder(where) / "replications.zarr/status/c").glob("*/*"))


def start(where):
    """The command in a session of its own, as a batch system starts it."""
    (where / "scratch").mkdir(parents=True, exist_ok=True)
    return subprocess.Popen([sys.executable, "-m", "pipeline", *words(where)], cwd=ROOT, text=True,
                            env=environment(TMPDIR=str(where / "scratch")), start_new_session=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def reaches(driver, condition, seconds=60):
    """Whether the condition came true before the driver ended."""
    end = time.monotonic() + seconds
    while not condition():
        if driver.poll() is not None:
            return False
        assert time.monotonic() < end, "timed out"
        time.sleep(0.004)
    return True


def group(number):
    """Living processes of a session."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == number and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (OSError, psutil.NoSuchProcess):
            continue
    return found


def ended(number, seconds=30):
    """Whether every process of a session is gone, now or soon: a killed one takes its time to die."""
    end = time.monotonic() + seconds
    while group(number) and time.monotonic() < end:
        time.sleep(0.01)
    return not group(number)


def finish(where, expected):
    """Resume to the end; everything is there, sound, and as if nothing had happened."""
    done = command(words(where))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert units(where) == UNITS and contents(folder(where) / "results.zarr") == expected
    assert (folder(where) / "report.html").read_text().rstrip().endswith("</html>")
    assert not list(folder(where).glob("results.zarr*.partial"))


def moments(chance):
    """Ten moments from start-up to reporting, as (what must have happened first, how many s more)."""
    early = [("start", chance.uniform(0, 2.0)) for _ in range(3)]
    early += [("sweep", chance.uniform(0, 0.3)) for _ in range(4)]
    chance.shuffle(early)
    late = [("seal", chance.uniform(0, 0.1)), ("seal", chance.uniform(0, 0.3)), ("report", chance.uniform(0, 0.6))]
    return early + late


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_whole_group_is_killed_and_the_end_is_the_same(seed, tmp_path, expected, capfd):
    chance, tally, study = random.Random(seed), [], 0
    where = tmp_path / "0"
    for moment, seconds in moments(chance):
        killed = False
        while not killed:
            before = units(where)
            driver = start(where)
            happened = {
                "start": lambda: True,
                "sweep": lambda before=before, where=where: units(where) > before,
                "seal": lambda where=where: (folder(where) / "results.zarr.partial/zarr.json").exists(),
                "report": lambda where=where: (folder(where) / "results.zarr/zarr.json").exists(),
            }[moment]
            if reaches(driver, happened):
                time.sleep(seconds)
            if killed := driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
            driver.communicate()
            assert ended(driver.pid) and units(where) >= before
            if not killed:  # it was done before the moment came: check it, and begin another study
                finish(where, expected)
                study += 1
                where = tmp_path / str(study)
        tally.append(f"{moment}+{seconds:.2f}s: {units(where)} units")
    finish(where, expected)
    with capfd.disabled():
        print(f"\n{len(tally)} kills of the group over {study + 1} studies: " + "; ".join(tally))


@pytest.mark.timeout(900)
def test_killed_workers(tmp_path, expected, capfd):
    chance, killed, study = random.Random(3), 0, 0
    while killed < 20:
        where = tmp_path / str(study)
        driver = start(where)
        while killed < 20:
            before = units(where)
            if not reaches(driver, lambda before=before, where=where: units(where) > before):
                break
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended in the meantime
                if workers := psutil.Process(driver.pid).children():
                    chance.choice(workers).kill()
                    killed += 1
        _, error = driver.communicate(timeout=120)
        assert driver.returncode == 0, error
        assert units(where) == UNITS and contents(folder(where) / "results.zarr") == expected
        study += 1
    with capfd.disabled():
        print(f"\n{killed} workers killed in {study} sweeps of {UNITS} units")


def test_signals_to_the_group_drain(tmp_path, expected):
    term, interrupt = signal.SIGTERM, signal.SIGINT
    for number, early in ((term, False), (interrupt, False), (term, True), (interrupt, True)):
        before = units(tmp_path)
        driver = start(tmp_path)
        if early:
            assert "units to do" in driver.stdout.readline()  # the cluster is about to start
        else:
            assert reaches(driver, lambda before=before: units(tmp_path) > before)
        os.killpg(driver.pid, number)
        out, error = driver.communicate(timeout=60)
        assert driver.returncode == 75, (number, early, out, error)
        assert "Traceback" not in error and "stopped" in out + error and ended(driver.pid)
        # Drained: no unit is left half written.
        store = folder(tmp_path) / "replications.zarr"
        chunks = {p.relative_to(store / "lean_true") for p in (store / "lean_true/c").rglob("*") if p.is_file()}
        assert chunks == {p.relative_to(store / "status") for p in (store / "status/c").rglob("*") if p.is_file()}
        assert not list(store.rglob("*.partial"))
    assert 0 < units(tmp_path) < UNITS
    finish(tmp_path, expected)
