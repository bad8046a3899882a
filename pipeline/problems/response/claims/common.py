"""Common to claims on responses: ways to release and estimate, and exchanged errors."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import NegativeControl, NotSimulated, PositiveControl
from pipeline.analysis.controls import Make, exchanged
from pipeline.analysis.selection import Level

Levels = Mapping[str, Level]  # level of each of these axes

DELTA = 1e-4  # of all experiments with privacy, as in the paper
FEW = 50  # replications that a cell of a figure must have
HIGHEST_PRIVACY = 0.01  # ε
LOW_PRIVACY = 2.5  # ε from which the paper speaks of low privacy
ROUNDING = 1e-6  # of numbers that are computed exactly
EXACT = "Numbers without Monte Carlo error."
COMPUTED = NotSimulated("The cost is computed from the law of the noise; no release enters it.")
DIRECTION = "The statement is one of direction."
GRAPHS_EXCHANGED = NegativeControl(
    "sparse and dense under each other's name", exchanged("graph", "dense", "sparse")
)
GRAPHS_THE_OTHER_WAY = PositiveControl(GRAPHS_EXCHANGED.description, GRAPHS_EXCHANGED.make)


def errors_exchanged(first: Levels, second: Levels) -> Make:
    """Negative control: the errors at two sets of levels, exchanged."""

    def make(results: xr.Dataset) -> xr.Dataset:
        error = results["error_l2"].copy(deep=True)
        error.loc[dict(first)] = results["error_l2"].sel(second)
        error.loc[dict(second)] = results["error_l2"].sel(first)
        return results.assign(error_l2=error)

    return make
