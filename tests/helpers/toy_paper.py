"""A fifth paper, defined wholly here: the private mean of bounded answers with Laplace noise.

n people hold answers X ~ Uniform(0, 1); each releases X + Laplace(1/ε), which is ε-LDP. The mean of the
releases has mean square error (1/12 + 2/ε²)/n around ½; half of the people give twice that.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import confidence_for, measure
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import Within
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import Checked, parameter
from pipeline.study.problem import Problem

PROBLEM = Problem(
    name="toy",
    title="The private mean",
    package=__name__,
    models={"answers": f"{__name__}:Answers"},
    mechanisms={"laplace": f"{__name__}:LaplaceNoise"},
    estimators={
        "mean": f"{__name__}:Mean",
        "half": f"{__name__}:Half",
        "raises": f"{__name__}:Raises",
        "exhausted": f"{__name__}:Exhausted",
    },
    metrics={"error_squared": f"{__name__}:ErrorSquared"},
    derivations={"budget": f"{__name__}:budget"},
    claims=f"{__name__}:CLAIMS",
)


@dataclass(frozen=True)
class Matrix:
    """(reps, n) answers, raw or released."""

    values: np.ndarray


@dataclass(frozen=True)
class Released(Matrix):
    """Answers after noise."""


@dataclass(frozen=True)
class Fit:
    """mean: (reps,)."""

    mean: np.ndarray
    converged: np.ndarray


@dataclass(frozen=True)
class Answers(Checked):
    """n answers, Uniform(0, 1)."""

    n: int = parameter("people", unit="people", low=2)

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Matrix

    def truth(self, rng, reps, population):
        """The mean of the law, the same in every replication."""
        return np.full(reps, 0.5)

    def simulate(self, truth, rng):
        """Answers of a block."""
        return Matrix(rng.random((truth.size, self.n)))

    def cost(self):
        """Predicted cost of one replication, in nanoseconds."""
        return 10 * self.n


@dataclass(frozen=True)
class LaplaceNoise(Checked):
    """Laplace noise of scale 1/ε on every answer: ε-LDP, as answers lie in [0, 1]."""

    epsilon: float = parameter("privacy budget of an answer", above=0)

    guarantee: ClassVar[Guarantee] = Guarantee(
        trust="nobody",
        unit="answer",
        protects="one answer of one person",
        neighbours="that answer replaced by any other in [0, 1]",
        budget="pure ε-LDP per answer",
    )
    accepts: ClassVar[type] = Matrix
    releases: ClassVar[type] = Released

    def release(self, data, rng):
        """Noisy answers of a block."""
        return Released(data.values + rng.laplace(scale=1 / self.epsilon, size=data.values.shape))

    def cost(self):
        """Predicted cost of one replication, in nanoseconds."""
        return 0.0


@dataclass(frozen=True)
class Mean:
    """Mean of all releases."""

    accepts: ClassVar[type] = Released

    def fit(self, release, rng):
        """Estimate of a block."""
        return Fit(release.values.mean(axis=1), np.ones(len(release.values), bool))

    def cost(self):
        """Predicted cost of one replication, in nanoseconds."""
        return 0.0


class Half(Mean):
    """Mean of the first half of the releases."""

    def fit(self, release, rng):
        """Estimate of a block."""
        return super().fit(Released(release.values[:, : release.values.shape[1] // 2]), rng)


@dataclass(frozen=True)
class ErrorSquared:
    """Squared error of the mean."""

    long_name: ClassVar[str] = "squared error of the mean"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0

    def __call__(self, truth, release, estimate):
        """(reps,)"""
        return (estimate.mean - truth) ** 2


class Raises(Mean):
    """A mistake of whoever wrote it."""

    def fit(self, release, rng):
        """Always raises."""
        raise ZeroDivisionError("planted")


class Exhausted(Mean):
    """More memory than there is, for more than ten people."""

    def fit(self, release, rng):
        """Raises, or the mean."""
        if release.values.shape[1] > 10:
            raise MemoryError("planted")
        return super().fit(release, rng)


def budget(share: float) -> float:
    """ε at which noise adds `share` times the sampling variance: 2/ε² = share/12."""
    return (24 / share) ** 0.5


def risk(n, share, estimator):
    """Mean square error in closed form."""
    return (1 + share) / (12 * n) * {"mean": 1, "half": 2}[estimator]


@measure("mean square error over its closed form")
def over_closed_form(results):
    cell = summarise(results, confidence_for()).isel(n=0, share=0).sel(estimator="mean")
    scale = 1 / risk(cell["n"].item(), cell["share"].item(), "mean")
    value, low, high, error = (
        scale * cell[f"error_squared{s}"].item() for s in ("", "_low", "_high", "_mcse")
    )
    return Estimate(value, low, high, error)


CLAIMS = (
    Claim(
        id="toy.risk",
        statement="The private mean has mean square error (1/12 + 2/ε²)/n.",
        source="this file",
        experiment="toy/mean",
        measure=over_closed_form,
        tolerance=Within(1, 0.1),
        why="far above the Monte Carlo error, far below the factor 2 of the other estimator",
        conditions="the first cell",
        control=NegativeControl("errors twice as large", scaled("error_squared", 2)),
    ),
)

CONFIG = dict(
    name="toy/mean",
    problem="toy",
    title="The private mean",
    question="What does Laplace noise cost?",
    seed=5,
    replications=4000,
    block=500,
    grid={"n": [10, 40], "share": [1.0, 8.0], "estimator": ["mean", "half"]},
    parameters={"model": "answers", "mechanism": "laplace"},
    derive={"epsilon": "budget"},
    metrics=["error_squared"],
)
