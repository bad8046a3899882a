"""Claims on intervals that problems share: coverage, ranks, the cost of ignoring the mechanism."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, SimulatedControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import Cells, Measure, mean_cells, measure_every_cell
from pipeline.analysis.selection import Condition, select
from pipeline.analysis.tolerances import AtLeast, AtMost, Tolerance, Within
from pipeline.problems.common.changes import changed_estimate
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


REVERSED = SimulatedControl(
    "items that are estimated under each other's names",
    changed_estimate(lambda estimate: replace(estimate, theta=estimate.theta[:, ::-1])),
)
