"""Power of a claim: the smallest deviation of the truth from its tolerance that data like these would contradict."""

import math
from statistics import NormalDist

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import CONFIDENCE
from pipeline.analysis.tolerances import CONTRADICTED, NoException, Tolerance, finite, written

POWER = 0.9  # probability that a deviation of the stated size is contradicted
STEPS = 60  # of bisection: past the last digit of a double
FAR = 500.0  # of logarithms, so that e to that power is a double


def detected(
    estimate: Estimate, tolerance: Tolerance, power: float = POWER, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """True values, below and above the tolerance, that data as precise as these contradict with probability `power`.

    An estimate with an interval of the same width, moved to x, contradicts from some x on; a normal estimate is beyond
    that with chance `power` if the truth is z standard errors further, z the quantile of `power`. A ratio whose
    interval is symmetric in its logarithm, low·high = value², is moved in its logarithm. Infinite where no value is
    contradicted, on the free side of a bound. For `NoException`, where n replications had no exception: shares p with
    1 − (1 − p)ⁿ = power. NaN where the interval is not finite.

    >>> from pipeline.analysis.tolerances import AtMost
    >>> [round(end, 3) for end in detected(Estimate(0.5, 0.4, 0.6, 0.05), AtMost(1))]
    [-inf, 1.164]
    """
    if not finite(estimate):
        return math.nan, math.nan
    if isinstance(tolerance, NoException):  # its interval without exceptions ends at 1 − (1 − confidence)^(1/n)
        n = _replications(estimate, confidence)
        return -math.inf, 1 - (1 - power) ** (1 / n) if n else math.nan
    spread = 0.0 if math.isnan(estimate.standard_error) else estimate.standard_error
    further = NormalDist().inv_cdf(power) * spread
    below, above = (_border(estimate, tolerance, side) for side in (-1, 1))
    if _log_symmetric(estimate, tolerance):
        times = math.exp(further / estimate.value)
        return below / times, above * times
    return below - further, above + further


def sentence(estimate: Estimate, tolerance: Tolerance, confidence: float = CONFIDENCE) -> str:
    """`detected` in words; empty where it says nothing."""
    below, above = detected(estimate, tolerance, confidence=confidence)
    ends = [text for text, value in ((f"{_short(below)} or less", below), (f"{_short(above)} or more", above))
            if math.isfinite(value)]
    values = ", or of ".join(ends)
    return f"A true value of {values} would be contradicted in {100 * POWER:g} % of all cases" if ends else ""


def _short(value: float) -> str:
    return written(float(f"{value:.3g}"), fractions=False)


def _replications(estimate: Estimate, confidence: float) -> float:
    """How many replications had no exception; 0 where some had one."""
    return math.log(1 - confidence) / math.log(1 - estimate.high) if estimate.value == 0 < estimate.high < 1 else 0.0


def _log_symmetric(estimate: Estimate, tolerance: Tolerance) -> bool:
    """Whether both are positive and the interval is [value/f, value·f]."""
    positive = min(tolerance.target, estimate.low) > 0 and estimate.high > estimate.low
    return positive and math.isclose(estimate.low * estimate.high, estimate.value**2, rel_tol=1e-9)


def _border(estimate: Estimate, tolerance: Tolerance, side: int) -> float:
    """The value nearest to the target, on this side of it, at which an interval of this width contradicts."""
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    ratio = _log_symmetric(estimate, tolerance)

    def at(distance: float) -> float:
        if ratio:
            return tolerance.target * math.exp(side * min(distance, FAR))
        return tolerance.target + side * distance

    def contradicted(distance: float) -> bool:
        x = at(distance)
        scale = x / estimate.value if ratio else 1.0
        return tolerance.verdict(Estimate(x, x - scale * below, x + scale * above)) == CONTRADICTED

    far = max(1e-12, abs(tolerance.target), below, above)
    for _ in range(STEPS):
        if contradicted(far):
            break
        far *= 2
    else:
        return side * math.inf
    near = 0.0
    for _ in range(STEPS):
        middle = (near + far) / 2
        near, far = (near, middle) if contradicted(middle) else (middle, far)
    return at(far)
