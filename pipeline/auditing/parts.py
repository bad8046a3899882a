"""A mechanism of a problem as a callable: its release of one data set, as numbers."""

import dataclasses
import typing
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

import numpy as np

from pipeline.auditing.promise import Promise
from pipeline.study import handover
from pipeline.study.arrays import Array, Floats
from pipeline.study.audits import Audits
from pipeline.study.guarantee import ONE_ANSWER, Guarantee
from pipeline.study.parameters import InvalidInput
from pipeline.study.protocols import Release

REPS = "reps"


@dataclass(frozen=True)
class Part:
    """A mechanism of a problem, which an audit calls with a data set and a number of samples."""

    mechanism: Any
    audits: Audits
    publics: dict[int, int] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return type(self.mechanism).__name__

    def __call__(self, dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        """(samples, numbers): all that is published, in the order of the release's fields.

        What is the same for all samples is one number, the last: 0 for what was seen first.
        """
        data = self.audits.repeated(dataset, samples)
        release = handover.call("mechanism", self.mechanism.release, (data,), rng)
        numbers, public = numbers_of(release, samples, self.audits.lent)
        number = self.publics.setdefault(public, len(self.publics))
        return np.column_stack([numbers, np.full(samples, float(number))])


def numbers_of(release: Release, samples: int, lent: tuple[str, ...] = ()) -> tuple[Floats, int]:
    """(samples, numbers) of a release, whose class names the axes of its arrays.

    And a digest of what is the same for all samples, and so public. lent: fields that are no part
    of what is published.
    """
    columns: list[Array] = []
    public = 0
    kind: Any = type(release)
    with_samples = _by_sample(kind)
    for declared in dataclasses.fields(release):
        name = declared.name
        value = getattr(release, name)
        if name in lent:
            continue
        if name not in with_samples or value is None:
            content = np.asarray(value).tobytes() if np.ndim(value) else repr(value).encode()
            public = zlib.crc32(name.encode() + content, public)
            continue
        rows = np.asarray(value, float)
        rows = rows.reshape(len(rows), -1)
        columns.append(np.broadcast_to(rows, (samples, rows.shape[1])))
    return np.concatenate(columns, axis=1), public


@cache
def _by_sample(release: type[Release]) -> frozenset[str]:
    """Fields whose arrays have the replications first."""
    hints = typing.get_type_hints(release, include_extras=True)
    names = []
    for declared in dataclasses.fields(release):
        hint = hints[declared.name]
        if typing.get_origin(hint) is Annotated and hint.__metadata__[0] == REPS:
            names.append(declared.name)
    return frozenset(names)


def promised(guarantee: Guarantee) -> Promise:
    """The budget of a guarantee: of a person, or of one answer where nothing is said of a person.

    Raises InvalidInput where nothing is protected, no number is stated, or several
    rounds share the budget: an audit sees one release.
    """
    if not guarantee.protected:
        allowed = "promises nothing, so there is nothing to audit"
        raise InvalidInput("mechanism", guarantee.budget, allowed)
    if guarantee.rounds > 1:
        allowed = "must be 1, as an audit sees one release; or say what it may spend, by epsilon="
        raise InvalidInput("rounds", guarantee.rounds, allowed)
    epsilon = guarantee.epsilon
    if epsilon is None and guarantee.unit == ONE_ANSWER:
        epsilon = guarantee.answer_epsilon
    if epsilon is None and guarantee.rho is None:
        allowed = "states no budget in numbers; give epsilon="
        raise InvalidInput("guarantee", guarantee.budget, allowed)
    return Promise(epsilon, guarantee.delta, guarantee.rho)
