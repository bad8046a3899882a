"""Targets of precision: how well a mean is to be known before a cell needs no more replications."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from pipeline.study.parameters import Checked, InvalidInput, nearest, parameter

OPTIONS = ("relative", "absolute", "confidence", "power", "least")  # of a target in a config
KEY = re.compile(r"\s*(\w+)(?:\s*/\s*(\w+)|\s+across\s+(\w+))?\s*")


@dataclass(frozen=True)
class Target(Checked):
    """Half-width that the interval of a mean is to have at most: `relative` to the mean, or
    `absolute`; one of both.

    metric: whose mean; with `over` the ratio of its mean to that of another
    metric of the same replications; with `across` all differences between two
    levels of a paired axis. A cell needs `least` replications in any case,
    which guards against a spread that looks small by chance.

    >>> Target("error_l2", relative=0.01).key, Target("error_l2", over="cramer_rao_risk", relative=0.05).key
    ('error_l2', 'error_l2 / cramer_rao_risk')
    """

    metric: str = parameter("metric whose mean is to be known")
    over: str = parameter("metric to whose mean the ratio is taken", default="")
    across: str = parameter("paired axis along which differences are taken", default="")
    relative: float | None = parameter(
        "half-width as a share of the mean", default=None, above=0, below=1
    )
    absolute: float | None = parameter("half-width, in the metric's unit", default=None, above=0)
    confidence: float = parameter("confidence of the interval", default=0.95, above=0.5, below=1)
    power: float = parameter(
        "power of the metric in a ratio, as 2 of an error over a risk", default=1.0, above=0
    )
    least: int = parameter(
        "replications that every cell has", default=100, unit="replications", low=2
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.relative is None) == (self.absolute is None):
            raise InvalidInput("relative", self.relative, "give either relative or absolute")
        if self.power != 1 and not self.over:
            raise InvalidInput("power", self.power, "is for a ratio only")
        if self.over and self.across:
            allowed = "cannot be combined with a ratio; give either over or across"
            raise InvalidInput("across", self.across, allowed)

    @property
    def key(self) -> str:
        """How a config names it: `METRIC`, `METRIC / METRIC` or `METRIC across AXIS`."""
        if self.over:
            return f"{self.metric} / {self.over}"
        if self.across:
            return f"{self.metric} across {self.across}"
        return self.metric

    def __str__(self) -> str:
        if self.relative is not None:
            width = f"{100 * self.relative:g} %"
        else:
            width = f"{self.absolute:g}"
        return f"{self.key} ± {width} at confidence {self.confidence:g}"


def read_targets(
    value: object, metrics: Iterable[str], paired: Iterable[str]
) -> tuple[Target, ...]:
    """Targets of a config's `precision`: a mapping of what is to be known to `relative` or
    `absolute`, and more.

    metrics: names of the study's; paired: its paired axes. Raises InvalidInput,
    which names the key.

    >>> print(*read_targets({"error_l2": {"relative": 0.01}}, ["error_l2"], []))
    error_l2 ± 1 % at confidence 0.95
    """
    if isinstance(value, (list, tuple)) and all(isinstance(target, Target) for target in value):
        keys = [target.key for target in value]
        for key in keys:
            if keys.count(key) > 1:
                raise InvalidInput("precision", key, "is given twice")
        value = config_of(value)
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        allowed = "must be a mapping such as {METRIC: {relative: 0.01}}"
        raise InvalidInput("precision", value, allowed)
    names = [*metrics]
    axes = [*paired]
    return tuple(_target(str(key), options, names, axes) for key, options in value.items())


def config_of(targets: Iterable[Target]) -> dict[str, dict[str, float]]:
    """The mapping that `read_targets` reads."""
    return {target.key: _options_of(target) for target in targets}


def _options_of(target: Target) -> dict[str, float]:
    values = {name: getattr(target, name) for name in OPTIONS}
    return {name: value for name, value in values.items() if value is not None}


def _target(key: str, options: object, metrics: list[str], paired: list[str]) -> Target:
    match = KEY.fullmatch(key)
    if not match:
        allowed = "must be METRIC, METRIC / METRIC or METRIC across AXIS"
        raise InvalidInput("precision", key, allowed)
    metric, over, across = match.groups(default="")
    _check_metric(metric, metrics)
    if over:
        _check_metric(over, metrics)
    if across and across not in paired:
        _refuse_axis(across, paired)
    return Target.read(
        options,
        f"precision.{key}.",
        keys=OPTIONS,
        example="{relative: 0.01}",
        metric=metric,
        over=over,
        across=across,
    )


def _check_metric(name: str, metrics: list[str]) -> None:
    if name not in metrics:
        allowed = f"is no metric of this study; {nearest(name, metrics)}"
        raise InvalidInput("precision", name, allowed)


def _refuse_axis(name: str, paired: list[str]) -> NoReturn:
    allowed = "is no paired axis of this study"
    if paired:
        allowed = f"{allowed}; {nearest(name, paired)}"
    raise InvalidInput("precision", name, allowed)
