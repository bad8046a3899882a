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


class LiveCode(NamedTuple):
    """texts: the code and values that a part uses, of its own module.

    modules: others that they come from.
    """

    texts: tuple[str, ...]
    modules: frozenset[str]


def live_code(part: object) -> LiveCode:
    """What a class or function of a notebook or script computes with."""
    names: set[str] = set()
    texts = tuple(_texts(part, part.__module__, {}, names))
    return LiveCode(texts, frozenset(names))


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
        elif isinstance(constant, frozenset):
            yield repr(sorted(map(repr, constant)))
        else:
            yield repr(constant)


def _texts(value: object, module: str, seen: dict[int, Any], names: set[str]) -> Iterator[str]:
    """Texts of an object and of all that it refers to in the module."""
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        yield repr(value)
        return
    if id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that no other object gets its id
    if isinstance(value, ModuleType):
        names.add(value.__name__)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest = hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()
        yield f"{value.dtype} {value.shape} {digest}"
    elif isinstance(value, (type, FunctionType)) and value.__module__ != module:
        names.add(value.__module__)
        yield f"{value.__module__}:{value.__qualname__}"
    else:
        for name, member in _members(value):
            yield name
            if name == "code":
                yield member
            else:
                yield from _texts(member, module, seen, names)


@functools.singledispatch
def _members(value: object) -> Iterator[tuple[str, Any]]:
    """Name and value of all that an object computes with, by its type; for code, its texts."""
    if hasattr(value, "__wrapped__"):
        yield "wrapped", value.__wrapped__
        return
    yield "class", type(value)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        yield "fields", {name: getattr(value, name) for name in names}


@_members.register
def _of_function(value: FunctionType) -> Iterator[tuple[str, Any]]:
    documented = (
        bool(value.__code__.co_consts)
        and isinstance(value.__doc__, str)
        and (value.__code__.co_consts[0] == value.__doc__)
    )
    yield from (("code", text) for text in code_texts(value.__code__, documented))
    yield "default", value.__defaults__ or ()
    yield "default", value.__kwdefaults__ or {}
    yield from inspect.getclosurevars(value).nonlocals.items()
    yield from _used(value.__code__, value.__globals__)


@_members.register
def _of_class(value: type) -> Iterator[tuple[str, Any]]:
    yield from (("base", base) for base in value.__bases__)
    skipped = set(SKIPPED)
    if "__dataclass_fields__" in vars(value):
        skipped |= GENERATED
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            default = None if field.default is dataclasses.MISSING else field.default
            yield field.name, (str(field.type), default)
            yield field.name, dict(field.metadata)
    for name in sorted(vars(value).keys() - skipped):
        yield name, vars(value)[name]


@_members.register(Mapping)
def _of_mapping(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, member in value.items():
        yield repr(key), member


@_members.register(tuple)
@_members.register(list)
def _of_sequence(value: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for member in value:
        yield "item", member


@_members.register(set)
@_members.register(frozenset)
def _of_set(value: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    yield "items", sorted(map(repr, value))


@_members.register
def _of_property(value: property) -> Iterator[tuple[str, Any]]:
    yield "get", value.fget


@_members.register(staticmethod)
@_members.register(classmethod)
def _of_method(
    value: "staticmethod[..., Any] | classmethod[Any, ..., Any]",
) -> Iterator[tuple[str, Any]]:
    yield "function", value.__func__


@_members.register(functools.cached_property)
def _of_cached_property(value: functools.cached_property[Any]) -> Iterator[tuple[str, Any]]:
    yield "function", value.func


@_members.register(functools.partial)
def _of_partial(value: functools.partial[Any]) -> Iterator[tuple[str, Any]]:
    yield "partial", (value.func, value.args, value.keywords)


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


def _is_namespace(value: object) -> bool:
    """Whether its attributes are names of code: a module, or the parts of a problem."""
    return (
        isinstance(value, ModuleType)
        or type(value).__module__ == f"{__name__.partition('.')[0]}.library.parts"
    )
