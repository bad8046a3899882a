"""All problems: those of installed packages, and what a running program registers: problems, and parts of problems.

No other list of problems exists. The four of this package are found in the same way as any other: by an entry point of
the group `pipeline.problems`, which names a `Problem`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from pipeline.study import own_files
from pipeline.study.contracts import fault
from pipeline.study.own_files import OwnFile
from pipeline.study.parameters import InvalidInput, nearest, shorten
from pipeline.study.problem import KINDS, Problem, check_table

GROUP = "pipeline.problems"
SCRIPT = "__main__"  # what a notebook or script defines
_REGISTERED: dict[str, Problem] = {}  # new problems, and those that have more parts than they were installed with
_BROUGHT: list["Addition"] = []  # what workers can neither import nor get from a file given with --with


class Addition(NamedTuple):
    """What was registered at once: a problem, or parts of the problem of that name."""

    problem: str
    new: Problem | None
    tables: Mapping[str, Mapping[str, Any]]
    claims: tuple[Any, ...]


class Registered(NamedTuple):
    """All that was registered in a process: files by their content, and what did not come from one."""

    files: tuple[OwnFile, ...]
    additions: tuple[Addition, ...]


def problems() -> Mapping[str, Problem]:
    """All problems by name, sorted. Raises InvalidInput where two installed packages bring one of the same name."""
    return dict(sorted({**_installed(), **_REGISTERED}.items()))


def has_others() -> bool:
    """Whether there are problems of other packages than this program's."""
    own = __name__.partition(".")[0]
    return any(one.package.partition(".")[0] != own for one in problems().values())


def problem(name: Any, key: str = "problem") -> Problem:
    """The problem of that name; InvalidInput (with the nearest name) if there is none."""
    known = problems()
    if not isinstance(name, str) or name not in known:
        raise InvalidInput(key, name, f"no such problem; {nearest(name, known)}")
    return known[name]


def lookup(problem_name: str, kind: str, name: Any, key: str | None = None) -> Any:
    """A part of a problem by its kind and name; InvalidInput (with the nearest name) if there is none."""
    return problem(problem_name).part(kind, name, key)


def register(
    new: Problem | str, *, models: Mapping[str, Any] | None = None, mechanisms: Mapping[str, Any] | None = None,
    estimators: Mapping[str, Any] | None = None, metrics: Mapping[str, Any] | None = None,
    derivations: Mapping[str, Any] | None = None, claims: Sequence[Any] = (),
) -> None:
    """Add a problem, or parts to the problem of that name, in this process; workers of its sweeps learn of them.

    Each part is given as name -> class or function. The same again changes nothing; a notebook or script may register
    another definition of a part of its own.
    Raises InvalidInput where a name is taken, with its owner, and where a part lacks something that its kind must have.

    >>> import pipeline as pl
    >>> class Doubled(pl.ranking.Debiased):
    ...     'The debiased estimate, by another name.'
    >>> pl.register("ranking", estimators={"doubled": Doubled})
    >>> "doubled" in pl.ranking.problem.estimators
    True
    """
    given = (models, mechanisms, estimators, metrics, derivations)
    for kind, table in zip(KINDS, given, strict=True):
        check_table(kind, {} if table is None else table)
    if not isinstance(claims, list | tuple) or not all(hasattr(one, "id") and hasattr(one, "decide") for one in claims):
        raise InvalidInput("claims", shorten(claims), "must be a list of claims")
    tables = {kind: dict(table) for kind, table in zip(KINDS, given, strict=True) if table}
    if isinstance(new, Problem):
        if tables or claims:
            raise InvalidInput("problem", new.name, "give its parts with the problem itself")
        addition = Addition(new.name, new, {}, ())
    else:
        problem(new)
        addition = Addition(new, None, tables, tuple(claims))
    _add(addition)
    if own_files.executing() is None:
        _bring(addition)


def registered() -> Registered:
    """What was registered in this process, to be sent to workers."""
    return Registered(own_files.loaded(), tuple(one for one in _BROUGHT if one.problem in _REGISTERED))


def adopt(what: Registered) -> None:
    """Register in a worker what was registered in the process that it works for."""
    for file in what.files:
        own_files.execute(file)
    for addition in what.additions:
        _add(addition)
        _bring(addition)


def _bring(addition: Addition) -> None:
    """Record an addition; it replaces an earlier one of the same names."""
    def subject(one: Addition) -> Any:
        return one.problem, one.new is None, {kind: set(table) for kind, table in one.tables.items()}

    _BROUGHT[:] = [one for one in _BROUGHT if subject(one) != subject(addition)] + [addition]


def _add(addition: Addition) -> None:
    known = problems().get(addition.problem)
    if addition.new is not None:
        if known is not None and known != addition.new:
            raise InvalidInput("problem", addition.problem,
                               f"is registered by {known.package} already; choose another name")
        _REGISTERED[addition.problem] = addition.new
        return
    if known is None:
        raise InvalidInput("problem", addition.problem, f"no such problem; {nearest(addition.problem, problems())}")
    tables: dict[str, Any] = {f"{kind}s": {**known.names(kind), **_checked(known, kind, table)}
              for kind, table in addition.tables.items()}
    claims = known.claims
    if addition.claims:
        before = [one for one in known.load(known.claims) if one.id not in {claim.id for claim in addition.claims}]
        claims = (*before, *addition.claims)
    _REGISTERED[addition.problem] = replace(known, claims=claims, **tables)


def _checked(known: Problem, kind: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """New parts, whose names are not taken by others."""
    for name, part in table.items():
        wrong = "" if isinstance(part, str) else fault(kind, part)
        if wrong:
            raise InvalidInput(f"{kind}s.{name}", getattr(part, "__name__", part), f"is no {kind}: {wrong}")
        existing = known.names(kind).get(name, part)
        if existing is not part and existing != part and not _redefined(existing, part):
            owner = existing if isinstance(existing, str) else f"{existing.__module__}:{existing.__qualname__}"
            raise InvalidInput(f"{kind}s.{name}", part.__qualname__ if callable(part) else part,
                               f"is {owner} in problem={known.name} already; choose another name")
    return table


def _redefined(existing: Any, part: Any) -> bool:
    """Whether a cell of a notebook, or a script, was executed again."""
    return getattr(existing, "__module__", "") == SCRIPT == getattr(part, "__module__", "")


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
