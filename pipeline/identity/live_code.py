"""Code in memory: that of classes and functions that a notebook or script defines, for which there
is no file.

Their fingerprint covers all that they use: other functions, classes and values, wherever the
notebook defines them.
"""

import dataclasses
import dis
import functools
import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

SKIPPED = {
    "__doc__",
    "__module__",
    "__dict__",
    "__weakref__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__match_args__",
    "__firstlineno__",
    "__static_attributes__",
    "__hash__",
    "__qualname__",
}
GENERATED = {
    "__init__",
    "__repr__",
    "__eq__",
    "__setattr__",
    "__delattr__",
    "__replace__",
}  # by dataclasses
LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


class Reached(NamedTuple):
    """texts: the code and values that a part uses, of its own module.

    modules: others that they come from.
    """

    texts: tuple[str, ...]
    modules: frozenset[str]


def reached(part: Any) -> Reached:
    """What a class or function of a notebook or script computes with."""
    names: set[str] = set()
    texts = tuple(_texts(part, part.__module__, {}, names))
    return Reached(texts, frozenset(names))


def code_texts(code: CodeType, documented: bool = False) -> Iterator[str]:
    """The contents of a code object on which its results depend. documented: its first constant is
    a docstring.
    """
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    yield (
        f"{code.co_code.hex()} {code.co_names} {arguments} {code.co_flags} "
        f"{code.co_exceptiontable.hex()}"
    )
    for constant in code.co_consts[documented:]:
        if isinstance(constant, CodeType):
            yield from code_texts(constant)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


def _texts(one: Any, module: str, seen: dict[int, Any], names: set[str]) -> Iterator[str]:
    """Texts of an object and of all that it refers to in the module."""
    if isinstance(one, (bool, int, float, complex, str, bytes, type(None))):
        yield repr(one)
        return
    if id(one) in seen:
        return
    seen[id(one)] = one  # kept, so that no other object gets its id
    if isinstance(one, ModuleType):
        names.add(one.__name__)
    elif isinstance(one, np.ndarray) and one.dtype != object:
        yield (
            f"{one.dtype} {one.shape} {hashlib.blake2b(one.tobytes(), digest_size=16).hexdigest()}"
        )
    elif isinstance(one, (type, FunctionType)) and one.__module__ != module:
        names.add(one.__module__)
        yield f"{one.__module__}:{one.__qualname__}"
    else:
        for name, value in _members(one):
            yield name
            yield from [value] if name == "code" else _texts(value, module, seen, names)


@functools.singledispatch
def _members(one: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of everything that an object computes with, by its type; for code, its texts."""
    if hasattr(one, "__wrapped__"):
        yield "wrapped", one.__wrapped__
        return
    yield "class", type(one)
    if dataclasses.is_dataclass(one):
        yield "fields", {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}


@_members.register
def _of_function(one: FunctionType) -> Iterator[tuple[str, Any]]:
    documented = (
        bool(one.__code__.co_consts)
        and isinstance(one.__doc__, str)
        and (one.__code__.co_consts[0] == one.__doc__)
    )
    yield from (("code", text) for text in code_texts(one.__code__, documented))
    yield from (("default", value) for value in (one.__defaults__ or (), one.__kwdefaults__ or {}))
    yield from inspect.getclosurevars(one).nonlocals.items()
    yield from _used(one.__code__, one.__globals__)


@_members.register
def _of_class(one: type) -> Iterator[tuple[str, Any]]:
    yield from (("base", base) for base in one.__bases__)
    generated = GENERATED if "__dataclass_fields__" in vars(one) else set()
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            yield (
                field.name,
                (
                    str(field.type),
                    field.default if field.default is not dataclasses.MISSING else None,
                ),
            )
            yield field.name, dict(field.metadata)
    yield from ((name, vars(one)[name]) for name in sorted(vars(one).keys() - SKIPPED - generated))


@_members.register(Mapping)
def _of_mapping(one: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((repr(key), value) for key, value in one.items())


@_members.register(tuple)
@_members.register(list)
def _of_sequence(one: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    yield from (("item", value) for value in one)


@_members.register(set)
@_members.register(frozenset)
def _of_set(one: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    yield "items", sorted(map(repr, one))


@_members.register
def _of_property(one: property) -> Iterator[tuple[str, Any]]:
    yield "get", one.fget


@_members.register(staticmethod)
@_members.register(classmethod)
def _of_method(one: Any) -> Iterator[tuple[str, Any]]:
    yield "function", one.__func__


@_members.register(functools.cached_property)
def _of_cached_property(one: Any) -> Iterator[tuple[str, Any]]:
    yield "function", one.func


@_members.register(functools.partial)
def _of_partial(one: Any) -> Iterator[tuple[str, Any]]:
    yield "partial", (one.func, one.args, one.keywords)


def _used(code: CodeType, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Globals that code loads, with what it takes from modules, such as `pl.ranking.Debiased`."""
    used: list[tuple[str, Any]] = []
    now: Any = None
    for step in dis.get_instructions(code):
        name = str(step.argval)
        if step.opname in LOADS:
            now = variables.get(name)
            if name in variables:
                used.append((name, now))
        elif step.opname in ATTRIBUTES and now is not None and _is_namespace(now):
            now = getattr(now, name, None)
            used.append((name, now))
        else:
            now = None
    yield from used
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _used(constant, variables)


def _is_namespace(one: Any) -> bool:
    """Whether its attributes are names of code: a module, or the parts of a problem."""
    return (
        isinstance(one, ModuleType)
        or type(one).__module__ == f"{__name__.partition('.')[0]}.library.parts"
    )
