"""Means over replications, with Monte Carlo standard errors and what the missing values could change."""

import numpy as np
import xarray as xr
from scipy import stats

from pipeline.codes import FAILED, NOT_CONVERGED, OK

REPLICATION = "replication"


def moments(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Mean over finite replications, its Monte Carlo standard error, and their number.

    mean = Σ v / n and mcse = √(Σ (v − mean)² / (n(n−1))). `values` has the dimension `replication`. The
    standard error is infinite for n = 1 and NaN for n = 0; equal values give exactly their value and 0.
    Source: Morris, White, Crowther, Statistics in Medicine 38 (2019), Table 6.
    """
    values = values.where(np.isfinite(values))
    n = values.count(REPLICATION)
    origin = values.min(REPLICATION)  # subtracted first, so that equal values have no rounding error
    centred = values - origin
    mean = centred.sum(REPLICATION) / n.where(n > 0)
    squares = ((centred - mean) ** 2).sum(REPLICATION)
    mcse = np.sqrt(squares / (n * (n - 1)).where(n > 1)).where(n != 1, np.inf)
    return origin + mean, mcse, n


def t_interval(
    mean: xr.DataArray, mcse: xr.DataArray, n: xr.DataArray, confidence: float
) -> tuple[xr.DataArray, xr.DataArray]:
    """Ends of the interval mean ± t·mcse with n − 1 degrees of freedom."""
    half = xr.apply_ufunc(stats.t.ppf, 0.5 + confidence / 2, np.maximum(n - 1, 1)) * mcse
    return mean - half, mean + half


def summarise(results: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """Reduce every metric over the replications of a sealed dataset.

    `results` holds float metrics and the int8 `status` over (grid axes…, replication). For a metric v, over
    the grid axes and in its unit:

    - `v`, `v_mcse`: mean of the finite values, converged or not, and Monte Carlo standard error (`moments`);
    - `v_low`, `v_high`: t interval. Where all n values agree it would have width 0; within a metric's range
      (attributes `least`, `most`) it is then the exact one: another value has probability at most
      p = 1 − (1 − confidence)^(1/n), so the mean is within p of the way to either end ("rule of three");
    - `v_least`, `v_most`: the mean had every replication without a finite value, or not converged, been at
      that end of the metric's range; infinite if the range is; equal to `v` if there are none;
    - `v_n`: number of values in the mean.

    Over the grid: `n_run` = `n_ok` + `n_not_converged` + `n_failed` replications, and `n_not_finite`, those
    that did not fail but where some metric is not finite. Raises KeyError without `status`.
    """
    status = results["status"].compute()
    ran = status > 0
    finite = xr.ones_like(ran)
    summary = {}
    for name, values in results.data_vars.items():
        if values.dtype.kind != "f" or REPLICATION not in values.dims:
            continue
        values = values.compute().where(ran & (status != FAILED))
        finite &= np.isfinite(values)
        columns = _columns(values, ran, status == OK, confidence)
        label, unit = values.attrs.get("long_name", name), values.attrs.get("units", "1")
        for suffix, (column, meaning) in columns.items():
            attributes = {"units": "1" if suffix == "_n" else unit, "long_name": label + meaning}
            summary[f"{name}{suffix}"] = column.assign_attrs({} if suffix else values.attrs, **attributes)
    counts = {
        "n_run": (ran, "replications run"),
        "n_ok": (status == OK, "replications that converged"),
        "n_not_converged": (status == NOT_CONVERGED, "replications that did not converge"),
        "n_failed": (status == FAILED, "replications that failed"),
        "n_not_finite": (ran & (status != FAILED) & ~finite, "replications with a metric that is not finite"),
    }
    for name, (which, meaning) in counts.items():
        summary[name] = which.sum(REPLICATION).assign_attrs(units="1", long_name=meaning)
    return xr.Dataset(summary, attrs=dict(results.attrs, confidence=confidence))


def _columns(values, ran, ok, confidence):
    mean, mcse, n = moments(values)
    low, high = t_interval(mean, mcse, n, confidence)
    least, most = (_bound(values, name, default) for name, default in (("least", -np.inf), ("most", np.inf)))
    constant = (mcse == 0) & (n > 1)
    unseen = 1 - (1 - confidence) ** (1 / np.maximum(n, 1))
    if np.isfinite(least):
        low = low.where(~constant, mean - unseen * (mean - least))
    if np.isfinite(most):
        high = high.where(~constant, mean + unseen * (most - mean))
    trusted = values.where(ok & np.isfinite(values))
    known, total = trusted.count(REPLICATION), ran.sum(REPLICATION)
    unknown = total - known
    ends = [
        # where() twice: 0 · ∞ must not be formed, and without unknown values the mean itself is meant
        ((trusted.sum(REPLICATION) + unknown.where(unknown > 0) * end) / total.where(total > 0)).where(
            unknown > 0, mean)
        for end in (least, most)
    ]
    return {
        "": (mean, ""),
        "_mcse": (mcse, ", Monte Carlo standard error"),
        "_low": (low, ", lower end of the interval"),
        "_high": (high, ", upper end of the interval"),
        "_least": (ends[0], ", least mean had missing values been at an extreme"),
        "_most": (ends[1], ", greatest mean had missing values been at an extreme"),
        "_n": (n, ", number of values"),
    }


def _bound(values, name, default):
    bound = values.attrs.get(name)
    return default if bound is None else float(bound)


def paired_difference(
    results: xr.Dataset, metric: str, along: str, first, second, confidence: float = 0.95
) -> xr.Dataset:
    """Mean of `metric` at `along` = `first` minus at `second`, replication by replication.

    For axes whose levels share their data (`mechanism`, `estimator`) the difference of a replication is far
    less variable than the replications. Returns `mean`, `mcse`, `low`, `high` (t interval, the metric's
    unit) and `pairs` (replications where both are finite) over the remaining grid axes. Raises KeyError for
    an unknown metric, axis or level.
    """
    values = results[metric].where(~results["status"].isin([0, FAILED])).compute()
    first, second = (values.sel({along: level}).reset_coords(drop=True) for level in (first, second))
    mean, mcse, pairs = moments(first - second)
    low, high = t_interval(mean, mcse, pairs, confidence)
    units = {"units": values.attrs.get("units", "1")}
    columns = dict(mean=mean, mcse=mcse, low=low, high=high)
    return xr.Dataset({name: column.assign_attrs(units) for name, column in columns.items()}
                      | {"pairs": pairs})
