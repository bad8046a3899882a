"""How much of this machine the process may use: a batch system, a container or an affinity mask may
allow less.

Dask knows the control groups of both versions. It takes a moment to load, so that is done where it
is asked.
"""

import functools
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType


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
    return int(_system_of_dask().memory_limit())


@functools.cache
def _system_of_dask() -> ModuleType:
    """The module `distributed.system`, read without its package, which takes half a second.

    Where the package is loaded, or keeps the module elsewhere, it is imported as usual.
    """
    package = importlib.util.find_spec("distributed")
    if package is not None and "distributed" not in sys.modules:
        for folder in package.submodule_search_locations or ():
            path = Path(folder) / "system.py"
            spec = importlib.util.spec_from_file_location("system_of_distributed", path)
            if path.is_file() and spec is not None and spec.loader is not None:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    return importlib.import_module("distributed.system")


def memory_of_machine() -> int:
    """Bytes of memory of the machine, whatever this process may use of it."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
