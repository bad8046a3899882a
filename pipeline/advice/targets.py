"""Targets of a question: what the mean of a metric is to be.

Read from texts such as `kendall<=0.1`.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.identity import registry
from pipeline.study.advice import Advice
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.problem import Problem
from pipeline.study.protocols import Metric

TARGET = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|≤|≥)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Target:
    """What the mean of a metric is to be: at most `value`, or at least. least, most: range of the
    metric's values.
    """

    metric: str
    relation: str
    value: float
    least: float
    most: float

    @property
    def sign(self) -> int:
        """1 where the mean is to be small, −1 where it is to be large: met where sign · (mean −
        value) ≤ 0.
        """
        if self.relation == "<=":
            return 1
        return -1

    @property
    def opposite(self) -> str:
        """The other relation."""
        if self.relation == "<=":
            return ">="
        return "<="

    @property
    def best(self) -> float:
        """Value of the metric that is best for the target; infinite where there is none."""
        if self.sign > 0:
            return self.least
        return self.most

    @property
    def worst(self) -> float:
        """Value of the metric that is worst for the target; infinite where there is none."""
        if self.sign > 0:
            return self.most
        return self.least

    def misses(self, mean: float) -> float:
        """By how much a mean misses the target; 0 where it meets it."""
        return max(0.0, self.sign * (mean - self.value))

    def __str__(self) -> str:
        return f"{self.metric}{self.relation}{self.value:g}"


def advice_of(problem: Problem) -> Advice:
    """What a problem says of task=advise; InvalidInput if it says nothing."""
    if problem.advice is None:
        able = [name for name, known in registry.problems().items() if known.advice is not None]
        raise InvalidInput(
            "problem", problem.name, f"says nothing for task=advise; {nearest(problem.name, able)}"
        )
    advice = problem.load(problem.advice)
    if not isinstance(advice, Advice):
        raise InvalidInput("problem", problem.name, "its advice is no pipeline.study.advice.Advice")
    return advice


def read_targets(problem: Problem, texts: object) -> Iterator[Target]:
    """Targets from their texts."""
    if not texts:
        raise InvalidInput("target", None, _such_as(problem))
    listed: Sequence[object] = str(texts).split(",")
    if isinstance(texts, (list, tuple)):
        listed = texts
    seen = set()
    for text in listed:
        match = None
        if isinstance(text, str):
            match = TARGET.fullmatch(text)
        if match is None:
            raise InvalidInput(
                "target",
                text,
                "must be METRIC<=NUMBER or METRIC>=NUMBER, with commas between several",
            )
        name, relation, number = match.groups()
        metric = _metric(problem, name)
        try:
            value = float(number)
        except ValueError:
            raise InvalidInput("target", text, "must end in a number") from None
        relation = {"≤": "<=", "≥": ">="}.get(relation, relation)
        if name in seen:
            raise InvalidInput("target", text, f"is a second target of {name}; give one of both")
        seen.add(name)
        least = metric.least
        most = metric.most
        target = Target(name, relation, value, least, most)
        if not least <= value <= most or value == target.best:
            raise InvalidInput(
                "target",
                text,
                f"can be shown for no mean: {name} lies between {least:g} and {most:g}, "
                "and no number of replications shows that it is always at an end",
            )
        yield target


def _metric(problem: Problem, name: str) -> type[Metric]:
    """The metric of a name.

    InvalidInput, with the nearest, and those that decide something, if there is none.
    """
    if name not in problem.metrics:
        close = difflib.get_close_matches(name, sorted(problem.metrics), 1, 0.5)
        meant = ""
        if close:
            meant = f"did you mean {close[0]!r}? "
        raise InvalidInput(
            "target", name, f"no such metric in problem={problem.name}; {meant}{_deciding(problem)}"
        )
    return problem.metric(name, "target")


def _such_as(problem: Problem) -> str:
    """That a target is needed, and of which metrics."""
    first = next(iter(advice_of(problem).decisions), "METRIC")
    return f"is needed, such as target='{first}<=0.1'; {_deciding(problem)}"


def _deciding(problem: Problem) -> str:
    """The metrics that decide something; of a problem that names none, all of them."""
    names = list(advice_of(problem).decisions)
    if not names:
        return f"metrics: {', '.join(sorted(problem.metrics))}"
    return f"metrics that decide: {', '.join(names)}; all others: pipeline --help metrics"
