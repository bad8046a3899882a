"""A figure that the studies of a suite share: read and checked before anything is simulated."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.reporting import specs
from pipeline.reporting.specs import Curves
from pipeline.study.checks import mapping
from pipeline.study.parameters import Checked, InvalidInput, check, fields, nearest, parameter

# Of the studies, by name: levels of their axes, derived parameters, metrics.
Shapes = Mapping[str, tuple[Mapping[str, Sequence[Any]], Sequence[str], Sequence[str]]]


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


def read(common: Any, studies: Shapes) -> Common | None:
    """The checked figure, or None without one. studies: name -> levels of its axes, derived
    parameters, metrics.

    Raises InvalidInput with the key of the mistake, such as "common.series.0.experiment".
    """
    if common is None:
        return None
    given = mapping(common, "common")
    for name in given:
        if name not in ("title", "caption", "series"):
            raise InvalidInput(
                f"common.{name}", given[name], "no such key; allowed: title, caption, series"
            )
    series = given.get("series")
    if not isinstance(series, list) or not series:
        raise InvalidInput(
            "common.series", series, "must be a list of mappings; common=null draws none"
        )
    return Common(
        title=str(given.get("title", "")),
        caption=str(given.get("caption", "")),
        series=tuple(
            _series(mapping(one, f"common.series.{k}"), f"common.series.{k}", studies)
            for k, one in enumerate(series)
        ),
    )


def _series(given: Mapping[str, Any], key: str, studies: Shapes) -> Series:
    known = {
        name: one for name, one in fields(Series).items() if name not in ("curves", "effective")
    }
    drawn = ("metric", "along", "by", "select")
    for name in given:
        if name not in (*known, *drawn, "effective"):
            raise InvalidInput(
                f"{key}.{name}",
                given[name],
                f"no such key; {nearest(name, (*known, *drawn, 'effective'))}",
            )
    experiment = given.get("experiment")
    if not isinstance(experiment, str) or experiment not in studies:
        raise InvalidInput(
            f"{key}.experiment",
            experiment,
            f"is not in this suite; {nearest(experiment, studies)}; "
            "common=null draws no such figure",
        )
    axes, coordinates, metrics = studies[experiment]
    curves = {one: given[one] for one in drawn if one in given}
    try:
        (spec,) = specs.read([{"kind": "curves", **curves}], axes, coordinates, metrics)
    except InvalidInput as error:
        advice = error.allowed.replace("figures=[] draws none", "common=null draws no such figure")
        raise InvalidInput(error.key.replace("figures.0", key), error.value, advice) from None
    assert isinstance(spec, Curves)
    effective = mapping(given.get("effective"), f"{key}.effective")
    for factor, power in effective.items():
        if factor not in axes and factor not in coordinates:
            raise InvalidInput(
                f"{key}.effective",
                factor,
                "no such axis or derived parameter; " + nearest(factor, [*axes, *coordinates]),
            )
        if (
            isinstance(power, bool)
            or not isinstance(power, (int, float))
            or not math.isfinite(power)
        ):
            raise InvalidInput(
                f"{key}.effective.{factor}", power, "must be a power: a finite number"
            )
    values = {one: check(known[one], given[one], f"{key}.{one}") for one in known if one in given}
    for one in ("name", "loss", "size", "without"):
        if one not in values:
            raise InvalidInput(
                f"{key}.{one}", None, f"is needed ({known[one].metadata['meaning']})"
            )
    if values["without"] == values.get("best", 0.0):
        raise InvalidInput(f"{key}.without", values["without"], "must be another number than best")
    return Series(**values, curves=spec, effective=effective)
