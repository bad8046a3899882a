"""An estimate with its interval, and the alignment of the arrays that estimates are made from."""

import dataclasses
import math

import numpy as np
import xarray as xr

from pipeline.study.arrays import Booleans, Floats

NO_ERROR = "(no Monte Carlo error)"  # in place of an interval
# Of the value: an interval as short as this has no width but that of rounding.
ROUNDING = 1e-12
# Probability within one standard deviation of a normal law.
SIGMA = 0.6826894921370859


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval [low, high] and its standard error.

    All are in the number's own unit. The interval is infinite where the data do not
    determine the number, and the value is NaN where they give none. finest: the
    interval that any number of replications would leave, at this value, as levels of a
    grid are apart. lost: replications whose values are not known, by what they could
    change the interval is wider; the value is then the middle of what it could be.
    """

    value: float
    low: float
    high: float
    standard_error: float = math.nan
    finest: tuple[float, float] | None = dataclasses.field(default=None, kw_only=True)
    lost: int = dataclasses.field(default=0, kw_only=True)

    def covers(self, number: float) -> bool:
        """Whether the interval contains `number`."""
        return self.low <= number <= self.high

    def __str__(self) -> str:
        """Two significant digits of the interval's width: `-0.498 [-0.503, -0.493]`.

        >>> print(Estimate(2.0271, 2.0271, 2.0271))
        2.027 (no Monte Carlo error)
        """
        width = self.high - self.low
        if is_point(self.value, self.low, self.high):
            return f"{self.value:.4g} {NO_ERROR}"
        if not (0 < width < math.inf) or not 1e-6 < width < 1e6:
            return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"
        digits = max(0, 1 - math.floor(math.log10(width)))
        value, low, high = (
            f"{number:.{digits}f}" if number else "0"
            for number in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"


def is_point(value: float, low: float, high: float) -> bool:
    """Whether an interval is a number up to rounding.

    So it is where all replications agree, or the number is computed exactly.
    """
    return high - low <= ROUNDING * abs(value)


def aligned(mean: xr.DataArray, *others: xr.DataArray | float) -> list[xr.DataArray]:
    """`mean` and `others` over the cells and dimensions of `mean`, by label.

    Numbers and arrays over some of the dimensions are repeated over the rest; labels
    that `mean` lacks are left out. Raises ValueError for an array with a dimension that
    `mean` does not have, or without numbers.
    """
    arrays = []
    for other in others:
        array = other
        if not isinstance(array, xr.DataArray):
            array = xr.DataArray(array)
        name = array.name or "array"
        foreign = set(array.dims) - set(mean.dims)
        if foreign:
            axes = sorted(map(str, foreign))
            raise ValueError(f"{name} has dimensions {axes} that the mean lacks")
        if array.dtype.kind not in "iufb":
            raise ValueError(f"{name} holds {array.dtype}, not numbers")
        arrays.append(array)
    together = xr.broadcast(*xr.align(mean, *arrays, join="left"))
    return [array.transpose(*mean.dims).astype(float).compute() for array in together]


def floored(errors: Floats) -> Floats:
    """Standard errors with exact zeros raised to the smallest positive one.

    They stay where there is none. A cell where all replications agree has a Monte Carlo
    error of zero, which would be an infinite weight.
    """
    positive = errors[errors > 0]
    if not positive.size:
        return errors
    return np.where(errors == 0, positive.min(), errors)


def logarithms_if_positive(
    values: Floats, errors: Floats, usable: Booleans, level: float = 1.0
) -> tuple[Floats, Floats, bool]:
    """Values and errors, as logarithms if all values can be, and whether they are.

    They are if `level` and all usable values are positive. Errors of logarithms by the
    delta method, `floored`; NaN where not `usable`.
    """
    positive = level > 0 and bool((values[usable] > 0).all())
    values = np.where(usable, values, 1.0)
    errors = np.where(usable, errors, np.nan)
    if positive:
        errors = errors / values
        values = np.log(values)
    return values, floored(errors), positive


def quantile_interval(drawn: Floats, confidence: float) -> tuple[float, float, float]:
    """Low and high quantile of draws, and half the width of the central 68 %.

    Some draws may be infinite.
    """
    tail = confidence / 2
    sigma = SIGMA / 2
    low = float(np.quantile(drawn, 0.5 - tail, method="lower"))
    high = float(np.quantile(drawn, 0.5 + tail, method="higher"))
    left = float(np.quantile(drawn, 0.5 - sigma, method="lower"))
    right = float(np.quantile(drawn, 0.5 + sigma, method="higher"))
    if not (math.isfinite(right) and math.isfinite(left)):
        return low, high, math.inf
    return low, high, (right - left) / 2
