"""Claims on the minimax risk, at the uniform law."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import Cells, measure, measure_every_cell, ratio_cells
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, AtMost

from .common import YE, mechanism_ratio, swapped

FEW, MANY = 8, 64  # values
HALF = dict(k=512, epsilon=4.0)  # Ye and Barg: 3.8 < ε < log(k/9)


@measure("squared error of subset selection over M(k, ε)/n")
def _attained(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(
        results,
        "error_squared",
        "minimax_risk",
        at=dict(mechanism="subset_selection"),
        min_levels=dict(k=1, epsilon=1),
    )
    return law_ratios(data, "error_squared", "minimax_risk", 1)


@measure_every_cell("squared error over M(k, ε)/n")
def _bound(results: xr.Dataset) -> Cells:
    data = select(
        results, "error_squared", "minimax_risk", min_levels=dict(mechanism=2, k=1, epsilon=1)
    )
    return ratio_cells(data, "error_squared", "minimax_risk", 1)


@measure("squared error of subset selection over that of another mechanism")
def _half(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(results, "error_squared", at=HALF, min_levels=dict(mechanism=3))
    return {
        f"over {words}": mechanism_ratio(data, "error_squared", "subset_selection", name, 0.5)
        for name, words in BEFORE.items()
    }


@measure("squared error of optimised unary encoding over that of subset selection, in every cell")
def _price(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(
        results,
        "error_squared",
        min_levels=dict(mechanism=2, k=1, epsilon=1),
        within=lambda d: (d["epsilon"] <= 2) & d["k"].isin([FEW, MANY]),
    )
    return {
        f"k = {k}": mechanism_ratio(
            data.sel(k=[k]), "error_squared", "optimised_unary", "subset_selection", 0.5
        )
        for k in (FEW, MANY)
    }


BEFORE = {
    "randomized_response": "randomized response",
    "symmetric_unary": "symmetric unary encoding",
}
_CONDITIONS = (
    "ε = 0.5 to 4, k = 8 to 64, and 512 at ε = 4; people drawn from the uniform law, the worst; no "
    "projection."
)

CLAIMS = (
    Claim(
        id="frequency.minimax",
        statement=(
            "Subset selection has risk M(k, ε)/n, M = (k − 1)²(d e^ε + k − d)²/(k d (k − d)(e^ε − "
            "1)²)."
        ),
        source=f"{YE}, risk at the uniform law",
        experiment="frequency/minimax",
        measure=_attained,
        tolerance=exact_law(0.04),
        why="An exact law.",
        conditions=_CONDITIONS,
        control=NegativeControl("a constant a tenth less", scaled("minimax_risk", 0.9)),
    ),
    Claim(
        id="frequency.lower_bound",
        statement="No mechanism has a lesser risk than M(k, ε)/n.",
        source=(
            "Ye and Barg (2019), Optimal locally private estimation under ℓp loss, lower bound "
            "for p = 2"
        ),
        experiment="frequency/minimax",
        measure=_bound,
        tolerance=AtLeast(0.9),
        why=(
            "Subset selection is at 1 in all cells, and randomized response in some: the rest is "
            "Monte Carlo error."
        ),
        conditions=f"All five mechanisms; {_CONDITIONS}",
        control=NegativeControl("a bound 1.3 times as high", scaled("minimax_risk", 1.3)),
    ),
    Claim(
        id="frequency.half",
        headline=True,
        statement=(
            "At medium privacy subset selection halves the risk of randomized response and of "
            "symmetric unary encoding."
        ),
        source=f"{YE}, abstract: for 3.8 < ε < log(k/9)",
        experiment="frequency/minimax",
        measure=_half,
        tolerance={f"over {words}": AtMost(0.5) for words in BEFORE.values()},
        why="As printed.",
        conditions="ε = 4, k = 512, where log(k/9) = 4.04.",
        control=NegativeControl(
            "symmetric unary encoding under its name",
            swapped("subset_selection", "symmetric_unary"),
        ),
    ),
    Claim(
        id="frequency.unary_price",
        statement=(
            "With few values optimised unary encoding pays for bits that subset selection does "
            "not need; with many it is as good."
        ),
        source="between the two papers: both constants are 4e^ε/(e^ε − 1)² a value as k grows",
        experiment="frequency/minimax",
        measure=_price,
        tolerance={f"k = {FEW}": AtLeast(1.2), f"k = {MANY}": AtMost(1.15)},
        why="Exact ratios: 1.33 to 1.73 for 8 values, 1.03 to 1.08 for 64.",
        conditions="ε = 0.5 to 2; people drawn from the uniform law; no projection.",
        control=NegativeControl(
            "the two under each other's name", swapped("optimised_unary", "subset_selection")
        ),
    ),
)
