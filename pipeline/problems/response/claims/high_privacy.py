"""Claims on ε ≈ 0.01, where Nguyen and Zhang leave an accurate estimator as a challenge."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged, scaled
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import Cells, exact_cells, measure, measure_every_cell, ratio_cells
from pipeline.analysis.selection import Level, select
from pipeline.analysis.tolerances import AtLeast, AtMost

from .common import COMPUTED, EXACT, HIGHEST_PRIVACY
from .controls import LOUDER, QUIET_NOISE

EXPERIMENT = "nguyen/high_privacy"
SHRUNK = "shrunk_scores"
SPECTRAL = "spectral"
MANY = 25  # the least number of items in the paper's Figure 1
FEW_PERSONS = 1000  # the largest number of persons there
_SOURCE = "Nguyen and Zhang, §7 (conclusion): an accurate estimator at ε ≈ 0.01 is a challenge"
_AXES = dict(n=2, m=2)
_CONDITIONS = (
    "β and θ standard normal, everybody answers "
    "everything, δ = 1e-4, discrete Gaussian noise on "
    "all pairs by its own law."
)


def _at(estimator: str) -> dict[str, Level]:
    return dict(estimator=estimator, epsilon_user=HIGHEST_PRIVACY)


def _is_in_the_paper(data: xr.Dataset) -> xr.DataArray:
    return data["n"] <= FEW_PERSONS


def _squares(results: xr.Dataset, estimator: str) -> xr.Dataset:
    """Squared errors at ε = 0.01, of numbers of persons as in the paper."""
    data = select(results, "error_l2", at=_at(estimator), min_levels=_AXES, within=_is_in_the_paper)
    data["square"] = data["error_l2"] ** 2
    return data.sel(n=_is_in_the_paper(data))


@measure_every_cell("least E‖β̂ − β*‖₂² of any private release over that of the estimate 0")
def _floor(results: xr.Dataset) -> Cells:
    data = select(results, "private_floor", at=_at(SHRUNK), min_levels=_AXES)
    floor = data["private_floor"]
    return exact_cells(floor.sel(m=floor["m"] >= MANY, n=floor["n"] <= FEW_PERSONS))


@measure_every_cell("mean ‖β̂ − β*‖₂² of shrunk scores over that of the spectral estimate")
def _shrunk_over_spectral(results: xr.Dataset) -> Cells:
    data = _squares(results, SHRUNK)
    data["spectral"] = _squares(results, SPECTRAL)["square"]
    return ratio_cells(data, "square", "spectral", 1)


@measure_every_cell("mean ‖β̂ − β*‖₂² of the spectral estimate over that of the estimate 0")
def _spectral_over_zero(results: xr.Dataset) -> Cells:
    data = _squares(results, SPECTRAL)
    data["of_zero"] = xr.ones_like(data["square"]) * (1 - 1 / data["m"])
    return ratio_cells(data, "square", "of_zero", 1)


@measure("mean ‖β̂ − β*‖₂²/m of shrunk scores over that of the first order")
def _over_law(results: xr.Dataset) -> Mapping[str, Cells]:
    at: dict[str, Level] = dict(estimator=SHRUNK)
    data = select(
        results,
        "error_l2",
        "shrunk_risk",
        at=at,
        min_levels=dict(n=2, m=2, epsilon_user=2),
        within=_is_in_the_paper,
    )
    return law_ratios(data.sel(n=_is_in_the_paper(data)), "error_l2", "shrunk_risk", 2)


@measure_every_cell("what shrunk scores tell, over the most that any private release can tell")
def _information(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "shrunk_risk",
        "private_floor",
        at=_at(SHRUNK),
        min_levels=_AXES,
        within=_is_in_the_paper,
    )
    risk = data["shrunk_risk"].isel(replication=0, drop=True)
    told = (1 - 1 / data["m"]) / risk - 1
    most = 1 / data["private_floor"] - 1
    return exact_cells((told / most).sel(n=_is_in_the_paper(data)))


CLAIMS = (
    Claim(
        id="nguyen.high_privacy.floor",
        headline=True,
        statement="At ε = 0.01 no estimator helps: whatever is "
        "released under this privacy, and "
        "whatever estimates from it, the squared error "
        "is at least three quarters of that "
        "of the estimate 0.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_floor,
        tolerance=AtLeast(0.75),
        why=f"{EXACT} A lower bound for all ρ-zCDP "
        "releases, ρ the largest that Gaussian noise "
        "may have: n²(e^(2ρ) − 1)E σ'(θ) bounds the "
        "information about all items together.",
        conditions="m ≥ 25 and n ≤ 1,000, as in the paper's Figure 1. " + _CONDITIONS,
        control=NegativeControl("a tenth of the floor", scaled("private_floor", 0.1)),
        simulated=COMPUTED,
    ),
    Claim(
        id="nguyen.high_privacy.spectral",
        statement="At ε = 0.01 the spectral estimate is hardly better than the estimate 0.",
        source="Nguyen and Zhang, §5.1: at ε ≈ 0.01 all methods are very inaccurate",
        experiment=EXPERIMENT,
        measure=_spectral_over_zero,
        tolerance=AtLeast(0.95),
        why="Counts below 1 are raised to 1, and the rest is noise.",
        conditions=f"n ≤ 1,000. {_CONDITIONS}",
        control=NegativeControl("half of its errors", scaled("error_l2", 0.5)),
        simulated=QUIET_NOISE,
    ),
    Claim(
        id="nguyen.high_privacy.shrunk",
        statement="Scores drawn towards 0, by what is known of "
        "the noise, are more accurate than the "
        "spectral estimate.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_shrunk_over_spectral,
        tolerance=AtMost(1),
        why="The statement is one of direction. Nothing is "
        "clipped, and noise that is known is not "
        "taken for difficulties.",
        conditions=f"n ≤ 1,000. {_CONDITIONS}",
        control=NegativeControl(
            "the two estimators under each other's name",
            exchanged("estimator", SHRUNK, SPECTRAL),
        ),
        simulated=LOUDER,
    ),
    Claim(
        id="nguyen.high_privacy.law",
        statement="Their squared error is that of linear "
        "regression, 1 − r² of that of the "
        "estimate 0, r the correlation of a "
        "difficulty with its score.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_over_law,
        tolerance=exact_law(0.05),
        why="What is not noise enters to first order only, which is enough up to 1,000 persons.",
        conditions=f"n ≤ 1,000, ε = 0.01 and 0.1. {_CONDITIONS}",
        control=NegativeControl("errors a fifth larger", scaled("error_l2", 1.2)),
        simulated=LOUDER,
    ),
    Claim(
        id="nguyen.high_privacy.order",
        statement="They are within a constant of the floor: "
        "shrunk scores tell at least a tenth of "
        "what any private release can tell.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_information,
        tolerance=AtLeast(0.1),
        why="Where noise is nearly all, it is E σ'(θ − β)²/E "
        "σ'(θ)·(m − 1)/m, about 0.16: the noise "
        "hides the largest change of a row, "
        "the floor its variance.",
        conditions=f"n ≤ 1,000. {_CONDITIONS}",
        control=NegativeControl("a fifth of the floor", scaled("private_floor", 0.2)),
        simulated=COMPUTED,
    ),
)
