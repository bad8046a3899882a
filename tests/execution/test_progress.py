"""Progress lines on a terminal and in a batch log."""

import io

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
