"""Measured risk against predicted risk: whether the constant of a theorem is right, not only its
rate.
"""

from collections.abc import Sequence

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
    results: xr.Dataset, metric: str, yardstick: str, power: float = 2, confidence: float = 0.95
) -> xr.Dataset:
    """Mean of metric^power over the mean of its prediction, with the two paired in every
    replication.

    R = Σ v^power / Σ y over the n replications where both are finite. The delta method on the pairs
    gives mcse² = Σ (v^power − R y)² / (n(n−1) ȳ²): the covariance of v^power and y is in the
    residuals. `metric` and `yardstick` are variables of `results`; the yardstick has the metric's
    unit to that power (for the default 2: the predicted mean square). Returns, without unit and
    over the grid axes, `ratio`, `mcse`, `low`, `high` (t interval, corrected for skewness as in
    `skewed_mean`), `skewness` of v^power − R y, and `pairs` = n. Where v^power − R y is 0 in every
    replication but for rounding, the interval reaches as far as values of the metric's range that were not seen
    could move the ratio, as in `interval_within`. NaN where there are no pairs or the prediction is
    not positive. Raises KeyError for an unknown variable. Source: Cochran, Sampling Techniques, 3rd
    ed. (1977), §6.4.
    """
    used = ~results["status"].isin([0, FAILED])
    risk = results[metric].where(used) ** power
    predicted = results[yardstick].where(used)
    both = np.isfinite(risk) & np.isfinite(predicted)
    risk = risk.where(both)
    predicted = predicted.where(both)
    (scale, _, pairs), (mean, _, _) = map(mean_of, moments_over_replications(predicted, risk))
    scale = scale.where(scale > 0)
    ratio = mean / scale
    (residuals,) = moments_over_replications((risk - ratio * predicted) / scale)
    squares, cubes = (residuals.sel(statistic=name, drop=True) for name in ("m2", "m3"))
    squares = xr.apply_ufunc(without_rounding, squares, pairs, ratio)
    mcse = xr.apply_ufunc(standard_error, squares, pairs).where(np.isfinite(ratio))
    ends = xr.apply_ufunc(
        skewed_mean, ratio, squares, cubes, pairs, confidence, output_core_dims=[[], []]
    )
    if not (is_exact(results.attrs, metric) and is_exact(results.attrs, yardstick)):
        ends = _beyond_equal(results[metric], power, ratio, scale, squares, pairs, confidence, ends)
    low, high = (end.where(np.isfinite(ratio)) for end in ends)
    columns = dict(ratio=ratio, mcse=mcse, low=low, high=high, skewness=skewness_of(residuals))
    return xr.Dataset(
        {name: column.assign_attrs(units="1") for name, column in columns.items()}
        | {"pairs": pairs}
    )


def _beyond_equal(
    metric: xr.DataArray,
    power: float,
    ratio: xr.DataArray,
    scale: xr.DataArray,
    squares: xr.DataArray,
    pairs: xr.DataArray,
    confidence: float,
    ends: Sequence[xr.DataArray],
) -> list[xr.DataArray]:
    """Ends of the interval; where all residuals are 0, those that values which were not seen allow."""
    limits = [metric.attrs.get("least", -np.inf), metric.attrs.get("most", np.inf)]
    unseen = xr.apply_ufunc(rule_of_three, pairs.clip(1), (1 + confidence) / 2)
    widened = []
    for end, limit in zip(ends, limits, strict=True):
        farthest = np.sign(limit) * abs(limit) ** power / scale
        moved = ratio + unseen * (farthest - ratio)
        widened.append(end.where(squares > 0, moved))
    return widened
