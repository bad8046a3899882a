"""Laws that hold exactly, tested as exact: a mean equals its prediction in every cell."""

from collections.abc import Mapping
from statistics import NormalDist

import xarray as xr

from pipeline.analysis.measures import Cells, confidence_for, labelled
from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.summary import REPLICATION
from pipeline.analysis.tolerances import Contains, Tolerance, Within, written

FALSE_ALARM = 1e-6  # over all cells: a law that is true shall not be denied once in a hundred seeds
TOGETHER = "all cells together"
EACH_CELL = f"each cell, simultaneously at confidence 1 − {written(FALSE_ALARM)}"


def exact_law(margin: float) -> dict[str, Tolerance]:
    """Tolerances of `law_ratios`: cells together 1 ± margin, and 1 in the interval of each cell.

    A few replications agree with any law in every cell: only the cells together can support one.
    """
    return {TOGETHER: Within(1, margin), EACH_CELL: Contains(1)}


def law_ratios(data: xr.Dataset, metric: str, predicted: str, power: float, *by: str) -> Mapping[str, Cells]:
    """Mean of metric^power over the mean of `predicted`, the two paired in every replication.

    Two parts: of all cells together, with weights 1/mcse², for every level of the axes `by` at the confidence of a
    claim; and of each cell, simultaneously at confidence 1 − `FALSE_ALARM`.
    """
    used = int((data["status"] > 0).any(REPLICATION).sum())
    cells = risk_ratio(data, metric, predicted, power, 1 - FALSE_ALARM / used)
    pooled = _pooled(cells, [str(axis) for axis in cells["ratio"].dims if axis not in by])
    return {TOGETHER: _estimates(pooled), EACH_CELL: _estimates(cells)}


def _estimates(cells: xr.Dataset) -> Cells:
    return labelled(cells, "ratio", "low", "high", "mcse")


def _pooled(cells: xr.Dataset, over: list[str]) -> xr.Dataset:
    """Ratio of all cells along some dimensions together, with weights 1/mcse²."""
    total = (1 / cells["mcse"] ** 2).sum(over)
    ratio, error = (cells["ratio"] / cells["mcse"] ** 2).sum(over) / total, total**-0.5
    half = NormalDist().inv_cdf(1 - (1 - confidence_for()) / total.size / 2) * error
    return xr.Dataset(dict(ratio=ratio, low=ratio - half, high=ratio + half, mcse=error))
