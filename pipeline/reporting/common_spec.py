"""A figure that the studies of a suite share: read and checked before anything is simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.reporting import specs
from pipeline.reporting.spec_values import NONE_DRAWN, is_finite
from pipeline.reporting.specs import Curves
from pipeline.study.checks import mapping
from pipeline.study.parameters import (
    Checked,
    InvalidInput,
    check_keys,
    fields,
    nearest,
    parameter,
)
from pipeline.study.untyped import Config

# Of a study: levels of its axes, derived parameters, metrics.
Shape = tuple[Mapping[str, Sequence[Any]], Sequence[str], Sequence[str]]
Shapes = Mapping[str, Shape]  # of the studies, by name
KEYS = ("title", "caption", "series")
OF_CURVES = ("metric", "along", "by", "select")


@dataclass(frozen=True, kw_only=True)
class Series(Checked):
    """The curves of one study. Loss: 0 where the metric is `best`, 1 where it is `without`.

    curves: whose they are, as of a figure of kind curves. effective: axis or derived parameter ->
    power, whose product with `times` is the effective sample size.
    """

    experiment: str = parameter("experiment of the suite")
    name: str = parameter("name in the legend")
    loss: str = parameter("what the loss is, in words")
    size: str = parameter("what the effective sample size is, in words or a formula")
    without: float = parameter("metric where nothing is known")
    best: float = parameter("metric where all is known", default=0.0)
    times: float = parameter("constant of the effective sample size", default=1.0, above=0)
    curves: Curves
    effective: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Common:
    """A figure that several studies share."""

    title: str
    caption: str
    series: tuple[Series, ...]


def read(common: object, studies: Shapes) -> Common | None:
    """The checked figure, or None without one. studies: name -> levels of its axes, derived
    parameters, metrics.

    Raises InvalidInput with the key of the mistake, such as "common.series.0.experiment".
    """
    if common is None:
        return None
    values = mapping(common, "common")
    check_keys(values, KEYS, "common.")
    entries = values.get("series")
    if not isinstance(entries, list) or not entries:
        allowed = "must be a list of mappings; common=null draws none"
        raise InvalidInput("common.series", entries, allowed)
    series = []
    for k, entry in enumerate(entries):
        key = f"common.series.{k}"
        series.append(_series(mapping(entry, key), key, studies))
    return Common(
        title=str(values.get("title", "")),
        caption=str(values.get("caption", "")),
        series=tuple(series),
    )


def _series(values: Config, key: str, studies: Shapes) -> Series:
    """The checked curves of one study."""
    plain = [name for name in fields(Series) if name not in ("curves", "effective")]
    check_keys(values, (*plain, *OF_CURVES, "effective"), f"{key}.")
    experiment = values.get("experiment")
    if not isinstance(experiment, str) or experiment not in studies:
        allowed = (
            f"is not in this suite; {nearest(experiment, studies)}; "
            "common=null draws no such figure"
        )
        raise InvalidInput(f"{key}.experiment", experiment, allowed)
    axes, coordinates, _ = studies[experiment]
    curves = _curves(values, key, studies[experiment])
    effective = _effective(values.get("effective"), f"{key}.effective", [*axes, *coordinates])
    plain_values = {name: values[name] for name in plain if name in values}
    series = Series.read(plain_values, f"{key}.", curves=curves, effective=effective)
    if series.without == series.best:
        raise InvalidInput(f"{key}.without", series.without, "must be another number than best")
    return series


def _curves(values: Config, key: str, shape: Shape) -> Curves:
    """Whose curves they are, as of a figure of kind curves."""
    axes, coordinates, metrics = shape
    figure = {"kind": "curves"}
    for name in OF_CURVES:
        if name in values:
            figure[name] = values[name]
    try:
        (curves,) = specs.read([figure], axes, coordinates, metrics)
    except InvalidInput as error:
        allowed = error.allowed.replace(NONE_DRAWN, "common=null draws no such figure")
        raise InvalidInput(error.key.replace("figures.0", key), error.value, allowed) from None
    assert isinstance(curves, Curves)
    return curves


def _effective(values: object, key: str, names: Sequence[str]) -> Mapping[str, float]:
    """Powers of axes and derived parameters."""
    powers = mapping(values, key)
    for factor, power in powers.items():
        if factor not in names:
            allowed = f"no such axis or derived parameter; {nearest(factor, names)}"
            raise InvalidInput(key, factor, allowed)
        if not is_finite(power):
            raise InvalidInput(f"{key}.{factor}", power, "must be a power: a finite number")
    return powers
