"""Claims on when a sparse public graph is better than all pairs: Nguyen and Zhang, §4.3.

Over (n, m, ε).
"""

import numpy as np
import xarray as xr

from pipeline.analysis.claims import Claim, SimulatedControl
from pipeline.analysis.measures import Cells, Measure, confidence_for, labelled, measure_every_cell
from pipeline.analysis.selection import Condition, select
from pipeline.analysis.summary import paired_difference
from pipeline.analysis.tolerances import AtLeast, AtMost, Tolerance
from pipeline.privacy.accounting import zcdp_rho

from ..theory.sensitivity import squared_sensitivity
from .common import DELTA, DIRECTION, FEW, GRAPHS_EXCHANGED
from .controls import LOUD_DENSE, LOUD_SPARSE, QUIET_SPARSE


def noise_per_person(n: xr.DataArray, m: xr.DataArray, epsilon: xr.DataArray) -> xr.DataArray:
    """σ/n: standard deviation of the noise on a count over persons, of all pairs; broadcasts."""
    charge = xr.apply_ufunc(
        np.vectorize(lambda items: squared_sensitivity(items, "replace_one"), otypes=[float]), m
    )
    sigma: xr.DataArray = xr.ufuncs.sqrt(charge / (2 * xr.apply_ufunc(zcdp_rho, epsilon, DELTA)))
    return sigma / n


def _noise(data: xr.Dataset) -> xr.DataArray:
    return noise_per_person(data["n"], data["m"], data["epsilon_user"])


def _sparse_less_dense(within: Condition) -> Measure:
    @measure_every_cell("difference of the mean ‖β̂ − β*‖₂/√m, sparse less dense graph")
    def apart(results: xr.Dataset) -> Cells:
        data = select(
            results,
            "error_l2",
            min_levels=dict(n=2, m=2, epsilon_user=2, graph=2),
            within=within,
            least=FEW,
        )
        cells = paired_difference(
            data, "error_l2", "graph", "sparse", "dense", confidence_for(data)
        )
        return labelled(cells, "mean", "low", "high", "mcse")

    return apart


def _claim(
    name: str,
    statement: str,
    within: Condition,
    conditions: str,
    tolerance: Tolerance,
    why: str,
    simulated: SimulatedControl,
) -> Claim:
    return Claim(
        id=f"nguyen.sparse.{name}",
        statement=statement,
        source="sharpens Nguyen and Zhang, §4.3 and §5",
        experiment="nguyen/sparse",
        measure=_sparse_less_dense(within),
        tolerance=tolerance,
        why=f"{DIRECTION} {why}",
        conditions=f"{conditions} p0 = log₂(m)/m, tight calibration, δ = 1e-4, "
        "spectral estimator, counts raised to 1.",
        control=GRAPHS_EXCHANGED,
        simulated=simulated,
    )


CLAIMS = (
    _claim(
        "few",
        "With 25 or 50 items, 200 to 1,000 persons and ε = ½ to 7.5 releasing "
        "all pairs is better than a sparse graph.",
        lambda d: d["m"] <= 50,
        "Cells with m ≤ 50: n = 200 to 1,000, ε = 0.5 to 7.5.",
        AtLeast(0),
        "An item keeps log₂(m) of its m − 1 pairs, and a graph's charge is more "
        "than its share of all pairs.",
        LOUD_DENSE,
    ),
    _claim(
        "many",
        "With 200 items a sparse graph is better where the noise on a count is "
        "moderate: 0.1 to 0.7 of n.",
        lambda d: (d["m"] >= 200) & (_noise(d) >= 0.1) & (_noise(d) <= 0.7),
        "Cells with m = 200 and σ/n of 0.1 to 0.7, σ that of all pairs.",
        AtMost(0),
        "Noisy counts below 1 are raised to 1, which shrinks β̂: at n = 500, ε = "
        "2.5 to 0.4 of β* with all pairs, and to 0.8 of it on the graph, whose "
        "noise is a quarter. About its mean the estimate from all pairs varies "
        "less.",
        LOUD_SPARSE,
    ),
    _claim(
        "noisy",
        "Where the noise on a count is 1.15 n or more, a sparse graph is worse, "
        "with 25 to 200 items.",
        lambda d: _noise(d) >= 1.15,
        "Cells with σ/n ≥ 1.15, σ that of all pairs.",
        AtLeast(0),
        "All pairs have next to no information there, and their estimate, shrunk "
        "to 0, is no worse than 0; that from a sparse graph varies more.",
        QUIET_SPARSE,
    ),
)
