"""How much of this machine the process may use: a batch system, a container or an affinity mask may
allow less.

Dask knows the control groups of both versions. It takes a moment to load, so that is done where it
is asked.
"""

import os


def processors() -> int:
    """Processors of the affinity mask of this process, whatever a quota allows; loads nothing."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores() -> int:
    """Processors that this process may use: of its affinity mask, and no more than its control
    group's quota.
    """
    from dask.system import cpu_count

    return int(cpu_count())


def memory() -> int:
    """Bytes of memory that this process may use: of the machine, and no more than its control
    group's limit.
    """
    from distributed.system import memory_limit

    return int(memory_limit())


def memory_of_machine() -> int:
    """Bytes of memory of the machine, whatever this process may use of it."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
