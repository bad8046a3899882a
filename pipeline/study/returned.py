"""What parts give each other, checked where it is handed over: types, axes, sizes, kinds of
numbers.

A class of a truth, of data, of a release or of an estimate names the axes of
its arrays in its annotations, such as `theta: Annotated[Floats, "reps", "m"]`.
The length of an axis follows from the unit (`reps`), from the part's parameter
of that name, from the object's own attribute of that name, or from what the
part was given. An axis `reps` of length 1 stands for all replications. Another
axis of a model's arrays has length 0 where nothing is known, as of the
abilities of real persons. What a class computes only when it is asked for is
not asked for here.
"""

import dataclasses
import typing
from collections.abc import Hashable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, NamedTuple, cast

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import InvalidInput, fields, shorten
from pipeline.study.protocols import (
    Data,
    Estimate,
    Estimator,
    Mechanism,
    Metric,
    Model,
    Release,
    Truth,
    plain_release_of,
)

REPS = "reps"
ROUNDING = 1e-9  # relative error of a value at an end of its range
NUMBERS = "fiub"  # kinds of NumPy's types that hold numbers
ANY = "any"
ALLOWED = {"f": NUMBERS, "i": "iu", "b": "b", ANY: NUMBERS}  # declared kind -> kinds that will do
# Other lengths that an axis may have: shared by all replications; nothing is known.
ALSO = {REPS: 1, "model": 0}
WORDS = {"f": "numbers", "i": "whole numbers", "b": "true or false (bool)", ANY: "numbers"}


class WrongPart(InvalidInput):
    """A part gives what its protocol does not allow, wherever it runs. key: its role.

    value: its name.
    """


class Caller(NamedTuple):
    """A part that gives something: its role, its name and itself."""

    role: str
    name: str
    part: Any

    def error(self, fault: str) -> WrongPart:
        """What is said of it."""
        return WrongPart(self.role, self.name, fault)


class Declared(NamedTuple):
    """An array as a class declares it. kind: of its numbers, a key of WORDS. others: classes that
    may stand for it.
    """

    axes: tuple[str, ...]
    kind: str
    others: tuple[type, ...]


def check_truth(model: Model, name: str, truth: Truth, reps: int) -> None:
    """Raise WrongPart unless a truth has so many replications. name: of the model."""
    if truth is None:
        raise WrongPart("model", name, "truth must give what is to be learned, gives None")
    if isinstance(truth, np.ndarray):
        if truth.ndim == 0 or len(truth) not in (1, reps):
            fault = f"truth must give an array ({REPS}, …) = ({reps}, …), gives {truth.shape}"
            raise WrongPart("model", name, fault)
        return
    _check_arrays(Caller("model", name, model), truth, reps, {})


def check_data(model: Model, name: str, data: Data, reps: int) -> None:
    """Raise WrongPart unless data are what the model says that it produces. name: of the model."""
    if not isinstance(data, model.produces):
        fault = f"simulate must give {model.produces.__name__}, gives {_kind_of(data)}"
        raise WrongPart("model", name, fault)
    _check_arrays(Caller("model", name, model), data, reps, {})


def check_release(mechanism: Mechanism, name: str, data: Data, release: Release, reps: int) -> None:
    """Raise WrongPart unless a release is what the mechanism, of that name, says of it."""
    kind = mechanism.releases
    if kind is object:  # no privacy: data in the form in which they are released
        kind = plain_release_of(type(data)) or object
    if not isinstance(release, kind) or release is None:
        fault = f"release must give {kind.__name__}, gives {_kind_of(release)}"
        raise WrongPart("mechanism", name, fault)
    _check_arrays(Caller("mechanism", name, mechanism), release, reps, {})


def check_estimate(
    estimator: Estimator, name: str, release: Release, estimate: Estimate, reps: int
) -> None:
    """Raise WrongPart unless an estimate says what converged. name: of the estimator."""
    converged = getattr(estimate, "converged", None)
    if not isinstance(converged, np.ndarray):
        kind = f"converged of type {_kind_of(converged)}"
        if converged is None:
            kind = _kind_of(estimate)
        fault = f"fit must give an estimate with converged, ({REPS},) bool; gives {kind}"
        raise WrongPart("estimator", name, fault)
    if converged.shape != (reps,) or converged.dtype != bool:
        wanted = f"converged must be ({REPS},) = ({reps},) bool"
        raise WrongPart("estimator", name, f"{wanted}, is {converged.shape} {converged.dtype}")
    _check_arrays(Caller("estimator", name, estimator), estimate, reps, _sizes(release))


def checked_values(metric: Metric, name: str, returned: object, reps: int) -> Floats:
    """What a metric of that name gave, as float64.

    WrongPart unless it is a number for each replication.
    """
    try:
        array = np.asarray(returned)
    except ValueError:  # rows of several lengths
        array = np.asarray(None)
    wanted = f"must give ({REPS},) = ({reps},) numbers"
    if isinstance(returned, np.ma.MaskedArray):
        raise WrongPart("metric", name, f"{wanted}, NaN where there is none, gives a masked array")
    if array.dtype.kind not in NUMBERS:
        raise WrongPart("metric", name, f"{wanted}, gives {_contents(returned, array)}")
    if array.shape != (reps,):
        raise WrongPart("metric", name, f"{wanted}, gives {array.shape}")
    values = array.astype(float, copy=False)
    least, most = _range(type(metric))
    outside = values[(values < _outwards(least, -1)) | (values > _outwards(most, 1))]
    if outside.size:
        fault = f"must be {least:g} to {most:g}, as its least and most say, is {outside[0]:g}"
        raise WrongPart("metric", name, fault)
    return values


@cache
def _range(metric: type[Metric]) -> tuple[float, float]:
    """Least and greatest value of a metric."""
    return float(metric.least), float(metric.most)


def _outwards(end: float, sign: int) -> float:
    """The end of a range with what rounding may add."""
    return end + sign * ROUNDING * (1 + abs(end))


def _contents(returned: object, values: Array) -> str:
    if isinstance(returned, np.ndarray):
        return f"{values.shape} of {values.dtype}"
    if returned is None:
        return "None"
    return f"{_kind_of(returned)} {shorten(repr(returned), 40)}"


def _kind_of(value: object) -> str:
    """Name of a value's type, as whoever made it knows it: containers that are read-only are lists
    and dicts.
    """
    for kind in (list, dict):
        if isinstance(value, kind):
            return kind.__name__
    if value is None:
        return "None"
    return type(value).__name__


def _check_arrays(by: Caller, value: object, reps: int, known: Mapping[str, int]) -> None:
    """Compare the arrays of an object with what its class declares. known: lengths of axes of what
    was given.
    """
    cls: Any = type(value)
    declared = arrays_of(cls)
    if not declared:
        return
    lengths = dict(known)
    for axis in _own_axes(cls):
        length = getattr(value, axis)
        if isinstance(length, int):
            lengths[axis] = length
    lengths.update(_sizes_of_part(cast(Hashable, type(by.part)), by.part))
    lengths[REPS] = reps
    for name, wanted in declared.items():
        array = getattr(value, name)
        if isinstance(array, wanted.others):
            continue
        if type(array) is not np.ndarray and not _is_plain(array):
            shape = _shape(wanted, lengths)
            raise by.error(f"{name} must be an array {shape}, is {_kind_of(array)}")
        if array.dtype.kind not in ALLOWED[wanted.kind]:
            raise by.error(f"{name} must hold {WORDS[wanted.kind]}, holds {array.dtype}")
        if not _fits(by.role, array.shape, wanted.axes, lengths):
            raise by.error(f"{name} must be {_shape(wanted, lengths)}, is {array.shape}")


def _is_plain(value: object) -> bool:
    """Whether a value is an array whose elements all count, which those of a masked one would, too.

    A matrix of NumPy keeps two axes, whatever is taken of it.
    """
    return isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray | np.matrix)


def _fits(
    role: str, shape: tuple[int, ...], axes: tuple[str, ...], lengths: dict[str, int]
) -> bool:
    """Whether a shape is that of the axes; notes the lengths of axes of which nothing was known."""
    if len(shape) != len(axes):
        return False
    for axis, actual in zip(axes, shape, strict=True):
        length = lengths.setdefault(axis, actual)
        also = ALSO.get(REPS) if axis == REPS else ALSO.get(role)
        if actual not in (length, also):
            return False
    return True


@cache
def _own_axes(cls: type) -> tuple[str, ...]:
    """Axes of a class's arrays that are also attributes of it, such as the number of items."""
    axes: dict[str, None] = {}
    for declared in arrays_of(cls).values():
        axes |= dict.fromkeys(declared.axes)
    names = {field.name for field in dataclasses.fields(cls)}
    return tuple(axis for axis in axes if axis in names or hasattr(cls, axis))


@lru_cache(maxsize=4096)
def _sizes_of_part(cls: Hashable, part: Hashable) -> dict[str, int]:
    """Whole numbers among the parameters of a part. cls: its class, as equal objects of two classes
    are one key.
    """
    if not hasattr(cls, "__dataclass_fields__"):
        return {}
    values = {name: getattr(part, name) for name in fields(cast(type, cls))}
    return {name: value for name, value in values.items() if isinstance(value, int)}


def _sizes(value: object) -> dict[str, int]:
    """Lengths of the axes of an object's arrays."""
    cls: Any = type(value)
    sizes: dict[str, int] = {}
    for name, declared in arrays_of(cls).items():
        array = getattr(value, name)
        if isinstance(array, np.ndarray) and len(array.shape) == len(declared.axes):
            sizes.update(zip(declared.axes, array.shape, strict=True))
    return sizes


def _shape(wanted: Declared, known: Mapping[str, int]) -> str:
    """The axes, and their lengths where these are known: (reps, m) = (100, 6)."""
    comma = "," if len(wanted.axes) == 1 else ""
    lengths = [str(known.get(axis, axis)) for axis in wanted.axes]
    return f"({', '.join(wanted.axes)}{comma}) = ({', '.join(lengths)}{comma})"


@cache
def arrays_of(cls: type) -> dict[str, Declared]:
    """Arrays that a dataclass declares with their axes, by field, but for those that it computes
    when asked.
    """
    if not dataclasses.is_dataclass(cls):
        return {}
    hints = typing.get_type_hints(cls, include_extras=True)
    declared = {}
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if typing.get_origin(hint) is Annotated and not lazy(cls, field.name):
            declared[field.name] = _declared(hint)
    return declared


def lazy(cls: type, name: str) -> bool:
    """Whether a class computes a field only when it is asked for."""
    return isinstance(getattr(cls, name, None), property | cached_property)


def _declared(hint: object) -> Declared:
    """An annotation such as Annotated[Floats | None, "reps", "m"]."""
    whole, *axes = typing.get_args(hint)
    choices: tuple[Any, ...] = (whole,)
    if typing.get_origin(whole) is not np.ndarray:
        choices = typing.get_args(whole) or choices
    kind = ANY
    others = []
    for choice in choices:
        if typing.get_origin(choice) is np.ndarray:
            kind = _kind_declared(choice)
        elif isinstance(choice, type):
            others.append(choice)
    return Declared(tuple(axes), kind, tuple(others))


def _kind_declared(array: object) -> str:
    """The kind of the numbers of an annotation NDArray[…]."""
    scalar = (*typing.get_args(typing.get_args(array)[1]), Any)[0]
    for kind, group in (("f", np.floating), ("i", np.integer), ("b", np.bool_)):
        if isinstance(scalar, type) and issubclass(scalar, group):
            return kind
    return ANY
