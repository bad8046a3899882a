"""What `frozen` asks of classes: whose they are, what their objects hold, and what their methods
may change.
"""

import contextlib
import dataclasses
import dis
import functools
import sys
import types
from collections.abc import Callable, Container, Mapping
from typing import Any, ParamSpec, SupportsIndex, TypeAlias, TypeVar, cast

import numpy as np

PROGRAM = __name__.partition(".")[0]
LIBRARIES = ("numpy", "scipy", "pandas", "xarray")  # whose objects are searched for arrays
STORES = (
    "STORE_ATTR",
    "STORE_SUBSCR",
    "STORE_SLICE",
    "DELETE_ATTR",
    "DELETE_SUBSCR",
)  # in bytecode
STORING = {
    "__setattr__",
    "__dict__",
    "setattr",
    "vars",
    "append",
    "extend",
    "insert",
    "setdefault",
    "update",
}
PLAIN = frozenset(
    {
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type(None),
        range,
        slice,
        type,
        types.BuiltinFunctionType,
        types.MethodType,
        types.ModuleType,
        np.random.Generator,
    }
)
FUNCTIONS = (types.FunctionType, functools.partial)
ENCLOSED = (np.ndarray, tuple, list, dict, *FUNCTIONS)  # what is searched of what they hold
Seen: TypeAlias = dict[
    int, tuple[Any, Any]
]  # id of what was reached -> it, what stands in its place
P = ParamSpec("P")
T = TypeVar("T")


def _growing() -> tuple[Mapping[type, bool], Callable[[type, bool], None]]:
    """Classes to look for, and what adds one.

    No container, as modules that import one that is filled would seem to have other constants then
    (`pipeline.identity.patches`).
    """
    classes: dict[type, bool] = {}
    return types.MappingProxyType(classes), classes.__setitem__


GUARDS, _add_guard = _growing()  # classes that guard the objects of others


def _cached(function: Callable[P, T]) -> Callable[P, T]:
    return cast(Callable[P, T], functools.cache(function))


@_cached
def package_of(kind: type) -> str:
    """Name of the package that a class comes from."""
    return str(kind.__module__).partition(".")[0]


@_cached
def slot_names(kind: type) -> tuple[str, ...]:
    """Attributes of an object that are in slots, without those of Python itself."""
    declared = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    names: list[str] = []
    for slots in declared:
        if isinstance(slots, str):  # of one attribute
            names.append(slots)
        else:
            names += slots
    return tuple(name for name in names if not name.startswith("__"))


@_cached
def frozen_fields(kind: type) -> frozenset[str]:
    """Fields of a frozen dataclass; none of any other class."""
    settings = getattr(kind, "__dataclass_params__", None)
    if settings is None or not settings.frozen:
        return frozenset()
    return frozenset(field.name for field in dataclasses.fields(kind))


@_cached
def is_own(kind: type, package: str) -> bool:
    """Whether a class is the program's, a person's own, or of the package that the object handed
    over comes from.
    """
    name = package_of(kind)
    if name in sys.stdlib_module_names or name in LIBRARIES:
        return False
    if name in (PROGRAM, package):
        return True
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return "site-packages" not in file and "dist-packages" not in file


def is_searched(kind: type) -> bool:
    """Whether objects of a library's class are searched for arrays."""
    return kind is types.SimpleNamespace or package_of(kind) in LIBRARIES


def cells_of(function: object) -> list[types.CellType]:
    """Variables around a function that hold arrays, containers or other functions.

    Objects are left out: a method of a part may be there, whose own arrays it may change. So are
    functions of the program itself, to which the tests hold it.
    """
    cells: list[types.CellType] = []
    if str(getattr(function, "__module__", "")).partition(".")[0] == PROGRAM:
        return cells
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # a variable that is not set yet
            if isinstance(cell.cell_contents, ENCLOSED):
                cells.append(cell)
    return cells


def held_by(function: object) -> list[Any]:
    """Arrays, containers and functions that a function holds: in the variables around it, or as
    arguments that are set.
    """
    if isinstance(function, functools.partial):
        values = [function.func, *function.args, *function.keywords.values()]
        return [value for value in values if isinstance(value, ENCLOSED)]
    return [cell.cell_contents for cell in cells_of(function)]


def add_guard(kind: type) -> None:
    """Note that a class guards the objects of another."""
    _add_guard(kind, True)


def may_store(member: object, storing: Container[str] = ()) -> bool:
    """Whether a member of a class may change its object, or keep what it gives, as far as its code
    tells.

    storing: names of members of its bases that may. It is asked of the program's own classes only,
    to which the tests hold it.
    """
    function = member.fget if isinstance(member, property) else member
    if not isinstance(function, types.FunctionType):
        return hasattr(type(member), "__get__")
    steps = list(dis.get_instructions(function.__code__))
    names = {str(step.argval) for step in steps}
    if function.__closure__:
        only_super = function.__code__.co_freevars == ("__class__",)
        if not only_super or any(name in storing for name in names):
            return True
    return any(step.opname.startswith(STORES) for step in steps) or not names.isdisjoint(STORING)


def reduced(kind: type) -> Callable[[Any, Any], Any]:
    """`__reduce_ex__`, by which a copy is of the class that the object was made of."""

    reduce_of_kind = cast(Callable[[object, SupportsIndex], object], kind.__reduce_ex__)

    def reduce(self: object, protocol: SupportsIndex) -> object:
        reduced = reduce_of_kind(self, protocol)
        if not isinstance(reduced, tuple):
            return reduced
        function, values, *rest = reduced
        plain = tuple(kind if value in GUARDS else value for value in values)
        return (function, plain, *rest)

    return reduce
