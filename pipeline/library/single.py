"""Parts on one data set: the dimension of replications, which all parts have first, is added and
taken off.

A class whose arrays pass between parts declares their axes in its annotations, as
`Annotated[Floats, "reps", "items"]`. An array with fewer axes than that lacks the first ones, of
length 1. That is all that has to be known of a problem.
"""

import dataclasses
import typing
from collections.abc import Mapping
from functools import cache
from types import MethodType
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.contracts import lacking
from pipeline.study.frozen import frozen
from pipeline.study.frozen_arrays import is_frozen
from pipeline.study.handover import call
from pipeline.study.parameters import InvalidInput, check_as, fields, parameter, shorten
from pipeline.study.protocols import (
    Data,
    Estimate,
    FromArray,
    Mechanism,
    Model,
    Release,
    Truth,
    plain_release_of,
)
from pipeline.study.study import Study
from pipeline.study.untyped import ParameterValues

REPS = "reps"
T = TypeVar("T")
SEED = fields(Study)["seed"]
REPLICATIONS = parameter("data sets", low=1, high=10**6)
REPLICATIONS.type = int


class Simulated(NamedTuple):
    """Simulated people. truth: what is to be learned.

    data: their answers. single: without replications.
    """

    truth: Truth
    data: Data
    single: bool


def simulate_data(model: Model, *, seed: int = 0, replications: int | None = None) -> Simulated:
    """Draw a truth and people's answers from a model: one data set, or as many as `replications`.

    Raises InvalidInput for what is no model, and for a seed or a number that is none.

    >>> import pipeline as pl
    >>> people = pl.simulate_data(pl.ranking.BTL(m=5, L=200), seed=1)
    >>> people.truth.theta.shape
    (5,)
    """
    _check_part("model", model)
    seed = check_as(int, SEED, seed, "seed")
    if replications is not None:
        replications = check_as(int, REPLICATIONS, replications, "replications")
    rng = np.random.default_rng([seed, 0])
    population = np.random.default_rng([seed, 1])
    name = f"model {type(model).__name__}"
    truth = call(name, model.truth, (), rng, replications or 1, population)
    data = call(name, model.simulate, (truth,), rng)
    if replications is None:
        return Simulated(without_replications(truth), data, single=True)
    return Simulated(truth, data, single=False)


def simulate_release(mechanism: Mechanism, data: object, *, seed: int = 0) -> Release:
    """What a mechanism releases of simulated people, or of an array of answers.

    Never for real people's data.

    data: from `simulate_data`; or an array for one data set: win counts (m, m) of a ranking,
    responses (persons, items), answers of a crowd (workers, tasks); see `from_array` of the
    problem's data. The noise is seeded and so can be repeated and taken off again: it gives no
    privacy. For real data there is `pipeline task=release`, and `pipeline.privacy.vetted_noise`.
    Raises InvalidInput for what is no mechanism, and for data that the mechanism does not accept.

    >>> import pipeline as pl
    >>> people = pl.simulate_data(pl.ranking.BTL(m=5, L=200), seed=1)
    >>> mechanism = pl.ranking.RandomizedResponse(m=5, L=200, epsilon=1.0)
    >>> release = pl.simulate_release(mechanism, people, seed=2)
    >>> estimate = pl.ranking.Debiased(m=5).fit(release)
    >>> estimate.theta.shape, bool(estimate.converged)
    ((5,), True)
    """
    _check_part("mechanism", mechanism)
    rng = np.random.default_rng([check_as(int, SEED, seed, "seed"), 2])
    if isinstance(data, Simulated):
        people = data.data
        single = data.single
    elif isinstance(data, mechanism.accepts) and plain_release_of(type(data)):
        people = data
        single = False
        if axes_of(data):
            people, single = with_replications(data)
    elif issubclass(mechanism.accepts, FromArray):
        people = mechanism.accepts.from_array(_numbers(data).copy())
        single = True
    else:
        raise InvalidInput(
            "data",
            type(data).__name__,
            f"{type(mechanism).__name__} needs "
            f"{mechanism.accepts.__name__}; simulate_data makes them, of the problem's model",
        )
    if not isinstance(people, mechanism.accepts):
        raise InvalidInput(
            "data",
            type(people).__name__,
            f"{type(mechanism).__name__} needs {mechanism.accepts.__name__}",
        )
    _check_sizes(mechanism, people, _sizes(people))
    name = f"mechanism {type(mechanism).__name__}"
    release = call(name, mechanism.release, (people,), rng)
    return without_replications(release) if single else release


def _check_part(role: str, part: object) -> None:
    """Raises InvalidInput for what is no part of that role, or the class of one in place of one
    with its values.
    """
    if isinstance(part, type):
        advice = f"is a class; give its parameters, as {part.__name__}(…)"
        raise InvalidInput(role, part.__name__, advice)
    if lacking(role, type(part)):
        advice = f"is no {role}; dir(pl.PROBLEM.{role}s) lists those of a problem"
        raise InvalidInput(role, type(part).__name__, advice)


def _numbers(data: object) -> Array:
    """An array of numbers; InvalidInput for anything else."""
    try:
        array = np.asarray(data)
    except (TypeError, ValueError):  # rows of several lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise InvalidInput(
            "data", type(data).__name__, "must be what simulate_data gives, or an array of numbers"
        )
    return array


@cache
def estimator(cls: type[Any]) -> type[Any]:
    """The estimator with a `fit` that also takes one release, without replications."""

    def fit(self: object, release: object, rng: np.random.Generator | None = None) -> Estimate:
        """The estimate from one release, or of every replication of a block.

        rng: for estimators that break ties at random; the same numbers every time if it is left
        out. Raises InvalidInput for a release of another type or size.
        """
        if not isinstance(release, cls.accepts):
            raise InvalidInput(
                "release", type(release).__name__, f"{cls.__name__} needs {cls.accepts.__name__}"
            )
        block, single = with_replications(release)
        _check_sizes(self, block, _sizes(block))
        if rng is None:
            rng = np.random.default_rng(0)
        method = MethodType(cls.fit, self)
        estimate: Estimate = call(f"estimator {cls.__name__}", method, (block,), rng)
        return without_replications(estimate) if single else estimate

    def reduce(self: object) -> tuple[Any, ...]:
        """How it is pickled: the class itself has no name that could be imported."""
        return _estimator_with, (cls, {name: getattr(self, name) for name in fields(cls)})

    names = {
        "fit": fit,
        "__reduce__": reduce,
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    return type(cls.__name__, (cls,), names)


def _estimator_with(cls: type, values: ParameterValues) -> object:
    return estimator(cls)(**values)


def with_replications(value: T) -> tuple[T, bool]:
    """The object with all declared axes in place, and whether it had no replications."""
    axes = axes_of(value)
    single = None
    changed = {}
    for name, named in axes.items():
        array = getattr(value, name)
        if array is None:
            continue
        array = np.asarray(array)
        if not is_frozen(array):
            array = array.copy()  # a person's own arrays stay writable
        if array.ndim > len(named):
            raise InvalidInput(
                name,
                f"array of shape {array.shape}",
                f"must be ({', '.join(named)}), or this without the first ones where they are 1",
            )
        if named[0] == REPS:
            single = bool(single) or array.ndim < len(named)
        changed[name] = array.reshape((1,) * (len(named) - array.ndim) + array.shape)
    if single is None:
        raise InvalidInput(
            "release",
            type(value).__name__,
            'no array with an axis "reps" is declared, as '
            'Annotated[Floats, "reps", …]; give it with replications to the class itself',
        )
    return dataclasses.replace(cast(Any, value), **changed), single


def without_replications(value: T) -> T:
    """The object of a single replication without the dimension.

    Arrays of one value become numbers.
    """
    changed = {}
    for name, axes in axes_of(value).items():
        array = getattr(value, name)
        if axes[0] == REPS and array is not None:
            changed[name] = array[0]
    if not changed:
        return value
    single = cast(T, dataclasses.replace(cast(Any, value), **changed))
    return frozen(single)


def axes_of(value: object) -> dict[str, tuple[str, ...]]:
    """Field -> names of its axes, of an object whose class declares them; empty for any other."""
    cls: Any = type(value)
    return _axes(cls)


@cache
def _axes(cls: type) -> dict[str, tuple[str, ...]]:
    if not dataclasses.is_dataclass(cls):
        return {}
    hints = typing.get_type_hints(cls, include_extras=True)
    return {
        field.name: hints[field.name].__metadata__
        for field in dataclasses.fields(cls)
        if typing.get_origin(hints[field.name]) is Annotated
    }


def _sizes(value: object) -> dict[str, int]:
    """Length of every named axis; InvalidInput where two arrays disagree.

    An axis of 1 may stand for all `reps`.
    """
    sizes: dict[str, int] = {}
    for name, named in axes_of(value).items():
        array = getattr(value, name)
        if array is None:
            continue
        for axis, size in zip(named, np.shape(array), strict=False):
            expected = getattr(value, axis, sizes.setdefault(axis, size))
            if size != expected and not (axis == REPS and 1 in (size, expected)):
                raise InvalidInput(
                    name,
                    f"array of shape {np.shape(array)}",
                    f"must have {expected} along {axis}, not {size}: its axes are "
                    f"({', '.join(named)})",
                )
    return sizes


def _check_sizes(part: object, value: object, sizes: Mapping[str, int]) -> None:
    """Sizes that a part was made for are those of what it is given; one that is None may be any."""
    for name in fields(type(part)):
        actual = sizes.get(name, getattr(value, name, None))
        made_for = getattr(part, name)
        if isinstance(actual, int) and made_for is not None and actual != made_for:
            raise InvalidInput(
                name,
                shorten(made_for),
                f"{type(part).__name__} is made for that, but is given data with {name}={actual}",
            )
