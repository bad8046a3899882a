"""What installed packages bring, by entry points: one that is broken is named, and stops no other.

Two groups: `pipeline.problems`, whose entry points are each a `Problem` by its name, and
`pipeline.parts`, whose entry points are modules, or functions without arguments, that call
`pipeline.register`. Both are loaded once in a process.
"""

import sys
import threading
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from pipeline.identity.additions import Addition
from pipeline.study.errors import PipelineError
from pipeline.study.parameters import shorten
from pipeline.study.problem import LEFT_OUT, Problem

PROBLEMS = "pipeline.problems"
PARTS = "pipeline.parts"
PROGRAM = __name__.partition(".")[0]
_LOCK = threading.RLock()


class Broken(NamedTuple):
    """An entry point that is left out, and why, in one line."""

    entry: EntryPoint
    why: str

    @property
    def package(self) -> str:
        """Name of the package, as pip knows it."""
        if self.entry.dist is None:
            return self.entry.module
        return self.entry.dist.name

    def __str__(self) -> str:
        package = self.package
        if self.entry.dist is not None:
            package = f"{package} {self.entry.dist.version}"
        entry = f"{self.entry.name} = {self.entry.value}"
        return (
            f"package {package} is left out: its {self.entry.group} entry {entry} "
            f"{self.why}; repair it, or pip uninstall {self.package}"
        )


@dataclass
class Installed:
    """What installed packages bring. modules: that register parts. contested: name -> who brings
    it.
    """

    problems: dict[str, Problem] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    contested: dict[str, str] = field(default_factory=dict)
    collected: list[Addition] | None = None  # by the entry point of parts that is being loaded

    def find(self) -> None:
        """Load all entry points."""
        brought: dict[str, EntryPoint] = {}
        for entry in entries_of(PROBLEMS):
            self._add_problem(entry, brought)
        for entry in entries_of(PARTS):
            self._add_parts(entry)
        LEFT_OUT[:] = [f"{broken.package} ({broken.why})" for broken in self.broken]

    def _add_problem(self, entry: EntryPoint, brought: dict[str, EntryPoint]) -> None:
        new = loaded(entry)
        if isinstance(new, Broken):
            self.broken.append(new)
            return
        if not isinstance(new, Problem) or new.name != entry.name:
            self.broken.append(Broken(entry, "is not a Problem of that name"))
            return
        other = brought.setdefault(new.name, entry)
        known = self.problems.setdefault(new.name, new)
        if known.package == new.package:
            return
        if _top(other) == PROGRAM:
            other = entry
        self._contest(new.name, known, new, other)

    def _contest(self, name: str, known: Problem, new: Problem, entry: EntryPoint) -> None:
        """Note that two packages bring a problem of one name; entry: that of the other package."""
        packages = f"is brought by {known.package} and by {new.package}; uninstall one of them"
        self.contested[name] = packages
        why = f"is of a name that two packages bring: problem={name} {packages}"
        self.broken.append(Broken(entry, why))

    def _add_parts(self, entry: EntryPoint) -> None:
        before = dict(self.problems)
        self.collected = []
        try:
            with redirect_stdout(sys.stderr):
                target = entry.load()
                if not isinstance(target, ModuleType):
                    target()
            for addition in self.collected:
                known = self.problems.get(addition.problem)
                self.problems[addition.problem] = addition.added_to(known)
            self.modules.append(entry.module)
        except (MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.problems = before
            self.broken.append(broken_by(entry, error))
        finally:
            self.collected = None


_INSTALLED: list[Installed] = []


def installed() -> Installed:
    """What installed packages bring.

    While they are loaded, they themselves see what is known so far.
    """
    with _LOCK:
        if not _INSTALLED:
            _INSTALLED.append(Installed())
            _INSTALLED[0].find()
        return _INSTALLED[0]


def look_again() -> None:
    """Let the next question find what was installed, or taken away, since this process looked
    first.
    """
    with _LOCK:
        _INSTALLED.clear()
        _entries.cache_clear()


def entries_of(group: str) -> list[EntryPoint]:
    """Entry points of a group of this program, of all packages whose metadata can be read."""
    return [entry for entry in _entries(_states_of_places()) if entry.group == group]


@lru_cache(maxsize=1)
def _entries(_: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """Entry points of all groups of this program.

    They are read once for all groups, since this opens a file of every installed package.
    """
    try:
        known = entry_points()
        groups = sorted(group for group in known.groups if group.startswith(f"{PROGRAM}."))
        return tuple(entry for group in groups for entry in known.select(group=group))
    except Exception:  # of one package: a file of it is no text, or no table
        return tuple(_readable())


def _readable() -> Iterable[EntryPoint]:
    for distribution in distributions():
        try:
            yield from distribution.entry_points
        except Exception:
            continue


def _states_of_places() -> tuple[tuple[str, int], ...]:
    """Where packages are looked for, and when something was last added there or taken away."""
    return tuple((place, _changed(place)) for place in sys.path)


def _changed(place: str) -> int:
    """Nanoseconds of the last change of a folder; 0 where none is."""
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


def loaded(entry: EntryPoint) -> object:
    """What an entry point names, of whatever group; a `Broken` where it cannot be loaded."""
    try:
        with redirect_stdout(sys.stderr):  # what it prints belongs to no answer
            named: object = entry.load()
            return named
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return broken_by(entry, error)


def broken_by(entry: EntryPoint, error: BaseException) -> Broken:
    """An entry point that raised an error while it was loaded."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, PipelineError):
        reason = str(error)
    return Broken(entry, f"cannot be loaded ({shorten(reason, 200)})")


def _top(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0]
