"""What a running program put in place of the program's own code: `Debiased.fit = mine`,
`moments.FACTOR = 2`.

Fingerprints are made from files, which a patch leaves as they are. So a module's source is executed
once more, apart, and what its functions, classes and constants hold there is compared with what
they hold in this process.
"""

import dataclasses
import functools
import hashlib
import sys
import types
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from pipeline.identity.live_code import SKIPPED, code_texts
from pipeline.identity.places import PROGRAM
from pipeline.identity.surroundings import is_own_code
from pipeline.study.files import read_regular

PLAIN = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (tuple, list, set, frozenset, dict)
_LOOKED_AT: ContextVar[dict[str, dict[str, str]] | None] = ContextVar("looked_at", default=None)
CHANGING = {
    "_abc_impl",
    "_is_protocol",
    "__annotate__",
    "__annotate_func__",
}  # of a class, set by Python


@contextmanager
def at_one_moment() -> Iterator[None]:
    """Look at each module once within a `with`, however many parts need it.

    Nothing may replace anything meanwhile.
    """
    token = _LOOKED_AT.set({})
    try:
        yield
    finally:
        _LOOKED_AT.reset(token)


def patches(module: str) -> dict[str, str]:
    """What a module of this process holds in place of what its file says: qualified name -> digest
    of it.
    """
    looked_at = _LOOKED_AT.get()
    if looked_at is None:
        return _patches(module)
    if module not in looked_at:
        looked_at[module] = _patches(module)
    return looked_at[module]


def _patches(module: str) -> dict[str, str]:
    live = sys.modules.get(module)
    path = getattr(live, "__file__", None)
    if live is None or not path or not path.endswith(".py") or not Path(path).is_file():
        return {}
    before = _written(module, path)
    now = dict(_of_namespace(vars(live), module))
    replaced = {}
    for name, digest in before.items():
        if now.get(name) != digest:
            replaced[name] = now.get(name, "removed")
    replaced.update(
        {name: digest for name, digest in now.items() if name not in before and "." in name}
    )
    return replaced


def foreign_members(part: object) -> dict[str, str]:
    """The same of the classes that a part inherits from and that no file holds, such as
    `pl.ranking.Debiased`.

    The program makes these with functions of its own; those of other files were put in their place.
    """
    members: dict[str, str] = {}
    for base in getattr(part, "__mro__", ()):
        module = base.__module__
        written = getattr(sys.modules.get(module), base.__name__, None)
        if module.partition(".")[0] != PROGRAM.name or written is base:
            continue
        for name, value in vars(base).items():
            if isinstance(value, FunctionType) and not _is_programs(value.__code__.co_filename):
                members[f"{module}.{base.__qualname__}.{name}"] = _digest(_text(value, module))
    return members


def replacements(packages: Collection[str]) -> dict[str, str]:
    """What a person's code put in place of functions and methods of installed packages: qualified
    name -> digest.

    packages: those that are looked at, which numbers depend on. Other values, such as constants, do
    not show here; see `pipeline.identity.replaced_values`.
    """
    members: dict[str, str] = {}
    for module, live in [*sys.modules.items()]:
        if module.partition(".")[0] not in packages or not isinstance(live, ModuleType):
            continue
        for name, value in _with_members(live):
            if _is_persons(value):
                members[f"{module}.{name}"] = _digest(_text(value, module))
    return members


def _with_members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Names and values in a module, of its own classes those of their members."""
    for name, value in [*vars(module).items()]:
        if not isinstance(value, type) or value.__module__ != module.__name__:
            yield name, value
            continue
        for member, inside in [*vars(value).items()]:
            yield f"{name}.{member}", inside


def digest_of(value: object, module: str) -> str:
    """Digest of what a value computes with, that stands in a module.

    Of compiled functions their name counts.
    """
    return _digest(f"{_text(value, module)} {getattr(value, '__name__', '')}")


def _is_persons(value: object) -> bool:
    """Whether a function, or what wraps one, is of a person's code."""
    for name in ("__func__", "fget", "func"):  # of a method, a property, a partial
        if hasattr(type(value), name):
            value = getattr(value, name)
    return isinstance(value, FunctionType) and is_own_code(value.__code__.co_filename)


def _is_programs(path: str) -> bool:
    """Whether code is of a file of the program, or made by Python, as dataclasses' methods are."""
    return path.startswith("<string>") or PROGRAM in Path(path).parents


@cache
def _written(module: str, path: str) -> dict[str, str]:
    """The same of all that a module's file defines, as it is when it is executed."""
    apart = ModuleType(module)
    loaded = sys.modules[module]
    for name in ("__file__", "__package__", "__spec__", "__path__", "__loader__"):
        if hasattr(loaded, name):
            setattr(apart, name, getattr(loaded, name))
    exec(compile(read_regular(path), path, "exec", dont_inherit=True), vars(apart))
    return dict(_of_namespace(vars(apart), module))


def _of_namespace(names: dict[str, Any], module: str) -> Iterator[tuple[str, str]]:
    """Name and digest of every function, class member and constant of a module."""
    for name, value in names.items():
        if name.startswith("__"):
            continue
        if isinstance(value, type) and value.__module__ == module:
            for member, text in _of_class(value, module):
                yield f"{value.__qualname__}.{member}", _digest(text)
        elif not _is_filled_later(value):
            yield name, _digest(_text(value, module))


def _is_filled_later(value: object) -> bool:
    """Whether a value may change while the program runs, as memories do that are empty at first."""
    return isinstance(value, list | set | dict) and not value


def _of_class(defined: type, module: str) -> Iterator[tuple[str, str]]:
    bases = [f"{base.__module__}:{base.__qualname__}" for base in defined.__bases__]
    yield "(bases)", " ".join(bases)
    for name, value in vars(defined).items():
        pythons = name in SKIPPED | CHANGING or isinstance(value, types.MemberDescriptorType)
        data = name.startswith("__") and not callable(value)  # such as __slotnames__, set by pickle
        if not pythons and not data:
            yield name, _text(value, module)


def _text(value: object, module: str) -> str:
    """What a value computes with, in a text that is the same for equal code and equal constants."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, FunctionType):
        return _of_function(value, module)
    if isinstance(value, CodeType):
        return "\n".join(code_texts(value))
    if isinstance(value, type):
        return f"class {value.__module__}:{value.__qualname__}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, CONTAINERS):
        return _of_container(value, module)
    return _of_object(value, module)


def _of_object(value: object, module: str) -> str:
    """The text of what is no function, constant, array or container."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        if hasattr(type(value), name) or name in getattr(value, "__dict__", {}):
            return f"{type(value).__qualname__} {_text(getattr(value, name), module)}"
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return f"{type(value).__qualname__} {_of_container(fields, module)}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    return f"a {type(value).__module__}:{type(value).__qualname__}"


def _of_function(value: FunctionType, module: str) -> str:
    if value.__module__ != module:
        return "\n".join([f"{value.__module__}:{value.__qualname__}", *code_texts(value.__code__)])
    documented = bool(value.__code__.co_consts) and value.__code__.co_consts[0] == value.__doc__
    cells = [cell.cell_contents for cell in value.__closure__ or () if _is_set(cell)]
    parts = [
        *code_texts(value.__code__, documented),
        _text(value.__defaults__, module),
        _text(value.__kwdefaults__, module),
        *(_shallow(cell, module) for cell in cells),
    ]
    if "__wrapped__" in vars(value):
        parts.append(_text(vars(value)["__wrapped__"], module))
    return "\n".join(parts)


def _shallow(value: object, module: str) -> str:
    """What a closure holds, without what that refers to in turn."""
    if isinstance(value, FunctionType):
        return "\n".join(code_texts(value.__code__))
    if isinstance(value, PLAIN):
        return _text(value, module)
    return f"a {type(value).__qualname__}"


def _is_set(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # the class of a method that calls super(), while it is being made
        return False


def _of_container(value: Collection[object], module: str) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key!r}: {_text(item, module)}" for key, item in value.items())
    texts = [_text(item, module) for item in value]
    if isinstance(value, set | frozenset):
        texts.sort()
    return f"{type(value).__name__} {texts}"


@functools.lru_cache(maxsize=4096)
def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
