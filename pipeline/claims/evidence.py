"""What a check may use of a sealed dataset, and cells of the grid as named estimates."""

import json
import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import xarray as xr

from pipeline.claims.claim import CONFIDENCE, CONTRADICTED, Check, TooLittle, at_most
from pipeline.codes import OK
from pipeline.reduce.estimate import Estimate
from pipeline.reduce.rates import fit_rate
from pipeline.reduce.summary import REPLICATION, summarise

COMMON = "1:1"  # the profile of one budget for all
HIGH = 1e6  # above every error: the cell farthest from it is the least
LEAST = 100  # replications in a cell: with fewer, t intervals of skewed errors cover too rarely


def enough(
    results: xr.Dataset,
    *variables: str,
    within: Callable[[xr.Dataset], xr.DataArray] | None = None,
    least: int = LEAST,
    personal: bool = False,
    **axes: int | str,
) -> xr.Dataset:
    """`variables` and `status` in memory; cells where `within` is false count as not run (status 0).

    Each axis of the claim is taken at a level (text), or must have that many levels (number). Raises `TooLittle`
    where budgets are personal (unless `personal`), where something is missing, where the grid has another axis,
    where a cell has fewer than `least` replications, and where one failed, did not converge or is not finite: an
    error has no upper limit, so that one replication can change any mean.
    """
    constants = json.loads(results.attrs.get("study", "{}")).get("parameters", {})
    given = results["profile"].values if "profile" in results.coords else constants.get("profile", COMMON)
    profiles = np.atleast_1d(given).tolist()
    if not personal and any(profile != COMMON for profile in profiles):
        raise TooLittle(f"is stated for one budget of all users, not for profile={', '.join(profiles)}")
    for axis, wanted in axes.items():
        levels = results[axis].values.tolist() if axis in results.dims else []
        if isinstance(wanted, str) and wanted not in levels:
            raise TooLittle(f"needs {axis}={wanted}")
        if not isinstance(wanted, str) and len(levels) < wanted:
            raise TooLittle(f"needs {wanted} levels of {axis}, has {len(levels)}")
    missing = sorted({*variables, "status"} - set(results.variables))
    if missing:
        raise TooLittle(f"needs {', '.join(missing)}")
    chosen = {axis: level for axis, level in axes.items() if isinstance(level, str)}
    results = results[[*variables, "status"]].sel(chosen, drop=True)
    others = {dim: size for dim, size in results.sizes.items() if dim not in (*axes, REPLICATION)}
    if max(others.values(), default=1) > 1:
        raise TooLittle(f"needs one level of {', '.join(others)}")
    results = results.squeeze(list(others), drop=True).compute()
    if within is not None:
        results["status"] = results["status"].where(within(results), 0)
    ran = results["status"] > 0
    counts = ran.sum(REPLICATION).values
    if not counts.any():
        raise TooLittle("no cell meets the conditions")
    if counts[counts > 0].min() < least:
        raise TooLittle(f"a cell has {counts[counts > 0].min()} replications, {least} are needed")
    lost = ran & (results["status"] != OK)
    for name in variables:
        lost |= ran & ~np.isfinite(results[name])
    if lost.any():
        raise TooLittle(f"{int(lost.sum())} replications failed, did not converge or are not finite; "
                        "they could change the verdict")
    return results


def named(cells: xr.Dataset, value: str, low: str, high: str, error: str) -> dict[str, Estimate]:
    """Cells as estimates by label, from the names of four variables; cells without a value are left out."""
    columns = xr.broadcast(*(cells[name] for name in (value, low, high, error)))
    axes = [(axis, columns[0][axis].values) for axis in columns[0].dims]
    found = {}
    for index in np.ndindex(columns[0].shape):
        numbers = [float(column.values[index]) for column in columns]
        if np.isfinite(numbers[0]):
            label = ", ".join(f"{axis}={labels[i]:g}" if labels.dtype.kind in "iuf" else f"{axis}={labels[i]}"
                              for (axis, labels), i in zip(axes, index, strict=True))
            found[label] = Estimate(*numbers)
    return found


def ratios(cells: xr.Dataset) -> dict[str, Estimate]:
    """Cells of `risk_ratio`, or of the same columns, as estimates by label."""
    return named(cells, "ratio", "low", "high", "mcse")


def normal(value: float, error: float, confidence: float) -> Estimate:
    """Estimate with its normal interval."""
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    return Estimate(value, value - half, value + half, error)


def average(mean: xr.DataArray, mcse: xr.DataArray, confidence: float) -> Estimate:
    """Mean of independent cells with its normal interval; cells without a value are left out."""
    used = np.isfinite(mean) & np.isfinite(mcse)
    count = int(used.sum())
    if not count:
        raise TooLittle("no cell has a value")
    total, error = float(mean.where(used).sum()), float(np.sqrt((mcse.where(used) ** 2).sum()))
    return normal(total / count, error / count, confidence)


def no_exception(broken: int, n: int, most: float, text: str) -> Check:
    """Whether a law of every replication was kept by all n of them, and n is enough to exclude a share `most`.

    Interval of the share: exact for none, else Wilson's (JASA 22 (1927) 209).
    """
    if broken:
        z2 = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) ** 2
        middle, half = broken + z2 / 2, math.sqrt(z2 * (broken * (n - broken) / n + z2 / 4))
        low, high = (middle - half) / (n + z2), min((middle + half) / (n + z2), 1.0)
    else:
        low, high = 0.0, 1 - (1 - CONFIDENCE) ** (1 / n)
    found = Estimate(broken / n, low, high, math.sqrt(broken * (n - broken) / n**3))
    return Check(CONTRADICTED, found, f"{text} {found}, claimed none") if broken else at_most(found, most, text)


def exponent(
    data: xr.Dataset, metric: str, groups: tuple[str, ...], confidence: float = CONFIDENCE, **predictors: xr.DataArray
) -> Estimate:
    """Exponent of the mean of `metric` in the first of the predictors."""
    summary = summarise(data[[metric, "status"]])
    mean, mcse = summary[metric], summary[f"{metric}_mcse"]
    rate = fit_rate(mean, mcse, groups=groups, confidence=confidence, **predictors)
    return next(iter(rate.exponents.values()))


def renamed(axis: str, first: str, second: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Twin data: two levels of an axis under each other's name."""
    names = {first: second, second: first}
    return lambda r: r.assign_coords({axis: [names.get(str(level), str(level)) for level in r[axis].values]})


def share(part: float, cells: xr.Dataset | None = None) -> float:
    """Confidence that spends this part of a claim's error, for all cells in use together (Bonferroni)."""
    used = 1 if cells is None else int((cells["status"] > 0).any(REPLICATION).sum())
    return 1 - (1 - CONFIDENCE) * part / used
