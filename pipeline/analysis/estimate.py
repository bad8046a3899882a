"""An estimate with its interval, and the alignment of the arrays that estimates are made from."""

import dataclasses
import math

import numpy as np
import xarray as xr

from pipeline.study.arrays import Booleans, Floats

NO_ERROR = "(no Monte Carlo error)"  # in place of an interval
ROUNDING = 1e-12  # of the value: an interval as short as this has no width but that of rounding
SIGMA = 0.6826894921370859  # probability within one standard deviation of a normal law


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number, its confidence interval [low, high] and its standard error, all in the number's own
    unit.

    The interval is infinite where the data do not determine the number, and the value is NaN where
    they give none. finest: the interval that any number of replications would leave, at this value,
    as levels of a grid are apart. lost: replications whose values are not known, by what they could
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
    """Whether an interval is a number up to rounding: all replications agree, or the number is
    computed exactly.
    """
    return high - low <= ROUNDING * abs(value)


def aligned(mean: xr.DataArray, *others: xr.DataArray | float) -> list[xr.DataArray]:
    """`mean` and `others` over the cells and dimensions of `mean`, by label.

    Numbers and arrays over some of the dimensions are repeated over the rest; labels that `mean`
    lacks are left out. Raises ValueError for an array with a dimension that `mean` does not have,
    or without numbers.
    """
    arrays = [other if isinstance(other, xr.DataArray) else xr.DataArray(other) for other in others]
    for array in arrays:
        foreign = set(array.dims) - set(mean.dims)
        if foreign:
            raise ValueError(
                f"{array.name or 'array'} has dimensions {sorted(map(str, foreign))} that the "
                "mean lacks"
            )
        if array.dtype.kind not in "iufb":
            raise ValueError(f"{array.name or 'array'} holds {array.dtype}, not numbers")
    together = xr.broadcast(*xr.align(mean, *arrays, join="left"))
    return [array.transpose(*mean.dims).astype(float).compute() for array in together]


def floored(errors: Floats) -> Floats:
    """Standard errors with exact zeros raised to the smallest positive one (if there is one).

    A cell where all replications agree has a Monte Carlo error of zero, which would be an infinite
    weight.
    """
    positive = errors[errors > 0]
    return np.where(errors == 0, positive.min(), errors) if positive.size else errors


def logarithms_if_positive(
    values: Floats, errors: Floats, usable: Booleans, level: float = 1.0
) -> tuple[Floats, Floats, bool]:
    """Values and errors, as logarithms if `level` and all usable values are positive, and whether
    they are.

    Errors of logarithms by the delta method, `floored`; NaN where not `usable`.
    """
    positive = level > 0 and bool((values[usable] > 0).all())
    values = np.where(usable, values, 1.0)
    errors = np.where(usable, errors, np.nan)
    if positive:
        values, errors = np.log(values), errors / values
    return values, floored(errors), positive


def quantile_interval(drawn: Floats, confidence: float) -> tuple[float, float, float]:
    """Low and high quantile of draws, some perhaps infinite, and half the width of the central 68
    %.
    """
    tail = confidence / 2
    sigma = SIGMA / 2
    low, left = (float(np.quantile(drawn, 0.5 - part, method="lower")) for part in (tail, sigma))
    high, right = (float(np.quantile(drawn, 0.5 + part, method="higher")) for part in (tail, sigma))
    return (
        low,
        high,
        (right - left) / 2 if math.isfinite(right) and math.isfinite(left) else math.inf,
    )
