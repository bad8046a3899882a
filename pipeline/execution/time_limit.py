"""A time limit for a call, within the process that makes it."""

import _thread
import ctypes
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
STEPS = 60  # in which a limit is waited for
GRACE = 10.0  # seconds after the limit in which a call can still end by itself


class TimeLimit(Exception):
    """A call took longer than it may."""


def limited(
    call: Callable[[], T], seconds: float, stuck: Callable[[int], Any], grace: float = GRACE
) -> T:
    """What a call returns; TimeLimit where it takes longer than `seconds`, with the traceback of
    where it was.

    The exception is raised between two steps of Python in the thread of the call. `stuck` is called
    in another thread, with the number of the call's, where that has not ended it after `grace` more
    seconds, as inside of compiled code. A call that ends late is over its limit, also where it
    caught the exception.

    >>> limited(lambda: 7, 1e6, print)
    7
    """
    watch = _Watch(seconds, stuck, grace)
    try:
        try:
            value = call()
        finally:
            watch.end()
        if watch.fired:
            raise TimeLimit
        return value
    except TimeLimit as error:
        error.args = (f"longer than {seconds:g} s",)
        raise
    finally:
        watch.over.release()  # also where the exception came while the watch was being ended


class _Watch:
    """Waits in a thread of its own, in steps: of a time in which the whole process is stopped only
    one counts.

    Bare locks: an exception within an Event of Python's could leave it locked.
    """

    def __init__(self, seconds: float, stuck: Callable[[int], Any], grace: float):
        self.seconds = seconds
        self.stuck = stuck
        self.grace = grace
        self.thread = threading.get_ident()
        self.over = threading.Lock()
        self.lock = threading.Lock()
        self.ended = False
        self.fired = False
        self.over.acquire()
        _thread.start_new_thread(self._wait, ())  # Thread.start() would wait for it, at every unit

    def end(self) -> None:
        """The call has ended: nothing is raised in its thread any more."""
        with self.lock:
            self.ended = True
        if self.fired:
            _let_it_arrive(self.thread)

    def _wait(self) -> None:
        step = min(self.seconds / STEPS, threading.TIMEOUT_MAX)
        if any(self.over.acquire(timeout=step) for _ in range(STEPS)):
            return
        with self.lock:
            if self.ended:
                return
            self.fired = True
            _raise_in(self.thread, TimeLimit)
        if not self.over.acquire(timeout=min(self.grace, threading.TIMEOUT_MAX)):
            self.stuck(self.thread)


def _raise_in(thread: int, exception: type[Exception]) -> None:
    """Let a thread raise an exception at its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exception))


def _let_it_arrive(this_thread: int) -> None:
    """Have nothing left that this thread should raise, whether it was raised before or not.

    Python would look for an exception that was taken back at every step from then on, in all
    threads: it is slower, and Python 3.11 hangs where a debugger follows it.
    """
    try:
        _raise_in(this_thread, TimeLimit)  # in place of one that is still to come
        while True:
            pass
    except TimeLimit:
        return
