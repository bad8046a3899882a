"""What the page over the atlas shows of each problem, as its script takes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.study.untyped import ParameterValues


@dataclass(frozen=True)
class ShownAxis:
    """An axis of the cells. short: its sign; whole: whether its levels are whole numbers; usual:
    the level to begin with.
    """

    name: str
    label: str
    short: str
    levels: Sequence[float]
    whole: bool
    usual: float


@dataclass(frozen=True)
class ShownMetric:
    """A metric. limits: of its values, None where there is none. sign: 1 where it is to be small.

    halves: parameter -> the axis of which it is half.
    """

    name: str
    label: str
    limits: Sequence[float | None]
    sign: int
    halves: Mapping[str, str]


@dataclass(frozen=True)
class ShownMechanism:
    """A mechanism's cells: mean and error by metric, risk by what is attacked, in the order of the
    cells along the axes. trusted: who must be, in words. whole: budget of all answers of a person
    over that of one answer, in the same order; empty where budgets are those of a person.
    """

    name: str
    estimator: str
    axes: Sequence[str]
    mean: Mapping[str, Sequence[float]]
    error: Mapping[str, Sequence[float]]
    risk: Mapping[str, Sequence[float]]
    trusted: str = ""
    whole: Sequence[float] = ()


@dataclass(frozen=True)
class ShownProblem:
    """A problem whose cells were solved, in budgets of one kind. key: no other has it. unknown:
    word of the budget. people: name of the axis of people; axes: the budget last.
    """

    key: str
    unknown: str
    name: str
    title: str
    people: str | None
    parameters: ParameterValues
    axes: Sequence[ShownAxis]
    metrics: Sequence[ShownMetric]
    risks: Sequence[str]
    mechanisms: Sequence[ShownMechanism]


@dataclass(frozen=True)
class Start:
    """Where the page begins. problem: its key. target: of the metric; sizes: parameter -> value."""

    problem: str
    metric: str | None
    target: float | None
    sizes: Mapping[str, float]
