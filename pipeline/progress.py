"""What a person sees of a sweep, and how they stop it."""

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

TERMINAL_EVERY = 0.1  # seconds
LOG_EVERY = 30.0


def duration(seconds: float) -> str:
    """A duration in plain words: 0.4 s, 12 s, 2 min 10 s, 3 h 5 min, 2 d 4 h."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    seconds = round(seconds)
    for size, name, step, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // step
            return f"{seconds // size} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{seconds} s"


class Progress:
    """Count finished units and tell a person how long the rest will take.

    Args:
        units: how many there are to do; cost: the sum of their predicted costs (any unit), from which the
            time left follows, as the first units may be far more costly than the last.
        stream: stderr unless told; one updating line if it is a terminal, else a line every 30 s at most.

    Use as a context manager: it writes a first line on entering and a last one on leaving.
    """

    def __init__(self, units: int, cost: float, stream: TextIO | None = None,
                 clock: Callable[[], float] = time.monotonic):
        self.units, self.cost, self.clock = units, cost, clock
        self.stream = sys.stderr if stream is None else stream
        self.terminal = self.stream.isatty()
        self.units_done, self.cost_done, self.workers = 0, 0.0, 0
        self.start = self.written = clock()

    def __enter__(self) -> "Progress":
        self.start = self.clock()
        self._write(f"0 of {self.units:,} units", end=False)
        return self

    def __exit__(self, *_) -> None:
        elapsed = self.clock() - self.start
        self._write(f"{self.units_done:,} of {self.units:,} units in {duration(elapsed)}", end=True)

    def advance(self, units: int, cost: float, workers: int) -> None:
        """Count `units` more, of predicted `cost`, with `workers` there now; write if it is time to."""
        self.units_done, self.cost_done = self.units_done + units, self.cost_done + cost
        self.workers = workers
        if self.clock() - self.written >= (TERMINAL_EVERY if self.terminal else LOG_EVERY):
            self._write(self.line(), end=False)

    def line(self) -> str:
        """Where things stand: done, share, rate, time left, workers."""
        elapsed = max(self.clock() - self.start, 1e-9)
        share = min(self.cost_done / self.cost, 1.0) if self.cost else 1.0
        left = f"{duration(elapsed / share - elapsed)} left" if share else "time left unknown"
        rate, percent = self.units_done / elapsed, 100 * self.units_done / max(self.units, 1)
        return (f"{self.units_done:,} of {self.units:,} units ({percent:.0f} %), "
                f"{rate:,.{0 if rate >= 100 else 1 if rate >= 1 else 3}f} units/s, {left}, "
                f"{self.workers} worker{'' if self.workers == 1 else 's'}")

    def _write(self, text: str, end: bool) -> None:
        self.written = self.clock()
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\x1b[K" + text[:width] + ("\n" if end else ""))
        else:
            self.stream.write(text + "\n")
        self.stream.flush()


@contextlib.contextmanager
def interruptible(stop_after: float | None = None) -> Iterator[threading.Event]:
    """Event for `run(stop=…)`, set by SIGINT, SIGTERM or after `stop_after` seconds.

    A second signal raises KeyboardInterrupt, which abandons work in flight at once. The previous handlers are
    restored on leaving; outside the main thread signals are left alone.
    """
    stop = threading.Event()

    def handle(number, _frame):
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        name = signal.Signals(number).name
        os.write(2, f"\n{name}: finishing what is running, then stopping; once more to abandon it\n".encode())

    previous = {}
    if threading.current_thread() is threading.main_thread():
        previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    timer = threading.Timer(stop_after, stop.set) if stop_after is not None else None
    try:
        if timer:
            timer.daemon = True
            timer.start()
        yield stop
    finally:
        if timer:
            timer.cancel()
        for number, handler in previous.items():
            signal.signal(number, handler)
