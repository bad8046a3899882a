"""What `task=audit` has to know of a problem: small data sets that differ in one person."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pipeline.study.untyped import ParameterValues


class Neighbouring(NamedTuple):
    """Two data sets of one replication that differ in one person. name: in what, in words."""

    name: str
    first: Any
    second: Any


class StatedNoise(NamedTuple):
    """Independent integer noise of one law on every number. law: gaussian or laplace, discrete.

    width: σ² of the one, the scale of the other.
    """

    law: str
    width: float


def _no_noise(mechanism: object) -> StatedNoise | None:
    """Of a problem none of whose mechanisms only adds integer noise."""
    return None


@dataclass(frozen=True)
class Audits:
    """How a problem takes part in audits.

    accepts: type of the data. parameters: those of mechanisms that need not be
    said, as small sizes show the same faults; particular: name of a mechanism
    -> its own ones. pairs: function of a mechanism -> neighbours, by the
    relation that it states, all of them where these are few. repeated: function
    of a data set and a number -> the same in so many replications. lent: fields
    of releases that the simulation lends to estimators, and which are never
    published. noise: function of a mechanism -> the integer noise that it adds,
    if it does nothing else.

    >>> Audits(list, lambda mechanism: [], lambda data, reps: data * reps).lent
    ()
    """

    accepts: type
    pairs: Callable[[Any], Sequence[Neighbouring]]
    repeated: Callable[[Any, int], Any]
    parameters: ParameterValues = field(default_factory=dict)
    particular: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lent: tuple[str, ...] = ()
    noise: Callable[[Any], StatedNoise | None] = _no_noise
