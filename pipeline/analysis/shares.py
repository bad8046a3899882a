"""Shares among estimates, and the power that a binomial law gives them.

An estimate is known to be a share by its interval, which is exact or Wilson's.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from scipy import special

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.intervals import clopper_pearson, wilson
from pipeline.analysis.tolerances import CONTRADICTED, Tolerance

MATCH = 1e-6  # relative difference of ends that are the same but for rounding
NEAR = 1e-4  # of the tails beyond such ends

Interval = Callable[[int], tuple[float, float]]  # of a count of successes


def trials_of_none(high: float, tail: float) -> float:
    """How many trials had no success, from the upper bound 1 − tail^(1/n) of its share.

    0 for no such bound.
    """
    if not 0 < high < 1:
        return 0.0
    return math.log(tail) / math.log1p(-high)


def binomial(estimate: Estimate, confidence: float) -> tuple[int, Interval] | None:
    """Trials of a share and the interval that it has for each count, or None for
    another estimate.

    A share of 0 or 1 is taken as one of as many trials as give it this exact interval:
    Wilson's is wider, and where several cells share the error the tail is less, so
    there were more. confidence: of the interval, or less.
    """
    share = estimate.value
    low = estimate.low
    high = estimate.high
    error = estimate.standard_error
    if share in (0, 1) and share in (low, high) and not error > 0:
        bound = high if share == 0 else 1 - low
        n = math.floor(trials_of_none(bound, (1 - confidence) / 2) * (1 + MATCH))
        if not n:
            return None
        return n, _exact(n, confidence)
    if not 0 < low < share < high < 1 or not error > 0:
        return None
    if math.isclose(share - low, high - share, rel_tol=MATCH):
        return None
    # or one more: the standard error of a mean has n − 1 under the root
    n = round(share * (1 - share) / error**2)
    for trials in (n, n + 1):
        interval = _interval_of(estimate, trials)
        if interval is not None:
            return trials, interval
    return _score(estimate, n + 1)


def _interval_of(estimate: Estimate, trials: int) -> Interval | None:
    """The exact interval of a share of so many trials; None if the estimate has another."""
    count = round(estimate.value * trials)
    if not 0 < count < trials:
        return None
    below = special.betainc(count, trials - count + 1, estimate.low)
    above = special.betaincc(count + 1, trials - count, estimate.high)
    if not math.isclose(below, above, rel_tol=NEAR):
        return None
    if not math.isclose(count / trials, estimate.value):
        return None
    return _exact(trials, 1 - (below + above))


def _score(estimate: Estimate, trials: int) -> tuple[int, Interval] | None:
    """`binomial` of a share with Wilson's interval; None if it has another."""
    share = estimate.value
    low = estimate.low
    high = estimate.high
    below = abs(low - share) / math.sqrt(low * (1 - low))  # z/√n
    above = abs(high - share) / math.sqrt(high * (1 - high))
    if not math.isclose(below, above, rel_tol=MATCH):
        return None
    confidence = 2 * NormalDist().cdf(below * math.sqrt(trials)) - 1
    n = np.array(trials)
    return trials, lambda count: _floats(wilson(np.array(count / trials), n, confidence))


def _exact(n: int, confidence: float) -> Interval:
    return lambda count: _floats(clopper_pearson(np.array(count), np.array(n), confidence))


def detected_share(
    n: int, interval: Interval, tolerance: Tolerance, power: float
) -> tuple[float, float]:
    """Shares, below and above the tolerance, that are contradicted with chance `power`.

    n: trials, of which a count contradicts.
    """

    def contradicts(count: int) -> bool:
        return tolerance.verdict(Estimate(count / n, *interval(count))) == CONTRADICTED

    middle = min(max(math.floor(n * tolerance.target), 0), n)
    less = range(middle, -1, -1)
    more = range(middle, n + 1)
    below = -math.inf
    above = math.inf
    first = bisect_left(less, True, key=contradicts)
    if first < len(less):
        below = 1 - float(special.betaincinv(n - less[first], less[first] + 1, power))
    first = bisect_left(more, True, key=contradicts)
    if first < len(more):
        above = float(special.betaincinv(more[first], n - more[first] + 1, power))
    return below, above


def _floats(ends: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])
