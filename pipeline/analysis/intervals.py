"""Intervals of means, made for what the values are: shares, or values with a skewed
law.

Where claims are judged at several looks, an interval that is too short at one of them
decides for good. At all but the last look a mean of skewed values, or of few, has
therefore no interval: what the sample says of the skewness is then too little, most of
all in those samples that lack the rare large values.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from scipy import special

from pipeline.study.arrays import Array, Floats

FEWEST = 30  # values from which on a mean has an interval where more may follow
# t·|γ|/√n up to which it has: larger ones err more often than a number fixed in advance.
MOST_LEAN = 0.5
# Of the size of values: a standard deviation below is none but that of rounding.
ROUNDING = 1e-12
_MORE_FOLLOW: ContextVar[bool] = ContextVar(
    "whether more looks at the same data may follow", default=False
)


@contextmanager
def more_may_follow(wanted: bool = True) -> Iterator[None]:
    """Within, intervals are those of a look that is not the last one."""
    token = _MORE_FOLLOW.set(wanted)
    try:
        yield
    finally:
        _MORE_FOLLOW.reset(token)


def mean_interval(
    moments: Mapping[str, Array], confidence: float, share: bool
) -> tuple[Array, Array]:
    """Ends of the interval of a mean from its moments.

    moments: n, mean, m2 and m3 by name, arrays of one shape. `wilson` for values that
    are all 0 or 1, if the metric is declared to lie in [0, 1] (share); else
    `skewed_mean`.
    """
    n = moments["n"]
    mean = moments["mean"]
    m2 = moments["m2"]
    low, high = skewed_mean(mean, m2, moments["m3"], n, confidence)
    if share:  # Σ v(1 − v) = 0
        binary = np.isclose(m2, n * mean * (1 - mean), rtol=1e-9, atol=1e-9)
        ends = wilson(mean, n, confidence)
        low = np.where(binary, ends[0], low)
        high = np.where(binary, ends[1], high)
    return low, high


def interval_within(
    moments: Mapping[str, Array], confidence: float, least: float, most: float
) -> tuple[Array, Array]:
    """`mean_interval` of values between least and most, also where all are equal.

    Where all n of them are equal but not 0 or 1, another value has a probability of at
    most p = 1 − ((1 − confidence)/2)^(1/n) on either side, so the mean is within p of
    the way to either end of the range; infinite without a range, as equal values say
    nothing of others.
    """
    low, high = mean_interval(moments, confidence, (least, most) == (0, 1))
    n = moments["n"]
    mean = moments["mean"]
    unseen = rule_of_three(np.maximum(n, 1), (1 + confidence) / 2)
    equal = (low == high) & (n > 0)
    with np.errstate(invalid="ignore"):
        return (
            np.where(equal, mean - unseen * (mean - least), low),
            np.where(equal, mean + unseen * (most - mean), high),
        )


def without_rounding(squares: Array, n: Array, size: Array) -> Array:
    """Σ (v − mean)² of n values of this size, 0 where they are equal but for rounding.

    As values that are equal do, such values show nothing of others. Arrays of one
    shape.

    >>> without_rounding(np.array([1e-30, 1e-20]), np.array([100, 100]), np.array([2.0, 2.0]))
    array([0.e+00, 1.e-20])
    """
    with np.errstate(invalid="ignore", over="ignore"):
        nothing = 0.0 * squares
        rounding = ROUNDING * size
        return np.where(squares > n * rounding**2, squares, nothing)


def wilson(share: Array, n: Array, confidence: float) -> tuple[Floats, Floats]:
    """Ends of the interval of a probability from the share of n trials.

    It is never of width 0. (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n). Arrays of
    one shape; NaN for n = 0. Source: Wilson, JASA 22 (1927).

    >>> [round(float(end), 4) for end in wilson(np.array(0.0), np.array(10), 0.95)]
    [0.0, 0.2775]
    """
    z = special.ndtri(0.5 + confidence / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    # at a share of 0 or 1 both are equal but for rounding
    low = np.where(share == 0, 0.0, centre - half)
    high = np.where(share == 1, 1.0, centre + half)
    return low, high


def clopper_pearson(
    count: Array,
    n: Array,
    confidence: float,
) -> tuple[Floats, Floats]:
    """Ends of the exact interval of a probability, from a count of successes.

    count: in n ≥ 1 trials. Arrays of one shape.

    Quantiles of Beta(k, n − k + 1) and Beta(k + 1, n − k); 0 and 1 where k is 0 or n.
    Source: Clopper and Pearson, Biometrika 26 (1934).

    >>> [round(float(end), 4) for end in clopper_pearson(np.array(0), np.array(10), 0.95)]
    [0.0, 0.3085]
    """
    tail = (1 - confidence) / 2
    return (
        np.where(count > 0, special.betaincinv(np.maximum(count, 1), n - count + 1, tail), 0.0),
        np.where(count < n, special.betainccinv(count + 1, np.maximum(n - count, 1), tail), 1.0),
    )


def rule_of_three(n: Array, confidence: float) -> Array:
    """Upper bound of the probability of what happened in none of n ≥ 1 trials, exact.

    1 − (1 − confidence)^(1/n), about 3/n at confidence 0.95; shape of n. Source: Hanley
    and Lippman-Hand, JAMA 249 (1983).

    >>> round(float(rule_of_three(np.array(1000), 0.95)), 5)
    0.00299
    """
    return 1 - (1 - confidence) ** (1 / n)


def skewed_mean(
    mean: Array, m2: Array, m3: Array, n: Array, confidence: float
) -> tuple[Floats, Floats]:
    """Ends of a t interval of a mean, corrected for skewness.

    With T the studentised mean, γ = √n Σ(v−mean)³ / (Σ(v−mean)²)^{3/2} and g(T) = T +
    γT²/(3√n) + γ²T³/(27n) + γ/(6√n), of which the law is symmetric to the second order,
    the ends are mean − s/√n · g⁻¹(±t); without skewness the t interval. m2, m3: central
    sums. Arrays of one shape; infinite for n < 2 and, within `more_may_follow`, for few
    or too skewed values. Source: Hall, Journal of the Royal Statistical Society B 54
    (1992), 221–228.

    >>> low, high = skewed_mean(np.array(1.0), np.array(99.0), np.array(200.0), np.array(100), 0.95)
    >>> round(float(low), 3), round(float(high), 3)
    (0.826, 1.238)
    """
    n = np.asarray(n, float)
    freedom = np.maximum(n - 1, 1)
    sizes, where = np.unique(freedom, return_inverse=True)  # few, and the quantile is dear
    t = special.stdtrit(sizes, 0.5 + confidence / 2)[where].reshape(freedom.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(m2 / (n * freedom))
        skewness = np.where(m2 > 0, np.sqrt(n) * m3 / m2**1.5, 0.0)
    lean = skewness / np.sqrt(np.maximum(n, 1))
    low = mean - error * _inverse(t, lean)
    high = mean - error * _inverse(-t, lean)
    unknown = n < 2
    if _MORE_FOLLOW.get():
        unknown |= (n < FEWEST) | (t * np.abs(lean) > MOST_LEAN)
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def half_width(error: Array, lean: Array, confidence: float) -> Floats:
    """Half the interval of a mean over cells at a look, long enough for skewed values.

    The normal interval, or `skewed_mean`'s for many values where that reaches further
    on either side: of a difference it is not known which side is the long one. error:
    standard error of the mean. lean: |γ|/√n of the mean over cells, γ its skewness.
    Arrays of one shape; infinite within `more_may_follow` for too skewed values.

    >>> half_width(np.array(1.0), np.array([0.0, 0.1]), 0.99).round(2)
    array([2.58, 2.86])
    """
    z = special.ndtri(0.5 + confidence / 2)
    quantiles = np.full_like(lean, z)
    furthest = np.maximum(_inverse(quantiles, lean), _inverse(quantiles, -lean))
    half: Floats = error * np.maximum(quantiles, furthest)
    if _MORE_FOLLOW.get():
        return np.where(z * lean > MOST_LEAN, np.inf, half)
    return half


def _inverse(x: Array, lean: Array) -> Array:
    """g⁻¹(x), with lean = γ/√n: 3/lean · ((1 + lean(x − lean/6))^{1/3} − 1)."""
    small = np.abs(lean) < 1e-6
    safe = np.where(small, 1.0, lean)
    root: Array = np.cbrt(1 + safe * (x - safe / 6))
    return np.where(small, x - lean * (x**2 / 3 + 1 / 6), 3 / safe * (root - 1))
