"""What a check may use of a sealed dataset, and cells of the grid as named estimates."""

import json
from collections.abc import Callable

import numpy as np
import xarray as xr

from pipeline.claims.claim import CONFIDENCE, TooLittle
from pipeline.codes import OK
from pipeline.reduce.estimate import Estimate
from pipeline.reduce.summary import REPLICATION

COMMON = "1:1"  # the profile of one budget for all
LEAST = 100  # replications in a cell: with fewer, t intervals of skewed errors cover too rarely


def enough(
    results: xr.Dataset,
    *variables: str,
    within: Callable[[xr.Dataset], xr.DataArray] | None = None,
    **axes: int | str,
) -> xr.Dataset:
    """`variables` and `status` in memory; cells where `within` is false count as not run (status 0).

    Each axis of the claim is taken at a level (text), or must have that many levels (number). Raises
    `TooLittle` where budgets are personal, where something is missing, where the grid has another axis, where a
    cell has fewer than LEAST replications, and where one failed, did not converge or is not finite: an error
    has no upper limit, so that one replication can change any mean.
    """
    constants = json.loads(results.attrs.get("study", "{}")).get("parameters", {})
    given = results["profile"].values if "profile" in results.coords else constants.get("profile", COMMON)
    profiles = np.atleast_1d(given).tolist()
    if any(profile != COMMON for profile in profiles):
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
    if counts[counts > 0].min() < LEAST:
        raise TooLittle(f"a cell has {counts[counts > 0].min()} replications, {LEAST} are needed")
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
            label = ", ".join(f"{axis}={labels[i]:g}" for (axis, labels), i in zip(axes, index, strict=True))
            found[label] = Estimate(*numbers)
    return found


def share(part: float, cells: xr.Dataset | None = None) -> float:
    """Confidence that spends this part of a claim's error, for all cells in use together (Bonferroni)."""
    used = 1 if cells is None else int((cells["status"] > 0).any(REPLICATION).sum())
    return 1 - (1 - CONFIDENCE) * part / used
