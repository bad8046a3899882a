"""Boundaries of clustering as evidence: the users at which half of all replications have every item right."""

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import xarray as xr

from pipeline.claims.claim import Check, TooLittle, equivalence, every
from pipeline.claims.evidence import enough, named, normal, share
from pipeline.reduce.estimate import Estimate
from pipeline.reduce.phase import INSIDE, boundary_exponent, crossing
from pipeline.reduce.summary import REPLICATION, summarise

HALF = 0.5
DRAWS = 200  # for a standard error
PLAIN = dict(max_sense="score_clustering", pairwise_preference="spectral_clustering", none="seen_clustering")


def held(results: xr.Dataset, **levels: float | str) -> xr.Dataset:
    """Results at one level of each axis; `TooLittle` without that level."""
    for axis, level in levels.items():
        if axis not in results.dims or level not in results[axis].values.tolist():
            raise TooLittle(f"needs {axis}={level}")
    return results.sel(levels, drop=True)


def boundary(
    results: xr.Dataset, along: str, at: str = "U", metric: str = "recovered",
    within: Callable[[xr.Dataset], xr.DataArray] | None = None, **axes: int | str,
) -> xr.Dataset:
    """Where the mean of `metric` crosses ½, in units of the coordinate `at`; axes as in `enough`.

    `TooLittle` where a curve that was run does not cross inside its cells.
    """
    data = enough(results, metric, within=within, **{along: 3}, **axes)
    cells = summarise(data)
    found = crossing(cells[metric], cells[f"{metric}_mcse"], along, HALF, data[at], DRAWS)
    ran = (data["status"] > 0).any([REPLICATION, along])
    if bool((ran & (found["side"] != INSIDE)).any()):
        raise TooLittle("some curve crosses ½ outside the grid: add levels")
    return found.drop_vars("crossed")


def edges(found: xr.Dataset, over: xr.DataArray | float = 1.0) -> dict[str, Estimate]:
    """Boundaries over `over` as estimates by label, log-normal intervals, simultaneous over all."""
    ratio = found["value"] / over
    error = found["standard_error"].where(np.isfinite(ratio))
    half = NormalDist().inv_cdf(0.5 + share(1 / max(int(np.isfinite(ratio).sum()), 1)) / 2) * error
    cells = xr.Dataset(dict(value=ratio, low=ratio * np.exp(-half), high=ratio * np.exp(half), error=ratio * error))
    return named(cells.reset_coords(drop=True), "value", "low", "high", "error")


def compared(first: xr.Dataset, second: xr.Dataset) -> dict[str, Estimate]:
    """First boundary over the second, cell by cell, taken as independent."""
    together = first.assign(standard_error=np.hypot(first["standard_error"], second["standard_error"]))
    return edges(together, second["value"])


def powers(
    found: xr.Dataset, targets: dict[str, float], tolerance: float, groups: tuple[str, ...] = (),
    **predictors: xr.DataArray,
) -> Check:
    """Whether the boundary is the product of these powers, each to the tolerance.

    Normal intervals: the errors of boundaries are known, and scatter about the law is added to them.
    """
    rate = boundary_exponent(found, groups, **predictors)
    if rate.n <= len(targets) + len(rate.constants):
        raise TooLittle(f"{rate.n} boundaries do not determine {len(targets)} exponents: add levels")
    return every(*(equivalence(normal(found.value, found.standard_error, share(1 / len(targets))), targets[name],
                               tolerance, f"exponent in {name}") for name, found in rate.exponents.items()))


def epsilon_hat(epsilon: xr.DataArray) -> xr.DataArray:
    """ε̂ = 2 tanh(ε/2)."""
    return 2 * np.tanh(epsilon / 2)


def users_times(factor: Callable[[xr.Dataset], xr.DataArray | float]) -> Callable[[xr.Dataset], xr.Dataset]:
    """Twin data: numbers of users, and what is made of them, times a factor."""
    names = ("U", "users_over_log", "over_predicted")
    return lambda r: r.assign_coords({name: r[name] * factor(r) for name in names if name in r.coords})


def hardly_any_users(results: xr.Dataset) -> xr.Dataset:
    """Twin data of a lower bound: a hundred-thousandth of the users."""
    return users_times(lambda r: 1e-5)(results)


def values(column: xr.DataArray) -> dict[str, Estimate]:
    """Cells of an exact variable as estimates by label: what all replications agree on, else their range."""
    low, high = column.min(REPLICATION), column.max(REPLICATION)  # a mean of equal values would be rounded
    cells = xr.Dataset(dict(value=(low + high) / 2, low=low, high=high, error=xr.zeros_like(low)))
    return named(cells.reset_coords(drop=True), "value", "low", "high", "error")
