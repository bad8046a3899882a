"""The parts of a problem as classes, by name: `pl.ranking.Debiased`,
`pl.crowd.estimators.DawidSkene`.
"""

import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipeline.identity.registry import problems
from pipeline.library.single import estimator
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.problem import KINDS, Problem
from pipeline.study.protocols import plain_release_of

GROUPS = (*(f"{kind}s" for kind in KINDS), "data")  # attributes of `Parts`


def parts_of(name: str) -> "Parts | None":
    """The parts of the problem of that name; None if there is none."""
    known = problems()
    if name not in known:
        return None
    return _parts(known[name])


class Kind:
    """Parts of one kind, as attributes. get: name -> the part; names: all of them."""

    def __init__(
        self, title: str, names: Callable[[], Mapping[str, Any]], load: Callable[[Any], Any]
    ):
        self._title = title
        self._names = names
        self._load = load

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - each name has a type of its own
        if name.startswith("_"):
            raise AttributeError(name)
        names = self._names()
        if name not in names:
            raise AttributeError(f"no such name in {self._title}; {nearest(name, names)}")
        return self._load(names[name])

    def __dir__(self) -> list[str]:
        return sorted(self._names())

    def __repr__(self) -> str:
        return f"<{self._title}: {', '.join(self._names())}>"


class Parts:
    """All parts of a problem: `models`, `mechanisms`, `estimators`, `metrics`, `derivations`, and
    `data`, the types of what passes between them.

    A name that only one of these kinds has is also an attribute by itself.

    An estimator's `fit` takes one release, without a dimension of replications; see
    `pipeline.library.single`.
    """

    models: Kind
    mechanisms: Kind
    estimators: Kind
    metrics: Kind
    derivations: Kind
    data: Kind

    def __init__(self, problem: Problem):
        self.problem = problem
        for kind in KINDS:
            load = (
                (lambda target: estimator(problem.load(target)))
                if kind == "estimator"
                else problem.load
            )
            setattr(
                self,
                f"{kind}s",
                Kind(f"{kind}s of {problem.name}", _named(problem.names(kind)), load),
            )
        self.data = Kind(f"data of {problem.name}", _Passed(problem), lambda part: part)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - each name has a type of its own
        if name.startswith("_"):
            raise AttributeError(name)
        holding = [f"{kind}s" for kind in KINDS if name in dir(getattr(self, f"{kind}s"))]
        if not holding and name in dir(
            self.data
        ):  # loads all parts, perhaps that of the module which asks
            return getattr(self.data, name)
        if not holding:
            raise AttributeError(
                f"no such name in problem {self.problem.name}; {nearest(name, dir(self))}"
            )
        if len(holding) > 1:
            raise AttributeError(
                f"{name} is several parts of {self.problem.name}; write "
                + " or ".join(f"{self.problem.name}.{kind}.{name}" for kind in holding)
            )
        return getattr(getattr(self, holding[0]), name)

    def __dir__(self) -> Iterator[str]:
        names = set(GROUPS)
        for kind in GROUPS:
            names.update(dir(getattr(self, kind)))
        return iter(sorted(names))

    def __repr__(self) -> str:
        return f"<parts of the problem {self.problem.name}: {self.problem.title}>"


_KEPT: dict[int, tuple[Problem, Parts]] = {}


def _parts(problem: Problem) -> Parts:
    """The same object for the same problem."""
    if id(problem) not in _KEPT:
        _KEPT[id(problem)] = problem, Parts(problem)
    return _KEPT[id(problem)][1]


def _named(table: Mapping[str, Any]) -> Callable[[], Mapping[str, Any]]:
    """Name in Python -> target of a table of parts."""
    return lambda: {
        target.rpartition(":")[2] if isinstance(target, str) else target.__name__: target
        for target in table.values()
    }


class _Passed:
    """Types of truths, data, releases and estimates, by their names, as the parts declare them.

    Parts that cannot be loaded, now or at all, are left out.
    """

    def __init__(self, problem: Problem):
        self._problem = problem
        self._types: dict[str, type] = {}

    def __call__(self) -> Mapping[str, type]:
        if not self._types:
            types, whole = self._declared()
            if not whole:
                return types
            self._types = types
        return self._types

    def _declared(self) -> tuple[dict[str, type], bool]:
        """The types, and whether all parts could be loaded."""
        types: set[type] = set()
        whole = True
        for kind in ("model", "mechanism", "estimator"):
            for name in self._problem.names(kind):
                try:
                    types |= _types_of(kind, self._problem.part(kind, name))
                # In the last two cases its annotations are to blame.
                except (InvalidInput, NameError, TypeError):
                    whole = False
        types.discard(object)
        return {declared.__name__: declared for declared in sorted(types, key=str)}, whole


def _types_of(kind: str, part: type) -> set[type]:
    """Types that a part declares."""
    attributes = {
        "model": ("produces",),
        "mechanism": ("accepts", "releases"),
        "estimator": ("accepts",),
    }
    types = {getattr(part, attribute) for attribute in attributes[kind]}
    plain = {plain_release_of(declared) for declared in types}
    types |= {release for release in plain if release is not None}
    if kind == "mechanism":
        return types
    function = getattr(part, "truth" if kind == "model" else "fit")
    returned = typing.get_type_hints(function).get("return")
    if isinstance(returned, type):
        types.add(returned)
    return types
