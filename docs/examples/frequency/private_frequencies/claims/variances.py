"""Claims on exact variances."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import Cells, measure, measure_every_cell
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import Within

from .common import WANG, mechanism_ratio, swapped

GRID = dict(mechanism=2, odds=2, k=1)


@measure("squared error of a frequency that is 0, over its variance")
def _absent(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(results, "error_absent", "variance_absent", min_levels=GRID)
    return law_ratios(data, "error_absent", "variance_absent", 1, "mechanism")


@measure("squared error of all frequencies over its exact risk")
def _total(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(results, "error_squared", "risk", min_levels=GRID)
    return law_ratios(data, "error_squared", "risk", 1, "mechanism")


def _unary_for_all(results: xr.Dataset) -> xr.Dataset:
    unary = (
        results["variance_absent"].sel(mechanism="optimised_unary", drop=True)
        + 0 * results["variance_absent"]
    )
    return results.assign(variance_absent=unary.transpose(*results["variance_absent"].dims))


@measure_every_cell("variance of symmetric over optimised unary encoding, over cosh²(ε/4)")
def _symmetric(results: xr.Dataset) -> Cells:
    data = select(results, "error_absent", min_levels=GRID, within=lambda d: d["k"] >= 16)
    gain = xr.ufuncs.cosh(xr.ufuncs.log(data["odds"]) / 4) ** 2
    return mechanism_ratio(data, "error_absent", "symmetric_unary", "optimised_unary", over=gain)


@measure_every_cell("squared error of local hashing over that of optimised unary encoding")
def _hashing(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "error_squared",
        min_levels=GRID,
        within=lambda d: (d["k"] >= 16) & (np.rint(d["odds"]) == d["odds"]),
    )
    return mechanism_ratio(data, "error_squared", "local_hashing", "optimised_unary")


_CONDITIONS = (
    "e^ε = 2 to 30, k = 4 to 64; half of the values are held by nobody; all mechanisms, no "
    "projection."
)

CLAIMS = (
    Claim(
        id="frequency.variance",
        statement=(
            "The estimated frequency of a value that nobody holds has variance q(1 − q)/(n(p − "
            "q)²)."
        ),
        source=f"{WANG}, Theorem 2 at f = 0",
        experiment="frequency/variance",
        measure=_absent,
        tolerance=exact_law(0.03),
        why="An exact law; the cells of each mechanism are taken together.",
        conditions=_CONDITIONS,
        control=NegativeControl("the variance of optimised unary encoding for all", _unary_for_all),
    ),
    Claim(
        id="frequency.risk",
        statement=(
            "The squared errors of all frequencies add up to (p(1 − p) + (k − 1)q(1 − q))/(n(p − "
            "q)²), whatever the frequencies."
        ),
        source=f"{WANG}, Theorem 2, summed",
        experiment="frequency/variance",
        measure=_total,
        tolerance=exact_law(0.02),
        why="An exact law; the cells of each mechanism are taken together.",
        conditions=_CONDITIONS,
        control=NegativeControl(
            "k times the variance at f = 0, as if nobody held a value",
            lambda r: r.assign(risk=(r["k"] * r["variance_absent"]).transpose(*r["risk"].dims)),
        ),
    ),
    Claim(
        id="frequency.symmetric",
        statement=(
            "Optimised unary encoding divides the variance of symmetric unary encoding by "
            "cosh²(ε/4)."
        ),
        source=f"{WANG}, SUE and OUE: 4e^ε/(e^ε − 1)² against e^(ε/2)/(e^(ε/2) − 1)²",
        experiment="frequency/variance",
        measure=_symmetric,
        tolerance=Within(1, 0.1),
        why="Twice the Monte Carlo interval; cosh²(ε/4) goes from 1.03 to 1.9.",
        conditions=f"k ≥ 16; {_CONDITIONS}",
        control=NegativeControl(
            "the two under each other's name", swapped("symmetric_unary", "optimised_unary")
        ),
    ),
    Claim(
        id="frequency.hashing",
        statement=(
            "Local hashing errs as optimised unary encoding does, with a report of log g bits in "
            "place of k."
        ),
        source=f"{WANG}, OLH and OUE",
        experiment="frequency/variance",
        measure=_hashing,
        tolerance=Within(1, 0.06),
        why="At whole e^ε their supports have one law.",
        conditions=(
            f"k ≥ 16; ideal hash functions, e^ε whole, so that g = e^ε + 1 is; {_CONDITIONS}"
        ),
        control=NegativeControl(
            "symmetric unary encoding in place of hashing",
            swapped("symmetric_unary", "local_hashing"),
        ),
    ),
)
