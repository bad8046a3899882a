"""How parts and derived parameters are made: once for equal values; what they raise is one line."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from pipeline.study.parameters import Checked, DataFile, InvalidInput, check, fields, shorten
from pipeline.study.parts import BaseEstimator
from pipeline.study.protocols import Estimator, Mechanism, Model
from pipeline.study.returned import WrongPart
from pipeline.study.untyped import ParameterValues

Part = TypeVar("Part")
Value: TypeAlias = bool | int | float | str | DataFile | np.generic | None  # of a parameter


def build(component: type[Part], values: ParameterValues) -> Part:
    """A part from those values that are its parameters.

    InvalidInput when one is missing or not allowed.
    """
    taken = []
    for name, declared in fields(component).items():
        if name in values:
            value = values[name]
            taken.append((name, value, type(value)))  # the type, because 1 == 1.0 == True
        elif declared.default is MISSING:
            allowed = f"is needed by {component.__name__} ({declared.metadata['meaning']})"
            raise InvalidInput(name, None, allowed)
    return cast(Part, _build(cast(Hashable, component), tuple(taken)))


@lru_cache(maxsize=4096)
def _build(cls: Hashable, values: tuple[tuple[str, Any, type], ...]) -> object:
    component = cast(type, cls)
    declared = fields(component)
    if getattr(component, "__post_init__", None) is Checked.__post_init__:  # which checks them
        checked = {name: value for name, value, _ in values}
    else:
        checked = {name: check(declared[name], value, name) for name, value, _ in values}
    try:
        return component(**checked)
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(
            f"{component.__module__}.{component.__qualname__}",
            shorten(checked),
            f"cannot be made of these ({type(error).__name__}: {shorten(error)})",
        ) from error


def computed(name: str, derivation: Callable[..., Any], inputs: Mapping[str, Any]) -> Value:
    """The value of a derived parameter, of that name; InvalidInput if there is none."""
    try:
        typed = tuple((key, value, type(value)) for key, value in inputs.items())
        value = _computed(derivation, typed)
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:
        reason = str(error)
        if not isinstance(error, ArithmeticError | TypeError | ValueError):
            reason = f"{type(error).__name__}: {error}"
        raise InvalidInput(
            name,
            shorten(inputs),
            f"cannot be computed from these by {derivation.__qualname__} ({shorten(reason, 200)})",
        ) from None
    if not isinstance(value, Value):
        raise InvalidInput(
            name,
            shorten(inputs),
            f"{derivation.__qualname__} must give a number or a text for these, "
            f"gives {type(value).__name__}",
        )
    return value


@lru_cache(maxsize=4096)  # an equation is solved once, not whenever a cell is looked at
def _computed(derivation: Callable[..., Any], inputs: tuple[tuple[str, Any, type], ...]) -> object:
    return derivation(**{name: value for name, value, _ in inputs})


def predicted_cost(
    role: str, name: str, part: Model | Mechanism | Estimator, with_errors: bool = False
) -> float:
    """`part.cost()`, checked, and with_errors that of an estimator's standard errors.

    Raises WrongPart. name: of the part.
    """
    total = _checked_cost(role, name, "cost", part.cost)
    if with_errors and isinstance(part, BaseEstimator):
        total += _checked_cost(role, name, "errors_cost", part.errors_cost)
    return total


def _checked_cost(role: str, name: str, method: str, cost_of: Callable[[], Any]) -> float:
    try:
        cost = cost_of()
    except Exception as error:
        reason = f"{method} raises {type(error).__name__}: {shorten(error)}"
        raise WrongPart(role, name, reason) from error
    is_number = isinstance(cost, int | float | np.number)
    whole_or_real = is_number and not isinstance(cost, bool)
    if not whole_or_real or not 0 <= cost < math.inf:
        reason = f"{method} must give a number of steps, at least 0, gives {shorten(repr(cost))}"
        raise WrongPart(role, name, reason)
    return float(cost)
