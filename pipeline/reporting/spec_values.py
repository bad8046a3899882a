"""Values of a figure's fields that name things of the study: read and checked field by field."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, TypeGuard

from pipeline.reporting.formatting import number
from pipeline.study.parameters import InvalidInput, check, nearest
from pipeline.study.untyped import AnyField

AXES = ("axis", "axes", "numeric axes")  # what a field refers to if it names axes
NONE_DRAWN = "figures=[] draws none"


@dataclass(frozen=True)
class Shape:
    """What figures can show of a study: levels of its axes, derived parameters, metrics."""

    axes: Mapping[str, tuple[Any, ...]]
    coordinates: tuple[str, ...]
    metrics: tuple[str, ...]
    statistics: tuple[str, ...] = ()

    @property
    def measured(self) -> tuple[str, ...]:
        """Metrics and derived parameters."""
        return (*self.metrics, *self.coordinates)

    def names(self, refers: str) -> Iterable[str]:
        """All names that a field may have which refers to one thing of this kind."""
        if refers == "axis":
            return self.axes
        if refers == "metric":
            return (*self.metrics, *self.statistics)
        if refers == "axis or derived parameter":
            return (*self.axes, *self.coordinates)
        return self.measured

    def is_positive(self, axis: str) -> bool:
        """Whether all levels of an axis are numbers above 0."""
        return all(is_number(level) and level > 0 for level in self.axes[axis])


def refers(meaning: str, to: str, default: object = MISSING) -> AnyField:
    """A field that names things of the study.

    to: an axis, axes, numeric axes, a metric, "axis or derived parameter", "metric or derived
    parameter", or a mapping: levels, marks, crossings.
    """
    metadata = {"meaning": meaning, "refers": to}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def read_value(declared: Field[Any], value: object, key: str, shape: Shape) -> object:
    """The checked value of a field.

    Axes, metrics and parameters that it names must be in the study. Raises InvalidInput.
    """
    to = declared.metadata.get("refers")
    if to is None:
        return check(declared, value, key)
    if value is None and declared.default is None:
        return None
    if to == "levels":
        return _selection(value, key, shape)
    if to == "marks":
        return _marks(value, key)
    if to == "crossings":
        return _crossings(value, key, shape)
    if to in ("axes", "numeric axes"):
        return _list_of_axes(declared, value, key, shape)
    return _name(value, key, shape, to)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, and not true or false."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return is_number(value) and math.isfinite(value)


def _marks(value: object, key: str) -> dict[str, float]:
    """Thin lines by name; that of a number alone is named after it."""
    if not isinstance(value, Mapping):
        position = _finite(value, key)
        return {number(position, 4): position}
    marks = {}
    for name, position in value.items():
        if not isinstance(name, str):
            allowed = "must be the name of a line: a text, with the position after it"
            raise InvalidInput(key, name, allowed)
        marks[name] = _finite(position, f"{key}.{name}")
    return marks


def _crossings(value: object, key: str, shape: Shape) -> dict[str, float]:
    """Levels of metrics or derived parameters."""
    if not isinstance(value, Mapping):
        allowed = "must be a mapping of metrics or derived parameters to a level each"
        raise InvalidInput(key, value, allowed)
    crossings = {}
    for name, level in value.items():
        _name(name, key, shape, "metric or derived parameter")
        crossings[name] = _finite(level, f"{key}.{name}")
    return crossings


def _list_of_axes(declared: Field[Any], value: object, key: str, shape: Shape) -> tuple[str, ...]:
    """Axes of the study; numeric ones have positive levels, and there is one at least."""
    numeric = declared.metadata["refers"] == "numeric axes"
    if not isinstance(value, (list, tuple)) or (numeric and not value):
        meaning = declared.metadata["meaning"]
        raise InvalidInput(key, value, f"must be a list of axes ({meaning})")
    for axis in value:
        _name(axis, key, shape, "axis")
        if numeric and not shape.is_positive(axis):
            raise InvalidInput(key, axis, "must be an axis of positive numbers")
    return tuple(value)


def _name(value: object, key: str, shape: Shape, to: str) -> str:
    """The name of a thing of the study."""
    names = shape.names(to)
    if not isinstance(value, str) or value not in names:
        allowed = f"no such {to}; {nearest(value, names)}; {NONE_DRAWN}"
        raise InvalidInput(key, value, allowed)
    return value


def _finite(value: object, key: str) -> float:
    if not is_finite(value):
        raise InvalidInput(key, value, "must be a finite number")
    return float(value)


def _selection(value: object, key: str, shape: Shape) -> dict[str, Any]:
    """A level of each of some axes, as the grid has it."""
    if not isinstance(value, Mapping):
        raise InvalidInput(key, value, "must be a mapping of axes to one level each")
    selection = {}
    for axis, level in value.items():
        _name(axis, f"{key}.{axis}", shape, "axis")
        selection[axis] = _level(level, f"{key}.{axis}", shape.axes[axis])
    return selection


def _level(value: object, key: str, levels: tuple[Any, ...]) -> object:
    """The level of an axis that equals a value; True is no 1."""
    for level in levels:
        if level == value and isinstance(level, bool) == isinstance(value, bool):
            return level
    allowed = f"no such level; {nearest(value, map(str, levels))}; {NONE_DRAWN}"
    raise InvalidInput(key, value, allowed)
