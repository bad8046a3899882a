"""Claims on intervals that problems share: coverage, ranks, the cost of ignoring the mechanism."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from pipeline.analysis.boundaries import INSIDE, boundary_exponent, crossing
from pipeline.analysis.claims import Claim, NegativeControl, SimulatedControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    mean_cells,
    measure,
    measure_every_cell,
)
from pipeline.analysis.selection import Condition, InsufficientEvidence, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost, Tolerance, Within
from pipeline.problems.common.changes import all_of, changed_estimate, with_parameters
from pipeline.study.arrays import Floats
from pipeline.study.grid import Level

LEVEL = 0.95
BAND = Within(LEVEL, 0.01)
HALF = AtMost(0.5)
WHY_BAND = (
    "a first-order interval errs by the order of the bias and skewness that it neglects; an error "
    "of one in a hundred is what a reader of a 95 % interval can be expected to accept"
)
WHY_RANKS = "the promise itself: no margin, since a bound on the chance makes it hold with room"
WHY_HALF = (
    "an interval that covers less often than it misses is worth nothing; set before seeing data"
)
TOO_OFTEN = NegativeControl("coverage that is a tenth smaller", scaled("coverage", 0.9))
RANKS_MISSED = NegativeControl("ranks that are covered a tenth less", scaled("rank_coverage", 0.9))
THRICE_COVERED = NegativeControl("coverage nine times as large", scaled("coverage", 9.0))


@dataclass(frozen=True)
class Setting:
    """Where intervals are judged. axes: that stay -> levels that each needs. within: cells."""

    experiment: str
    axes: Mapping[str, int]
    conditions: str
    source: str
    within: Condition | None = None


def covered(setting: Setting, metric: str, at: Mapping[str, Level]) -> Measure:
    """Mean of a metric of coverage in every cell."""
    words = (
        "intervals that cover" if metric == "coverage" else "replications with all ranks covered"
    )

    @measure_every_cell(f"share of {words}")
    def mean(results: xr.Dataset) -> Cells:
        data = select(results, metric, at=at, min_levels=setting.axes, within=setting.within)
        return mean_cells(data, metric)

    return mean


@dataclass(frozen=True)
class Bar:
    """What a metric of coverage must reach. ending: of the claim's name."""

    ending: str
    metric: str
    tolerance: Tolerance
    why: str
    control: NegativeControl
    headline: bool

    def claim(
        self,
        name: str,
        statement: str,
        setting: Setting,
        at: Mapping[str, Level],
        simulated: SimulatedControl,
    ) -> Claim:
        """That it is reached in every cell of a setting."""
        return Claim(
            id=f"inference.{name}.{self.ending}",
            headline=self.headline,
            statement=statement,
            source=setting.source,
            experiment=setting.experiment,
            measure=covered(setting, self.metric, at),
            tolerance=self.tolerance,
            why=self.why,
            conditions=setting.conditions,
            control=self.control,
            simulated=simulated,
        )


COVERED = Bar("coverage", "coverage", BAND, WHY_BAND, TOO_OFTEN, headline=True)
RANKED = Bar("ranks", "rank_coverage", AtLeast(LEVEL), WHY_RANKS, RANKS_MISSED, headline=False)
IGNORED = Bar("ignoring", "coverage", HALF, WHY_HALF, THRICE_COVERED, headline=True)


def honest(
    name: str, of: str, setting: Setting, at: Mapping[str, Level], simulated: SimulatedControl
) -> Claim:
    """That 95 % intervals cover 94 to 96 %. of: what, in words."""
    statement = f"95 % intervals of {of}, made of the release alone, cover 94 to 96 % of truths."
    return COVERED.claim(name, statement, setting, at, simulated)


def ranks_hold(
    name: str, of: str, setting: Setting, at: Mapping[str, Level], simulated: SimulatedControl
) -> Claim:
    """That intervals of all ranks cover all at once."""
    statement = f"Intervals of the ranks of all {of} cover all of them at once in 95 % of releases."
    source = f"{setting.source}; Mogstad, Romano, Shaikh and Wilhelm (2024)"
    return RANKED.claim(name, statement, replace(setting, source=source), at, simulated)


def ignorant(
    name: str, of: str, setting: Setting, at: Mapping[str, Level], simulated: SimulatedControl
) -> Claim:
    """That intervals which ignore the mechanism cover less than half."""
    statement = f"95 % intervals of {of} that ignore the mechanism cover less than half of truths."
    new = replace(setting, source="not in the papers")
    return IGNORED.claim(name, statement, new, at, simulated)


def even_the_bootstrap(
    setting: Setting, at: Mapping[str, Level], simulated: SimulatedControl
) -> Claim:
    """That intervals of the bootstrap cover less than half, however many people there are."""
    return Claim(
        id="inference.bootstrap.fails",
        headline=True,
        statement="Even the bootstrap fails of an estimator that is not consistent: its 95 % "
        "intervals cover less than half of truths.",
        source=setting.source,
        experiment=setting.experiment,
        measure=covered(setting, "coverage", at),
        tolerance=HALF,
        why=WHY_HALF,
        conditions=setting.conditions,
        control=THRICE_COVERED,
        simulated=simulated,
    )


@dataclass(frozen=True)
class Threshold:
    """The budget at which the mean of a metric crosses a level, for each number of people or tasks.

    budget, size: axes. unit: budgets -> what theory measures them in, arrays (levels,).
    """

    metric: str
    level: float
    budget: str
    size: str
    unit: Callable[[Floats], Floats]

    def exponent(self, cells: xr.Dataset) -> Estimate:
        """Exponent in the size of the budget there, in theory's unit.

        cells: a summary, over the two axes. Raises `InsufficientEvidence` for a crossing outside
        the grid.
        """
        budget = cells[self.budget]
        position = budget.copy(data=self.unit(budget.values))
        errors = cells[f"{self.metric}_mcse"]
        edge = crossing(cells[self.metric], errors, self.budget, self.level, at=position)
        if (edge["side"] != INSIDE).any():
            reason = f"some curve crosses outside the grid: add levels of {self.budget}"
            raise InsufficientEvidence(reason)
        rate = boundary_exponent(edge, (), confidence_for(), **{self.size: edge[self.size]})
        return rate.exponents[self.size]


def attenuation(answers: int) -> Callable[[Floats], Floats]:
    """tanh(ε/2) of an answer, by which flips shrink it, of a budget that so many answers share."""

    def of_budgets(budgets: Floats) -> Floats:
        return np.asarray(np.tanh(budgets / (2 * answers)))

    return of_budgets


def always(size: str, number: int, of: str) -> SimulatedControl:
    """The same number of people or tasks in every cell. size: the parameter that is this number."""
    same = {size: number}
    change = all_of(
        *(with_parameters(role, **same) for role in ("model", "mechanism", "estimator"))
    )
    return SimulatedControl(f"{number:,} {of}, whatever number is said", change)


def begins(
    name: str,
    statement: str,
    setting: Setting,
    threshold: Threshold,
    world: SimulatedControl,
    exponent: float,
    why: str,
) -> Claim:
    """That budgets from which on intervals hold follow a power of a number of people or tasks."""

    @measure(
        f"exponent in {threshold.size} of the tanh(ε/2) at which {threshold.metric} is "
        f"{threshold.level:g}"
    )
    def measured(results: xr.Dataset) -> Estimate:
        data = select(results, threshold.metric, min_levels=setting.axes)
        return threshold.exponent(summarise(data))

    size = threshold.size
    return Claim(
        id=f"inference.{name}.threshold",
        headline=True,
        statement=statement,
        source=setting.source,
        experiment=setting.experiment,
        measure=measured,
        tolerance=Within(exponent, 0.05),
        why=why,
        conditions=setting.conditions,
        control=NegativeControl(
            f"numbers {size} of which square roots are written",
            lambda results: results.assign_coords({size: results[size].values ** 0.5}),
        ),
        simulated=world,
    )


REVERSED = SimulatedControl(
    "items that are estimated under each other's names",
    changed_estimate(lambda estimate: replace(estimate, theta=estimate.theta[:, ::-1])),
)
