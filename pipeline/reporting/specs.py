"""What figures a report shall have: read and checked before anything is simulated, drawn by
`figures`.

A config lists figures as mappings with `kind` (phase_diagram, collapse, curves, ratio or map) and
the fields of that kind below. Nothing here loads matplotlib.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, ClassVar

from pipeline.reporting.formatting import number
from pipeline.study.parameters import Checked, InvalidInput, check, fields, nearest, parameter


def _refers(meaning: str, to: str, default: Any = MISSING) -> Any:
    """Field that names things of the study, all of its axes, metrics and derived parameters:
    `_value` has the kinds.
    """
    if isinstance(default, dict):
        return field(default_factory=dict, metadata={"meaning": meaning, "refers": to})
    return field(default=default, metadata={"meaning": meaning, "refers": to})


FORMATS = ("svg", "png", "pdf")  # of figures


@dataclass(frozen=True, kw_only=True)
class Spec(Checked):
    """What all kinds have in common. Axes that are neither drawn nor selected must have one level."""

    kind: ClassVar[str]
    metric: str = _refers("what is measured", "metric")
    along: str = _refers("axis along which it is followed", "axis")
    at: str | None = _refers(
        "where the levels of `along` are, if not at their own values", "position", None
    )
    select: Mapping[str, Any] = _refers("level at which an axis is fixed", "levels", {})
    title: str = parameter("heading of the figure", default="")
    caption: str = parameter("text in front of the caption", default="")

    @property
    def position(self) -> str:
        """Coordinate with the positions: `at`, else `along`."""
        return self.at or self.along

    @property
    def drawn(self) -> tuple[str, ...]:
        """Axes that the figure shows, each in its way."""
        return (self.along, *_axes_of(self))


@dataclass(frozen=True, kw_only=True)
class PhaseDiagram(Spec):
    """Mean over (product of `size`, `at`) in colours, with the boundary where it crosses `level`."""

    kind: ClassVar[str] = "phase_diagram"
    size: tuple[str, ...] = _refers("axes whose product is the size of the problem", "numeric axes")
    level: float = parameter("mean at the boundary")
    theory: float | None = parameter(
        "exponent of the boundary in the size, as predicted", default=None
    )
    source: str = parameter("who predicts it", default="")
    marks: Mapping[str, float] = _refers(
        "positions with a line: a number, or names with a number each", "marks", {}
    )
    crossings: Mapping[str, float] = _refers(
        "metrics or derived parameters with a level each: where they cross it", "crossings", {}
    )


@dataclass(frozen=True, kw_only=True)
class Collapse(Spec):
    """Mean against `at`, and against `at` times the product of `size` to `exponent`: one curve, or
    not.
    """

    kind: ClassVar[str] = "collapse"
    size: tuple[str, ...] = _refers("axes whose product is the size of the problem", "numeric axes")
    exponent: float = parameter("exponent of the size that puts all curves on one")


@dataclass(frozen=True, kw_only=True)
class Curves(Spec):
    """Mean with its interval against `at`: a curve for every combination of `by`."""

    kind: ClassVar[str] = "curves"
    by: tuple[str, ...] = _refers("axes with a curve for each level", "axes", ())
    split: str | None = _refers("axis with a line style for each level", "axis", None)
    panels: str | None = _refers("axis with a panel for each level", "axis", None)
    linear: bool = parameter("positions on a linear scale, not a logarithmic one", default=False)
    theory: float | None = parameter(
        "slope of a guide line, where both scales are logarithmic", default=None
    )
    source: str = parameter("who predicts that slope", default="")
    marks: Mapping[str, float] = _refers(
        "positions with a line: a number, or names with a number each", "marks", {}
    )
    reference: str | None = _refers(
        "what is drawn beside every curve", "metric or derived parameter", None
    )


@dataclass(frozen=True, kw_only=True)
class Ratio(Spec):
    """Mean of metric^power over its prediction, `yardstick`: a curve for every combination of `by`."""

    kind: ClassVar[str] = "ratio"
    yardstick: str = _refers("metric that predicts metric^power", "metric")
    power: float = parameter("2 where the prediction is of the mean square", default=2.0, above=0)
    by: tuple[str, ...] = _refers("axes with a curve for each level", "axes", ())
    split: str | None = _refers("axis with a line style for each level", "axis", None)
    panels: str | None = _refers("axis with a panel for each level", "axis", None)
    linear: bool = parameter("positions on a linear scale, not a logarithmic one", default=False)
    marks: Mapping[str, float] = _refers(
        "positions with a line: a number, or names with a number each", "marks", {}
    )


@dataclass(frozen=True, kw_only=True)
class Map(Spec):
    """Mean in every cell over two axes, in colours and as numbers.

    With `yardstick`, the ratio of `Ratio`.
    """

    kind: ClassVar[str] = "map"
    across: str = _refers("axis of the rows", "axis")
    yardstick: str | None = _refers("metric that predicts metric^power", "metric", None)
    power: float | None = parameter(
        "2 where the prediction is of the mean square; 1 without one", default=None, above=0
    )
    panels: str | None = _refers("axis with a panel for each level", "axis", None)
    marks: Mapping[str, float] = _refers(
        "positions with a line: a number, or names with a number each", "marks", {}
    )


KINDS: dict[str, type[Spec]] = {
    cls.kind: cls for cls in (PhaseDiagram, Collapse, Curves, Ratio, Map)
}


def read(
    figures: Any,
    axes: Mapping[str, Sequence[Any]],
    coordinates: Iterable[str] = (),
    metrics: Iterable[str] = (),
) -> tuple[Spec, ...]:
    """Checked figures from a list of mappings (null: none).

    `axes` gives the levels of every axis of the grid, `coordinates` names the derived parameters,
    `metrics` what is measured. Raises InvalidInput with the key of the mistake, such as
    "figures.2.metric".
    """
    if figures is None:
        return ()
    if not isinstance(figures, (list, tuple)):
        raise InvalidInput("figures", figures, "must be a list of mappings")
    study = _Study(
        {axis: tuple(levels) for axis, levels in axes.items()}, tuple(coordinates), tuple(metrics)
    )
    return tuple(_figure(figure, f"figures.{i}", study) for i, figure in enumerate(figures))


@dataclass(frozen=True)
class _Study:
    axes: Mapping[str, tuple[Any, ...]]
    coordinates: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def measured(self) -> tuple[str, ...]:
        """Metrics and derived parameters."""
        return (*self.metrics, *self.coordinates)


def _figure(figure: Any, key: str, study: _Study) -> Spec:
    if not isinstance(figure, Mapping):
        raise InvalidInput(key, figure, f"must be a mapping with kind, one of {', '.join(KINDS)}")
    kind = figure.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"{key}.kind", kind, nearest(kind, KINDS))
    cls = KINDS[kind]
    values = {name: value for name, value in figure.items() if name != "kind"}
    known = fields(cls)
    for name in values:
        if name not in known:
            raise InvalidInput(
                f"{key}.{name}", values[name], f"{kind} has no such field; {nearest(name, known)}"
            )
    for name, declared in known.items():
        needed = declared.default is MISSING and declared.default_factory is MISSING
        if needed and values.get(name) is None:
            raise InvalidInput(f"{key}.{name}", None, f"is needed ({declared.metadata['meaning']})")
    spec = cls(
        **{
            name: _value(known[name], value, f"{key}.{name}", study)
            for name, value in values.items()
        }
    )
    _check_whole(spec, key, study)
    return spec


def _value(declared: Field[Any], value: Any, key: str, study: _Study) -> Any:
    """The checked value of a field.

    Axes, metrics and parameters that it names must be in the study.
    """
    refers = declared.metadata.get("refers")
    if refers is None:
        return check(declared, value, key)
    if value is None and declared.default is None:
        return None
    if refers == "levels":
        return _selection(value, key, study)
    if refers == "marks":
        return _marks(value, key)
    if refers == "crossings":
        return _crossings(value, key, study)
    if refers in ("axes", "numeric axes"):
        return _list_of_axes(value, key, study, refers, declared.metadata["meaning"])
    names = {
        "metric": study.metrics,
        "axis": study.axes,
        "position": (*study.axes, *study.coordinates),
        "metric or derived parameter": study.measured,
    }
    return _name(
        value, key, names[refers], "axis or derived parameter" if refers == "position" else refers
    )


def _marks(value: Any, key: str) -> dict[str, float]:
    if not isinstance(value, Mapping):
        return {number(_finite(value, key), 4): float(value)}
    return {_text(name, key): _finite(at, f"{key}.{name}") for name, at in value.items()}


def _crossings(value: Any, key: str, study: _Study) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise InvalidInput(
            key, value, "must be a mapping of metrics or derived parameters to a level each"
        )
    return {
        _name(name, key, study.measured, "metric or derived parameter"): _finite(
            level, f"{key}.{name}"
        )
        for name, level in value.items()
    }


def _list_of_axes(
    value: Any, key: str, study: _Study, refers: str, meaning: str
) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or (refers == "numeric axes" and not value):
        raise InvalidInput(key, value, f"must be a list of axes ({meaning})")
    for axis in value:
        _name(axis, key, study.axes, "axis")
        if refers == "numeric axes" and not _positive(study.axes[axis]):
            raise InvalidInput(key, axis, "must be an axis of positive numbers")
    return tuple(value)


def _name(value: Any, key: str, names: Iterable[str], what: str) -> str:
    if not isinstance(value, str) or value not in names:
        raise InvalidInput(
            key, value, f"no such {what}; {nearest(value, names)}; figures=[] draws none"
        )
    return value


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(
            key, value, "must be the name of a line: a text, with the position after it"
        )
    return value


def _finite(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidInput(key, value, "must be a finite number")
    return float(value)


def _selection(value: Any, key: str, study: _Study) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(key, value, "must be a mapping of axes to one level each")
    selection = {}
    for axis, level in value.items():
        _name(axis, f"{key}.{axis}", study.axes, "axis")
        levels = study.axes[axis]
        same = [
            own
            for own in levels
            if own == level and isinstance(own, bool) == isinstance(level, bool)
        ]
        if not same:
            advice = nearest(level, map(str, levels))
            raise InvalidInput(
                f"{key}.{axis}", level, f"no such level; {advice}; figures=[] draws none"
            )
        selection[axis] = same[0]
    return selection


def _axes_of(spec: Spec) -> tuple[str, ...]:
    """Axes shown otherwise than along the abscissa, in the order of the fields."""
    single = (getattr(spec, name, None) for name in ("across", "split", "panels"))
    return (
        *getattr(spec, "size", ()),
        *getattr(spec, "by", ()),
        *(axis for axis in single if axis),
    )


def _positive(levels: Iterable[Any]) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0 for v in levels)


def _check_whole(spec: Spec, key: str, study: _Study) -> None:
    """What no field shows by itself: InvalidInput names the field to change."""
    _check_axes(spec, key, study)
    _check_positions(spec, key, study)
    _check_marks(spec, key, study)
    if getattr(spec, "source", "") and getattr(spec, "theory", None) is None:
        raise InvalidInput(
            f"{key}.source", getattr(spec, "source", ""), "goes with theory, a slope"
        )
    if isinstance(spec, Curves) and spec.reference in (spec.metric, spec.position):
        raise InvalidInput(
            f"{key}.reference", spec.reference, "must be something else than what the figure shows"
        )
    if isinstance(spec, Map) and spec.yardstick is None and spec.power not in (None, 1):
        raise InvalidInput(f"{key}.power", spec.power, "goes with a yardstick; without one it is 1")


def _check_axes(spec: Spec, key: str, study: _Study) -> None:
    """Every axis is shown, or one of its levels selected, exactly once."""
    taken: set[str] = set()
    shown = ("along", "across", "size", "by", "split", "panels")
    where = (
        *((name, _tuple(getattr(spec, name, ()))) for name in shown),
        ("select", tuple(spec.select)),
    )
    for name, axes in where:
        for axis in axes:
            if axis in taken:
                raise InvalidInput(
                    f"{key}.{name}", axis, "names an axis that the figure uses already"
                )
            taken.add(axis)
    for axis, levels in study.axes.items():
        if axis not in taken and len(levels) > 1:
            raise InvalidInput(
                f"{key}.select",
                axis,
                f"axis {axis} has {len(levels)} levels: select one of them, or show it",
            )


def _check_positions(spec: Spec, key: str, study: _Study) -> None:
    """Positions on a logarithmic scale are positive numbers."""
    if spec.at in study.axes and spec.at != spec.along:
        raise InvalidInput(
            f"{key}.at", spec.at, f"must be a derived parameter, or {spec.along} itself"
        )
    positive = spec.position not in study.axes or _positive(study.axes[spec.position])
    if isinstance(spec, (PhaseDiagram, Collapse)) and not positive:
        raise InvalidInput(
            f"{key}.{'at' if spec.at else 'along'}",
            spec.position,
            "must be an axis of positive numbers, or a derived parameter",
        )
    if isinstance(spec, Curves) and spec.theory is not None:
        if spec.linear:
            raise InvalidInput(
                f"{key}.theory", spec.theory, "needs logarithmic scales; remove linear: true"
            )
        if not positive:
            raise InvalidInput(
                f"{key}.theory", spec.theory, f"needs positive numbers along {spec.position}"
            )


def _check_marks(spec: Spec, key: str, study: _Study) -> None:
    """Marks stand on an axis of numbers, above 0 where its scale is logarithmic."""
    marks = getattr(spec, "marks", {})
    if not marks:
        return
    if not all(isinstance(v, (int, float)) for v in study.axes.get(spec.position, ())):
        raise InvalidInput(
            f"{key}.marks", spec.position, "needs an axis of numbers, or a derived parameter"
        )
    if (
        not isinstance(spec, Map)
        and not getattr(spec, "linear", False)
        and min(marks.values()) <= 0
    ):
        raise InvalidInput(
            f"{key}.marks", min(marks.values()), "must be above 0 on a logarithmic scale"
        )


def _tuple(value: Any) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value
