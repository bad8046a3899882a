"""What one part gives to another cannot be written to: neither its arrays nor the attributes of its objects.

`frozen` takes the permission to write from every array that an object holds: at the array that owns the
memory, so that no view of it can be given the permission again. The object keeps a view of it. Lists and
dictionaries in fields of frozen dataclasses are replaced by such that cannot be changed.

Arrays that are made later, by a property, a cached property or a method, are frozen before anybody gets them:
from its hand-over on an object has a class that is derived from its own and sees to this. Only the object's own
methods may set its attributes from then on. `isinstance` and `x.__class__` are as before, and so is the class of
a copy (`copy`, `pickle`, `dataclasses.replace`). Objects of packages that are installed keep their class.
What a method computes for its caller alone, and keeps nowhere, stays writable.
"""

import functools
import threading
import types
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.frozen_classes import (
    PROGRAM,
    frozen_fields,
    is_own,
    is_searched,
    may_store,
    package_of,
    slot_names,
)
from pipeline.study.frozen_containers import FrozenDict, FrozenList, ReadOnly

METHODS = ("__init__", "__call__", "__len__")  # special ones that count as methods
ITEMS = ("__getitem__", "__getattr__", "__array__")  # special ones that count as properties
PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), range, slice, type, types.FunctionType,
                   types.BuiltinFunctionType, types.MethodType, types.ModuleType, np.random.Generator})
NO_STATE: dict[str, Any] = {}
P = ParamSpec("P")
T = TypeVar("T")


class _Thread(threading.local):
    """at_work: ids of objects whose methods run. watch: is told of every array that is frozen meanwhile."""

    def __init__(self) -> None:
        self.at_work: list[int] = []
        self.watch: Callable[[Array], None] | None = None


THREAD = _Thread()
_derived: dict[type, type | None] = {}  # class -> the one that guards its objects; None where there is none
_guards: set[type] = set()


class _Way(NamedTuple):
    """How something was reached. package: of the object that is handed over.

    seen: id of what was reached before -> it, and what stands in its place. private: whether in an attribute that
    is no field of a frozen dataclass: lists there may change, such as caches.
    """

    package: str
    seen: dict[int, tuple[Any, Any]]
    private: bool = False


def frozen(value: T) -> T:
    """The same with arrays that nobody can write to; a single array is given as a view, a tuple is made anew.

    O(arrays), whatever their sizes. Copies, `np.array(x)`, are writable.

    >>> release = (np.zeros(3), "three wins")
    >>> frozen(release)[0][0] = 1
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    kind: Any = type(value)
    if kind in PLAIN or kind in _guards:
        return value
    safe: T = _frozen(value, _Way(package_of(kind), {}))
    return safe


def read_only(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose results are frozen: for what `functools.lru_cache` keeps for several parts."""

    @functools.wraps(function)
    def call(*values: P.args, **named: P.kwargs) -> T:
        return frozen(function(*values, **named))

    return call


def is_frozen(array: Array) -> bool:
    """Whether nobody can write to an array: neither it nor the owner of its memory is writable."""
    while isinstance(array.base, np.ndarray) and not array.flags.writeable:
        array = array.base
    return not array.flags.writeable


def arrays(value: Any) -> Iterator[Array]:
    """All arrays that an object holds by now, wherever `frozen` finds them; nothing is made for that."""
    yield from _arrays(value, _Way(package_of(type(value)), {}))


def _frozen(value: Any, way: _Way) -> Any:
    kind = type(value)
    if kind in PLAIN or kind in _guards:
        return value
    if isinstance(value, np.ndarray):
        return _view(value, way)
    if id(value) in way.seen:
        return way.seen[id(value)][1]
    way.seen[id(value)] = value, value
    safe = value
    if isinstance(value, tuple):
        safe = _tuple(value, way)
    elif isinstance(value, list | dict):
        safe = _container(value, way)
    elif is_own(kind, way.package):
        _guard(value)
        _freeze_state(value, way)
    elif is_searched(kind):
        _freeze_state(value, way)
    way.seen[id(value)] = value, safe
    return safe


def _view(array: Array, way: _Way) -> Array:
    """A view that is read-only, as is the owner of its memory."""
    if type(array) is not np.ndarray or array.dtype.hasobject:
        _freeze_members(array, way)
    flags = array.flags
    if flags.writeable:
        if THREAD.watch is not None:
            THREAD.watch(array)
        flags.writeable = False
    base = array.base
    if base is None:
        return array.view()
    while isinstance(base, np.ndarray):
        flags = base.flags
        if flags.writeable:
            flags.writeable = False
        base = base.base
    return array


def _freeze_members(array: Array, way: _Way) -> None:
    """Freeze what else is in an array: objects, or attributes such as the mask of a masked array."""
    if id(array) in way.seen:
        return
    way.seen[id(array)] = array, array
    if type(array) is not np.ndarray:
        _freeze_state(array, way)
    if array.dtype.hasobject and array.flags.writeable:
        for place in np.ndindex(array.shape):
            array[place] = _frozen(array[place], way)


def _tuple(value: Any, way: _Way) -> Any:
    items = [_frozen(item, way) for item in value]
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    kind = type(value)
    if hasattr(kind, "_make"):
        return kind._make(items)
    return tuple(items) if kind is tuple else value


def _container(value: Any, way: _Way) -> Any:
    """A list or dictionary whose items are frozen: the same one, or one that cannot be changed."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    safe = {key: _frozen(item, way) for key, item in items}
    if not way.private and type(value) is dict:
        return FrozenDict(safe)
    if not way.private and type(value) is list:
        return FrozenList(safe.values())
    for key, item in items:
        if safe[key] is not item:
            value[key] = safe[key]
    return value


def _freeze_state(owner: Any, way: _Way) -> None:
    """Freeze all that an object holds in its attributes now."""
    fields = frozen_fields(type(owner))
    private = _Way(way.package, way.seen, private=True)
    state: dict[str, Any] = getattr(owner, "__dict__", NO_STATE)
    for name, value in list(state.items()):
        if type(value) not in PLAIN:
            safe = _frozen(value, way if name in fields else private)
            if safe is not value:
                state[name] = safe
    for name in slot_names(type(owner)):
        value = getattr(owner, name, None)
        safe = _frozen(value, way if name in fields else private)
        if safe is not value:
            object.__setattr__(owner, name, safe)


def _arrays(value: Any, way: _Way) -> Iterator[Array]:
    kind = type(value)
    if kind in PLAIN or id(value) in way.seen:
        return
    way.seen[id(value)] = value, value
    held: list[Any] = []
    if isinstance(value, np.ndarray):
        yield value
        held = list(value.flat) if value.dtype.hasobject else []
    elif isinstance(value, tuple | list):
        held = list(value)
    elif isinstance(value, dict):
        held = list(value.values())
    elif not (kind in _guards or is_own(kind, way.package) or is_searched(kind)):
        return
    held += getattr(value, "__dict__", {}).values()
    held += [getattr(value, name, None) for name in slot_names(kind)]
    for item in held:
        yield from _arrays(item, way)


def _guard(owner: Any) -> None:
    """Give an object the class that guards it; it keeps its own where Python does not allow that."""
    kind = type(owner)
    if kind not in _derived:
        _derived[kind] = _guarded(kind)
    guarded = _derived[kind]
    if guarded is None:
        return
    try:
        object.__setattr__(owner, "__class__", guarded)
    except TypeError:
        _derived[kind] = None


def _guarded(kind: Any) -> type | None:
    """A class that freezes whatever an object of a class makes; None where that cannot have subclasses."""
    namespace: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        for name, member in vars(base).items():
            if package_of(base) == PROGRAM and not may_store(member):
                namespace.pop(name, None)
            else:
                namespace[name] = _wrapped(name, member)
    namespace = {name: member for name, member in namespace.items() if member is not None}
    namespace |= {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    namespace |= {"__slots__": (), "__class__": property(lambda self: kind), "__reduce_ex__": _reduced(kind)}
    namespace |= {"__setattr__": _refusing(kind.__setattr__), "__delattr__": _refusing(kind.__delattr__)}
    try:
        guarded = types.new_class(kind.__name__, (kind,), exec_body=lambda body: body.update(namespace))
    except TypeError:
        return None
    _guards.add(guarded)
    return guarded


def _wrapped(name: str, member: Any) -> Any:
    """What stands for a member of a class in the one that guards its objects; None for the member itself."""
    special = name.startswith("__") and name.endswith("__")
    if isinstance(member, types.FunctionType):
        if special and name not in (*METHODS, *ITEMS):
            return None
        return _method(member, name in ITEMS)
    if special or isinstance(member, classmethod | staticmethod | type | types.MemberDescriptorType):
        return None
    if hasattr(type(member), "__set__"):
        return _Settable(member)
    return _Read(member) if hasattr(type(member), "__get__") else None


def _method(function: types.FunctionType, is_item: bool) -> Callable[..., Any]:
    """A method after which all that its object holds is frozen, and what it gives, if that is an item."""

    @functools.wraps(function)
    def call(self: Any, *values: Any, **named: Any) -> Any:
        result = _at_work(self, function, self, *values, **named)
        if isinstance(result, types.GeneratorType):
            return _steps(self, result)
        return frozen(result) if is_item else result

    return call


def _at_work(owner: Any, function: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """Call what may set attributes of an object, and freeze what it holds then."""
    THREAD.at_work.append(id(owner))
    try:
        return function(*values, **named)
    finally:
        THREAD.at_work.pop()
        if id(owner) not in THREAD.at_work:
            _freeze_state(owner, _Way(package_of(type(owner)), {}))


def _steps(owner: Any, generator: Generator[Any, Any, Any]) -> Iterator[Any]:
    """What a generator of an object yields, each as a method gives it."""
    end = object()
    while True:
        item = _at_work(owner, next, generator, end)
        if item is end:
            return
        yield item


class _Read:
    """A property, or what is like one: its values are frozen."""

    def __init__(self, member: Any):
        self.member = member
        self.__doc__ = getattr(member, "__doc__", None)

    def __get__(self, owner: Any, kind: Any) -> Any:
        if owner is None:
            return self.member.__get__(None, kind)
        return frozen(_at_work(owner, self.member.__get__, owner, kind))


class _Settable(_Read):
    """One that can be set, by its object's own methods."""

    def __set__(self, owner: Any, value: Any) -> None:
        self.member.__set__(owner, value)

    def __delete__(self, owner: Any) -> None:
        self.member.__delete__(owner)


def _refusing(method: Callable[..., None]) -> Callable[..., None]:
    """`__setattr__` or `__delattr__`, for an object's own methods only."""

    def change(self: Any, name: str, *value: Any) -> None:
        if id(self) not in THREAD.at_work:
            raise ReadOnly(f"{name} of a {type(self).__name__} is read-only")
        method(self, name, *value)

    return change


def _reduced(kind: Any) -> Callable[[Any, Any], Any]:
    """`__reduce_ex__`, by which a copy is of the class that the object was made of."""

    def reduce(self: Any, protocol: Any) -> Any:
        reduced = kind.__reduce_ex__(self, protocol)
        if not isinstance(reduced, tuple):
            return reduced
        function, values, *rest = reduced
        plain = tuple(kind if value in _guards else value for value in values)
        return (function, plain, *rest)

    return reduce
