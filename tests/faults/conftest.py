"""The undisturbed run that all fault tests compare with, and the table of what was injected."""

import contextlib
import os
import signal

import pytest
from runs import DRIVERS, TALLIES, undisturbed


@pytest.fixture(scope="session")
def expected(tmp_path_factory):
    """Bytes of results.zarr of a run that nothing happens to."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(autouse=True)
def nothing_is_left():
    """End what a failed test left running."""
    yield
    while DRIVERS:
        with contextlib.suppress(ProcessLookupError):  # where the driver is gone, so are its workers
            if (driver := DRIVERS.pop()).poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.communicate()


def pytest_terminal_summary(terminalreporter):
    """Counts per kind of fault."""
    if TALLIES:
        terminalreporter.section("faults")
        terminalreporter.write_line(f"{'kind':54}{'planned':>9}{'injected':>9}{'survived':>9}{'identical':>10}")
    for kind in dict.fromkeys(tally.kind for tally in TALLIES):
        sums = [sum(getattr(tally, column) for tally in TALLIES if tally.kind == kind)
                for column in ("planned", "injected", "survived", "identical")]
        terminalreporter.write_line(f"{kind:54}" + "".join(f"{n:>{w},}" for n, w in zip(sums, (9, 9, 9, 10),
                                                                                       strict=True)))
