"""Progress lines on a terminal and in a batch log."""

import io
import re
import threading
import time

import pytest

from pipeline.execution.progress import Advance, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def follow(stream):
    """A sweep of 1,000 units in 200 s; the first 100 units hold half of the cost."""
    clock = Clock()
    with Progress(1000, 1800.0, stream, clock) as progress:
        for step in range(1000):
            cost = 9.0 if step < 100 else 1.0
            clock.now += cost / 9.0
            progress.advance(Advance(1, cost, 2))
    return stream.getvalue()


def test_a_log_gets_a_first_a_last_and_few_plain_lines():
    lines = follow(io.StringIO()).splitlines()
    assert lines[0] == "0 of 1,000 units" and lines[-1] == "1,000 of 1,000 units in 200.00 s"
    assert len(lines) == 2 + 6 and "\r" not in "".join(lines)
    assert lines[1] == "30 of 1,000 units (3 %), 1.0 units/s, 170.00 s left, 2 workers"


def test_a_terminal_gets_one_updating_line():
    text = follow(Terminal())
    assert text.count("\n") == 1 and text.endswith("1,000 of 1,000 units in 200.00 s\n")
    assert text.count("\r\x1b[K") > 100
    assert max(map(len, text.split("\r\x1b[K"))) <= 80


def test_a_terminal_is_not_flooded():
    clock = Clock()
    with Progress(10_000, 1.0, Terminal(), clock) as progress:
        for _ in range(10_000):
            clock.now += 1e-4
            progress.advance(Advance(1, 1e-4, 1))
    assert progress.stream.getvalue().count("\r") <= 12


def test_a_warning_stays_on_the_screen():
    with Progress(10, 1.0, Terminal(), Clock()) as progress:
        progress.warn("worker tls://x is retired")
    assert "\x1b[Kwarning: worker tls://x is retired\n" in progress.stream.getvalue()


def test_nothing_to_do_and_nothing_done():
    with Progress(0, 0.0, io.StringIO()) as progress:
        assert progress.line().startswith("0 of 0 units (0 %)")
    assert "time left unknown" in Progress(10, 1.0, io.StringIO()).line()


@pytest.mark.parametrize("wait", [0.0, 3600.0])
def test_the_time_left_is_known_from_a_tenth_on_whatever_the_jobs_waited(wait):
    """Four workers whose jobs start after `wait`, the last two half a minute later; units that others did are skipped.

    The clock begins with the first result. The control is the time since the start, by which the rest was predicted.
    """
    clock = Clock()
    with Progress(1000, 1000.0, io.StringIO(), clock) as progress:
        begin, predicted = clock.now + wait, {}
        clock.now = begin
        for done in range(1, 1001):
            workers = 2 if clock.now < begin + 30 else 4
            skipped = done % 5 == 0
            clock.now += 0.0 if skipped else 2.0 / workers  # a unit takes a worker 2 s
            progress.advance(
                Advance(1, 1.0, workers, *((0, 0.0, 0.0) if skipped else (1, 1.0, 2.0)))
            )
            if done in (100, 300, 500, 800):
                elapsed = clock.now - progress.start
                predicted[done] = (
                    clock.now,
                    progress.seconds_left(elapsed),
                    elapsed * (1000 - done) / done,
                )
    ratios = {done: left / (clock.now - now) for done, (now, left, _) in predicted.items()}
    before = {done: left / (clock.now - now) for done, (now, _, left) in predicted.items()}
    print(f"predicted over true time left {ratios}, by the time since the start {before}")
    assert all(1 / 1.5 < ratio < 1.5 for ratio in ratios.values())
    assert (before[100] > 8) == (wait > 0)


def test_something_is_said_while_nothing_ends(monkeypatch):
    """As while jobs wait in a queue: how long, and why; no more once a unit has ended."""
    monkeypatch.setattr("pipeline.execution.progress.LOG_EVERY", 0.01)
    stream = io.StringIO()
    asked = threading.Event()

    def waits():
        asked.set()
        return "jobs of slurm: 2 waiting (Priority 2)"

    with Progress(10, 10.0, stream, waits=waits) as progress:
        assert asked.wait(30)
        while "waiting" not in stream.getvalue():
            time.sleep(0.001)
        progress.advance(Advance(1, 1.0, 1))
        progress._reminder.join(30)
        assert not progress._reminder.is_alive()
    assert re.search(
        r"^0 of 10 units after .*: jobs of slurm: 2 waiting \(Priority 2\)$",
        stream.getvalue(),
        re.M,
    )
