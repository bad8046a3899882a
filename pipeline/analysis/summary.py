"""Means over replications, their Monte Carlo errors, and what missing values could change."""

import functools
import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import xarray as xr
from scipy import special

from pipeline.analysis import order_sums
from pipeline.analysis.intervals import interval_within, without_rounding
from pipeline.analysis.metric_classes import is_exact
from pipeline.analysis.moments import COUNTS, STATISTICS, Moments, block_moments, merged
from pipeline.study.arrays import Array, Floats
from pipeline.study.grid import Level
from pipeline.study.statistics import ESTIMATE
from pipeline.study.status import FAILED

REPLICATION = "replication"
# Of the counts of the status in a summary.
MEANINGS = {
    "run": "replications run",
    "ok": "replications that converged",
    "not_converged": "replications that did not converge",
    "failed": "replications that failed",
    "not_finite": "replications with a metric that is not finite",
}


def mean_over_replications(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Mean over finite replications, its Monte Carlo standard error, and their number.

    mean = Σ v / n and mcse = √(Σ (v − mean)² / (n(n−1))). `values` has the dimension
    `replication`. The standard error is infinite for n = 1 and NaN for n = 0; values
    that are equal but for rounding give 0. Source: Morris, White, Crowther, Statistics
    in Medicine 38 (2019), Table 6.
    """
    return mean_of(*moments_over_replications(values))


def mean_of(moments: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Mean, its standard error and the number of values.

    moments: (…, statistic), as `moments_over_replications` gives them.
    """
    mean = moments.sel(statistic="mean", drop=True)
    n = moments.sel(statistic="n", drop=True).astype(int)
    squares = moments.sel(statistic="m2", drop=True).values
    spread = without_rounding(squares, n.values, mean.values)
    return mean, mean.copy(data=standard_error(spread, n.values)), n


def standard_error(squares: Array, n: Array) -> Floats:
    """Of a mean, √(squares / (n(n−1))), squares = Σ (v − mean)².

    Infinite for n = 1, NaN for n = 0.
    """
    unknown = np.where(n == 1, np.inf, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, np.sqrt(squares / (n * (n - 1))), unknown)


def skewness_of(moments: xr.DataArray) -> xr.DataArray:
    """γ = √n Σ (v − mean)³ / (Σ (v − mean)²)^(3/2); 0 where all values are equal."""
    n = moments.sel(statistic="n", drop=True)
    squares = moments.sel(statistic="m2", drop=True)
    cubes = moments.sel(statistic="m3", drop=True)
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

    Where data are read on demand, one chunk of each is in memory at a time, and those
    of one group of cells are merged in their order.
    """
    # Mostly they have the same axes, and broadcasting takes longer than the sums.
    if not all(_same_axes(array, status) for array in values):
        *values, status = xr.broadcast(*values, status)
    transposed = [array.transpose(..., REPLICATION) for array in (*values, status)]
    arrays = cast("tuple[xr.DataArray, ...]", xr.unify_chunks(*transposed))
    first = arrays[0]
    axes = first.dims[:-1]
    shape = first.shape[:-1]
    slices = _chunks(arrays)
    statistics = np.empty((len(values), *shape, len(STATISTICS)))
    counts = np.empty((*shape, len(COUNTS)), np.int64)
    for group in itertools.product(*(slices[axis] for axis in axes)):
        chunks = _along_replications(arrays, group, slices[REPLICATION])
        blocks = map(_block, chunks)
        total = functools.reduce(merged, blocks)
        statistics[:, *group] = total.values
        counts[group] = total.counts
    labelled = [_labelled(array, first, "statistic", STATISTICS) for array in statistics]
    return labelled, _labelled(counts, first, "count", COUNTS)


def _along_replications(
    arrays: Sequence[xr.DataArray], group: tuple[slice, ...], spans: Sequence[slice]
) -> Iterator[list[xr.DataArray]]:
    """Chunks of arrays in a group of cells, one span of replications after the other."""
    for span in spans:
        yield [array[*group, span] for array in arrays]


def _labelled(
    array: Array,
    cells: xr.DataArray,
    name: str,
    labels: Sequence[str],
) -> xr.DataArray:
    """An array (cells…, name) with the coordinates of cells, and labels of its last axis."""
    coordinates = {
        key: values for key, values in cells.coords.items() if REPLICATION not in values.dims
    }
    dims = (*cells.dims[:-1], name)
    return xr.DataArray(array, {**coordinates, name: [*labels]}, dims)


def _same_axes(array: xr.DataArray, other: xr.DataArray) -> bool:
    """Whether two arrays have the same axes with the same levels, in the same order."""
    if array.dims != other.dims or array.shape != other.shape:
        return False
    indexes = array.indexes.items()
    return all(index.equals(other.indexes.get(name)) for name, index in indexes)


def _chunks(arrays: Sequence[xr.DataArray]) -> dict[Hashable, list[slice]]:
    """Axis -> its chunks, which all arrays have in common; one where data are in memory."""
    first = arrays[0]
    sizes: Mapping[Hashable, tuple[int, ...]] = {}
    for array in arrays:
        if array.chunks:
            sizes = array.chunksizes
            break
    chunks = {}
    for axis, size in first.sizes.items():
        chunks[axis] = _slices(sizes.get(axis, (size,)))
    return chunks


def _block(arrays: Sequence[xr.DataArray]) -> Moments:
    """Moments of some values, and of the status, which comes last.

    Chunks that several are made of are read once.
    """
    together = xr.Dataset({number: array.variable for number, array in enumerate(arrays)})
    read = together.compute()
    *values, status = (read[number].values for number in range(len(arrays)))
    return block_moments(np.stack(values), status)


def _slices(sizes: Sequence[int]) -> list[slice]:
    """Slices of these sizes, one after the other."""
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def t_interval(
    mean: xr.DataArray, mcse: xr.DataArray, n: xr.DataArray, confidence: float
) -> tuple[xr.DataArray, xr.DataArray]:
    """Ends of the interval mean ± t·mcse with n − 1 degrees of freedom."""
    half = xr.apply_ufunc(_quantile, n, confidence) * mcse
    return mean - half, mean + half


def _quantile(n: Array, confidence: float) -> Floats:
    """Of Student's t with n − 1 degrees of freedom, but at least 1.

    O(different n): the quantile is expensive.
    """
    sizes, where = np.unique(n, return_inverse=True)
    quantiles: Floats = special.stdtrit(np.maximum(sizes - 1, 1), 0.5 + confidence / 2)
    return quantiles[where].reshape(np.shape(n))


def summarise(results: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """Reduce every metric over the replications of a sealed dataset.

    `results` holds float metrics and the int8 `status` over (grid axes…, replication).
    For a metric v, over the grid axes and in its unit:

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

    With the attribute `statistics` also `v_median` and others of a study's `statistics`, each with
    `_mcse`, `_low`, `_high`, its 95 % interval, and the rest as a metric has it.

    Over the grid: `n_run` = `n_ok` + `n_not_converged` + `n_failed` replications, and
    `n_not_finite`, those that did not fail but where some metric is not finite. Raises
    KeyError without `status`.
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
    described = {}
    for (name, values), statistics in zip(columns.items(), moments, strict=True):
        described[name] = statistics.assign_attrs(values.attrs)
    others = _order_statistics(results)
    return xr.Dataset({**described, **others, "status": counts}, attrs=results.attrs)


def _order_statistics(results: xr.Dataset) -> dict[str, xr.DataArray]:
    """(cells…, estimate) of the statistics that results say they have.

    As `summary.zarr` has them. One span of replications is in memory at a
    time.
    """
    names = map(str, results.data_vars)
    metrics = [name for name in names if name != "status" and REPLICATION in results[name].dims]
    sums = order_sums.of_results(results.attrs, metrics)
    if sums is None:
        return {}
    status = results["status"].transpose(..., REPLICATION)
    columns = [results[name].transpose(*status.dims) for name in metrics]
    arrays = [*columns, status]
    spans = _chunks(arrays)[REPLICATION]
    blocks = (sums.of(*_values_within(arrays, span)) for span in spans)
    sketches = functools.reduce(sums.merge, blocks)
    estimates = sums.estimates(sketches, status.shape[:-1])
    others = {}
    for statistic in sums.statistics:
        name = statistic.variable
        array = _labelled(estimates[name], status, "estimate", ESTIMATE)
        of_metric = results[statistic.metric].attrs
        others[name] = array.assign_attrs(statistic.attributes(of_metric))
    return others


def _values_within(arrays: Sequence[xr.DataArray], span: slice) -> tuple[Floats, Array]:
    """Values, (metrics, cells…, reps), and status of a span of replications.

    arrays: of the metrics, then of the status.
    """
    *values, status = (array[..., span].values for array in arrays)
    return np.stack(values), status


def summarise_moments(summary: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """What `summarise` gives, from moments: those of `summary.zarr`, or of `moments_of`."""
    counts = summary["status"].transpose(..., "count")
    axes = counts.dims[:-1]
    columns: dict[str, tuple[Sequence[Hashable], Array, dict[str, object]]] = {}
    for name, values in summary.data_vars.items():
        if "estimate" in values.dims:
            columns |= _of_statistic(str(name), values, summary)
        if "statistic" not in values.dims:  # the status, or moments of pairs
            continue
        exact = is_exact(summary.attrs, str(name))
        of_metric = _columns(values, counts, confidence, exact)
        for suffix, (column, meaning) in of_metric.items():
            attributes = _described(values.attrs, name, suffix, meaning)
            columns[f"{name}{suffix}"] = (axes, column, attributes)
    for name, meaning in MEANINGS.items():
        attributes = {"units": "1", "long_name": meaning}
        columns[f"n_{name}"] = (axes, counts.sel(count=name).values, attributes)
    coordinates = counts.isel(count=0, drop=True).coords
    attributes_of_all = dict(summary.attrs, confidence=confidence)
    return xr.Dataset(columns, coordinates, attributes_of_all)


def _of_statistic(
    name: str, estimates: xr.DataArray, summary: xr.Dataset
) -> dict[str, tuple[Sequence[Hashable], Array, dict[str, object]]]:
    """Columns of a statistic such as a median. estimates: (cells…, estimate).

    Where replications have no value, or did not converge, it may be anything
    in the metric's range.
    """
    counts = summary["status"].transpose(..., "count")
    axes = counts.dims[:-1]
    of_metric = summary[estimates.attrs["of_metric"]].transpose(*axes, "statistic")
    moments = _by_statistic(of_metric)
    numbers = np.moveaxis(estimates.transpose(*axes, "estimate").values, -1, 0)
    value, error, low, high = numbers
    least, most = _range(estimates)
    is_known = counts.sel(count="run").values == moments["trusted_n"]
    columns = {
        "": (value, ""),
        "_mcse": (error, ", Monte Carlo standard error"),
        "_low": (low, ", lower end of the 95 % interval"),
        "_high": (high, ", upper end of the 95 % interval"),
        "_least": (np.where(is_known, value, least), ", least that missing values could make it"),
        "_most": (np.where(is_known, value, most), ", greatest that missing values could make it"),
        "_n": (moments["n"].astype(int), ", number of values"),
    }
    described: dict[str, tuple[Sequence[Hashable], Array, dict[str, object]]] = {}
    for suffix, (column, meaning) in columns.items():
        attributes = _described(estimates.attrs, name, suffix, meaning)
        described[f"{name}{suffix}"] = (axes, column, attributes)
    return described


def _described(
    attributes: Mapping[str, object], name: Hashable, suffix: str, meaning: str
) -> dict[str, object]:
    """Attributes of a column: the mean has all those of its metric.

    attributes, name: of the metric. suffix, meaning: as in `_columns`.
    """
    unit = attributes.get("units", "1")
    if suffix == "_n":
        unit = "1"
    label = attributes.get("long_name", name)
    described = {"units": unit, "long_name": f"{label}{meaning}"}
    if suffix:
        return described
    return {**attributes, **described}


def _columns(
    values: xr.DataArray, counts: xr.DataArray, confidence: float, exact: bool
) -> dict[str, tuple[Array, str]]:
    """Suffix -> column and its meaning. values: (…, statistic) moments of one metric.

    counts: (…, count).
    """
    statistics = _by_statistic(values.transpose(*counts.dims[:-1], "statistic"))
    mean = statistics["mean"]
    statistics["m2"] = without_rounding(statistics["m2"], statistics["n"], mean)
    n = statistics["n"].astype(int)
    mcse = standard_error(statistics["m2"], n)
    total = counts.sel(count="run").values
    trusted = statistics["trusted_n"]
    unknown = total - trusted
    sum_of_trusted = np.where(trusted > 0, trusted * statistics["trusted_mean"], 0.0)
    least, most = _range(values)
    low, high = _ends(statistics, confidence, least, most, exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        at_least = (sum_of_trusted + unknown * least) / total
        at_most = (sum_of_trusted + unknown * most) / total
    at_least = np.where(unknown > 0, at_least, mean)
    at_most = np.where(unknown > 0, at_most, mean)
    return {
        "": (mean, ""),
        "_mcse": (mcse, ", Monte Carlo standard error"),
        "_low": (low, ", lower end of the interval"),
        "_high": (high, ", upper end of the interval"),
        "_least": (at_least, ", least mean had missing values been at an extreme"),
        "_most": (at_most, ", greatest mean had missing values been at an extreme"),
        "_n": (n, ", number of values"),
    }


def _without_rounding(moments: xr.DataArray, size: xr.DataArray) -> xr.DataArray:
    """Moments, (…, statistic), of values that are computed from others of this size."""
    settled = moments.transpose(..., "statistic").copy()
    cells = settled.dims[:-1]
    sizes = size.transpose(*cells).values
    n = settled.values[..., STATISTICS.index("n")]
    place = STATISTICS.index("m2")
    squares = settled.values[..., place]
    settled.values[..., place] = without_rounding(squares, n, sizes)
    return settled


def _by_statistic(moments: xr.DataArray) -> dict[str, Array]:
    """Name -> one array, of (…, statistic) moments."""
    names = moments["statistic"].values.tolist()
    return dict(zip(names, np.moveaxis(moments.values, -1, 0), strict=True))


def _ends(
    moments: Mapping[str, Array],
    confidence: float,
    least: float,
    most: float,
    exact: bool,
) -> tuple[Array, Array]:
    """`interval_within`; of a metric that is an exact number the value where all are equal."""
    low, high = interval_within(moments, confidence, least, most)
    if exact:
        equal = (moments["n"] > 1) & (moments["m2"] == 0)
        low = np.where(equal, moments["mean"], low)
        high = np.where(equal, moments["mean"], high)
    has_values = moments["n"] > 0
    return np.where(has_values, low, np.nan), np.where(has_values, high, np.nan)


def _range(values: xr.DataArray) -> tuple[float, float]:
    """The least and the greatest value that a metric can have; infinite where there is none."""
    least = values.attrs.get("least")
    most = values.attrs.get("most")
    low = -np.inf
    high = np.inf
    if least is not None:
        low = float(least)
    if most is not None:
        high = float(most)
    return low, high


def paired_difference(
    results: xr.Dataset,
    metric: str,
    along: str,
    first: Level,
    second: Level,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Mean of `metric` at `along` = `first` minus at `second`, replication by
    replication.

    For axes whose levels share their data (`mechanism`, `estimator`) the difference of
    a replication is far less variable than the replications. Returns `mean`, `mcse`,
    `low`, `high` (see `interval_within`, the metric's unit) and `pairs` (replications
    where both are finite) over the remaining grid axes. Raises KeyError for an unknown
    metric, axis or level.
    """
    values = results[metric].where(~results["status"].isin([0, FAILED]))
    at_first = values.sel({along: first}).reset_coords(drop=True)
    at_second = values.sel({along: second}).reset_coords(drop=True)
    (moments,) = moments_over_replications(at_first - at_second)
    size = (abs(at_first) + abs(at_second)).mean(REPLICATION)
    moments = _without_rounding(moments, size)
    mean, mcse, pairs = mean_of(moments)
    least, most = _range(values)
    largest = most - least  # that a difference can be
    exact = is_exact(results.attrs, metric)
    low, high = _ends(_by_statistic(moments), confidence, -largest, largest, exact)
    columns = {
        "mean": mean,
        "mcse": mcse,
        "low": mean.copy(data=low),
        "high": mean.copy(data=high),
    }
    units = {"units": values.attrs.get("units", "1")}
    with_units = {name: column.assign_attrs(units) for name, column in columns.items()}
    return xr.Dataset({**with_units, "pairs": pairs})
