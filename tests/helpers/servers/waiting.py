"""How tests wait for batch systems: for events and states, however slow the machine is."""

import subprocess
import time
from collections.abc import Callable

PATIENCE = (
    1700.0  # seconds, after which something hangs: less than a test may take, so that it says what
)


def until(
    condition: Callable[[], object],
    possible: Callable[[], object] | None = None,
    pause: float = 0.1,
) -> None:
    """Wait for something to become true.

    possible: raises AssertionError, with the reason, where it cannot become true any more.
    """
    end = time.monotonic() + PATIENCE
    while not condition():
        if possible is not None:
            possible()
        assert time.monotonic() < end, f"{condition} did not come true within {PATIENCE:g} s"
        time.sleep(pause)


def ended(driver: subprocess.Popen[str]) -> tuple[str, str]:
    """What a command printed, on both streams, once it has ended by itself."""
    return driver.communicate(timeout=PATIENCE)


def runs(driver: subprocess.Popen[str]) -> Callable[[], None]:
    """For `until`: fails, with what the command printed, where it has ended."""

    def check() -> None:
        if driver.poll() is not None:
            raise AssertionError(f"ended with code {driver.returncode}: {driver.communicate()}")

    return check
