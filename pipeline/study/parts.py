"""Bases of parts: what a model, a mechanism, an estimator or a metric may say besides what it must.

What a part must offer is in `pipeline.study.protocols`. Everything here has a default, so that who
reads a part asks it, and never whether it can answer. A class that derives from none of these
gets the defaults that it lacks when it is loaded or registered (`complete`).
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pipeline.study.guarantee import ONE_ANSWER, Guarantee
from pipeline.study.parameters import Checked
from pipeline.study.untyped import OfProblem


class Simulated(Checked):
    """What a model, a mechanism and an estimator may say of how they simulate.

    by_replication, in_order: whether units may be cut into slices of replications, and how the part
    then draws (`pipeline.study.slices`); true of the very class that says so, and not of those that
    derive from it. stream_label: an earlier name, by which a part that was renamed keeps its random
    numbers.
    """

    by_replication: ClassVar[bool] = False
    in_order: ClassVar[bool] = False
    stream_label: ClassVar[str] = ""

    def memory(self) -> float:
        """Bytes that one replication takes beyond the arrays of truths; 0 where that is little."""
        return 0.0

    def rounded_numbers(self) -> tuple[int, ...]:
        """Whole numbers that follow from parameters which are not whole, such as ⌈ε⌉ questions.

        Where one of them changes, results may jump; `task=advise` looks there twice.
        """
        return ()

    def together(self) -> int:
        """How many replications a slice must have a multiple of."""
        return 1


class BaseModel(Simulated):
    """Base of models. source: where data come from, one sentence, where they are recorded ones."""

    @property
    def source(self) -> str:
        """Where data come from, for the report; empty where they are simulated from scratch."""
        return ""


class BaseMechanism(Simulated):
    """Base of mechanisms. guarantee: what every mechanism of the class guarantees.

    >>> BaseMechanism().spent(), BaseMechanism().attacks(), BaseMechanism().remark(None)
    ({}, {}, None)
    """

    guarantee: ClassVar[Guarantee]

    def stated(self) -> Guarantee:
        """The guarantee in the words that fit this object's parameters; those of the class."""
        return self.guarantee

    def promise(self) -> Guarantee:
        """The guarantee with its budgets in numbers, as `attacks()` or else `spent()` has them.

        Of a mechanism without attacks whose unit is an answer, nobody knows how many answers a
        person gives: the person's budget stays open.
        """
        stated = self.stated()
        attacks = self.attacks()
        person = attacks.get("person")
        answer = attacks.get("answer")
        each = None if answer is None else float(answer.epsilon)
        if person is not None:
            return dataclasses.replace(
                stated,
                epsilon=float(person.epsilon),
                delta=float(person.delta),
                answer_epsilon=each,
            )
        greatest = max((float(budget) for budget in self.spent().values()), default=None)
        if stated.unit == ONE_ANSWER:
            each = greatest if each is None else each
            return dataclasses.replace(stated, answer_epsilon=each)
        if greatest is None:
            return stated
        return dataclasses.replace(stated, epsilon=greatest, answer_epsilon=each)

    def spent(self) -> Mapping[str, float]:
        """What is released -> the budget that it costs, in nats, for the report."""
        return {}

    def attacks(self) -> Mapping[str, Any]:
        """For "answer" and "person" the best attack on that, for task=advise.

        Each is a `pipeline.privacy.attacks.Attack`.
        """
        return {}

    def remark(self, model: OfProblem) -> str | None:
        """What readers of the plan and the report must know of a cell with this model, if
        anything.
        """
        return None


class BaseEstimator(Simulated):
    """Base of estimators."""

    def errors_cost(self) -> float:
        """Predicted cost of the standard errors of one replication, as `cost`; 0 where it is little."""
        return 0.0


class BaseMetric(Checked):
    """Base of metrics. least, most: range of the values.

    expected: exact mean of a control variate, the same in every cell. exact: whether it is computed
    and not simulated: the same number in all replications of a cell, without an error.
    reads_errors: whether it reads how sure an estimate is.
    """

    least: ClassVar[float] = -math.inf
    most: ClassVar[float] = math.inf
    expected: ClassVar[float | None] = None
    exact: ClassVar[bool] = False
    reads_errors: ClassVar[bool] = False


BASES: Mapping[str, type] = {
    "model": BaseModel,
    "mechanism": BaseMechanism,
    "estimator": BaseEstimator,
    "metric": BaseMetric,
}


def complete(kind: str, part: type) -> None:
    """Give a class of a kind what its base would: the defaults that the class lacks.

    >>> class Plain:
    ...     least = 0.0
    >>> complete("metric", Plain)
    >>> Plain.least, Plain.most, Plain.exact
    (0.0, inf, False)
    """
    base = BASES.get(kind)
    if base is None or issubclass(part, base):
        return
    taken = getattr(part, "__dataclass_fields__", {})  # a parameter of that name is an object's
    for ancestor in base.__mro__:
        for name, default in vars(ancestor).items():
            if not name.startswith("_") and name not in taken and not hasattr(part, name):
                setattr(part, name, default)
