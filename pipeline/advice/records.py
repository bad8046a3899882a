"""What answers consist of: means, cases of stress, rows of mechanisms, and the promise.

Each record has its own entry of JSON, by the names of its fields.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.advice.person import Terms, terms
from pipeline.advice.question import Question
from pipeline.study.guarantee import Guarantee
from pipeline.study.untyped import Config


@dataclass(frozen=True)
class Mean:
    """The mean of a metric. low, high: of its interval or band."""

    metric: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class ChangedMean(Mean):
    """A mean after something was changed. met: whether it meets its target.

    missed_by: by how much it misses the target; 0 where it meets it.
    """

    met: bool
    missed_by: float


@dataclass(frozen=True)
class StressCase:
    """People who are not as the model says. case: in words; changes: of parameters.

    measured: a mean for each target; why: nothing could be measured, or None.
    """

    case: str
    changes: Config
    measured: Sequence[ChangedMean]
    why: str | None


@dataclass(frozen=True)
class MechanismRow:
    """Where the targets begin to be met with one mechanism, with the ends of its interval or band.

    why: they are not met with it at any level, or are met at every level; None otherwise.
    left_out: parameters that were given and that it does not take.
    """

    mechanism: str
    estimator: str | None
    boundary: float | None
    low: float | None
    high: float | None
    why: str | None
    left_out: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Promise:
    """What a mechanism promises: its guarantee, in words and numbers.

    spent: name -> nats. in_a_persons_terms: for "answer" and "person", or None in place of them.
    """

    guarantee: Guarantee
    spent: Mapping[str, float]
    in_a_persons_terms: Mapping[str, Terms | None]


def promise_of(question: Question, level: float) -> Promise:
    """What the mechanism promises at a level of the unknown."""
    mechanism = question.parts(level).mechanism
    spent: Mapping[str, float] = mechanism.spent()
    return Promise(
        guarantee=mechanism.promise(),
        spent={name: float(budget) for name, budget in spent.items()},
        in_a_persons_terms=terms(mechanism),
    )
