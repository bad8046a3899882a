"""Targets of precision: how well a mean is to be known before a cell needs no more replications."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.study.parameters import Checked, InvalidInput, check, fields, nearest, parameter

KEY = re.compile(r"\s*(\w+)(?:\s*/\s*(\w+)|\s+across\s+(\w+))?\s*")


@dataclass(frozen=True)
class Target(Checked):
    """Half-width that the interval of a mean is to have at most: `relative` to the mean, or
    `absolute`; one of both.

    metric: whose mean; with `over` the ratio of its mean to that of another metric of the same
    replications; with `across` all differences between two levels of a paired axis. A cell needs
    `least` replications in any case, which guards against a spread that looks small by chance.

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
            raise InvalidInput("power", self.power, "goes with a ratio only")
        if self.over and self.across:
            raise InvalidInput(
                "across", self.across, "goes with no ratio; give either over or across"
            )

    @property
    def key(self) -> str:
        """How a config names it: `METRIC`, `METRIC / METRIC` or `METRIC across AXIS`."""
        return (
            self.metric
            + f" / {self.over}" * bool(self.over)
            + f" across {self.across}" * bool(self.across)
        )

    def __str__(self) -> str:
        width = f"{100 * self.relative:g} %" if self.relative is not None else f"{self.absolute:g}"
        return f"{self.key} ± {width} at confidence {self.confidence:g}"


def read_targets(value: Any, metrics: Iterable[str], paired: Iterable[str]) -> tuple[Target, ...]:
    """Targets of a config's `precision`: a mapping of what is to be known to `relative` or
    `absolute`, and more.

    metrics: names of the study's; paired: its paired axes. Raises InvalidInput, which names the
    key.

    >>> [str(one) for one in read_targets({"error_l2": {"relative": 0.01}}, ["error_l2"], [])]
    ['error_l2 ± 1 % at confidence 0.95']
    """
    if isinstance(value, (list, tuple)) and all(isinstance(one, Target) for one in value):
        keys = [one.key for one in value]
        for key in keys:
            if keys.count(key) > 1:
                raise InvalidInput("precision", key, "is given twice")
        value = config_of(value)
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise InvalidInput(
            "precision", value, "must be a mapping such as {METRIC: {relative: 0.01}}"
        )
    return tuple(
        _target(str(key), options, [*metrics], [*paired]) for key, options in value.items()
    )


def config_of(targets: Iterable[Target]) -> dict[str, dict[str, float]]:
    """The mapping that `read_targets` reads."""
    return {
        one.key: {name: value for name in _OPTIONS if (value := getattr(one, name)) is not None}
        for one in targets
    }


_OPTIONS = ("relative", "absolute", "confidence", "power", "least")


def _target(key: str, options: Any, metrics: list[str], paired: list[str]) -> Target:
    where = f"precision.{key}"
    match = KEY.fullmatch(key)
    if not match:
        raise InvalidInput(
            "precision", key, "must be METRIC, METRIC / METRIC or METRIC across AXIS"
        )
    metric, over, across = (part or "" for part in match.groups())
    for name in filter(None, (metric, over)):
        if name not in metrics:
            raise InvalidInput(
                "precision", name, f"is no metric of this study; {nearest(name, metrics)}"
            )
    if across and across not in paired:
        raise InvalidInput(
            "precision",
            across,
            "is no paired axis of this study" + (f"; {nearest(across, paired)}" if paired else ""),
        )
    if not isinstance(options, Mapping):
        raise InvalidInput(where, options, "must be a mapping with relative or absolute")
    for name in options:
        if name not in _OPTIONS:
            raise InvalidInput(
                f"{where}.{name}", options[name], f"no such key; {nearest(name, _OPTIONS)}"
            )
    declared = fields(Target)
    checked = {name: check(declared[name], one, f"{where}.{name}") for name, one in options.items()}
    try:
        return Target(metric, over, across, **checked)
    except InvalidInput as error:
        raise InvalidInput(f"{where}.{error.key}", error.value, error.allowed) from None
