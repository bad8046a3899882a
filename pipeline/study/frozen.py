"""What one part gives to another cannot be written to: neither its arrays nor the attributes of its
objects.

`frozen` takes the permission to write from every array that an object holds: at the array that owns
the memory, so that no view of it can be given the permission again. The object keeps a view of it.
Lists and dictionaries in fields of frozen dataclasses are replaced by such that cannot be changed.

Arrays that are made later, by a property, a cached property or a method, are frozen before anybody
gets them: from its hand-over on an object has a class that is derived from its own and sees to
this. Only the object's own methods may set its attributes from then on. `isinstance` and
`x.__class__` are as before, and so is the class of a copy (`copy`, `pickle`,
`dataclasses.replace`). Objects of packages that are installed keep their class. What a method
computes for its caller alone, and keeps nowhere, stays writable.
"""

import collections
import functools
import operator
import types
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.frozen_classes import (
    FUNCTIONS,
    GUARDS,
    PLAIN,
    PROGRAM,
    Seen,
    add_guard,
    cells_of,
    frozen_fields,
    held_by,
    is_own,
    is_searched,
    may_store,
    package_of,
    reduced,
    slot_names,
)
from pipeline.study.frozen_containers import FrozenDict, FrozenList
from pipeline.study.frozen_threads import THREAD, WATCHES, refusing

METHODS = ("__init__", "__call__", "__len__")  # special ones that count as methods
ITEMS = ("__getitem__", "__getattr__", "__array__")  # special ones that count as properties
NO_STATE: dict[str, Any] = {}
SET_FLAGS: Any = (
    np.ndarray.setflags
)  # by position: a quarter of the time of `flags.writeable = False`
SET_ATTRIBUTE = object.__setattr__  # that of a frozen dataclass refuses
P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound="_Member")


_derived: dict[
    type, type | None
] = {}  # class -> the one that guards its objects; None where there is none


def frozen(value: T) -> T:
    """The same with arrays that nobody can write to.

    A single array is given as a view, a tuple is made anew.

    O(arrays), whatever their sizes. Copies, `np.array(x)`, are writable.

    >>> release = (np.zeros(3), "three wins")
    >>> frozen(release)[0][0] = 1
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    kind: Any = type(value)
    if kind in PLAIN or kind in GUARDS:
        return value
    guarded = _derived.get(kind)
    if guarded is not None:  # seen before: the shortest way, as it is taken four times a unit
        SET_ATTRIBUTE(value, "__class__", guarded)
        _freeze_state(value, package_of(kind), {})
        return value
    return cast(T, _frozen(value, package_of(kind), {}, False))


def all_frozen(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values, each of them frozen."""
    for value in values:
        if type(value) not in PLAIN and type(value) not in GUARDS:
            return tuple(map(frozen, values))
    return values


def read_only(function: Callable[P, T]) -> Callable[P, T]:
    """A function with frozen results, for what `functools.lru_cache` keeps for several parts."""

    @functools.wraps(function)
    def call(*values: P.args, **named: P.kwargs) -> T:
        return frozen(function(*values, **named))

    return call


def _frozen(value: object, package: str, seen: Seen, private: bool) -> object:
    """The same, frozen. package: of the object that is handed over.

    private: whether in an attribute that is no field of a frozen dataclass: lists there may change,
    such as caches.
    """
    kind: Any = type(value)
    if kind in PLAIN or kind in GUARDS:
        return value
    if type(value) is np.ndarray and not value.dtype.hasobject:
        return _view(value)
    before = seen.get(id(value))
    if before is not None:
        return before[1]
    seen[id(value)] = value, value
    freeze = _way_to_freeze(kind, package)
    safe = freeze(value, package, seen, private)
    if safe is not value:
        seen[id(value)] = value, safe
    return safe


@functools.cache
def _way_to_freeze(kind: type, package: str) -> Callable[..., object]:
    """What freezes an object of a class: gives the same one, or what stands in its place."""
    if issubclass(kind, np.ndarray):
        return _unusual_array
    if issubclass(kind, FUNCTIONS):
        return _function
    if issubclass(kind, tuple):
        return _tuple
    if issubclass(kind, dict):
        return _dict
    if issubclass(kind, list | collections.deque):
        return _list
    if is_own(kind, package):
        return _guarded_object
    return _library_object if is_searched(kind) else _as_it_is


def _as_it_is(value: T, package: str, seen: Seen, private: bool) -> T:
    return value


def _guarded_object(owner: T, package: str, seen: Seen, private: bool) -> T:
    _guard(owner)
    _freeze_state(owner, package, seen, private)
    return owner


def _library_object(owner: T, package: str, seen: Seen, private: bool) -> T:
    _freeze_state(owner, package, seen, private)
    return owner


def _view(array: Array) -> Array:
    """A view that is read-only, as is the owner of its memory.

    A copy where the owner is no array and may be written to, such as a bytearray.
    """
    if WATCHES and THREAD.watches and array.flags.writeable:
        THREAD.watches[-1](array)
    SET_FLAGS(array, False)
    base = array.base
    if base is None:
        return array.view()
    owner = _freeze_owners(base)
    if owner is not None and _may_be_written(owner):
        return _view(np.array(array))
    return array


def _freeze_owners(base: object) -> object:
    """Freeze the array that owns the memory of a view, and those between both.

    Gives the owner where it is no array, such as one of `ctypes`; None otherwise.
    """
    while isinstance(base, np.ndarray):
        SET_FLAGS(base, False)
        base = base.base
    return base


def _may_be_written(owner: object) -> bool:
    """Whether code of Python may write to the memory of an object that is no array."""
    try:
        return not memoryview(owner).readonly  # type: ignore[arg-type]
    except TypeError:  # a capsule, of compiled code
        return False


def _unusual_array(array: Array, package: str, seen: Seen, private: bool) -> Array:
    """The view of an array that holds objects, or has attributes such as the mask of a masked
    array.
    """
    if type(array) is not np.ndarray:
        _freeze_state(array, package, seen, private)
    if array.dtype.hasobject and array.flags.writeable:
        for place in np.ndindex(array.shape):
            array[place] = _frozen(array[place], package, seen, private)
    return _view(array)


def _function(value: T, package: str, seen: Seen, private: bool) -> T:
    """The function; arrays in the variables around it are frozen."""
    for cell in cells_of(value):
        safe = _frozen(cell.cell_contents, package, seen, True)
        if safe is not cell.cell_contents:
            cell.cell_contents = safe
    if isinstance(value, functools.partial):
        for argument in held_by(value):
            _frozen(argument, package, seen, True)
    return value


def _tuple(
    value: tuple[object, ...], package: str, seen: Seen, private: bool
) -> tuple[object, ...]:
    items = [_frozen(item, package, seen, private) for item in value]
    if all(map(operator.is_, items, value)):
        return value
    kind: Any = type(value)
    if kind is tuple:
        return tuple(items)
    if not hasattr(kind, "_make"):
        return value
    remade: tuple[object, ...] = kind._make(items)  # a named tuple
    return remade


def _dict(
    value: dict[Hashable, object], package: str, seen: Seen, private: bool
) -> dict[Hashable, object]:
    """A dictionary whose items are frozen: the same one, or one that cannot be changed."""
    keys = list(value)
    if not private and type(value) is dict:
        return FrozenDict({key: _frozen(value[key], package, seen, False) for key in keys})
    for key in keys:
        item = value[key]
        if type(item) not in PLAIN and type(item) not in GUARDS:
            safe = _frozen(item, package, seen, private)
            if safe is not item:
                value[key] = safe
    return value


def _list(
    value: list[object] | collections.deque[object], package: str, seen: Seen, private: bool
) -> list[object] | collections.deque[object]:
    """A list or deque whose items are frozen: the same one, or a list that cannot be changed."""
    if not private and type(value) is list:
        return FrozenList([_frozen(item, package, seen, False) for item in value])
    for place in range(len(value)):
        item = value[place]
        if type(item) not in PLAIN and type(item) not in GUARDS:
            safe = _frozen(item, package, seen, private)
            if safe is not item:
                value[place] = safe
    return value


def _freeze_state(
    owner: object,
    package: str,
    seen: Seen,
    private: bool = False,
    before: Mapping[str, Any] = NO_STATE,
) -> None:
    """Freeze all that an object holds in its attributes now. before: what was frozen in them."""
    kind: Any = type(owner)
    state: dict[str, Any] = getattr(owner, "__dict__", NO_STATE)
    for name, value in list(state.items()):
        kind_of_value: Any = type(value)
        if kind_of_value in PLAIN or kind_of_value in GUARDS:
            continue
        if kind_of_value is np.ndarray and not (WATCHES or value.dtype.hasobject):
            base = value.base
            if base is not None and value is before.get(name):
                continue  # a view of what is frozen cannot be made writable
            SET_FLAGS(value, False)  # here once more, without calls: most arrays are such
            if base is None or _freeze_owners(base) is not None:
                state[name] = _view(value)
            continue
        was_frozen = value is before.get(name)
        if type(value) is tuple and was_frozen and _is_settled(value):
            continue
        in_private = private or name not in frozen_fields(kind)
        safe = _frozen(value, package, seen, in_private)
        if safe is not value:
            state[name] = safe
    for name in slot_names(kind):
        value = getattr(owner, name, None)
        safe = _frozen(value, package, seen, private or name not in frozen_fields(kind))
        if safe is not value:
            SET_ATTRIBUTE(owner, name, safe)


def _is_settled(value: tuple[object, ...]) -> bool:
    """Whether a tuple that was frozen still is: nothing in it can change."""
    for item in value:
        kind = type(item)
        if (
            kind not in PLAIN
            and kind not in GUARDS
            and (type(item) is not np.ndarray or item.dtype.hasobject)
        ):
            return False
    return True


def _guard(owner: object) -> None:
    """Give an object the class that guards it, where Python allows that."""
    kind = type(owner)
    if kind not in _derived:
        _derived[kind] = _guarded(kind)
    guarded = _derived[kind]
    if guarded is None:
        return
    try:
        SET_ATTRIBUTE(owner, "__class__", guarded)
    except TypeError:
        _derived[kind] = None


def _guarded(kind: type) -> type | None:
    """A class that freezes whatever an object of a class makes.

    None where that cannot have subclasses.
    """
    namespace: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        for name, member in vars(base).items():
            if package_of(base) == PROGRAM and not may_store(member, namespace):
                namespace.pop(name, None)
            else:
                namespace[name] = _wrapped(name, member, package_of(base))
    namespace = {name: member for name, member in namespace.items() if member is not None}
    namespace |= {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    namespace |= {
        "__slots__": (),
        "__class__": property(lambda self: kind),
        "__reduce_ex__": reduced(kind),
    }
    namespace |= {
        "__setattr__": refusing(kind.__setattr__),
        "__delattr__": refusing(kind.__delattr__),
    }
    try:
        guarded = types.new_class(
            kind.__name__, (kind,), exec_body=lambda body: body.update(namespace)
        )
    except TypeError:
        return None
    add_guard(guarded)
    return guarded


def _wrapped(name: str, member: object, package: str) -> object:
    """What stands for a member of a class of a package in the one that guards its objects.

    None for the member itself.
    """
    special = name.startswith("__") and name.endswith("__")
    if isinstance(member, types.FunctionType):
        if special and name not in (*METHODS, *ITEMS):
            return None
        return _method(member, name in ITEMS)
    if special or isinstance(
        member, classmethod | staticmethod | type | types.MemberDescriptorType
    ):
        return None
    if type(member) is functools.cached_property:
        return _Once(member, alone=package == PROGRAM and not may_store(member.func))
    if hasattr(type(member), "__set__"):
        return _Settable(cast(_SettableMember, member))
    return _Read(cast(_Member, member)) if hasattr(type(member), "__get__") else None


def _method(function: types.FunctionType, is_item: bool) -> Callable[..., Any]:
    """A method after which all that its object holds is frozen, and what it gives, if that is an
    item.
    """

    @functools.wraps(function)
    def call(self: object, *values: object, **named: object) -> object:
        result = _at_work(self, function, self, *values, **named)
        if isinstance(result, types.GeneratorType):
            return _steps(self, result)
        return frozen(result) if is_item else result

    return call


def _at_work(owner: object, function: Callable[..., T], *values: object, **named: object) -> T:
    """Call what may set attributes of an object, and freeze what it holds then."""
    at_work = THREAD.at_work
    if id(owner) in at_work:
        return function(*values, **named)
    before = dict(getattr(owner, "__dict__", NO_STATE))
    at_work.append(id(owner))
    if WATCHES:
        THREAD.worked.add(id(owner))
    try:
        return function(*values, **named)
    finally:
        at_work.pop()
        _freeze_state(owner, package_of(type(owner)), {}, before=before)


def _steps(owner: object, generator: Generator[Any, Any, Any]) -> Iterator[Any]:
    """What a generator of an object yields, each as a method gives it."""
    end = object()
    while True:
        item = _at_work(owner, next, generator, end)
        if item is end:
            return
        yield item


class _Member(Protocol):
    """A property of a class, or what is like one."""

    def __get__(self, owner: object, kind: type | None, /) -> object: ...


class _SettableMember(_Member, Protocol):
    """A property that can be set."""

    def __set__(self, owner: object, value: object, /) -> None: ...

    def __delete__(self, owner: object, /) -> None: ...


class _Read(Generic[M]):
    """A property, or what is like one: its values are frozen."""

    def __init__(self, member: M):
        self.member = member
        self.__doc__ = getattr(member, "__doc__", None)

    def __get__(self, owner: object, kind: type | None) -> object:
        if owner is None:
            return self.member.__get__(None, kind)
        return frozen(_at_work(owner, self.member.__get__, owner, kind))


class _Once(_Read[functools.cached_property[object]]):
    """A cached property: its value is frozen where its object keeps it, too.

    alone: whether it changes nothing else of its object.
    """

    def __init__(self, member: functools.cached_property[object], alone: bool):
        super().__init__(member)
        self.alone = alone
        self.name = cast(str, member.attrname)  # where an object keeps the value

    def __get__(self, owner: object, kind: type | None) -> object:
        compute = self.member.__get__
        if owner is None:
            return compute(None, kind)
        value = compute(owner, kind) if self.alone else _at_work(owner, compute, owner, kind)
        state = vars(owner)
        value = state.get(self.name, value)
        safe = frozen(value)
        if safe is not value:
            state[self.name] = safe
        return safe


class _Settable(_Read[_SettableMember]):
    """One that can be set, by its object's own methods."""

    def __set__(self, owner: object, value: object) -> None:
        self.member.__set__(owner, value)

    def __delete__(self, owner: object) -> None:
        self.member.__delete__(owner)
