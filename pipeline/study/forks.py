"""Copies of a running process: here, and nowhere else.

Only on Linux is a copy of a process sure to work: the libraries of macOS may wait for ever in one.
Elsewhere, callers compute in their own process, or start a new one.
"""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext


def are_safe() -> bool:
    """Whether a copy of this process works."""
    return sys.platform.startswith("linux") and hasattr(os, "fork")


def fork() -> int:
    """Copy this process: 0 in the copy, and the number of the copy in this one."""
    return os.fork()


def context() -> "ForkContext | SpawnContext":
    """For processes that compute: copies of this one where they work, and new ones elsewhere."""
    import multiprocessing  # a dozen files, which few processes need

    if are_safe():
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")
