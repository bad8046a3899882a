"""Negative controls in common use: functions that make deliberately wrong data.

A claim must reject what they make.
"""

from collections.abc import Callable

import xarray as xr

from pipeline.analysis.selection import Level

Make = Callable[[xr.Dataset], xr.Dataset]


def exchanged(axis: str, first: str, second: str) -> Make:
    """Two levels of an axis, exchanged."""
    names = {first: second, second: first}
    return lambda results: results.assign_coords(
        {axis: [names.get(str(level), str(level)) for level in results[axis].values]}
    )


def replaced(variable: str, by: str) -> Make:
    """One variable replaced by another."""
    return lambda results: results.assign({variable: results[by]})


def scaled(variable: str, factor: float | Callable[[xr.Dataset], xr.DataArray]) -> Make:
    """A variable times a number, or times a function of the dataset."""

    def make(results: xr.Dataset) -> xr.Dataset:
        product = results[variable] * (factor(results) if callable(factor) else factor)
        return results.assign({variable: product.transpose(*results[variable].dims)})

    return make


def reversed_along(variable: str, axis: str) -> Make:
    """A variable in the opposite order of the levels of an axis."""
    return lambda results: results.assign(
        {variable: results[variable].isel({axis: slice(None, None, -1)}).variable}
    )


def shifted_along(variable: str, axis: str, level: Level) -> Make:
    """A variable rotated along an axis, so that its first level is at `level`.

    The last ones come first.
    """
    return lambda results: results.assign(
        {
            variable: results[variable]
            .roll({axis: results[axis].values.tolist().index(level)})
            .variable
        }
    )


def first_level(variable: str, axis: str) -> Make:
    """A variable whose values at all levels of an axis are those at the first."""

    def make(results: xr.Dataset) -> xr.Dataset:
        values = results[variable].isel({axis: 0}) + 0 * results[variable]
        return results.assign({variable: values.transpose(*results[variable].dims)})

    return make
