"""All problems: those of installed packages, and those registered by a running program.

No other list of problems exists. The four of this package are found in the same way as any other: by an entry point of
the group `pipeline.problems`, which names a `Problem`.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.problem import Problem

GROUP = "pipeline.problems"
_REGISTERED: dict[str, Problem] = {}


def problems() -> Mapping[str, Problem]:
    """All problems by name, sorted. Raises InvalidInput where two installed packages bring one of the same name."""
    return dict(sorted({**_installed(), **_REGISTERED}.items()))


def problem(name: Any, key: str = "problem") -> Problem:
    """The problem of that name; InvalidInput (with the nearest name) if there is none."""
    known = problems()
    if not isinstance(name, str) or name not in known:
        raise InvalidInput(key, name, f"no such problem; {nearest(name, known)}")
    return known[name]


def lookup(problem_name: str, kind: str, name: Any, key: str | None = None) -> Any:
    """A part of a problem by its kind and name; InvalidInput (with the nearest name) if there is none."""
    return problem(problem_name).part(kind, name, key)


def register(new: Problem) -> None:
    """Add a problem to this process; workers of its sweeps learn of it. The same again changes nothing.

    Raises InvalidInput, naming the package that holds it, where the name is taken by another.

    >>> import pipeline as pl
    >>> pl.register(pl.Problem("coins", "A coin's side", __name__))
    >>> "coins" in dir(pl)
    True
    """
    known = problems().get(new.name)
    if known is not None and known != new:
        raise InvalidInput("problem", new.name, f"is registered by {known.package} already; choose another name")
    _REGISTERED[new.name] = new


def registered() -> tuple[Problem, ...]:
    """Problems that `register` added here: what a worker elsewhere cannot find by itself."""
    return tuple(_REGISTERED.values())


@cache
def _installed() -> dict[str, Problem]:
    installed: dict[str, Problem] = {}
    for entry in entry_points(group=GROUP):
        new = entry.load()
        if not isinstance(new, Problem) or new.name != entry.name:
            raise InvalidInput("problem", entry.name, f"{entry.value} is not a Problem of that name")
        if new.name in installed and installed[new.name].package != new.package:
            raise InvalidInput("problem", new.name, f"is brought by {installed[new.name].package} and by "
                               f"{new.package}; uninstall one of them")
        installed[new.name] = new
    return installed
