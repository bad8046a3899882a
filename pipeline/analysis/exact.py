"""Laws that hold exactly, tested as exact: a mean equals its prediction in every cell."""

import math
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
import xarray as xr

from pipeline.analysis.estimate import floored
from pipeline.analysis.measures import Cells, confidence_for, labelled, of_look
from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.summary import REPLICATION, t_interval
from pipeline.analysis.tolerances import Contains, Tolerance, Within, written
from pipeline.study.arrays import Floats

FALSE_ALARM = 1e-6  # over all cells: a true law is practically never contradicted
TOGETHER = "all cells together"
EACH_CELL = f"each cell, simultaneously at confidence 1 − {written(FALSE_ALARM)}"


def exact_law(margin: float, each: float = 0.0) -> dict[str, Tolerance]:
    """Tolerances of `law_ratios`, for all cells together and for each.

    1 ± margin for the cells together, and 1 in the interval of each. With few
    replications every cell agrees with any law: only all cells together can support
    one. each: how far a cell may be off, where the law is exact in a limit only.
    """
    return {TOGETHER: Within(1, margin), EACH_CELL: Contains(1, each)}


def law_ratios(
    data: xr.Dataset,
    metric: str,
    predicted: str,
    power: float,
    *by: str,
    error_share: float = 1.0,
) -> Mapping[str, Cells]:
    """Mean of metric^power over the mean of `predicted`.

    The two are paired in every replication. Two parts: of all cells together, with
    weights 1/mcse², for every level of the axes `by` at the confidence of a claim; and
    of each cell, simultaneously at confidence 1 − `FALSE_ALARM`, widened for skewed
    replications. error_share: of the claim's error, for the first of them.
    """
    used = int((data["status"] > 0).any(REPLICATION).sum())
    alpha = FALSE_ALARM * of_look() / used
    cells = _widened(risk_ratio(data, metric, predicted, power, 1 - alpha), 1 - alpha)
    others = [str(axis) for axis in cells["ratio"].dims if axis not in by]
    pooled = _pooled(cells, others, confidence_for(error_share=error_share))
    return {TOGETHER: _estimates(pooled), EACH_CELL: _estimates(cells)}


def _widened(cells: xr.Dataset, confidence: float) -> xr.Dataset:
    """t intervals, z'/z times as wide, for skewed replications.

    Beyond z' a skewed mean over its standard error has the normal tail beyond z. That
    tail is e^{|γ|z'³/(3√n)} times the normal one, γ the skewness of
    v^power − R·predicted: so z'²(1 − 2az') = z², a = |γ|/(3√n). Infinite where that has no
    solution: there are too few replications for such a tail. Source: Shao, Journal of
    Theoretical Probability 12 (1999) 385, Theorem 1.1, expanded as Cramér's.
    """
    ratio = cells["ratio"]
    a = abs(cells["skewness"]) / (3 * xr.ufuncs.sqrt(cells["pairs"]))
    a = a.transpose(*ratio.dims)
    quantile = NormalDist().inv_cdf(0.5 + confidence / 2)
    factor = a.copy(data=_solved(a.values, quantile) / quantile)
    high = t_interval(cells["ratio"], cells["mcse"], cells["pairs"], confidence)[1]
    half = (high - ratio) * factor
    # elsewhere `risk_ratio` says what values that were not seen could be
    spread = cells["mcse"] > 0
    low = (ratio - half).where(spread, cells["low"])
    high = (ratio + half).where(spread, cells["high"])
    return cells.assign(low=low, high=high)


def _solved(slope: Floats, quantile: float) -> Floats:
    """z' with z'²(1 − 2az') = z², a the slope and z the quantile; ∞ where there is none."""
    wider = np.full(slope.shape, quantile)
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(200):  # rises to the solution, or beyond the largest possible one
            next_wider = quantile / np.sqrt(1 - 2 * slope * wider)
            wider = np.where(slope * wider < 1 / 3, next_wider, np.inf)
    return wider


def _estimates(cells: xr.Dataset) -> Cells:
    return labelled(cells, "ratio", "low", "high", "mcse")


def _pooled(cells: xr.Dataset, over: list[str], confidence: float) -> xr.Dataset:
    """Ratio of all cells along some dimensions together, with weights 1/mcse².

    Those left are simultaneous. A cell without an error has the smallest one of the
    others; where none has one, nothing is known of it, and the interval is infinite.
    """
    ratio = cells["ratio"]
    errors = cells["mcse"].copy(data=floored(cells["mcse"].values))
    if not (errors > 0).any():
        middle = ratio.mean(over)
        far = xr.full_like(middle, math.inf)
        nothing = xr.zeros_like(middle)
        return xr.Dataset(dict(ratio=middle, low=-far, high=far, mcse=nothing))
    total = (1 / errors**2).sum(over)
    middle = (ratio / errors**2).sum(over) / total
    error = total**-0.5
    half = NormalDist().inv_cdf(1 - (1 - confidence) / total.size / 2) * error
    return xr.Dataset(dict(ratio=middle, low=middle - half, high=middle + half, mcse=error))
