"""What is noted of objects before a part gets them, so that it is seen whether the part changed
one.

Arrays cannot be written to (`pipeline.study.frozen`), nor can attributes be set; but there are
other ways and other containers: `vars(x)`, `object.__setattr__`, a set, a DataFrame. An object's
own methods may set its attributes, and change its own lists and dictionaries, such as caches: so
those of an object whose methods ran are not compared, unless they are fields of a frozen dataclass.
"""

import collections
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.study.contents import BUFFERS, digest_of, is_table
from pipeline.study.frozen_classes import (
    GUARDS,
    PLAIN,
    frozen_fields,
    is_own,
    is_searched,
    package_of,
    slot_names,
)
from pipeline.study.frozen_containers import FrozenDict, FrozenList

LISTS = (list, collections.deque)
COUNTED = (dict, set, *LISTS)
NOTED = (*COUNTED, *BUFFERS, np.ndarray)
MISSING = object()
NO_STATE: dict[str, Any] = {}


@dataclass(frozen=True)
class Holding:
    """What an object held. keeper: id of the object whose methods may change it.

    None where none may.

    name: the object, in words. state: what it held, by a key each.
    """

    owner: Any
    name: str
    state: dict[Any, Any]
    keeper: int | None = None

    def is_changed(self) -> bool:
        """Whether it holds something else by now.

        New attributes and new keys of a defaultdict do not count.
        """
        state = _state(self.owner, frozenset(self.state))
        counts = isinstance(self.owner, COUNTED)
        grows = isinstance(self.owner, collections.defaultdict)  # by being read
        if counts and not grows and len(state) != len(self.state):
            return True
        return any(not _same(state.get(key, MISSING), value) for key, value in self.state.items())


def holdings(value: object) -> list[Holding]:
    """What all objects hold that can be reached from one."""
    return [*_holdings(value, _Way(package_of(type(value)), set()))]


@dataclass(frozen=True)
class _Way:
    """How an object was reached. package: of the first one. seen: ids. keeper: as of `Holding`."""

    package: str
    seen: set[int]
    keeper: int | None = None

    def inside(self, keeper: int | None) -> "_Way":
        """The way to what an object keeps for itself."""
        return _Way(self.package, self.seen, keeper)


def _holdings(value: object, way: _Way) -> Iterator[Holding]:
    kind = type(value)
    if kind in PLAIN or id(value) in way.seen:
        return
    way.seen.add(id(value))
    if isinstance(value, tuple):
        items = list(value)
    elif isinstance(value, NOTED) or is_table(value):
        noted = _state(value, None)
        yield Holding(value, _name(kind), noted, way.keeper)
        items = [] if isinstance(value, (np.ndarray, *BUFFERS)) else list(noted.values())
    elif is_own(kind, way.package) or is_searched(kind):
        yield from _of_object(value, way)
        return
    else:
        return
    for item in items:
        yield from _holdings(item, way)


def _of_object(owner: object, way: _Way) -> Iterator[Holding]:
    """What an object holds in its attributes."""
    kind = type(owner)
    fields = frozen_fields(kind)
    attributes = dict(getattr(owner, "__dict__", NO_STATE))
    attributes |= {name: getattr(owner, name, MISSING) for name in slot_names(kind)}
    public = {name: attributes[name] for name in attributes if name in fields}
    private = {name: attributes[name] for name in attributes if name not in fields}
    if public:
        yield Holding(owner, f"a field of {_name(kind)}", public)
    if kind is types.SimpleNamespace:
        yield Holding(owner, "an attribute of a namespace", private, way.keeper)
        public = private
    inside = way.inside(id(owner))
    if kind in GUARDS:
        yield Holding(owner, f"an attribute of {_name(kind)}", private, id(owner))
        for item in private.values():
            yield from _holdings(item, inside)
    for item in public.values():
        yield from _holdings(item, way)


def _name(kind: type) -> str:
    """What an object of a class is, in words: as whoever made it knows it."""
    if issubclass(kind, np.ndarray):
        return "the shape or the type of an array"
    names: dict[type, str] = {FrozenList: "list", FrozenDict: "dict"}
    name = names.get(kind, kind.__name__)
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _state(owner: object, attributes: frozenset[Any] | None) -> dict[Any, Any]:
    """What an object holds now. attributes: those that were noted, of an object that is no
    container.
    """
    if isinstance(owner, np.ndarray):
        return {"layout": (owner.shape, owner.strides, owner.dtype)}
    if isinstance(owner, dict):
        return dict(owner)
    if isinstance(owner, LISTS):
        return dict(enumerate(owner))
    if isinstance(owner, set):
        return {item: item for item in owner}
    if isinstance(owner, BUFFERS):
        return {"bytes": bytes(owner)}
    if is_table(owner):
        return {"contents": digest_of(owner)}
    state = getattr(owner, "__dict__", NO_STATE)
    return {
        name: state[name] if name in state else getattr(owner, name, MISSING)
        for name in attributes or ()
    }


def _same(new: object, old: object) -> bool:
    """Whether something is what it was: the same object, or an equal text, number or layout."""
    return new is old or (
        type(new) is type(old) and type(new) in (bytes, str, tuple, int, float) and new == old
    )
