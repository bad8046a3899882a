"""Worker processes as copies of this process, which has loaded what they need: they read no file of
a library again.

On a shared file system a start from nothing is some 10,000 requests. A copy of a process with
threads could wait for ever for a lock that one of them had, so there are copies of a process of one
thread only, and only where nobody else's code was loaded, which may keep what no copy may have: a
connection, a device, the state of a random generator.
"""

import contextlib
import ctypes
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, NoReturn

from pipeline.study import forks, proc, signals

STDIN = 0
STDOUT = 1
STDERR = 2
# Of glibc's `mallopt`, in C.
NUMBERS_OF_OPTIONS = {"MALLOC_MMAP_THRESHOLD_": -3, "MALLOC_TRIM_THRESHOLD_": -1}
FAILED = 1  # exit code of a copy that did not come to its end
PAUSE = 0.002  # seconds between two looks whether a copy has ended

_allowed: list[bool] = []  # one entry where this process is the command


def allow() -> None:
    """Allow copies of this process, because it is the command itself: no notebook, no test, and
    no program of another person.
    """
    _allowed[:] = [True]


def possible(variables: Mapping[str, str]) -> bool:
    """Whether a copy of this process computes as a new process with these variables would.

    What C libraries read from the environment once, as the number of BLAS threads, must be set here
    already.
    """
    if not _allowed or not proc.THREADS.is_dir():
        return False
    fixed = {name: value for name, value in variables.items() if name not in NUMBERS_OF_OPTIONS}
    if any(os.environ.get(name) != value for name, value in fixed.items()):
        return False
    return not _others_code() and len(os.listdir(proc.THREADS)) == 1


def _others_code() -> bool:
    from pipeline.identity import own_files
    from pipeline.identity.registry import has_others, registrations

    return has_others() or bool(own_files.loaded()) or any(registrations())


@dataclass
class Copy:
    """A copy of this process, with what `Worker` processes need of `subprocess.Popen`. stdin:
    unbuffered.
    """

    pid: int
    stdin: IO[bytes]
    returncode: int | None = field(default=None)

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else waited for it
                self.returncode = FAILED
                return self.returncode
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def kill(self) -> None:
        """End it, if it runs."""
        if self.poll() is None:
            signals.kill(self.pid)

    def wait(self) -> int:
        """The exit code, once it has ended."""
        while self.poll() is None:
            time.sleep(PAUSE)
        assert self.returncode is not None
        return self.returncode


def start(serve: Callable[[], None], variables: Mapping[str, str]) -> Copy:
    """Copy this process; the copy calls `serve` and ends.

    Its standard output goes where errors go.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    try:
        pid = forks.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if pid == 0:
        _serve(serve, variables, reading)
    os.close(reading)
    return Copy(pid, open(writing, "wb", buffering=0))


def _serve(serve: Callable[[], None], variables: Mapping[str, str], stdin: int) -> NoReturn:
    try:
        os.dup2(stdin, STDIN)
        os.dup2(STDERR, STDOUT)
        _let_go_of_files()
        os.environ.update(variables)
        _set_memory_options(variables)
        _draw_anew()
        serve()
    except BaseException:
        traceback.print_exc()
    finally:  # nothing of the original's, as what it does when it leaves, may run here
        os._exit(FAILED)


def _let_go_of_files() -> None:
    """Keep no file of the original's open: no lock, and no pipe whose end another worker waits for.

    Each number stays taken, so that no object of the original's closes a new file of that number.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir(proc.FILES):
        number = int(name)
        if number > STDERR and number != nothing:
            os.dup2(nothing, number, inheritable=False)


def _set_memory_options(variables: Mapping[str, str]) -> None:
    """Tell the C library what it reads from the environment when a process starts.

    Nothing happens where it cannot be told.
    """
    with contextlib.suppress(AttributeError):
        set_option = ctypes.CDLL(None).mallopt
        for name, number in NUMBERS_OF_OPTIONS.items():
            set_option(number, int(variables[name]))


def _draw_anew() -> None:
    """Give NumPy's global generator another state in this process, so that code which draws from it
    is noticed.
    """
    import numpy as np

    np.random.seed()  # noqa: NPY002  # the common one is meant
