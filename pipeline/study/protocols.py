"""What the parts of a problem must offer so that a study can simulate them.

A study builds the parts of a cell once and calls them for a block of
replications at a time (see `pipeline.study.study`). Every array has the
replications of the block on its first axis, `reps`. Parts are frozen
dataclasses: equal parameters make equal parts. All randomness comes from the
generator that a method is given, so that the same part with the same generator
gives the same numbers, in any process. What passes between the parts (truth,
data, release) is each problem's own: only `Estimate.converged` is read by the
study itself. So the parameters of methods have type `Any` here, each problem's
own classes in its parts, and `accepts` tells the study which. Parts whose units
may be simulated in slices of replications say so: `pipeline.study.slices`. What
a method is given by other parts is read-only (`pipeline.study.frozen`): one
that must write copies it first.
"""

from collections.abc import Mapping
from dataclasses import Field
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Array
from pipeline.study.guarantee import Guarantee
from pipeline.study.intervals import Interval
from pipeline.study.untyped import OfProblem

Truth: TypeAlias = Any  # what is to be learned; each problem's own type
Data: TypeAlias = Any  # what people answered, an object of `Model.produces`


class Release(Protocol):
    """What the public sees of the data: a frozen dataclass, an object of `Mechanism.releases`.

    Arrays have the replications first, (reps, …); an axis `reps` of length 1
    stands for all of them. The class names the axes in its annotations, such as
    `counts: Annotated[Floats, "reps", "m", "m"]`, for
    `pipeline.library.single`. Fields without axes are public constants of all
    replications, such as ε.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@runtime_checkable
class Model(Protocol):
    """How people's answers come about.

    population: names of the parameters that the population depends on, for a
    population that is fixed over all replications. produces: type of the data.
    The rest has defaults, see `pipeline.study.parts.BaseModel`.
    """

    population: ClassVar[tuple[str, ...]]
    produces: ClassVar[type]
    stream_label: ClassVar[str]

    @property
    def source(self) -> str:
        """Where data come from; empty where they are simulated from scratch."""

    def memory(self) -> float:
        """Bytes that one replication takes."""

    def together(self) -> int:
        """How many replications a slice must have a multiple of."""

    def rounded_numbers(self) -> tuple[int, ...]:
        """Whole numbers that follow from parameters which are not whole."""

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> Truth:
        """What is to be learned, for `reps` replications; arrays are (reps, …).

        `population` is the same generator for all blocks and all cells that
        agree in the parameters named by `Model.population`; what is drawn from
        it must not depend on `reps`.
        """

    def simulate(self, truth: Truth, rng: np.random.Generator) -> Data:
        """Answers of all people given the truth; arrays are (reps, …).

        They may be drawn only when they are asked for. Several mechanisms and
        estimators share one object, so asking again must give the same numbers.
        """

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""


@runtime_checkable
class PlainData(Protocol):
    """Data that can also be released without privacy, as `mechanism: none` does."""

    @property
    def plain_release(self) -> type:
        """Type of what `release_plainly` gives; an attribute of the class."""

    def release_plainly(self) -> Release:
        """The data in the form in which mechanisms release them, without noise."""


@runtime_checkable
class FromArray(Protocol):
    """Data that can be made of one data set in an array, by a person at a prompt."""

    @classmethod
    def from_array(cls, array: Array) -> Self:
        """The data, with one replication. Raises InvalidInput for an array of another shape."""


def plain_release_of(kind: type) -> type | None:
    """Type of the plain release of data of a type, which may be any, such as `numpy.ndarray`.

    None where data of that type cannot be released without privacy.
    """
    plain: type | None = getattr(kind, "plain_release", None)
    return plain


@runtime_checkable
class Mechanism(Protocol):
    """How answers are made private before they leave the people who gave them.

    guarantee: who must be trusted, what is protected, and how. accepts: type of
    the data. releases: type of the release. The rest has defaults, see
    `pipeline.study.parts.BaseMechanism`.
    """

    guarantee: ClassVar[Guarantee]
    accepts: ClassVar[type]
    releases: ClassVar[type]
    stream_label: ClassVar[str]

    def memory(self) -> float:
        """Bytes that one replication takes."""

    def together(self) -> int:
        """How many replications a slice must have a multiple of."""

    def rounded_numbers(self) -> tuple[int, ...]:
        """Whole numbers that follow from parameters which are not whole."""

    def spent(self) -> Mapping[str, float]:
        """What is released -> the budget that it costs, in nats."""

    def attacks(self) -> Mapping[str, Any]:
        """For "answer" and "person" the best attack on that."""

    def stated(self) -> Guarantee:
        """The guarantee in the words that fit this object's parameters."""

    def promise(self) -> Guarantee:
        """The guarantee with its budgets in numbers."""

    def remark(self, model: OfProblem) -> str | None:
        """What readers must know of a cell with this model, if anything."""

    def release(self, data: Data, rng: np.random.Generator) -> Release:
        """What the public sees of the data; arrays are (reps, …). The data stay as they are."""

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond, beyond that of the
        data.
        """


class Estimate(Protocol):
    """What an estimator gives: its estimates of the truth, each problem's own, and whether they are
    valid.
    """

    @property
    def converged(self) -> NDArray[np.bool_]:
        """(reps,): whether the estimate is valid.

        Where not, the replication is counted, with its status.
        """


class EstimateWithErrors(Estimate, Protocol):
    """An estimate that says how sure it is: any estimator may give one.

    quantity: name of the array, (reps, …), that is meant, in the truth and in the estimate alike.
    Metrics of inference (`pipeline.problems.common.inference`) need no more than this. Where a
    limit law does not hold, or none is known, errors and ends of intervals are NaN: not available.
    """

    quantity: ClassVar[str]

    @property
    def errors(self) -> NDArray[np.float64]:
        """(reps, …): standard error of every number of the quantity, made of the release alone."""

    def interval(self, level: float) -> Interval:
        """Ends of an interval for every number, each of which covers it with probability `level`.

        Its centre may differ from the estimate, by a bias that is known. Raises InvalidInput unless
        0 < level < 1.
        """


@runtime_checkable
class Estimator(Protocol):
    """How the truth is learned from a release.

    accepts: type of the release. The rest has defaults, see
    `pipeline.study.parts.BaseEstimator`.
    """

    accepts: ClassVar[type]
    stream_label: ClassVar[str]

    def memory(self) -> float:
        """Bytes that one replication takes."""

    def together(self) -> int:
        """How many replications a slice must have a multiple of."""

    def rounded_numbers(self) -> tuple[int, ...]:
        """Whole numbers that follow from parameters which are not whole."""

    def fit(
        self,
        release: OfProblem,
        rng: np.random.Generator,
    ) -> Estimate:
        """Estimates of all replications from a `Release`, an object of `accepts`, which stays as it
        is.

        A replication without a valid estimate is a value (`converged` is
        false), never an exception.
        """

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""

    def errors_cost(self) -> float:
        """The same of its standard errors, which only some metrics read."""


@runtime_checkable
class Metric(Protocol):
    """One number per replication. long_name, units: as in the CF conventions, for the dataset.

    The rest has defaults, see `pipeline.study.parts.BaseMetric`.
    """

    long_name: ClassVar[str]
    units: ClassVar[str]
    least: ClassVar[float]
    most: ClassVar[float]
    expected: ClassVar[float | None]
    exact: ClassVar[bool]
    reads_errors: ClassVar[bool]

    def __call__(
        self,
        truth: Truth,
        release: OfProblem,
        estimate: OfProblem,
    ) -> NDArray[Any]:
        """(reps,): the value of each replication; NaN where it is not defined."""


class Components(NamedTuple):
    """The parts that simulate one cell."""

    model: Model
    mechanism: Mechanism
    estimator: Estimator
    metrics: tuple[Metric, ...]


PROTOCOLS: dict[str, type] = {
    "model": Model,
    "mechanism": Mechanism,
    "estimator": Estimator,
    "metric": Metric,
}
