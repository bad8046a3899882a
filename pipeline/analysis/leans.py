"""How far the mean over several cells leans to one side, from the values that were selected.

A mean over cells is made from their means and errors. These do not say how skewed the
values are, but what `select` gave out does.
"""

from collections.abc import Hashable, Sequence

import xarray as xr

from pipeline.analysis.summary import REPLICATION, moments_over_replications


def lean_over_cells(mean: xr.DataArray, selected: Sequence[xr.Dataset]) -> float:
    """|γ|/√n of the mean over cells: the largest of all metrics that were selected.

    mean: (cells…) which cells these are, by their labels. Where a metric has further
    axes, such as two mechanisms that are compared, the level counts at which it leans
    most. That is what a difference may lean, unless it is of values that are nearly
    equal. 0 where nothing was selected.

    >>> import numpy as np
    >>> values = np.random.default_rng(0).exponential(size=(4, 400))
    >>> data = xr.Dataset(dict(v=(("cell", "replication"), values)))
    >>> data["status"] = xr.ones_like(data["v"], np.int8)
    >>> round(lean_over_cells(data["v"].mean("replication"), [data]), 3)  # 2/√1600, about
    0.052
    """
    largest = 0.0
    for data in selected:
        used = data["status"] > 0
        for name, values in data.data_vars.items():
            if name == "status" or REPLICATION not in values.dims:
                continue
            known = _at_the_cells_of(mean, values.where(used))
            largest = max(largest, _lean(known, mean.dims))
    return largest


def _at_the_cells_of(mean: xr.DataArray, values: xr.DataArray) -> xr.DataArray:
    """Values at the levels that the mean has, of the axes that both have."""
    levels = {}
    for axis, index in values.indexes.items():
        if axis in mean.indexes and axis != REPLICATION:
            common = index.intersection(mean.indexes[axis])
            if len(common):
                levels[axis] = common.values
    return values.sel(levels)


def _lean(values: xr.DataArray, axes: Sequence[Hashable]) -> float:
    """Σ|μ₃|/n² / (Σσ²/n)^(3/2), the sums over cells along these axes; largest of all others.

    μ₃ and σ² are the central moments of the n values of a cell.
    """
    (moments,) = moments_over_replications(values)
    n = moments.sel(statistic="n", drop=True)
    n = n.where(n > 0)
    along = [axis for axis in axes if axis in n.dims]
    cubes = (abs(moments.sel(statistic="m3", drop=True)) / n**3).sum(along)
    squares = (moments.sel(statistic="m2", drop=True) / n**2).sum(along)
    leans = cubes / squares.where(squares > 0) ** 1.5
    return float(leans.fillna(0).max())
