"""What no field of a figure shows by itself: InvalidInput names the field to change."""

from collections.abc import Mapping, Sequence

from pipeline.reporting.spec_values import Shape
from pipeline.study.parameters import InvalidInput


def every_axis_once(fields: Mapping[str, Sequence[str]], key: str, shape: Shape) -> None:
    """Every axis is shown, or one of its levels selected, exactly once. fields: name -> axes."""
    taken: set[str] = set()
    for name, axes in fields.items():
        for axis in axes:
            if axis in taken:
                allowed = "names an axis that the figure uses already"
                raise InvalidInput(f"{key}.{name}", axis, allowed)
            taken.add(axis)
    for axis, levels in shape.axes.items():
        if axis not in taken and len(levels) > 1:
            allowed = f"axis {axis} has {len(levels)} levels: select one of them, or show it"
            raise InvalidInput(f"{key}.select", axis, allowed)


def position_is_derived(at: str | None, along: str, key: str, shape: Shape) -> None:
    """Where `at` is an axis, it is that of `along`."""
    if at in shape.axes and at != along:
        allowed = f"must be a derived parameter, or {along} itself"
        raise InvalidInput(f"{key}.at", at, allowed)


def positions_are_positive(position: str, key: str, shape: Shape) -> None:
    """Positions on a logarithmic scale are positive numbers. key: of the field that has them."""
    if not can_be_logarithmic(position, shape):
        allowed = "must be an axis of positive numbers, or a derived parameter"
        raise InvalidInput(key, position, allowed)


def can_be_logarithmic(position: str, shape: Shape) -> bool:
    """Whether positions are a derived parameter, or an axis of positive numbers."""
    return position not in shape.axes or shape.is_positive(position)


def marks_are_on_the_scale(
    marks: Mapping[str, float], position: str, key: str, shape: Shape, logarithmic: bool
) -> None:
    """Marks stand on an axis of numbers, above 0 where its scale is logarithmic."""
    if not marks:
        return
    levels = shape.axes.get(position, ())
    if not all(isinstance(level, (int, float)) for level in levels):
        allowed = "needs an axis of numbers, or a derived parameter"
        raise InvalidInput(f"{key}.marks", position, allowed)
    least = min(marks.values())
    if logarithmic and least <= 0:
        raise InvalidInput(f"{key}.marks", least, "must be above 0 on a logarithmic scale")


def source_has_a_slope(source: str, theory: float | None, key: str) -> None:
    """A source is named of a slope only."""
    if source and theory is None:
        raise InvalidInput(f"{key}.source", source, "is that of theory, a slope: give that too")


def slope_has_logarithmic_scales(
    theory: float | None, linear: bool, position: str, key: str, shape: Shape
) -> None:
    """A slope is one on logarithmic scales."""
    if theory is None:
        return
    if linear:
        allowed = "needs logarithmic scales; remove linear: true"
        raise InvalidInput(f"{key}.theory", theory, allowed)
    if not can_be_logarithmic(position, shape):
        raise InvalidInput(f"{key}.theory", theory, f"needs positive numbers along {position}")


def reference_is_another(reference: str | None, shown: Sequence[str], key: str) -> None:
    """What is drawn beside the curves is not what they show."""
    if reference in shown:
        allowed = "must be something else than what the figure shows"
        raise InvalidInput(f"{key}.reference", reference, allowed)


def power_has_a_yardstick(power: float | None, yardstick: str | None, key: str) -> None:
    """A mean itself is raised to no power."""
    if yardstick is None and power not in (None, 1):
        raise InvalidInput(f"{key}.power", power, "needs a yardstick; without one it is 1")
