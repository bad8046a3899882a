"""Between solved cells: means of metrics along one axis, at any sizes, with a band.

Errors are powers of ε and of the number of people while noise decides, and shares fall off like the
tail of a Gaussian: so axes are logarithmic, a share is interpolated as its log odds and any other
metric as its logarithm.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.interpolate import PchipInterpolator

from pipeline.study.arrays import Floats

LEAST = 1e-4  # a share is taken to be at least this, and at most 1 minus it, before its odds are
Z = 1.96  # standard errors of a 95 % interval


def reduced(
    values: Floats, axes: Sequence[Floats], at: Sequence[float | None], smooth: bool = True
) -> Floats:
    """Values along the one axis that `at` leaves out (None), at positions on all others.

    values: (levels of the first axis, …). Piecewise cubic, and monotone where the cells are, if
    smooth (Fritsch and Butland, SIAM Journal on Scientific and Statistical Computing 5, 1984); else
    linear. One axis after the other.
    """
    remaining = 0
    for levels, position in zip(axes, at, strict=True):
        if position is None:
            remaining = 1
        else:
            values = between(levels, values, position, remaining, smooth)
    return values


def between(
    levels: Floats, values: Floats, position: float | Floats, axis: int = 0, smooth: bool = True
) -> Floats:
    """Values at a position, or some, on one axis whose levels are given."""
    if smooth:
        smoothed: Floats = PchipInterpolator(levels, values, axis=axis)(position)
        return smoothed
    moved = np.moveaxis(values, axis, -1)
    upper = np.clip(np.searchsorted(levels, position), 1, len(levels) - 1)
    share = (position - levels[upper - 1]) / (levels[upper] - levels[upper - 1])
    linear = moved[..., upper - 1] * (1 - share) + moved[..., upper] * share
    return linear if np.ndim(position) == 0 else np.moveaxis(linear, -1, axis)


def scale(
    least: float, most: float
) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """The scale on which a metric of that range is interpolated, and its inverse."""
    if (least, most) == (0, 1):
        return _odds, lambda odds: 1 / (1 + np.exp(-odds))
    return lambda values: np.log(np.maximum(values, 1e-12)), np.exp


def _odds(shares: Floats) -> Floats:
    inside = np.clip(shares, LEAST, 1 - LEAST)
    return np.log(inside / (1 - inside))


def band(
    mean: Floats,
    error: Floats,
    limits: tuple[float, float],
    axes: Sequence[Floats],
    at: Sequence[float | None],
    positions: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Mean, low and high end at positions of the axis that `at` leaves out.

    Mean, error: of the cells, (levels, …).

    Half the width is 1.96 standard errors, and the difference between cubic and linear
    interpolation, a rough measure of what lies between cells.
    """
    there, back = scale(*limits)
    levels = axes[list(at).index(None)]
    smooth, straight = (
        back(between(levels, reduced(there(mean), axes, at, kind), positions, 0, kind))
        for kind in (True, False)
    )
    errors = np.exp(between(levels, reduced(np.log(error), axes, at, False), positions, 0, False))
    half = Z * errors + np.abs(smooth - straight)
    return smooth, np.maximum(smooth - half, limits[0]), np.minimum(smooth + half, limits[1])
