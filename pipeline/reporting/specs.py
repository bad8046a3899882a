"""What figures a report shall have: read and checked before anything is simulated, drawn by
`figures`.

A config lists figures as mappings with `kind` (phase_diagram, boundaries, collapse, curves, ratio,
map, zip or nested_loop) and
the fields of that kind below. Nothing here loads matplotlib.

A kind is a class here, with its own checks, and a function `(spec, results, summary) -> Drawing` in
a module of its own, which `drawn_by` names.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass
from typing import Any, ClassVar

from pipeline.reporting import spec_checks
from pipeline.reporting.spec_values import AXES, Shape, read_value, refers
from pipeline.study import parameters
from pipeline.study.parameters import Checked, InvalidInput, fields, nearest, parameter

FORMATS = ("svg", "png", "pdf")  # of figures
SIZE = "axes whose product is the size of the problem"
CURVE = "axes with a curve for each level"
LINE = "axis with a line style for each level"
PANEL = "axis with a panel for each level"
MARKS = "positions with a line: a number, or names with a number each"
LINEAR = "positions on a linear scale, not a logarithmic one"


@dataclass(frozen=True, kw_only=True)
class Spec(Checked):
    """What all kinds have in common. Axes that are neither drawn nor selected must have one level.

    drawn_by: `module:function` in this package. picture: what is seen, in words.
    """

    kind: ClassVar[str]
    picture: ClassVar[str]
    drawn_by: ClassVar[str]
    metric: str = refers("what is measured", "metric")
    along: str = refers("axis along which it is followed", "axis")
    at: str | None = refers(
        "where the levels of `along` are, if not at their own values",
        "axis or derived parameter",
        None,
    )
    select: Mapping[str, Any] = refers("level at which an axis is fixed", "levels", {})
    title: str = parameter("heading of the figure", default="")
    caption: str = parameter("text in front of the caption", default="")

    @property
    def position(self) -> str:
        """Coordinate with the positions: `at`, else `along`."""
        return self.at or self.along

    @property
    def axes_by_field(self) -> dict[str, tuple[str, ...]]:
        """Axes shown otherwise than along the abscissa, by the field that names them."""
        axes: dict[str, tuple[str, ...]] = {}
        for name, declared in fields(type(self)).items():
            if name == "along" or declared.metadata.get("refers") not in AXES:
                continue
            value = getattr(self, name)
            if isinstance(value, str):
                axes[name] = (value,)
            else:
                axes[name] = value or ()
        return axes

    @property
    def drawn(self) -> tuple[str, ...]:
        """Axes that the figure shows, each in its way."""
        axes = [self.along]
        for others in self.axes_by_field.values():
            axes += others
        return tuple(axes)

    @property
    def thin_lines(self) -> Mapping[str, float]:
        """Positions of thin lines, by name."""
        return {}

    @property
    def beside(self) -> tuple[str, ...]:
        """What is drawn beside the metric."""
        return ()

    def check(self, key: str, shape: Shape) -> None:
        """What no field shows by itself; raises InvalidInput."""
        fields_of_axes = {
            "along": (self.along,),
            **self.axes_by_field,
            "select": tuple(self.select),
        }
        spec_checks.every_axis_once(fields_of_axes, key, shape)
        spec_checks.position_is_derived(self.at, self.along, key, shape)


@dataclass(frozen=True, kw_only=True)
class PhaseDiagram(Spec):
    """Mean over (product of `size`, `at`) in colours; the boundary where it crosses `level`."""

    kind: ClassVar[str] = "phase_diagram"
    picture: ClassVar[str] = "Coloured tiles with a boundary"
    drawn_by: ClassVar[str] = "phase_diagram:phase_diagram"
    size: tuple[str, ...] = refers(SIZE, "numeric axes")
    level: float = parameter("mean at the boundary")
    theory: float | None = parameter(
        "exponent of the boundary in the size, as predicted", default=None
    )
    source: str = parameter("who predicts it", default="")
    marks: Mapping[str, float] = refers(MARKS, "marks", {})
    crossings: Mapping[str, float] = refers(
        "metrics or derived parameters with a level each: where they cross it", "crossings", {}
    )

    @property
    def thin_lines(self) -> Mapping[str, float]:
        """Positions of thin lines, by name."""
        return self.marks

    def check(self, key: str, shape: Shape) -> None:
        """What no field shows by itself; raises InvalidInput."""
        super().check(key, shape)
        position_key = f"{key}.at" if self.at else f"{key}.along"
        spec_checks.positions_are_positive(self.position, position_key, shape)
        spec_checks.marks_are_on_the_scale(self.marks, self.position, key, shape, logarithmic=True)
        spec_checks.source_has_a_slope(self.source, self.theory, key)


@dataclass(frozen=True, kw_only=True)
class Boundaries(Spec):
    """Where the mean crosses `level`, over (`across`, `at`): several boundaries in one phase
    diagram, one for every combination of `by` and `split`.
    """

    kind: ClassVar[str] = "boundaries"
    picture: ClassVar[str] = "Boundaries"
    drawn_by: ClassVar[str] = "boundary_figure:boundaries"
    across: str = refers("axis of numbers, along the abscissa", "axis")
    level: float = parameter("mean at the boundary")
    by: tuple[str, ...] = refers(CURVE, "axes", ())
    split: str | None = refers(LINE, "axis", None)
    panels: str | None = refers(PANEL, "axis", None)
    theory: float | None = parameter(
        "level of `along` at which theory puts the boundary, drawn as lines", default=None
    )
    source: str = parameter("who predicts it", default="")

    def check(self, key: str, shape: Shape) -> None:
        """What no field shows by itself; raises InvalidInput."""
        super().check(key, shape)
        position_key = f"{key}.at" if self.at else f"{key}.along"
        spec_checks.positions_are_positive(self.position, position_key, shape)
        spec_checks.positions_are_positive(self.across, f"{key}.across", shape)
        spec_checks.source_has_a_slope(self.source, self.theory, key)


@dataclass(frozen=True, kw_only=True)
class Collapse(Spec):
    """Mean against `at`, and against `at` times the product of `size` to `exponent`: one curve, or
    not.
    """

    kind: ClassVar[str] = "collapse"
    picture: ClassVar[str] = "Two panels of curves, raw and rescaled,"
    drawn_by: ClassVar[str] = "collapse_figure:collapsed"
    size: tuple[str, ...] = refers(SIZE, "numeric axes")
    exponent: float = parameter("exponent of the size that puts all curves on one")

    def check(self, key: str, shape: Shape) -> None:
        """What no field shows by itself; raises InvalidInput."""
        super().check(key, shape)
        position_key = f"{key}.at" if self.at else f"{key}.along"
        spec_checks.positions_are_positive(self.position, position_key, shape)


@dataclass(frozen=True, kw_only=True)
class Curves(Spec):
    """Mean with its interval against `at`: a curve for every combination of `by`."""

    kind: ClassVar[str] = "curves"
    picture: ClassVar[str] = "Curves"
    drawn_by: ClassVar[str] = "curve_figures:curves"
    by: tuple[str, ...] = refers(CURVE, "axes", ())
    split: str | None = refers(LINE, "axis", None)
    panels: str | None = refers(PANEL, "axis", None)
    linear: bool = parameter(LINEAR, default=False)
    theory: float | None = parameter(
        "slope of a guide line, where both scales are logarithmic", default=None
    )
    source: str = parameter("who predicts that slope", default="")
    marks: Mapping[str, float] = refers(MARKS, "marks", {})
    reference: str | None = refers(
        "what is drawn beside every curve", "metric or derived parameter", None
    )

    @property
    def thin_lines(self) -> Mapping[str, float]:
        """Positions of thin lines, by name."""
        return self.marks

    @property
    def beside(self) -> tuple[str, ...]:
        """What is drawn beside the metric."""
        return (self.reference,) if self.reference else ()

    def check(self, key: str, shape: Shape) -> None:
        """What no field shows by itself; raises InvalidInput."""
        super().check(key, shape)
        spec_checks.slope_has_logarithmic_scales(
            self.theory, self.linear, self.position, key, shape
        )
        spec_checks.marks_are_on_the_scale(
            self.marks, self.position, key, shape, logarithmic=not self.linear
        )
        spec_checks.source_has_a_slope(self.source, self.theory, key)
        spec_checks.reference_is_another(self.reference, (self.metric, self.position), key)


@dataclass(frozen=True, kw_only=True)
class Ratio(Spec):
    """Mean of metric^power over its prediction, `yardstick`: a curve for each level of `by`."""

    kind: ClassVar[str] = "ratio"
    picture: ClassVar[str] = "Curves of ratios"
    drawn_by: ClassVar[str] = "curve_figures:ratio"
    yardstick: str = refers("metric that predicts metric^power", "metric")
    power: float = parameter("2 where the prediction is of the mean square", default=2.0, above=0)
    by: tuple[str, ...] = refers(CURVE, "axes", ())
    split: str | None = refers(LINE, "axis", None)
    panels: str | None = refers(PANEL, "axis", None)
    linear: bool = parameter(LINEAR, default=False)
    marks: Mapping[str, float] = refers(MARKS, "marks", {})

    @property
    def thin_lines(self) -> Mapping[str, float]:
        """Positions of thin lines, by name."""
        return self.marks

    def check(self, key: str, shape: Shape) -> None:
        """What no field shows by itself; raises InvalidInput."""
        super().check(key, shape)
        spec_checks.marks_are_on_the_scale(
            self.marks, self.position, key, shape, logarithmic=not self.linear
        )


@dataclass(frozen=True, kw_only=True)
class Map(Spec):
    """Mean in every cell over two axes, in colours and as numbers.

    With `yardstick`, the ratio of `Ratio`.
    """

    kind: ClassVar[str] = "map"
    picture: ClassVar[str] = "Coloured tiles"
    drawn_by: ClassVar[str] = "map_figure:drawn"
    across: str = refers("axis of the rows", "axis")
    yardstick: str | None = refers("metric that predicts metric^power", "metric", None)
    power: float | None = parameter(
        "2 where the prediction is of the mean square; 1 without one", default=None, above=0
    )
    panels: str | None = refers(PANEL, "axis", None)
    marks: Mapping[str, float] = refers(MARKS, "marks", {})

    @property
    def thin_lines(self) -> Mapping[str, float]:
        """Positions of thin lines, by name."""
        return self.marks

    def check(self, key: str, shape: Shape) -> None:
        """What no field shows by itself; raises InvalidInput."""
        super().check(key, shape)
        spec_checks.marks_are_on_the_scale(self.marks, self.position, key, shape, logarithmic=False)
        spec_checks.power_has_a_yardstick(self.power, self.yardstick, key)


@dataclass(frozen=True, kw_only=True)
class ZipPlot(Spec):
    """Intervals of all replications, sorted by their error: a panel for each level of `along`.

    metric: an error in units of its standard error, such as `z_error`.
    """

    kind: ClassVar[str] = "zip"
    picture: ClassVar[str] = "Stacked intervals"
    drawn_by: ClassVar[str] = "zip_figure:zipped"
    confidence: float = parameter("confidence of the intervals", default=0.95, above=0, below=1)


@dataclass(frozen=True, kw_only=True)
class NestedLoop(Spec):
    """Mean in all cells in one row, as steps: a curve for every combination of `by`."""

    kind: ClassVar[str] = "nested_loop"
    picture: ClassVar[str] = "Curves of steps"
    drawn_by: ClassVar[str] = "nested_figure:nested"
    loops: tuple[str, ...] = refers("axes outside of `along`, the slowest first", "axes")
    by: tuple[str, ...] = refers(CURVE, "axes", ())


KINDS: dict[str, type[Spec]] = {
    cls.kind: cls
    for cls in (PhaseDiagram, Boundaries, Collapse, Curves, Ratio, Map, ZipPlot, NestedLoop)
}


OF_SUMMARY = ("curves", "map", "nested_loop")  # kinds that read a summary alone


def read(
    figures: object,
    axes: Mapping[str, Sequence[Any]],
    coordinates: Iterable[str] = (),
    metrics: Iterable[str] = (),
    statistics: Iterable[str] = (),
) -> tuple[Spec, ...]:
    """Checked figures from a list of mappings (null: none).

    `axes` gives the levels of every axis of the grid, `coordinates` names the derived parameters,
    `metrics` what is measured, `statistics` what summaries have of it beside means. Raises
    InvalidInput with the key of the mistake, such as
    "figures.2.metric".
    """
    if figures is None:
        return ()
    if not isinstance(figures, (list, tuple)):
        raise InvalidInput("figures", figures, "must be a list of mappings")
    levels = {axis: tuple(values) for axis, values in axes.items()}
    shape = Shape(levels, tuple(coordinates), tuple(metrics), tuple(statistics))
    return tuple(_figure(figure, f"figures.{i}", shape) for i, figure in enumerate(figures))


def _figure(figure: object, key: str, shape: Shape) -> Spec:
    """One checked figure."""
    if not isinstance(figure, Mapping):
        raise InvalidInput(key, figure, f"must be a mapping with kind, one of {', '.join(KINDS)}")
    kind = figure.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"{key}.kind", kind, nearest(kind, KINDS))
    cls = KINDS[kind]
    values = {name: value for name, value in figure.items() if name != "kind"}

    def reader(declared: Field[Any], value: object, value_key: str) -> object:
        return read_value(declared, value, value_key, shape)

    parameters.check_keys(values, fields(cls), f"{key}.", f"{kind} has no such field")
    spec = parameters.read(cls, values, f"{key}.", reader=reader)
    _check_statistics(kind, values, key, shape)
    spec.check(key, shape)
    return spec


def _check_statistics(kind: str, values: Mapping[str, Any], key: str, shape: Shape) -> None:
    """Raise InvalidInput where a figure that reads replications names a statistic of a summary."""
    is_of_summary = kind in OF_SUMMARY and values.get("yardstick") is None
    for name in ("metric", "yardstick"):
        if values.get(name) in shape.statistics and not is_of_summary:
            kinds = ", ".join(OF_SUMMARY)
            allowed = f"is a statistic, which {kinds} without a yardstick show; name a metric"
            raise InvalidInput(f"{key}.{name}", values[name], allowed)
