"""Functions of a design: a study gives them the design's parameters by their names."""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")
DESIGN = "design"  # name of the argument


def of_design(
    names: str = "", **defaults: object
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Decorator: in place of a function's argument `design` its fields can be given by name.

    names: the fields, with blanks between, in the order in which they stand in place of `design`;
    fields that are not among them keep their defaults. defaults: of fields that need not be given.
    Without names all fields are meant, with their own defaults.
    So a function is written in terms of one object, and a study, which matches derivations and
    predictions by the names of their arguments, sees the parameters.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Box:
    ...     width: float
    ...     height: float
    ...     depth: float = 1.0
    >>> @of_design("width height", height=2.0)
    ... def weight(density: float, design: Box) -> float:
    ...     return density * design.width * design.height * design.depth
    >>> weight(3.0, width=5.0), [*inspect.signature(weight).parameters]
    (30.0, ['density', 'width', 'height'])
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        declared = inspect.signature(function, eval_str=True)
        design: type = declared.parameters[DESIGN].annotation
        fields = names.split()
        default_of = defaults
        if not fields:
            fields, default_of = _all_fields(design)
        signature = _by_name(declared, design, fields, default_of)

        @functools.wraps(function)
        def call(*values: object, **named: object) -> R:
            given_by_name = signature.bind(*values, **named)
            given_by_name.apply_defaults()
            arguments = given_by_name.arguments
            of_fields = {field: arguments.pop(field) for field in fields}
            return function(**arguments, design=design(**of_fields))

        vars(call)["__signature__"] = signature
        return call

    return decorate


def _all_fields(design: type) -> tuple[list[str], dict[str, object]]:
    """Names of all fields of a design, and the defaults of those that have one."""
    declared = dataclasses.fields(design)
    names = [field.name for field in declared]
    with_default = [field for field in declared if field.default is not dataclasses.MISSING]
    return names, {field.name: field.default for field in with_default}


def _by_name(
    declared: inspect.Signature, design: type, fields: list[str], defaults: dict[str, object]
) -> inspect.Signature:
    """The signature with fields of the design in its place."""
    hints = typing.get_type_hints(design, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for parameter in declared.parameters.values():
        if parameter.name != DESIGN:
            parameters.append(parameter)
            continue
        for field in fields:
            default = defaults.get(field, inspect.Parameter.empty)
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(
                inspect.Parameter(field, kind, default=default, annotation=hints[field])
            )
    return declared.replace(parameters=parameters)
