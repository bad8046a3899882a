"""All batch systems: those of installed packages, and what a running program registers.

No other list of systems exists. The four of this package are found as any other: by an entry point
of the group `pipeline.systems`, which names a subclass of `System` by its name. A package that is
broken, or brings a name that another one has, is left out, and stops no other.
"""

import inspect
import os
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import cast

from pipeline.execution.systems.base import System
from pipeline.identity.packages import Broken, entries_of, loaded
from pipeline.study.parameters import InvalidInput, nearest

SYSTEMS = "pipeline.systems"
NEEDED = ("name", "submits", "cancels", "listing")
_REGISTERED: dict[str, type[System]] = {}
_INSTALLED: dict[str, type[System]] = {}
_LEFT_OUT: dict[str, Broken] = {}


def systems() -> Mapping[str, type[System]]:
    """All batch systems by name, sorted."""
    if not _INSTALLED and not _LEFT_OUT:
        for entry in entries_of(SYSTEMS):
            _load(entry)
    return dict(sorted((_INSTALLED | _REGISTERED).items()))


def names() -> str:
    """Their names for a sentence: sge or slurm (lsf, pbs: never executed)."""
    tried = [name for name, known in systems().items() if not known.untried]
    untried = [name for name, known in systems().items() if known.untried]
    sentence = " or ".join(tried or ["NAME"])
    if untried:
        sentence += f" ({', '.join(untried)}: never executed)"
    return sentence


def system(name: object, others: Iterable[str] = ()) -> type[System]:
    """The system of that name; InvalidInput if there is none, or if its package is broken.

    others: names of clusters that are no batch systems, for who meant one of these.
    """
    known = systems()
    if isinstance(name, str) and name in known:
        return known[name]
    if isinstance(name, str) and name in _LEFT_OUT:
        raise InvalidInput("cluster", name, str(_LEFT_OUT[name]))
    if not known:
        allowed = (
            "no batch system is installed, so neither is this program as it is now: make setup"
        )
        raise InvalidInput("cluster", name, allowed)
    raise InvalidInput("cluster.kind", name, nearest(name, [*others, *known]))


def left_out() -> list[Broken]:
    """What installed packages bring that is broken, and is left out."""
    systems()
    return list(_LEFT_OUT.values())


def register(new: type[System]) -> type[System]:
    """Add a system in this process; also as a decorator of its class.

    InvalidInput where it lacks something, or its name is that of another one.
    """
    why = _lacks(new)
    if why:
        name = str(new)
        if inspect.isclass(new):
            name = new.__name__
        raise InvalidInput("system", name, why)
    other = systems().get(new.name)
    if other is not None and other.__module__ != new.__module__:
        raise InvalidInput("system", new.name, f"is {other.__module__}.{other.__name__} already")
    _REGISTERED[new.name] = new
    return new


def job(environment: Mapping[str, str] = os.environ) -> str | None:
    """What the batch system calls the job of a process; None outside of one.

    >>> job({"SLURM_JOB_ID": "8", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"})
    '7_2'
    >>> job({"JOB_ID": "7", "SGE_TASK_ID": "undefined", "SGE_ROOT": "/"})
    '7'
    """
    numbers = (known.job_of(environment) for known in systems().values())
    return next((number for number in numbers if number is not None), None)


def _load(entry: EntryPoint) -> None:
    """Add what an entry point names, or note why it is left out."""
    new = loaded(entry)
    if isinstance(new, Broken):
        _LEFT_OUT[entry.name] = new
        return
    why = _lacks(new)
    new = cast(type[System], new)
    if not why and new.name != entry.name:
        why = f"calls itself {new.name}"
    other = _INSTALLED.get(entry.name)
    if not why and other not in (None, new):
        why = f"is brought by {other.__module__} and by {new.__module__}; uninstall one of them"
        del _INSTALLED[entry.name]
    if why:
        _LEFT_OUT[entry.name] = Broken(entry, why)
    else:
        _INSTALLED[entry.name] = new


def _lacks(new: object) -> str:
    """Why something is no batch system; empty if it is one."""
    if not (inspect.isclass(new) and issubclass(new, System)):
        return "is no subclass of System"
    # The base declares these and gives none, so a class may come without.
    missing = [name for name in NEEDED if not getattr(new, name, None)]
    missing += sorted(new.__abstractmethods__)
    if not missing:
        return ""
    return f"lacks {', '.join(missing)}"
