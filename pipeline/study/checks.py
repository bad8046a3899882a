"""Steps of the checks of a study, from what a person wrote to typed values.

Each raises InvalidInput with the dotted key by which a config names the value: `grid.m`,
`parameters.epsilon`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field
from typing import Any, TypeAlias

from pipeline.study.parameters import InvalidInput, arguments, check, fields, nearest
from pipeline.study.problem import Problem
from pipeline.study.untyped import ParameterValues

ROLES = ("model", "mechanism", "estimator")

Declarations: TypeAlias = dict[
    str, list["Field[Any]"]
]  # of each parameter, by all parts that take it
Products: TypeAlias = Sequence[Mapping[str, Sequence[Any]]]


def names(value: object, key: str) -> tuple[str, ...]:
    """A list of distinct names, at least one."""
    if (
        not isinstance(value, (list, tuple))
        or not value
        or not all(isinstance(v, str) for v in value)
    ):
        raise InvalidInput(key, value, "must be a list of names, at least one")
    if len(set(value)) < len(value):
        raise InvalidInput(key, list(value), "names one thing twice")
    return tuple(value)


def mapping(value: object, key: str) -> dict[str, Any]:
    """A mapping of names to values."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(key, value, "must be a mapping of names to values")
    return dict(value)


def declarations(
    problem: Problem,
    constants: ParameterValues,
    products: Products,
    derivations: Iterable[str],
    metrics: Iterable[str],
) -> Declarations:
    """Every parameter that a study can be given, with its declaration by each part that takes it.

    The parts are those that any cell uses. Parameters of derivations count where no part declares
    them.
    """
    parts = [problem.part("metric", name, "metrics") for name in metrics]
    declared: Declarations = {}
    for role in ROLES:
        parts += _parts(problem, role, constants, products)
        declared[role] = []
    for part in parts:
        for name, declaration in fields(part).items():
            declared.setdefault(name, []).append(declaration)
    for target in derivations:
        for name, declaration in arguments(problem.derivation(target)).items():
            declared.setdefault(name, [declaration])
    return declared


def _parts(
    problem: Problem, role: str, constants: ParameterValues, products: Products
) -> list[type]:
    """All models, mechanisms or estimators that a cell may use."""
    if role in constants:
        return [problem.part(role, constants[role], f"parameters.{role}")]
    if any(role in product for product in products):
        return [
            problem.part(role, name, f"grid.{role}")
            for product in products
            for name in product.get(role, ())
        ]
    raise InvalidInput(
        f"parameters.{role}",
        None,
        f"is needed, here or as an axis of grid; {nearest('', problem.names(role))}",
    )


def check_given_once(
    declared: Declarations,
    products: Products,
    constants: ParameterValues,
    derive: Mapping[str, str],
) -> None:
    """Every parameter is taken by some part, and is given in one of grid, parameters and derive
    only.
    """
    sections: dict[str, Mapping[str, Any]] = {
        "grid": products[0],
        "parameters": constants,
        "derive": derive,
    }
    for section, values in sections.items():
        for name, value in values.items():
            key = f"{section}.{name}"
            if name not in declared:
                raise InvalidInput(
                    key,
                    value,
                    f"no part of this study has such a parameter; "
                    f"{nearest(name, declared)}; ~{key} removes it",
                )
            if sum(name in others for others in sections.values()) > 1:
                raise InvalidInput(
                    key,
                    value,
                    f"given twice among grid, parameters and derive; remove one, as ~{key} does",
                )


def typed(declared: Sequence["Field[Any]"], value: object, key: str) -> object:
    """The value in the type that all of its declarations agree on."""
    for declaration in declared:
        value = check(declaration, value, key)
    return value
