"""The undisturbed run that all fault tests compare with, and what is counted."""

import contextlib
import dataclasses
import os
import signal

import pytest

from tests.helpers.fault_runs import DRIVERS, TALLIES, undisturbed


@pytest.fixture(scope="session")
def expected(tmp_path_factory):
    """Bytes of results.zarr of a run that nothing happens to."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(autouse=True)
def nothing_is_left():
    """End what a failed test left running."""
    yield
    while DRIVERS:
        with contextlib.suppress(
            ProcessLookupError
        ):  # where the driver is gone, so are its workers
            if (driver := DRIVERS.pop()).poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.communicate()


@pytest.fixture(autouse=True)
def counted(request):
    """Send what was counted along with the test's report: tests may run in several processes."""
    yield
    request.node.user_properties += [("fault", dataclasses.astuple(tally)) for tally in TALLIES]
    TALLIES.clear()
