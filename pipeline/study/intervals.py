"""Confidence intervals: what an estimate that says how sure it is gives, by whatever means."""

import math
from statistics import NormalDist
from typing import NamedTuple

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput


class Interval(NamedTuple):
    """Ends of intervals, in the shape of what they are of; NaN where none is available."""

    low: Floats
    high: Floats


def normal_quantile(level: float) -> float:
    """z with P(|N(0, 1)| ≤ z) = level.

    Raises InvalidInput unless 0 < level < 1.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return _quantile_beyond((1 - checked_level(level)) / 2)


def simultaneous_quantile(level: float, number: int) -> float:
    """z such that `number` jointly normal errors are all within z of their standard errors.

    P(max |X_i| ≤ z) ≥ Π P(|X_i| ≤ z) = level for jointly normal X_i with mean 0 and variance 1,
    however they are correlated. Equality holds for independent ones.
    Source: Šidák (1967), Rectangular confidence regions for the means of multivariate normal
    distributions, Corollary 1. Raises InvalidInput unless 0 < level < 1.

    >>> round(simultaneous_quantile(0.95, 1), 4), round(simultaneous_quantile(0.95, 45), 4)
    (1.96, 3.2537)
    """
    chance_beyond = -math.expm1(math.log(checked_level(level)) / number)
    return _quantile_beyond(chance_beyond / 2)


def normal_interval(centre: Floats, errors: Floats, level: float) -> Interval:
    """centre ± z · errors, where errors are standard errors of a normal limit.

    >>> import numpy as np
    >>> interval = normal_interval(np.zeros(1), np.ones(1), 0.95)
    >>> interval.low.round(2).tolist(), interval.high.round(2).tolist()
    ([-1.96], [1.96])
    """
    reach = normal_quantile(level) * errors
    return Interval(centre - reach, centre + reach)


def checked_level(level: float) -> float:
    """The level of an interval. Raises InvalidInput unless 0 < level < 1."""
    if not 0 < level < 1:
        raise InvalidInput("level", level, "must be above 0 and below 1, such as 0.95")
    return level


def _quantile_beyond(chance: float) -> float:
    return -NormalDist().inv_cdf(chance)
