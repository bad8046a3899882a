"""All problems: those of installed packages, and what a running program registers: problems, and
parts of problems.

No other list of problems exists. The four of this package are found in the same way as any other:
by an entry point of the group `pipeline.problems`, which names a `Problem`. A package may also
bring parts of a problem that there is, by one of the group `pipeline.parts`. Packages are known
wherever they are installed (`pipeline.identity.packages`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipeline.identity import own_files
from pipeline.identity.additions import SCRIPT as SCRIPT
from pipeline.identity.additions import Addition, addition
from pipeline.identity.own_files import OwnFile
from pipeline.identity.packages import PROBLEMS, Broken, installed
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.problem import KINDS, Problem

# New problems, and those that have more parts than they were installed with.
_REGISTERED: dict[str, Problem] = {}
# What workers can neither import nor get from a file given with --with.
_BROUGHT: list[Addition] = []


class Registered(NamedTuple):
    """All that was registered in a process: files by content, and what did not come from one.

    programs: path and content of those that files name.
    """

    files: tuple[OwnFile, ...]
    additions: tuple[Addition, ...]
    programs: tuple[tuple[str, bytes], ...] = ()


def problems() -> Mapping[str, Problem]:
    """All problems by name, sorted.

    But for those of packages that are broken, or bring one of the same name.
    """
    there = installed()
    known = {name: new for name, new in there.problems.items() if name not in there.contested}
    return dict(sorted({**known, **_REGISTERED}.items()))


def left_out() -> list[Broken]:
    """What installed packages bring that is broken, and is left out."""
    return installed().broken


def packages() -> list[str]:
    """Names of all packages and modules that bring problems or parts of problems."""
    of_problems = [known.package for known in problems().values()]
    return list(dict.fromkeys([*of_problems, *installed().modules]))


def has_others() -> bool:
    """Whether there are problems, or parts, of other packages than this program's."""
    program = __name__.partition(".")[0]
    return any(name.partition(".")[0] != program for name in packages())


def problem(name: object, key: str = "problem") -> Problem:
    """The problem of that name.

    InvalidInput if there is none (with the nearest name), or a broken one.
    """
    known = problems()
    if isinstance(name, str) and name in known:
        return known[name]
    if str(name) in installed().contested:
        raise InvalidInput(key, name, installed().contested[str(name)])
    for broken in left_out():
        if broken.entry.group == PROBLEMS and broken.entry.name == name:
            raise InvalidInput(key, name, str(broken))
    raise InvalidInput(key, name, f"no such problem; {nearest(name, known)}")


def lookup(problem_name: str, kind: str, name: object, key: str | None = None) -> object:
    """A part of a problem, a class or a function, by its kind and name.

    InvalidInput (with the nearest name) if there is none.
    """
    return problem(problem_name).code(kind, name, key)


def register(
    new: Problem | str,
    *,
    models: Mapping[str, Any] | None = None,
    mechanisms: Mapping[str, Any] | None = None,
    estimators: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
    derivations: Mapping[str, Any] | None = None,
    claims: Sequence[Any] | str = (),
    **others: object,
) -> None:
    """Add a problem, or parts to the problem of that name, in this process.

    Workers of its sweeps learn of them.

    Each part is given as name -> class or function, or as name -> "module:name", which is imported
    when it is first used; claims as a list of them, or as "module:name" of one. The same again
    changes nothing; a notebook or script may register another definition of a part of its own.
    Raises InvalidInput where a name is taken, with its owner, and where a part lacks something that
    its kind must have.

    >>> import pipeline as pl
    >>> class Doubled(pl.ranking.Debiased):
    ...     'The debiased estimate, by another name.'
    >>> pl.register("ranking", estimators={"doubled": Doubled})
    >>> "doubled" in pl.ranking.problem.estimators
    True
    """
    for key, value in others.items():
        kinds = [f"{kind}s" for kind in KINDS]
        raise InvalidInput(key, value, f"no such kind of parts; {nearest(key, [*kinds, 'claims'])}")
    brought = addition(new, (models, mechanisms, estimators, metrics, derivations), claims)
    if brought.new is None:
        problem(brought.problem)
    collected = installed().collected
    if (
        collected is not None
    ):  # of a package that is being loaded: it is known where it is installed
        collected.append(brought)
        return
    _add(brought)
    if own_files.executing() is None:
        _bring(brought)


def registrations() -> Registered:
    """What was registered in this process, to be sent to workers."""
    known = tuple(brought for brought in _BROUGHT if brought.problem in _REGISTERED)
    return Registered(own_files.loaded(), known, tuple(own_files.all_beside().items()))


@contextmanager
def registered(*new: Problem, alone: bool = False) -> Iterator[None]:
    """Make problems known for the time of a `with`: for tests, of parts of one's own as well.

    They take the place of problems of their names, in this process alone where these are installed.
    Whatever is registered meanwhile, by files given with --with too, is forgotten at the end.
    alone: what was registered before is not known meanwhile.

    >>> import pipeline as pl
    >>> with registered():
    ...     register("ranking", estimators={"tried": pl.ranking.Debiased})
    ...     "tried" in problem("ranking").estimators
    True
    >>> "tried" in problem("ranking").estimators
    False
    """
    known_before = dict(_REGISTERED)
    brought_before = list(_BROUGHT)
    if alone:
        _REGISTERED.clear()
        _BROUGHT.clear()
    with own_files.restored(alone=alone):
        try:
            for put_in_place in new:
                _put_in_place(put_in_place)
            yield
        finally:
            _REGISTERED.clear()
            _REGISTERED.update(known_before)
            _BROUGHT[:] = brought_before


def _put_in_place(new: Problem) -> None:
    """Register a problem even where there is another one of its name."""
    is_known = new.name in problems()
    _REGISTERED[new.name] = new
    if not is_known:
        _bring(addition(new, (None,) * len(KINDS), ()))


def adopt(registrations: Registered) -> None:
    """Register in a worker what was registered in the process that it works for."""
    own_files.sent_beside(dict(registrations.programs))
    for file in registrations.files:
        own_files.execute(file)
    for brought in registrations.additions:
        _add(brought)
        _bring(brought)


def _bring(new: Addition) -> None:
    """Record an addition; it replaces an earlier one of the same names."""
    others = [other for other in _BROUGHT if other.subject != new.subject]
    _BROUGHT[:] = [*others, new]


def _add(new: Addition) -> None:
    known = problems().get(new.problem)
    if known is None and new.new is None:
        allowed = f"no such problem; {nearest(new.problem, problems())}"
        raise InvalidInput("problem", new.problem, allowed)
    _REGISTERED[new.problem] = new.added_to(known)
