"""What figures a report shall have: read and checked before anything is simulated, drawn by `figures`.

A config lists figures as mappings with `kind` (phase_diagram, collapse, curves, ratio or map) and the fields
of that kind below. Nothing here loads matplotlib.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any, ClassVar

from pipeline.parameters import InvalidInput, check, fields, nearest, parameter
from pipeline.report.words import number


def _refers(meaning: str, to: str, default: Any = MISSING) -> Any:
    """Field that names things of the study, all of its axes, metrics and derived parameters: `_value` has the kinds."""
    if isinstance(default, dict):
        return field(default_factory=dict, metadata={"meaning": meaning, "refers": to})
    return field(default=default, metadata={"meaning": meaning, "refers": to})


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What all kinds have in common. Axes that are neither drawn nor selected must have one level."""

    kind: ClassVar[str]
    metric: str = _refers("what is measured", "metric")
    along: str = _refers("axis along which it is followed", "axis")
    at: str | None = _refers("where the levels of `along` are, if not at their own values", "position", None)
    select: Mapping[str, Any] = _refers("level at which an axis is held", "levels", {})
    title: str = parameter("heading of the figure", default="")
    caption: str = parameter("words in front of the caption", default="")

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
    theory: float | None = parameter("exponent of the boundary in the size, as predicted", default=None)
    marks: Mapping[str, float] = _refers("positions with a line: a number, or names with a number each", "marks", {})
    crossings: Mapping[str, float] = _refers("metrics or derived parameters with a level each: where they cross it",
                                             "crossings", {})


@dataclass(frozen=True, kw_only=True)
class Collapse(Spec):
    """Mean against `at`, and against `at` times the product of `size` to `exponent`: one curve, or not."""

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
    theory: float | None = parameter("slope of a guide line, where both scales are logarithmic", default=None)
    marks: Mapping[str, float] = _refers("positions with a line: a number, or names with a number each", "marks", {})
    reference: str | None = _refers("what is drawn beside every curve", "metric or derived parameter", None)


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
    marks: Mapping[str, float] = _refers("positions with a line: a number, or names with a number each", "marks", {})


@dataclass(frozen=True, kw_only=True)
class Map(Spec):
    """Mean in every cell over two axes, in colours and as numbers; with `yardstick`, the ratio of `Ratio`."""

    kind: ClassVar[str] = "map"
    across: str = _refers("axis of the rows", "axis")
    yardstick: str | None = _refers("metric that predicts metric^power", "metric", None)
    power: float | None = parameter("2 where the prediction is of the mean square; 1 without one", default=None,
                                    above=0)
    panels: str | None = _refers("axis with a panel for each level", "axis", None)
    marks: Mapping[str, float] = _refers("positions with a line: a number, or names with a number each", "marks", {})


KINDS: dict[str, type[Spec]] = {cls.kind: cls for cls in (PhaseDiagram, Collapse, Curves, Ratio, Map)}


def read(
    figures: Any, axes: Mapping[str, Sequence], coordinates: Iterable[str] = (), metrics: Iterable[str] = ()
) -> tuple[Spec, ...]:
    """Checked figures from a list of mappings (null: none).

    `axes` gives the levels of every axis of the grid, `coordinates` names the derived parameters, `metrics`
    what is measured. Raises InvalidInput with the place of the mistake, such as "figures.2.metric".
    """
    if figures is None:
        return ()
    if not isinstance(figures, (list, tuple)):
        raise InvalidInput("figures", figures, "must be a list of mappings")
    study = _Study({axis: tuple(levels) for axis, levels in axes.items()}, tuple(coordinates), tuple(metrics))
    return tuple(_figure(given, f"figures.{i}", study) for i, given in enumerate(figures))


@dataclass(frozen=True)
class _Study:
    axes: Mapping[str, tuple]
    coordinates: tuple[str, ...]
    metrics: tuple[str, ...]


def _figure(given: Any, key: str, study: _Study) -> Spec:
    if not isinstance(given, Mapping):
        raise InvalidInput(key, given, f"must be a mapping with kind, one of {', '.join(KINDS)}")
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"{key}.kind", kind, nearest(kind, KINDS))
    cls, values = KINDS[kind], {name: value for name, value in given.items() if name != "kind"}
    known = fields(cls)
    for name in values:
        if name not in known:
            raise InvalidInput(f"{key}.{name}", values[name],
                               f"{kind} has no such field; {nearest(name, known)}")
    for name, declared in known.items():
        needed = declared.default is MISSING and declared.default_factory is MISSING
        if needed and values.get(name) is None:
            raise InvalidInput(f"{key}.{name}", None, f"is needed ({declared.metadata['meaning']})")
    spec = cls(**{name: _value(known[name], value, f"{key}.{name}", study) for name, value in values.items()})
    _check_whole(spec, key, study)
    return spec


def _value(declared: Any, value: Any, key: str, study: _Study) -> Any:
    refers, meaning = declared.metadata.get("refers"), declared.metadata["meaning"]
    if refers is None:
        return check(declared, value, key)
    if value is None and declared.default is None:
        return None
    if refers == "levels":
        return _selection(value, key, study)
    if refers == "marks":
        if not isinstance(value, Mapping):
            return {number(_finite(value, key), 4): float(value)}
        return {_text(name, key): _finite(at, f"{key}.{name}") for name, at in value.items()}
    measured = (*study.metrics, *study.coordinates)
    if refers == "crossings":
        if not isinstance(value, Mapping):
            raise InvalidInput(key, value, "must be a mapping of metrics or derived parameters to a level each")
        return {_name(name, key, measured, "metric or derived parameter"): _finite(level, f"{key}.{name}")
                for name, level in value.items()}
    if refers in ("axes", "numeric axes"):
        if not isinstance(value, (list, tuple)) or (refers == "numeric axes" and not value):
            raise InvalidInput(key, value, f"must be a list of axes ({meaning})")
        for axis in value:
            _name(axis, key, study.axes, "axis")
            if refers == "numeric axes" and not _positive(study.axes[axis]):
                raise InvalidInput(key, axis, "must be an axis of positive numbers")
        return tuple(value)
    names = {"metric": study.metrics, "axis": study.axes, "position": (*study.axes, *study.coordinates),
             "metric or derived parameter": measured}
    return _name(value, key, names[refers], "axis or derived parameter" if refers == "position" else refers)


def _name(value: Any, key: str, names: Iterable[str], what: str) -> str:
    if not isinstance(value, str) or value not in names:
        raise InvalidInput(key, value, f"no such {what}; {nearest(value, names)}; figures=[] draws none")
    return value


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(key, value, "must be the name of a line: a text, with the position after it")
    return value


def _finite(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidInput(key, value, "must be a finite number")
    return float(value)


def _selection(value: Any, key: str, study: _Study) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(key, value, "must be a mapping of axes to one level each")
    found = {}
    for axis, level in value.items():
        _name(axis, f"{key}.{axis}", study.axes, "axis")
        levels = study.axes[axis]
        same = [own for own in levels if own == level and isinstance(own, bool) == isinstance(level, bool)]
        if not same:
            advice = nearest(level, map(str, levels))
            raise InvalidInput(f"{key}.{axis}", level, f"no such level; {advice}; figures=[] draws none")
        found[axis] = same[0]
    return found


def _axes_of(spec: Spec) -> tuple[str, ...]:
    """Axes shown otherwise than along the abscissa, in the order of the fields."""
    single = (getattr(spec, name, None) for name in ("across", "split", "panels"))
    return (*getattr(spec, "size", ()), *getattr(spec, "by", ()), *(axis for axis in single if axis))


def _positive(levels: Iterable) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0 for v in levels)


def _check_whole(spec: Spec, key: str, study: _Study) -> None:
    """Every axis is shown, or held, exactly once; positions that must be positive numbers are."""
    taken: set[str] = set()
    shown = ("along", "across", "size", "by", "split", "panels")
    where = (*((name, _tuple(getattr(spec, name, ()))) for name in shown), ("select", tuple(spec.select)))
    for name, axes in where:
        for axis in axes:
            if axis in taken:
                raise InvalidInput(f"{key}.{name}", axis, "names an axis that the figure uses already")
            taken.add(axis)
    for axis, levels in study.axes.items():
        if axis not in taken and len(levels) > 1:
            raise InvalidInput(f"{key}.select", axis,
                               f"axis {axis} has {len(levels)} levels: select one of them, or show it")
    if spec.at in study.axes and spec.at != spec.along:
        raise InvalidInput(f"{key}.at", spec.at, f"must be a derived parameter, or {spec.along} itself")
    if isinstance(spec, (PhaseDiagram, Collapse)) and spec.position in study.axes \
            and not _positive(study.axes[spec.position]):
        raise InvalidInput(f"{key}.{'at' if spec.at else 'along'}", spec.position,
                           "must be an axis of positive numbers, or a derived parameter")
    if isinstance(spec, Curves) and spec.theory is not None:
        if spec.linear:
            raise InvalidInput(f"{key}.theory", spec.theory, "needs logarithmic scales; remove linear: true")
        if spec.position in study.axes and not _positive(study.axes[spec.position]):
            raise InvalidInput(f"{key}.theory", spec.theory, f"needs positive numbers along {spec.position}")
    if marks := getattr(spec, "marks", {}):
        if not all(isinstance(v, (int, float)) for v in study.axes.get(spec.position, ())):
            raise InvalidInput(f"{key}.marks", spec.position, "needs an axis of numbers, or a derived parameter")
        if not isinstance(spec, Map) and not getattr(spec, "linear", False) and min(marks.values()) <= 0:
            raise InvalidInput(f"{key}.marks", min(marks.values()), "must be above 0 on a logarithmic scale")
    if isinstance(spec, Curves) and spec.reference in (spec.metric, spec.position):
        raise InvalidInput(f"{key}.reference", spec.reference, "must be something else than what the figure shows")
    if isinstance(spec, Map) and spec.yardstick is None and spec.power not in (None, 1):
        raise InvalidInput(f"{key}.power", spec.power, "goes with a yardstick; without one it is 1")


def _tuple(value: Any) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value
