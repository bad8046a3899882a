"""Shares among estimates, told by their exact or Wilson interval, and the power that a binomial law
gives them.
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
    return math.log(tail) / math.log1p(-high) if 0 < high < 1 else 0.0


def binomial(estimate: Estimate, confidence: float) -> tuple[int, Interval] | None:
    """Trials of a share and the interval that it has for each count, or None for another estimate.

    A share of 0 or 1 is taken as one of as many trials as give it this exact interval: Wilson's is
    wider, and where several cells share the error the tail is less, so there were more. confidence:
    of the interval, or less.
    """
    share = estimate.value
    low = estimate.low
    high = estimate.high
    error = estimate.standard_error
    if share in (0, 1) and share in (low, high) and not error > 0:
        bound = high if share == 0 else 1 - low
        n = math.floor(trials_of_none(bound, (1 - confidence) / 2) * (1 + MATCH))
        return (n, _exact(n, confidence)) if n else None
    if (
        not 0 < low < share < high < 1
        or not error > 0
        or math.isclose(share - low, high - share, rel_tol=MATCH)
    ):
        return None
    n = round(
        share * (1 - share) / error**2
    )  # or one more: the standard error of a mean has n − 1 under the root
    for trials in (n, n + 1):
        count = round(share * trials)
        tails = (
            special.betainc(count, trials - count + 1, low),
            special.betaincc(count + 1, trials - count, high),
        )
        if (
            0 < count < trials
            and math.isclose(*tails, rel_tol=NEAR)
            and math.isclose(count / trials, share)
        ):
            return trials, _exact(trials, 1 - sum(tails))
    below, above = (abs(end - share) / math.sqrt(end * (1 - end)) for end in (low, high))  # z/√n
    if not math.isclose(below, above, rel_tol=MATCH):
        return None
    more = n + 1
    of_wilson = 2 * NormalDist().cdf(below * math.sqrt(more)) - 1
    return more, lambda count: _floats(wilson(np.array(count / more), np.array(more), of_wilson))


def _exact(n: int, confidence: float) -> Interval:
    return lambda count: _floats(clopper_pearson(np.array(count), np.array(n), confidence))


def detected_share(
    n: int, interval: Interval, tolerance: Tolerance, power: float
) -> tuple[float, float]:
    """Shares of n trials, below and above the tolerance, of which a count contradicts with chance
    `power`.
    """

    def contradicts(count: int) -> bool:
        return tolerance.verdict(Estimate(count / n, *interval(count))) == CONTRADICTED

    middle = min(max(math.floor(n * tolerance.target), 0), n)
    less = range(middle, -1, -1)
    more = range(middle, n + 1)
    below, above = (bisect_left(counts, True, key=contradicts) for counts in (less, more))
    return (
        1 - float(special.betaincinv(n - less[below], less[below] + 1, power))
        if below < len(less)
        else -math.inf,
        float(special.betaincinv(more[above], n - more[above] + 1, power))
        if above < len(more)
        else math.inf,
    )


def _floats(ends: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])
