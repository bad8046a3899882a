"""What a class or function must be to serve as a part.

What is wrong with one is said in a line, before anything runs.

What parts must offer is in `pipeline.study.protocols`; what they return is checked by
`pipeline.study.returned`.
"""

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field
from functools import cache
from typing import Any

from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import InvalidInput, arguments, check, fields, kinds_of, shorten

TYPES = ("int", "float", "str", "bool", "DataFile")  # of parameters
ALLOWED = "must be int, float, str, bool or DataFile, perhaps | None"
METHODS: Mapping[str, Mapping[str, tuple[str, ...]]] = {  # what the study calls them with
    "model": {"truth": ("rng", "reps", "population"), "simulate": ("truth", "rng"), "cost": ()},
    "mechanism": {"release": ("data", "rng"), "cost": ()},
    "estimator": {"fit": ("release", "rng"), "cost": ()},
    "metric": {"__call__": ("truth", "release", "estimate")},
}
CLASSES: Mapping[str, tuple[str, ...]] = {
    "model": ("produces",),
    "mechanism": ("accepts", "releases"),
    "estimator": ("accepts",),
    "metric": (),
}
NAMES: Mapping[str, tuple[str, ...]] = {  # of parameters
    "model": ("population",),
    "mechanism": (),
    "estimator": (),
    "metric": (),
}
TEXTS: Mapping[str, tuple[str, ...]] = {
    "model": (),
    "mechanism": (),
    "estimator": (),
    "metric": ("long_name", "units"),
}


GUARANTEES: Mapping[str, tuple[str, ...]] = {
    "model": (),
    "mechanism": ("guarantee",),
    "estimator": (),
    "metric": (),
}


def fault(kind: str, part: object) -> str:
    """What is wrong with a part of a kind: model, mechanism, estimator, metric or derivation.

    Empty if nothing is.

    >>> fault("estimator", dict)
    'it lacks accepts, fit, cost'
    """
    if kind == "derivation":
        if not callable(part) or not hasattr(part, "__qualname__"):
            return f"it must be a function, is {shorten(part)}"
        return _fault_of_function(part)
    if not isinstance(part, type):
        return f"it must be a class, is {shorten(part)}"
    return _fault_of_class(kind, part)


@cache
def _fault_of_function(function: Callable[..., object]) -> str:
    return next(_faults_of_function(function), "")


@cache
def _fault_of_class(kind: str, part: type) -> str:
    return next(_faults_of_class(kind, part), "")


def _faults_of_function(function: Callable[..., object]) -> Iterator[str]:
    try:
        inputs = arguments(function)
    except (AttributeError, NameError, SyntaxError, TypeError, ValueError) as error:
        yield (
            f"its arguments need types, such as epsilon: float ({type(error).__name__}: "
            f"{shorten(error)})"
        )
        return
    for name, field in inputs.items():
        if not set(kinds_of(field)) <= {*TYPES, "None"}:
            yield f"its argument {name} {ALLOWED}, is {_type_of(field)}"


def _faults_of_class(kind: str, part: type[Any]) -> Iterator[str]:
    missing = lacking(kind, part)
    if missing:
        yield f"it lacks {', '.join(missing)}"
        return
    if not dataclasses.is_dataclass(part) or not part.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield "it must be a frozen dataclass: @dataclass(frozen=True)"
        return
    undecorated = [name for name, value in vars(part).items() if isinstance(value, Field)]
    if undecorated:
        yield (
            f"it has a parameter {undecorated[0]}, and must be a frozen dataclass itself: "
            "@dataclass(frozen=True)"
        )
    if inspect.isabstract(part):
        yield (
            f"it lacks {', '.join(sorted(part.__abstractmethods__))}, which {part.__name__} "
            "leaves to others"
        )
    for field in fields(part).values():
        yield from _faults_of_field(field)
    yield from _faults_of_attributes(kind, part)
    for method, names in METHODS[kind].items():
        yield from _faults_of_method(part, method, names)


def lacking(kind: str, part: type[Any]) -> list[str]:
    """Names of what a class of a kind must have and does not.

    >>> lacking("estimator", dict)
    ['accepts', 'fit', 'cost']
    """
    wanted = [*NAMES[kind], *TEXTS[kind], *GUARANTEES[kind], *CLASSES[kind], *METHODS[kind]]
    return [name for name in wanted if not _has(part, name)]


def _has(part: type[Any], name: str) -> bool:
    """Whether a class has an attribute.

    Every class can be called, and so has `__call__`, but its objects may not.
    """
    if name == "__call__":
        return any(name in vars(base) for base in part.__mro__)
    return hasattr(part, name)


def _faults_of_field(field: Field[Any]) -> Iterator[str]:
    if not {"meaning", "choices"} <= field.metadata.keys():
        yield (
            f"its field {field.name} must be a parameter: {field.name}: {_type_of(field)} = "
            'pl.parameter("what it is"); a constant is a ClassVar'
        )
        return
    if not set(kinds_of(field)) <= {*TYPES, "None"}:
        yield f"its field {field.name} {ALLOWED}, is {_type_of(field)}"
        return
    # the class of a notebook has, in a worker, another object of the same type for a default that
    # is missing
    if not isinstance(field.default, type(MISSING)) and "DataFile" not in kinds_of(field):
        try:
            check(field, field.default, field.name)
        except InvalidInput as error:
            yield (
                f"the default of its field {field.name}, {shorten(field.default)}, {error.allowed}"
            )


def _type_of(field: Field[Any]) -> str:
    return (
        field.type
        if isinstance(field.type, str)
        else getattr(field.type, "__name__", str(field.type))
    )


def _faults_of_attributes(kind: str, part: type[Any]) -> Iterator[str]:
    for name in CLASSES[kind]:
        if not isinstance(getattr(part, name), type):
            yield f"{name} must be a class, is {shorten(getattr(part, name))}"
    for name in TEXTS[kind]:
        text = getattr(part, name)
        if not isinstance(text, str) or not text:
            yield f"{name} must be a text, is {shorten(repr(text))}"
    for name in GUARANTEES[kind]:
        guarantee = getattr(part, name)
        if not isinstance(guarantee, Guarantee):
            yield f"{name} must be a pl.Guarantee, is {shorten(repr(guarantee))}"
    if kind == "model":
        population = part.population
        if not isinstance(population, tuple) or not set(population) <= fields(part).keys():
            yield (
                f"population must be a tuple of names of its fields, is {shorten(repr(population))}"
            )
    if kind == "metric":
        yield from _faults_of_range(part)


def _faults_of_range(metric: type[Any]) -> Iterator[str]:
    least = getattr(metric, "least", -math.inf)  # it has all three later, see `complete`
    most = getattr(metric, "most", math.inf)
    numbers = {"least": least, "most": most, "expected": getattr(metric, "expected", None)}
    for name, number in numbers.items():
        if name == "expected" and number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | float) or math.isnan(number):
            yield f"{name} must be a number, is {shorten(repr(number))}"
            return
    if not least < most:
        yield f"least must be below most, are {least:g} and {most:g}"


def _faults_of_method(part: type[Any], method: str, names: tuple[str, ...]) -> Iterator[str]:
    """Whether a method can be called with as many arguments as the study gives it."""
    function = getattr(part, method)
    if not callable(function):
        yield f"{method} must be a method, is {shorten(function)}"
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of compiled code
        return
    bound = isinstance(inspect.getattr_static(part, method), classmethod | staticmethod)
    try:
        signature.bind(*names if bound else ("self", *names))
    except TypeError:
        yield f"{method} must take ({', '.join(('self', *names))}), takes {signature}"
