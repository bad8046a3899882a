"""Claims on estimates that are made frequencies."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measured,
    exponent,
    measure,
    measure_every_cell,
    share_of_exceptions,
)
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtMost, NoException, Within

from .common import WANG, mechanism_ratio

GRID = dict(law=1, mechanism=1, k=2, n=2, estimator=2)
ROUNDING = 1 + 1e-9


@measure("share of data sets in which the projected estimate has the larger squared error")
def _larger(results: xr.Dataset) -> Estimate:
    data = select(results, "error_squared", min_levels=GRID)
    error = data["error_squared"]
    larger = error.sel(estimator="projected", drop=True) > ROUNDING * error.sel(
        estimator="unbiased", drop=True
    )
    return share_of_exceptions(larger, (data["status"] > 0).all("estimator"))


@measure("share of data sets in which the squared error exceeds the range of the noise")
def _above(results: xr.Dataset) -> Estimate:
    data = select(
        results,
        "error_squared",
        "projection_bound",
        at=dict(estimator="projected"),
        min_levels=dict(law=1, mechanism=1, k=2, n=2),
    )
    return share_of_exceptions(
        data["error_squared"] > ROUNDING * data["projection_bound"], data["status"] > 0
    )


@measure("exponents of the squared error in n")
def _rates(results: xr.Dataset) -> Mapping[str, Measured]:
    found = {}
    for estimator in ("unbiased", "projected"):
        data = select(
            results,
            "error_squared",
            at=dict(law="uniform", mechanism="optimised_unary", estimator=estimator, k=1024),
            min_levels=dict(n=4),
        )
        found[estimator] = exponent(data, "error_squared", (), 0.5, n=data["n"])
    return found


@measure_every_cell(
    "squared error of optimised unary encoding over that of randomized response, both projected"
)
def _order(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "error_squared",
        at=dict(estimator="projected"),
        min_levels=dict(law=1, mechanism=2, k=2, n=2),
    )
    return mechanism_ratio(data, "error_squared", "optimised_unary", "randomized_response")


_CONDITIONS = (
    "ε = 1; uniform and Zipf's law, k = 16 to 1024, n = 1,000 to 256,000; both mechanisms."
)
_UNPROJECTED = NegativeControl(
    "unbiased estimates under the projected ones' name",
    exchanged("estimator", "unbiased", "projected"),
)

CLAIMS = (
    Claim(
        id="frequency.projection",
        statement="Projection to the simplex never makes the squared error larger, in no data set.",
        source=(
            "nearest points of a convex set do not move apart; Wang et al. (2020) for its use here"
        ),
        experiment="frequency/projection",
        measure=_larger,
        tolerance=NoException(0.01),
        why="A theorem.",
        conditions=(
            f"{_CONDITIONS} To normalise (negative ones to 0, divided by the sum) does not have "
            "that property."
        ),
        control=NegativeControl(
            "normalised estimates in place of projected ones",
            exchanged("estimator", "normalised", "projected"),
        ),
    ),
    Claim(
        id="frequency.projection_bound",
        statement=(
            "The squared error after projection is at most the range of the noise, so that it "
            "grows with √log k and not with k."
        ),
        source=(
            "⟨e, P − f⟩ ≥ ‖P − f‖² for the projection P of f + e, whose entries sum to those of f"
        ),
        experiment="frequency/projection",
        measure=_above,
        tolerance=NoException(0.01),
        why="A theorem.",
        conditions=_CONDITIONS,
        control=_UNPROJECTED,
    ),
    Claim(
        id="frequency.projection_rate",
        headline=True,
        statement=(
            "While noise exceeds the frequencies, projected errors fall like n^(−½), unbiased "
            "ones like 1/n."
        ),
        source=f"beyond {WANG}: the projection of pure noise is of its size, not of its square",
        experiment="frequency/projection",
        measure=_rates,
        tolerance={"unbiased": Within(-1, 0.03), "projected": Within(-0.5, 0.08)},
        why="Distinguishes −1 from −½.",
        conditions=(
            "ε = 1, k = 1024, uniform law, optimised unary encoding; the noise is 3 to 60 times "
            "1/k."
        ),
        control=_UNPROJECTED,
    ),
    Claim(
        id="frequency.projection_order",
        statement="Projection changes how far apart mechanisms are, not their order.",
        source="between the papers, which compare unbiased estimates",
        experiment="frequency/projection",
        measure=_order,
        tolerance=AtMost(1),
        why="The statement is one of direction.",
        conditions=f"ε = 1, where 3e^ε + 2 = 10 is below every k; {_CONDITIONS}",
        control=NegativeControl(
            "the two mechanisms under each other's name",
            exchanged("mechanism", "optimised_unary", "randomized_response"),
        ),
    ),
)
