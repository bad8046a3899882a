"""Changes of the parts of a cell, for wrong worlds in which a claim must be contradicted.

A change takes the parts of a cell and gives those that simulate it in their
place: see `pipeline.study.wrong_worlds`. Where a part has nothing that
could be changed, it stays.
"""

import copy
import dataclasses
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np

from pipeline.study.parameters import fields
from pipeline.study.protocols import Components, Data, Estimate, Release, Truth
from pipeline.study.untyped import Config
from pipeline.study.wrong_worlds import Change

Part = Any


def all_of(*changes: Change) -> Change:
    """Several changes, one after the other."""

    def change(parts: Components) -> Components:
        for step in changes:
            parts = step(parts)
        return parts

    return change


def replaced_part(role: str, make: Callable[[Part], Part]) -> Change:
    """Another part in a role: model, mechanism, estimator, or metric, which is every metric.

    make: the declared part -> that in its place.

    >>> from pipeline.problems.ranking.estimators.moments import PlugIn
    >>> undebiased = replaced_part("estimator", lambda part: PlugIn(m=part.m))
    """

    def change(parts: Components) -> Components:
        if role == "metric":
            return parts._replace(metrics=tuple(make(part) for part in parts.metrics))
        return parts._replace(**{role: make(getattr(parts, role))})

    return change


def with_parameters(role: str, **changes: object) -> Change:
    """Parts of a role with other parameters, for each a value, or a function of the declared one.

    Parts that lack one of these parameters, such as the ε of a mechanism
    without privacy, stay. A mechanism says in its release what it did, so
    that estimators take this into account: see `in_secret` for one that
    does not.

    >>> flatter = with_parameters("model", theta_range=lambda declared: declared / 2)
    """
    return replaced_part(role, lambda part: _with_parameters(part, changes))


def in_secret(change: Change, *also: str) -> Change:
    """A change of the mechanism that its release does not tell: it does the one and says the other.

    Public constants of the release, which are its fields without
    replications, are those of the declared mechanism. also: names of fields
    with replications that are taken from there as well, such as the
    variance of the noise.

    >>> less_noise = in_secret(with_parameters("mechanism", epsilon=lambda declared: 2 * declared))
    """

    def secret(parts: Components) -> Components:
        actual = change(parts).mechanism
        if actual == parts.mechanism:
            return parts
        return parts._replace(mechanism=cast(Any, InSecret(parts.mechanism, actual, also)))

    return secret


def data_of(make: Callable[[Any], Truth]) -> Change:
    """People answer by another truth than the one that estimators learn and metrics compare with.

    make: the truth -> that by which they answer.

    >>> from dataclasses import replace
    >>> halved = data_of(lambda truth: replace(truth, theta=truth.theta / 2))
    """
    return replaced_part("model", lambda part: OtherTruth(part, make))


def answers_of(make: Callable[[Part], Part]) -> Change:
    """The declared model draws the truth, and another one what people answer.

    make: the declared model -> the other.
    """
    return replaced_part("model", lambda part: OtherAnswers(part, make(part)))


def changed_data(make: Callable[[Any, np.random.Generator], Data]) -> Change:
    """Data that are changed before mechanisms see them.

    make: data and a generator -> data of the same type.
    """
    return replaced_part("model", lambda part: ChangedData(part, make))


def changed_release(
    make: Callable[[Any, np.random.Generator], Release],
    privately: bool = True,
    releases: type | None = None,
) -> Change:
    """Releases that are changed before estimators see them.

    make: a release and a generator -> another. privately: whether releases
    of mechanism=none stay as they are. releases: type of what is made; None
    for that of the declared release.
    """

    def change(part: Part) -> Part:
        has_no_privacy = part.releases is object
        if privately and has_no_privacy:
            return part
        return ChangedRelease(part, make, releases)

    return replaced_part("mechanism", change)


def changed_estimate(make: Callable[[Any], Estimate]) -> Change:
    """Estimates that are changed before metrics see them."""
    return replaced_part("estimator", lambda part: ChangedEstimate(part, make))


@dataclass(frozen=True)
class Wrapper:
    """A part that stands for another one, whose parameters and attributes it has."""

    declared: Part

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name == "declared":
            raise AttributeError(name)
        return getattr(self.declared, name)


@dataclass(frozen=True)
class OtherMetric(Wrapper):
    """A metric that stands for another one, whose range it need not have."""

    least: ClassVar[float] = -math.inf
    most: ClassVar[float] = math.inf


@dataclass(frozen=True)
class OtherTruth(Wrapper):
    """A model in which people answer by another truth."""

    make: Callable[[Truth], Truth]

    def simulate(self, truth: Truth, rng: np.random.Generator) -> Data:
        """Answers given the other truth."""
        return self.declared.simulate(self.make(truth), rng)


@dataclass(frozen=True)
class OtherAnswers(Wrapper):
    """A model in which people answer as in another one."""

    actual: Part

    def simulate(self, truth: Truth, rng: np.random.Generator) -> Data:
        """Answers of the other model given the truth."""
        return self.actual.simulate(truth, rng)


@dataclass(frozen=True)
class ChangedData(Wrapper):
    """A model whose data are changed."""

    make: Callable[[Data, np.random.Generator], Data]

    def simulate(self, truth: Truth, rng: np.random.Generator) -> Data:
        """Answers of the declared model, changed."""
        return self.make(self.declared.simulate(truth, rng), rng)


@dataclass(frozen=True)
class InSecret(Wrapper):
    """A mechanism that does what another one does and says the declared one's constants."""

    actual: Part
    also: tuple[str, ...]

    def release(self, data: Data, rng: np.random.Generator) -> Release:
        """What the other mechanism releases, with the constants of the declared one."""
        declared: Any = self.declared.release(data, copy.deepcopy(rng))
        actual: Any = self.actual.release(data, rng)
        released: Any = type(declared)
        names = (*_constants(released), *self.also)
        constants = {name: getattr(declared, name) for name in names}
        release: Release = dataclasses.replace(actual, **constants)
        return release


@dataclass(frozen=True)
class ChangedRelease(Wrapper):
    """A mechanism whose releases are changed.

    other: type of what is made, None for that of the declared release.
    """

    make: Callable[[Release, np.random.Generator], Release]
    other: type | None = None

    @property
    def releases(self) -> type:
        """Type of what is released."""
        declared: type = self.declared.releases
        return self.other or declared

    def release(self, data: Data, rng: np.random.Generator) -> Release:
        """The declared mechanism's release, changed."""
        return self.make(self.declared.release(data, rng), rng)


@dataclass(frozen=True)
class ChangedEstimate(Wrapper):
    """An estimator whose estimates are changed."""

    make: Callable[[Estimate], Estimate]

    def fit(self, release: Release, rng: np.random.Generator) -> Estimate:
        """The declared estimator's estimate, changed."""
        return self.make(self.declared.fit(release, rng))


def _with_parameters(part: Part, changes: Config) -> Part:
    if not {*changes} <= {*fields(type(part))}:
        return part
    values = dict(changes)
    for name, value in changes.items():
        if callable(value):
            values[name] = value(getattr(part, name))
    return dataclasses.replace(part, **values)


@cache
def _constants(release: type) -> tuple[str, ...]:
    """Names of the fields of a release that have no replications."""
    hints = typing.get_type_hints(release, include_extras=True)
    return tuple(name for name in fields(release) if _first_axis(hints[name]) != "reps")


def _first_axis(hint: object) -> object:
    """The first axis that an annotated array names; empty for others."""
    axes: tuple[object, ...] = getattr(hint, "__metadata__", ("",))
    return axes[0]
