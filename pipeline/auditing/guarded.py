"""A call in a process of its own: whatever the mechanism does to that, the audit ends with a line.

The child says when a call of the mechanism begins and ends; the parent ends it where one call takes
too long, also within compiled code.
"""

import mmap
import os
import pickle
import select
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from pipeline.study import forks, signals
from pipeline.study.parameters import InvalidInput

T = TypeVar("T")
STEP = 0.2  # seconds between two looks at the child
IDLE = 0.0


class Clock:
    """When the present call of a mechanism began, in memory that both processes see; 0 if none."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    def __reduce__(self) -> tuple[type["Clock"], tuple[()]]:
        return Clock, ()  # another process has a clock of its own

    def begin(self) -> None:
        """A call begins."""
        self._set(time.monotonic())

    def end(self) -> None:
        """It has ended."""
        self._set(IDLE)

    @property
    def running(self) -> float:
        """Seconds that the present call has taken; 0 if there is none."""
        (began,) = struct.unpack("d", self._memory[:8])
        return time.monotonic() - began if began else 0.0

    def _set(self, value: float) -> None:
        self._memory[:8] = struct.pack("d", value)


def guarded(call: Callable[[Clock], T], name: str, seconds: float) -> T:
    """What a call returns, computed by a child. name: of the mechanism, for messages.

    seconds: how long one call of the mechanism may take. Raises what the call raises, and
    InvalidInput where the child ended or was ended. Where processes cannot be copied safely, the
    call is made here.

    >>> guarded(lambda clock: 7, "seven", 1.0)
    7
    """
    clock = Clock()
    if not forks.are_safe():
        return call(clock)
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = forks.fork()
    if child == 0:
        os.close(reading)
        _compute(call, clock, writing)
    os.close(writing)
    try:
        content = _read(reading, clock, name, seconds)
    except BaseException:
        signals.kill(child)
        raise
    finally:
        os.close(reading)
        _, status = os.waitpid(child, 0)
    if not content:
        how = f"signal {-os.waitstatus_to_exitcode(status)}"
        if os.WIFEXITED(status):
            how = f"exit code {os.WEXITSTATUS(status)}"
        raise InvalidInput("mechanism", name, f"ended its process ({how}); it must return an array")
    succeeded, value = pickle.loads(content)
    if succeeded:
        result: T = value
        return result
    raise value


def _compute(call: Callable[[Clock], Any], clock: Clock, writing: int) -> None:
    """In the child: send the result or the error, and end.

    What a mechanism prints goes to standard error, as answers are on standard output.
    """
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # which may be no file, as in a notebook
    try:
        answer = pickle.dumps((True, call(clock)))
    except BaseException as error:
        answer = _pickled(error)
    with open(writing, "wb") as pipe:
        pipe.write(answer)
    sys.stdout.flush()
    os._exit(0)


def _pickled(error: BaseException) -> bytes:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return pickle.dumps((False, error))


def _read(reading: int, clock: Clock, name: str, seconds: float) -> bytes:
    """All that the child sends, until it closes the pipe."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reading], [], [], STEP)
        if ready:
            part = os.read(reading, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
        elif clock.running > seconds:
            allowed = f"one call took longer than {seconds:g} s; give it fewer or smaller data"
            raise InvalidInput("mechanism", name, allowed)
