"""Show the progress of a sweep to a person, and let them stop it."""

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TextIO

from pipeline.execution.amounts import format_time
from pipeline.study import signals

TERMINAL_EVERY = 0.1  # seconds
NOTEBOOK_EVERY = 1.0
NOTEBOOK_WIDTH = 90  # characters
LOG_EVERY = 30.0
STDERR = 2


@dataclass(frozen=True)
class Advance:
    """Units that ended together.

    units, cost: how many, and their predicted cost. workers: that there are now. units_made,
    cost_made, seconds: how many of the units were simulated, as no other driver had done them,
    their predicted cost, and the seconds they took.
    """

    units: int
    cost: float
    workers: int
    units_made: int = 0
    cost_made: float = 0.0
    seconds: float = 0.0


class Progress:
    """Count finished units and predict how long the rest will take.

    Args:
        units: how many there are to do.
        cost: sum of their predicted costs, in any measure; the time left follows from it, as the
            first units may be far more costly than the last.
        stream: stderr by default; one updating line if it is a terminal or a notebook, else a line
            every 30 s at most.
        clock: gives seconds.
        left: gives the units that are left and their cost, where that changes on the way.
        waits: says what is waited for while no unit has ended, such as jobs in a queue; called in
            another thread.

    The time left is the cost that is left, at the pace of the workers that there are now while they
    have work, and what the last bundle takes while others have nothing to do. So time in a queue
    does not count. Use as a context manager: it writes a first line on entering and a last one on
    leaving.
    """

    def __init__(
        self,
        units: int,
        cost: float,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        left: Callable[[], tuple[int, float]] | None = None,
        waits: Callable[[], str] = lambda: "",
    ):
        self.units = units
        self.cost = cost
        self.left = left
        self.clock = clock
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        # A notebook shows \r, but not all that a terminal does.
        self.notebook = type(self.stream).__module__.startswith("ipykernel.")
        self.units_done = 0
        self.cost_done = 0.0
        self.workers = 0
        self.cost_made = 0.0
        self.seconds_made = 0.0
        self.squares_made = 0.0  # of the seconds of each bundle
        self.waits = waits
        self.start = clock()
        self.written = self.start
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._reminder = threading.Thread(target=self._remind, daemon=True)

    def __enter__(self) -> "Progress":
        self.start = self.clock()
        self._write(f"0 of {self.units:,} units", end=False)
        self._reminder.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._reminder.join()
        self._expect()
        elapsed = self.clock() - self.start
        self._write(
            f"{self.units_done:,} of {self.units:,} units in {format_time(elapsed)}", end=True
        )

    def advance(self, done: Advance) -> None:
        """Count finished units; write a line when it is due."""
        self.units_done += done.units
        self.cost_done += done.cost
        self.cost_made += done.cost_made
        self.seconds_made += done.seconds
        self.squares_made += done.seconds**2
        self.workers = done.workers
        if self.clock() - self.written >= self._every:
            self._expect()
            self._write(self.line(), end=False)

    @property
    def _every(self) -> float:
        """Seconds between two lines."""
        if self.terminal:
            return TERMINAL_EVERY
        if self.notebook:
            return NOTEBOOK_EVERY
        return LOG_EVERY

    def _remind(self) -> None:
        """Write from time to time what the sweep waits for, until the first unit has ended."""
        while not self._over.wait(LOG_EVERY) and not self.units_done:
            elapsed = format_time(self.clock() - self.start)
            line = f"0 of {self.units:,} units after {elapsed}"
            waits = self.waits()
            if waits:
                line += f": {waits}"
            self._write(line, end=False)

    def _expect(self) -> None:
        if self.left is None:
            return
        units, cost = self.left()
        self.units = self.units_done + units
        self.cost = self.cost_done + cost

    def warn(self, line: str) -> None:
        """Write a warning that stays on the screen."""
        self._write(f"warning: {line}", end=True)

    def line(self) -> str:
        """Units done, their share, how many a second, time left, and workers.

        As `3 of 10 units (30 %), 1.5 units/s, …`.
        """
        elapsed = max(self.clock() - self.start, 1e-9)
        percent = 100 * self.units_done / max(self.units, 1)
        left = "time left unknown"
        seconds = self.seconds_left(elapsed)
        if seconds is not None:
            left = f"{format_time(seconds)} left"
        workers = f"{self.workers} workers"
        if self.workers == 1:
            workers = "1 worker"
        return (
            f"{self.units_done:,} of {self.units:,} units ({percent:.0f} %), "
            f"{_rate(self.units_done / elapsed)} units/s, {left}, {workers}"
        )

    def seconds_left(self, elapsed: float) -> float | None:
        """How many seconds the rest will take; None while that is unknown.

        With W seconds of work left, m workers, and bundles of s seconds, it is W/m + (1 - 1/m) S,
        S = Σs²/Σs, and W at most. This is Graham's bound on the end of a list of jobs ("Bounds on
        multiprocessing timing anomalies", 1969), with S in place of the longest job: the mean
        duration of the bundle that a worker is at, at a random moment.

        elapsed: seconds since the start.
        """
        cost_left = max(self.cost - self.cost_done, 0.0)
        if self.seconds_made and self.workers:
            work = cost_left * self.seconds_made / self.cost_made
            last = self.squares_made / self.seconds_made
            return min(work, work / self.workers + (1 - 1 / self.workers) * last)
        if self.cost_done:
            return cost_left * elapsed / self.cost_done
        if self.cost:
            return None
        return 0.0

    def _write(self, text: str, end: bool) -> None:
        with self._lock:
            self._print(text, end)

    def _print(self, text: str, end: bool) -> None:
        self.written = self.clock()
        stays = end or not (self.terminal or self.notebook)
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            if not stays:
                text = text[:width]
            text = f"\r\x1b[K{text}"
        elif self.notebook:
            text = "\r" + text.ljust(NOTEBOOK_WIDTH)
        if stays:
            text += "\n"
        self.stream.write(text)
        self.stream.flush()


def _rate(rate: float) -> str:
    """Units per second as text, with more digits where they are few."""
    if rate >= 100:
        return f"{rate:,.0f}"
    if rate >= 1:
        return f"{rate:,.1f}"
    return f"{rate:,.3f}"


@contextlib.contextmanager
def interruptible(stop_after: float | None = None) -> Iterator[threading.Event]:
    """Event for `run(stop=…)`, set by SIGINT, SIGTERM or after `stop_after` seconds.

    A second signal raises KeyboardInterrupt: what runs is abandoned at once. The previous handlers
    are restored on leaving; outside the main thread signals are left alone.
    """
    stop = threading.Event()

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        name = signals.name_of(number)
        line = f"{name}: finishing what is running, then stopping; once more to abandon it"
        os.write(STDERR, f"\n{line}\n".encode())

    with signals.handled(handle), _after(stop_after, stop.set):
        yield stop


@contextlib.contextmanager
def _after(seconds: float | None, call: Callable[[], None]) -> Iterator[None]:
    """Call a function in another thread after some seconds, unless the block ends before.

    seconds: None for never.
    """
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
