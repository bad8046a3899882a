"""All arrays that an object holds, and whether they are frozen; see `pipeline.study.frozen`."""

import collections
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.frozen_classes import (
    FUNCTIONS,
    GUARDS,
    PLAIN,
    Seen,
    held_by,
    is_own,
    is_searched,
    package_of,
    slot_names,
)


def is_frozen(array: Array) -> bool:
    """Whether nobody can write to an array: neither it nor the owner of its memory is writable."""
    while isinstance(array.base, np.ndarray) and not array.flags.writeable:
        array = array.base
    return not array.flags.writeable


def arrays(value: object) -> Iterator[Array]:
    """All arrays that an object holds by now, wherever `frozen` finds them.

    Nothing is made for that.
    """
    yield from _arrays(value, package_of(type(value)), {})


def _arrays(value: object, package: str, seen: Seen) -> Iterator[Array]:
    kind: Any = type(value)
    if kind in PLAIN or id(value) in seen:
        return
    seen[id(value)] = value, value
    contents: list[Any] = []
    if isinstance(value, np.ndarray):
        yield value
        if value.dtype.hasobject:
            contents = list(value.flat)
    elif isinstance(value, tuple | list | collections.deque):
        contents = list(value)
    elif isinstance(value, dict):
        contents = list(value.values())
    elif isinstance(value, FUNCTIONS):
        contents = held_by(value)
    elif not (kind in GUARDS or is_own(kind, package) or is_searched(kind)):
        return
    contents += getattr(value, "__dict__", {}).values()
    contents += [getattr(value, name, None) for name in slot_names(kind)]
    for item in contents:
        yield from _arrays(item, package, seen)
