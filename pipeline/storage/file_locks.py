"""Locks of files, which end with the process that holds them: here, and nowhere else.

They are those of POSIX (`flock`), which Linux and macOS have. Locks of one file exclude each other
between processes, and between files that one process opened twice.
"""

import fcntl
from typing import IO, Any


def lock(file: IO[Any]) -> None:
    """Lock a file for this process alone; wait until no other process has it."""
    fcntl.flock(file, fcntl.LOCK_EX)


def lock_with_others(file: IO[Any]) -> None:
    """Lock a file together with others that do the same; wait while somebody has it alone."""
    fcntl.flock(file, fcntl.LOCK_SH)


def lock_at_once(file: IO[Any]) -> None:
    """Lock a file for this process alone. OSError where another process has it."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
