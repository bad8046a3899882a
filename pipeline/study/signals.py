"""Signals of the operating system: here, and nowhere else.

Linux and macOS have all of them. Where a system has no masks or no timers, what needs them is left
out, and each function says what holds then.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and what batch systems send
Handler = Callable[[int, FrameType | None], None]


def name_of(number: int) -> str:
    """The name of a signal.

    >>> name_of(2)
    'SIGINT'
    """
    return signal.Signals(number).name


def end_like_an_interrupt() -> None:
    """Let SIGTERM raise KeyboardInterrupt in this process, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def ignore_interrupts() -> None:
    """Let this process go on after Ctrl-C, which its parent sees."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def handled(handler: Handler) -> Iterator[None]:
    """Call a function for each signal that asks to stop, while the block runs.

    Outside the main thread, signals are left alone.
    """
    previous = {}
    if threading.current_thread() is threading.main_thread():
        previous = {number: signal.signal(number, handler) for number in STOPPING}
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


@contextlib.contextmanager
def blocked() -> Iterator[None]:
    """Start processes in the block that get no signal that asks to stop.

    Where a system has no masks, they get it.
    """
    set_mask = getattr(signal, "pthread_sigmask", None)
    if set_mask is None:
        yield
        return
    before = set_mask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        set_mask(signal.SIG_SETMASK, before)


def end_after(seconds: float) -> None:
    """End this process once it has computed for so many seconds of a processor.

    Where a system has no such timer, it goes on, until its parent ends it.
    """
    set_timer = getattr(signal, "setitimer", None)
    if set_timer is None:
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process
    set_timer(signal.ITIMER_PROF, seconds)


def kill(process: int) -> None:
    """End a process at once. process: its number."""
    os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def process_exists(number: int) -> bool:
    """Whether there is a process of that number on this machine.

    >>> process_exists(os.getpid())
    True
    """
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        pass
    return True
