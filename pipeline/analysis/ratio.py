"""Measured risk against predicted risk.

So the constant of a theorem is tested, not only its rate.
"""

import numpy as np
import xarray as xr

from pipeline.analysis.intervals import rule_of_three, skewed_mean, without_rounding
from pipeline.analysis.metric_classes import is_exact
from pipeline.analysis.summary import (
    mean_of,
    moments_over_replications,
    skewness_of,
    standard_error,
)
from pipeline.study.status import FAILED


def risk_ratio(
    results: xr.Dataset,
    metric: str,
    yardstick: str,
    power: float = 2,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Mean of metric^power over the mean of its prediction.

    The two are paired in every replication.

    R = Σ v^power / Σ y over the n replications where both are finite. The delta method
    on the pairs gives mcse² = Σ (v^power − R y)² / (n(n−1) ȳ²): the covariance of
    v^power and y is in the residuals. `metric` and `yardstick` are variables of
    `results`; the yardstick has the metric's unit to that power (for the default 2: the
    predicted mean square). Returns, without unit and over the grid axes, `ratio`,
    `mcse`, `low`, `high` (t interval, corrected for skewness as in `skewed_mean`),
    `skewness` of v^power − R y, and `pairs` = n. Where v^power − R y is 0 in every
    replication but for rounding, the interval reaches as far as values of the metric's
    range that were not seen could move the ratio, as in `interval_within`. NaN where
    there are no pairs or the prediction is not positive. Raises KeyError for an unknown
    variable. Source: Cochran, Sampling Techniques, 3rd ed. (1977), §6.4.
    """
    risk, predicted = _paired(results, metric, yardstick, power)
    of_predicted, of_risk = moments_over_replications(predicted, risk)
    scale, _, pairs = mean_of(of_predicted)
    scale = scale.where(scale > 0)
    ratio = mean_of(of_risk)[0] / scale
    determined = np.isfinite(ratio)
    (residuals,) = moments_over_replications((risk - ratio * predicted) / scale)
    squares = residuals.sel(statistic="m2", drop=True)
    cubes = residuals.sel(statistic="m3", drop=True)
    squares = xr.apply_ufunc(without_rounding, squares, pairs, ratio)
    mcse = xr.apply_ufunc(standard_error, squares, pairs).where(determined)
    ends = xr.apply_ufunc(
        skewed_mean, ratio, squares, cubes, pairs, confidence, output_core_dims=[[], []]
    )
    if not (is_exact(results.attrs, metric) and is_exact(results.attrs, yardstick)):
        moved = _moved_by_unseen(results[metric], power, ratio, scale, pairs, confidence)
        ends = [end.where(squares > 0, far) for end, far in zip(ends, moved, strict=True)]
    low, high = (end.where(determined) for end in ends)
    skewness = skewness_of(residuals)
    columns = dict(ratio=ratio, mcse=mcse, low=low, high=high, skewness=skewness)
    with_units = {name: column.assign_attrs(units="1") for name, column in columns.items()}
    return xr.Dataset({**with_units, "pairs": pairs})


def _paired(
    results: xr.Dataset, metric: str, yardstick: str, power: float
) -> tuple[xr.DataArray, xr.DataArray]:
    """metric^power and its prediction in the replications where both are finite.

    NaN in all others.
    """
    used = ~results["status"].isin([0, FAILED])
    risk = results[metric].where(used) ** power
    predicted = results[yardstick].where(used)
    both = np.isfinite(risk) & np.isfinite(predicted)
    return risk.where(both), predicted.where(both)


def _moved_by_unseen(
    metric: xr.DataArray,
    power: float,
    ratio: xr.DataArray,
    scale: xr.DataArray,
    pairs: xr.DataArray,
    confidence: float,
) -> list[xr.DataArray]:
    """The ratio, moved down and up by values that were not seen.

    These are as far as the metric's range allows. scale: mean of the prediction.
    """
    limits = [metric.attrs.get("least", -np.inf), metric.attrs.get("most", np.inf)]
    unseen = xr.apply_ufunc(rule_of_three, pairs.clip(1), (1 + confidence) / 2)
    moved = []
    for limit in limits:
        farthest = np.sign(limit) * abs(limit) ** power / scale
        moved.append(ratio + unseen * (farthest - ratio))
    return moved
