"""Metrics that are one formula: a decorated function becomes a part."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput
from pipeline.study.parts import BaseMetric
from pipeline.study.protocols import Estimate, EstimateWithErrors, Release, Truth

INPUTS = ("truth", "release", "estimate")


class Formula(BaseMetric):
    """A metric made by `metric`: a frozen dataclass whose fields are the parameters of a function.

    formula: the function. inputs: which of truth, release and estimate it
    reads.
    """

    long_name: ClassVar[str]
    units: ClassVar[str]
    formula: ClassVar[Callable[..., Any]]
    inputs: ClassVar[tuple[str, ...]]

    def __init__(self, **parameters: object):
        """Every class that `metric` makes has an own one, which the dataclass writes."""
        raise TypeError("a metric is made by the decorator `metric`")

    def __call__(self, truth: Truth, release: Release, estimate: Estimate) -> Floats:
        """One value per replication, (reps,)."""
        everything = dict(zip(INPUTS, (truth, release, estimate), strict=True))
        inputs = {name: everything[name] for name in self.inputs}
        values: Floats = self.formula(**inputs, **self._parameters())
        return values

    def _parameters(self) -> Mapping[str, Any]:
        """Values of the parameters, by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]


class ExactFormula(Formula):
    """A metric that is computed from parameters alone: the same number in every replication."""

    exact: ClassVar[bool] = True

    @cached_property
    def value(self) -> float:
        """The number."""
        return float(self.formula(**self._parameters()))

    def __call__(self, truth: Truth, release: Release, estimate: Estimate) -> Floats:
        """The number, (reps,) times."""
        return np.full(len(estimate.converged), self.value)


def metric(
    long_name: str,
    units: str = "1",
    *,
    least: float | None = None,
    most: float | None = None,
    expected: float | None = None,
) -> Callable[[Callable[..., Any]], type[Formula]]:
    """Decorator: the function computes this metric.

    It is called with what it names among `truth`, `release` and `estimate`, and
    gives one value per replication, (reps,). Its other arguments are
    keyword-only and made by `parameter`. A function that names none of the
    three gives one exact number. least, most: the range of its values, where
    there is one. expected: its exact mean, where it is a control variate.

    Raises InvalidInput for arguments that are none of these.

    >>> import pipeline as pl
    >>> @pl.metric("largest error of a score", units="log-odds", least=0.0)
    ... def largest_error(truth, estimate):
    ...     return abs(estimate.theta - truth.theta).max(axis=1)
    >>> largest_error.long_name, largest_error.inputs
    ('largest error of a score', ('truth', 'estimate'))
    """
    ends = {"least": least, "most": most, "expected": expected}
    texts = {"long_name": long_name, "units": units}
    attributes = texts | {name: end for name, end in ends.items() if end is not None}
    return lambda formula: _class_of(formula, attributes)


def share(long_name: str, units: str = "1") -> Callable[[Callable[..., Any]], type[Formula]]:
    """Decorator: the function computes this share, or probability; otherwise as `metric`."""
    return metric(long_name, units, least=0.0, most=1.0)


def _class_of(formula: Callable[..., Any], attributes: Mapping[str, Any]) -> type[Formula]:
    arguments = inspect.signature(formula).parameters.values()
    inputs = tuple(argument.name for argument in arguments if argument.name in INPUTS)
    parameters = [
        (argument.name, argument.annotation, _field(formula, argument))
        for argument in arguments
        if argument.name not in INPUTS
    ]
    base = Formula if inputs else ExactFormula
    namespace = {
        "__doc__": formula.__doc__,
        "__module__": formula.__module__,
        "__qualname__": formula.__qualname__,
        "formula": staticmethod(formula),
        "inputs": inputs,
        "reads_errors": _reads_errors(formula),
        **attributes,
    }
    return dataclasses.make_dataclass(
        formula.__name__, parameters, bases=(base,), namespace=namespace, frozen=True, kw_only=True
    )


def _reads_errors(formula: Callable[..., Any]) -> bool:
    """Whether a function says that it takes an estimate with errors."""
    declared = formula.__annotations__.get("estimate")
    return declared in (EstimateWithErrors, EstimateWithErrors.__name__)


def _field(formula: Callable[..., Any], argument: inspect.Parameter) -> object:
    """A new field, as one declaration may serve several metrics."""
    declared = argument.default
    is_keyword = argument.kind is inspect.Parameter.KEYWORD_ONLY
    if not is_keyword or not isinstance(declared, dataclasses.Field):
        allowed = (
            f"must be one of {', '.join(INPUTS)}, or stand after * and be made by parameter("
            '"what it is"), its unit and its range'
        )
        raise InvalidInput(f"metric {formula.__name__}", argument.name, allowed)
    return dataclasses.field(default=declared.default, metadata=declared.metadata)
