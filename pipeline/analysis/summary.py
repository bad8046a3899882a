"""Means over replications, with Monte Carlo standard errors and what the missing values could
change.
"""

import functools
import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import xarray as xr
from scipy import special

from pipeline.analysis.intervals import interval_within
from pipeline.analysis.metric_classes import is_exact
from pipeline.analysis.moments import COUNTS, STATISTICS, Moments, block_moments, merged
from pipeline.study.arrays import Array, Floats
from pipeline.study.grid import Level
from pipeline.study.status import FAILED

REPLICATION = "replication"


def mean_over_replications(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Mean over finite replications, its Monte Carlo standard error, and their number.

    mean = Σ v / n and mcse = √(Σ (v − mean)² / (n(n−1))). `values` has the dimension `replication`.
    The standard error is infinite for n = 1 and NaN for n = 0; equal values give exactly their
    value and 0. Source: Morris, White, Crowther, Statistics in Medicine 38 (2019), Table 6.
    """
    return mean_of(*moments_over_replications(values))


def mean_of(moments: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Mean, its standard error and the number of values, from (…, statistic)
    `moments_over_replications`.
    """
    mean, squares, n = (moments.sel(statistic=name, drop=True) for name in ("mean", "m2", "n"))
    n = n.astype(int)
    return mean, mean.copy(data=standard_error(squares.values, n.values)), n


def standard_error(squares: Array, n: Array) -> Floats:
    """Of a mean, √(squares / (n(n−1))), squares = Σ (v − mean)²; infinite for n = 1, NaN for n = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, np.sqrt(squares / (n * (n - 1))), np.where(n == 1, np.inf, np.nan))


def skewness_of(moments: xr.DataArray) -> xr.DataArray:
    """γ = √n Σ (v − mean)³ / (Σ (v − mean)²)^(3/2); 0 where all values are equal."""
    n, squares, cubes = (moments.sel(statistic=name, drop=True) for name in ("n", "m2", "m3"))
    return (n**0.5 * cubes / squares.where(squares > 0) ** 1.5).fillna(0)


def moments_over_replications(*values: xr.DataArray) -> list[xr.DataArray]:
    """(cells…, statistic) moments of the finite replications of each.

    What they have in common is read once.
    """
    return _moments(values, xr.ones_like(values[0], np.int8))[0]


def _moments(
    values: Sequence[xr.DataArray], status: xr.DataArray
) -> tuple[list[xr.DataArray], xr.DataArray]:
    """(cells…, statistic) of each, and (cells…, count) of the status.

    Where data are read on demand, one chunk of each is in memory at a time, and those of one group
    of cells are merged in their order.
    """
    if not all(
        _alike(one, status) for one in values
    ):  # mostly they are, and broadcasting takes longer than the sums
        *values, status = xr.broadcast(*values, status)
    transposed = (one.transpose(..., REPLICATION) for one in (*values, status))
    arrays = cast("tuple[xr.DataArray, ...]", xr.unify_chunks(*transposed))
    first = arrays[0]
    axes, chunks = first.dims[:-1], next((one.chunksizes for one in arrays if one.chunks), {})
    slices = {axis: [*_slices(chunks.get(axis, (first.sizes[axis],)))] for axis in first.dims}
    statistics = np.empty((len(values), *first.shape[:-1], len(STATISTICS)))
    counts = np.empty((*first.shape[:-1], len(COUNTS)), np.int64)
    for group in itertools.product(*map(slices.__getitem__, axes)):
        parts = (_block([one[*group, span] for one in arrays]) for span in slices[REPLICATION])
        total = functools.reduce(merged, parts)
        statistics[:, *group], counts[group] = total.values, total.counts
    coordinates = {name: one for name, one in first.coords.items() if REPLICATION not in one.dims}

    def labelled(array: Array, name: str, labels: Sequence[str]) -> xr.DataArray:
        return xr.DataArray(array, {**coordinates, name: [*labels]}, (*axes, name))

    return (
        [labelled(one, "statistic", STATISTICS) for one in statistics],
        labelled(counts, "count", COUNTS),
    )


def _alike(one: xr.DataArray, other: xr.DataArray) -> bool:
    """Whether two arrays have the same axes with the same levels, in the same order."""
    return (
        one.dims == other.dims
        and one.shape == other.shape
        and all(index.equals(other.indexes.get(name)) for name, index in one.indexes.items())
    )


def _block(arrays: Sequence[xr.DataArray]) -> Moments:
    """Moments of some values, and of the status, which comes last.

    Chunks that several are made of are read once.
    """
    read = xr.Dataset({number: one.variable for number, one in enumerate(arrays)}).compute()
    *values, status = (read[number].values for number in range(len(arrays)))
    return block_moments(np.stack(values), status)


def _slices(sizes: Sequence[int]) -> Iterator[slice]:
    ends = np.cumsum(sizes)
    return (slice(int(end) - size, int(end)) for size, end in zip(sizes, ends, strict=True))


def t_interval(
    mean: xr.DataArray, mcse: xr.DataArray, n: xr.DataArray, confidence: float
) -> tuple[xr.DataArray, xr.DataArray]:
    """Ends of the interval mean ± t·mcse with n − 1 degrees of freedom."""
    half = xr.apply_ufunc(_quantile, n, confidence) * mcse
    return mean - half, mean + half


def _quantile(n: Array, confidence: float) -> Floats:
    """Of Student's t with n − 1 degrees of freedom, but at least 1.

    O(different n): the quantile is dear.
    """
    sizes, where = np.unique(n, return_inverse=True)
    quantiles: Floats = special.stdtrit(np.maximum(sizes - 1, 1), 0.5 + confidence / 2)
    return quantiles[where].reshape(np.shape(n))


def summarise(results: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """Reduce every metric over the replications of a sealed dataset.

    `results` holds float metrics and the int8 `status` over (grid axes…, replication). For a metric
    v, over the grid axes and in its unit:

    - `v`, `v_mcse`: mean of the finite values, converged or not, and Monte Carlo standard error
      (`mean_over_replications`);
    - `v_low`, `v_high`: interval of the mean for the metric's range (attributes `least`, `most`),
      see `interval_within`. Where all values are equal it reaches as far as values that were not
      seen could move the mean, to infinity where the range has no such end; only metrics that are
      exact numbers have width 0;
    - `v_least`, `v_most`: the mean had every replication without a finite value, or not converged,
      been at that end of the metric's range; infinite if the range is; equal to `v` if there are
      none;
    - `v_n`: number of values in the mean.

    Over the grid: `n_run` = `n_ok` + `n_not_converged` + `n_failed` replications, and
    `n_not_finite`, those that did not fail but where some metric is not finite. Raises KeyError
    without `status`.
    """
    return summarise_moments(moments_of(results), confidence)


def moments_of(results: xr.Dataset) -> xr.Dataset:
    """Moments of every metric, and counts of the status, as `summary.zarr` holds them."""
    columns = {
        name: values
        for name, values in results.data_vars.items()
        if values.dtype.kind == "f" and REPLICATION in values.dims
    }
    moments, counts = _moments([*columns.values()], results["status"])
    described = {
        name: one.assign_attrs(values.attrs)
        for (name, values), one in zip(columns.items(), moments, strict=True)
    }
    return xr.Dataset({**described, "status": counts}, attrs=results.attrs)


def summarise_moments(summary: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """What `summarise` gives, from moments: those of `summary.zarr`, or of `moments_of`."""
    counts = summary["status"].transpose(..., "count")
    axes = counts.dims[:-1]
    columns: dict[str, tuple[Sequence[Hashable], Array, dict[str, object]]] = {}
    for name, values in summary.data_vars.items():
        if "statistic" not in values.dims:  # the status, or moments of pairs
            continue
        label, unit = values.attrs.get("long_name", name), values.attrs.get("units", "1")
        exact = is_exact(summary.attrs, str(name))
        for suffix, (column, meaning) in _columns(values, counts, confidence, exact).items():
            attributes = {"units": "1" if suffix == "_n" else unit, "long_name": label + meaning}
            columns[f"{name}{suffix}"] = axes, column, ({} if suffix else values.attrs) | attributes
    meanings = {
        "run": "replications run",
        "ok": "replications that converged",
        "not_converged": "replications that did not converge",
        "failed": "replications that failed",
        "not_finite": "replications with a metric that is not finite",
    }
    for name, meaning in meanings.items():
        columns[f"n_{name}"] = (
            axes,
            counts.sel(count=name).values,
            {"units": "1", "long_name": meaning},
        )
    return xr.Dataset(
        columns, counts.isel(count=0, drop=True).coords, dict(summary.attrs, confidence=confidence)
    )


def _columns(
    values: xr.DataArray, counts: xr.DataArray, confidence: float, exact: bool
) -> dict[str, tuple[Array, str]]:
    """Suffix -> column and its meaning. values: (…, statistic) moments of one metric.

    counts: (…, count).
    """
    of = _by_statistic(values.transpose(*counts.dims[:-1], "statistic"))
    mean, n, total = of["mean"], of["n"].astype(int), counts.sel(count="run").values
    mcse, unknown = standard_error(of["m2"], n), total - of["trusted_n"]
    known = np.where(of["trusted_n"] > 0, of["trusted_n"] * of["trusted_mean"], 0.0)
    least, most = (
        _bound(values, name, default) for name, default in (("least", -np.inf), ("most", np.inf))
    )
    low, high = _ends(of, confidence, least, most, exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [
            np.where(unknown > 0, (known + unknown * end) / total, mean) for end in (least, most)
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


def _by_statistic(moments: xr.DataArray) -> dict[str, Array]:
    """Name -> one array, of (…, statistic) moments."""
    return dict(
        zip(moments["statistic"].values.tolist(), np.moveaxis(moments.values, -1, 0), strict=True)
    )


def _ends(
    moments: Mapping[str, Array], confidence: float, least: float, most: float, exact: bool
) -> tuple[Array, Array]:
    """`interval_within`; of a metric that is an exact number, where all values are equal, their
    value.
    """
    low, high = interval_within(moments, confidence, least, most)
    if exact:
        equal = (moments["n"] > 1) & (moments["m2"] == 0)
        low, high = (np.where(equal, moments["mean"], end) for end in (low, high))
    return np.where(moments["n"] > 0, low, np.nan), np.where(moments["n"] > 0, high, np.nan)


def _bound(values: xr.DataArray, name: str, default: float) -> float:
    bound = values.attrs.get(name)
    return default if bound is None else float(bound)


def paired_difference(
    results: xr.Dataset,
    metric: str,
    along: str,
    first: Level,
    second: Level,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Mean of `metric` at `along` = `first` minus at `second`, replication by replication.

    For axes whose levels share their data (`mechanism`, `estimator`) the difference of a
    replication is far less variable than the replications. Returns `mean`, `mcse`, `low`, `high`
    (see `interval_within`, the metric's unit) and `pairs` (replications where both are finite) over
    the remaining grid axes. Raises KeyError for an unknown metric, axis or level.
    """
    values = results[metric].where(~results["status"].isin([0, FAILED]))
    one, other = (values.sel({along: level}).reset_coords(drop=True) for level in (first, second))
    (moments,) = moments_over_replications(one - other)
    mean, mcse, pairs = mean_of(moments)
    most = _bound(values, "most", np.inf) - _bound(
        values, "least", -np.inf
    )  # that a difference can be
    exact = is_exact(results.attrs, metric)
    low, high = (
        mean.copy(data=end) for end in _ends(_by_statistic(moments), confidence, -most, most, exact)
    )
    units = {"units": values.attrs.get("units", "1")}
    columns = dict(mean=mean, mcse=mcse, low=low, high=high)
    return xr.Dataset(
        {name: column.assign_attrs(units) for name, column in columns.items()} | {"pairs": pairs}
    )
