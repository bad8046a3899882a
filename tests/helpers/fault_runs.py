"""What the fault tests share: a small study run by the real command, disturbed, finished, compared, counted."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import psutil

from tests.helpers.commands_counted import command_in_a_fork
from tests.helpers.engine import ROOT, arguments, command, contents, environment

FULL = (
    os.environ.get("FAULTS") == "full"
)  # `make faults`: more of everything, and what takes minutes
UNITS = 160
GRID = {"grid.m": "[10,20]", "grid.L": "[20,50]", "replications": "2000", "block": "100"}
TALLIES: list["Tally"] = []
DRIVERS: list[subprocess.Popen] = []  # started and perhaps running


@dataclass
class Tally:
    """Counts of one kind of fault: injected of planned, survived as it should be, same bytes in the end."""

    kind: str
    planned: int
    injected: int = 0
    survived: int = 0
    identical: int = 0

    def __post_init__(self):
        TALLIES.append(self)

    def check(self, survived, identical):
        """Note what became of all that was injected so far, then insist on it."""
        self.survived = self.injected if survived else self.survived
        self.identical = self.injected if survived and identical else self.identical
        assert survived and identical, self


def words(where, **changes):
    local = {"cluster": "local", "cluster.workers": "2"}
    return arguments(where, **GRID | ({} if "cluster" in changes else local) | changes)


def to_the_end(where, is_alone=not FULL, **changes):
    """Run the command with nothing in its way.

    is_alone: without workers and in a process that has loaded the program, which is a tenth of the
    work; the bytes are the same.
    """
    if is_alone:
        return command_in_a_fork(words(where, **{"cluster": "synchronous"} | changes), ROOT)
    return command(words(where, **changes))


def undisturbed(where):
    """Bytes of results.zarr of a run that nothing happens to."""
    done = to_the_end(where)
    assert done.returncode == 0, done.stderr
    return contents(folder(where) / "results.zarr")


def folder(where):
    """The study's folder; one that does not exist before there is any."""
    return next(iter((where / "xu").glob("lemmas-*")), where / "none")


def units(where):
    """Units done so far: their files on disk."""
    return sum(
        path.suffix != ".partial" for path in (folder(where) / "replications/units").glob("*/*")
    )


def start(where, scratch=None, variables=None, **changes):
    """The command in a session of its own, as a batch system starts it."""
    scratch = scratch or where / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    driver = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *words(where, **changes)],
        cwd=ROOT,
        text=True,
        env=environment(TMPDIR=str(scratch), **variables or {}),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    DRIVERS.append(driver)
    return driver


def reaches(driver, condition, seconds=1200):
    """Whether the condition came true before the driver ended."""
    end = time.monotonic() + seconds
    while not condition():
        if driver.poll() is not None:
            return False
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)
    return True


def killed(driver, happened=lambda: True, seconds=0.0):
    """Kill a driver's group some seconds after something happened; whether it had not ended before."""
    if reaches(driver, happened):
        time.sleep(seconds)
    running = driver.poll() is None
    if running:
        os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()
    assert ended(driver.pid)
    return running


def grows(where, more=1):
    """Condition: so many more units are done than now."""
    before = units(where)
    return lambda: units(where) >= before + more


def workers(driver):
    """Worker processes of a driver; none once it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(driver.pid).children()
    return []


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
        time.sleep(0.05)  # a look at all processes takes some milliseconds
    return not group(number)


def one_line(error):
    """The one line of an error, among those of progress."""
    lines = [line for line in error.splitlines() if not re.match(r"[\d,]+ of [\d,]+ units", line)]
    assert len(lines) == 1 and lines[0].startswith("error: ") and "Traceback" not in error, error
    return lines[0]


def complete(where, expected):
    """Whether all units are there, and the sealed bytes are the expected ones."""
    return units(where) == UNITS and contents(folder(where) / "results.zarr") == expected


def finish(where, expected, *tallies, is_alone=not FULL):
    """Resume to the end; everything is there, sound, and as if nothing had happened."""
    done = to_the_end(where, is_alone)
    survived = done.returncode == 0 and "Traceback" not in done.stderr
    for tally in tallies:
        tally.check(survived, survived and complete(where, expected))
    assert survived, done.stderr
    assert complete(where, expected)
    assert (folder(where) / "report.html").read_text().rstrip().endswith("</html>")
    assert not list(folder(where).glob("results.zarr*.partial"))
