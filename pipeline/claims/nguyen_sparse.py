"""Claims on when a sparse public graph of pairs beats all pairs: Nguyen and Zhang, §4.3, over (n, m, ε)."""

import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim, at_least, at_most, throughout
from pipeline.claims.evidence import HIGH, enough, named, renamed, share
from pipeline.claims.nguyen_figures import FEW
from pipeline.reduce.summary import paired_difference
from pipeline.theory.accounting import zcdp_rho
from pipeline.theory.rasch_privacy import squared_sensitivity

DELTA = 1e-4  # of the experiment, as in the paper


def noise_per_person(n, m, epsilon):
    """σ/n: standard deviation of the noise on a count over persons, all pairs released; arrays that broadcast."""
    charge = xr.apply_ufunc(np.vectorize(lambda items: squared_sensitivity(items, "replace_one"), otypes=[float]), m)
    return np.sqrt(charge / (2 * xr.apply_ufunc(zcdp_rho, epsilon, DELTA))) / n


def _noise(data):
    return noise_per_person(data["n"], data["m"], data["epsilon_user"])


def _throughout(within, decide):
    """Check of sparse less dense in every cell within."""
    aim = -HIGH if decide is at_most else HIGH

    def check(results):
        data = enough(results, "error_l2", within=within, least=FEW, n=2, m=2, epsilon_user=2, graph=2)
        cells = paired_difference(data, "error_l2", "graph", "sparse", "dense", share(1, data))
        return throughout(named(cells, "mean", "low", "high", "mcse"),
                          lambda found, cell: decide(found, 0, f"sparse less dense at {cell}:"), aim)

    return check


def _claim(name, statement, within, conditions, decide, why):
    return Claim(
        id=f"nguyen.sparse.{name}",
        statement=statement,
        source="sharpens Nguyen and Zhang, §4.3 and §5",
        experiment="nguyen/sparse",
        estimand="difference of the mean ‖β̂ − β*‖₂/√m, sparse less dense, in every cell",
        tolerance=f"{'at most' if decide is at_most else 'at least'} 0 in every cell (simultaneous intervals)",
        why="The statement is one of direction. " + why,
        conditions=conditions + " p0 = log₂(m)/m, tight calibration, δ = 1e-4, spectral estimator, counts raised to 1.",
        check=_throughout(within, decide),
        twin="sparse and dense under each other's name",
        twin_data=renamed("graph", "dense", "sparse"),
    )


CLAIMS = (
    _claim("few", "With 25 or 50 items releasing all pairs is better than a sparse graph, whatever n and ε.",
           lambda d: d["m"] <= 50,
           "Cells with m ≤ 50: n = 200 to 1,000, ε = 0.5 to 7.5.", at_least,
           "An item keeps log₂(m) of its m − 1 pairs, and a graph's charge is more than its share of all pairs."),
    _claim("many", "With 200 items a sparse graph is better where the noise on a count is moderate: 0.1 to 0.7 of n.",
           lambda d: (d["m"] >= 200) & (_noise(d) >= 0.1) & (_noise(d) <= 0.7),
           "Cells with m = 200 and σ/n of 0.1 to 0.7, σ that of all pairs.", at_most,
           "Noisy counts below 1 are raised to 1, which shrinks β̂: at n = 500, ε = 2.5 to 0.4 of β* with all pairs, to "
           "0.8 on the graph, whose noise is a quarter. Around these the estimate of all pairs scatters less."),
    _claim("noisy", "Where the noise on a count is 1.15 n or more, a sparse graph is worse, whatever m.",
           lambda d: _noise(d) >= 1.15,
           "Cells with σ/n ≥ 1.15, σ that of all pairs.", at_least,
           "All pairs say next to nothing there, and shrunk to 0 are no worse than that; a sparse graph scatters."),
)
