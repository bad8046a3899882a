"""Power of a claim: the smallest deviation of the truth from its tolerance that data like these
would contradict.
"""

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from statistics import NormalDist

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import CONFIDENCE
from pipeline.analysis.shares import binomial, detected_share, trials_of_none
from pipeline.analysis.tolerances import CONTRADICTED, NoException, Tolerance, finite, written

POWER = 0.9  # probability that a deviation of the stated size is contradicted
STEPS = 60  # of bisection: past the last digit of a double
FAR = 500.0  # of logarithms, so that e to that power is a double
# Of the distance from the tolerance's end to a number: so much further may be the one that is
# shown.
ROUNDED = 0.05
# Of the tolerance's half width, or of a bound: so much further besides, where it would be long.
NEAR = 2e-6
SHORT = range(3, 7)  # digits of a number that is not long
DIGITS = 12  # behind these are errors of rounding
SAME = 1e-12  # relative difference of numbers that are the same but for rounding


def detected(
    estimate: Estimate, tolerance: Tolerance, power: float = POWER, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """True values, below and above the tolerance, that data as precise as these contradict with
    probability `power`.

    An estimate with an interval of the same width, moved to x, contradicts from some x on; a normal
    estimate is beyond that with chance `power` if the truth is z standard errors further, z the
    quantile of `power`. A ratio whose interval is symmetric in its logarithm, low·high = value², is
    moved in its logarithm. Infinite where no value is contradicted, on the free side of a bound.
    For `NoException`, where n replications had no exception: shares p with 1 − (1 − p)ⁿ = power.
    Counts of other shares are binomial: see `pipeline.analysis.shares`. NaN where the interval is
    not finite. confidence: of the interval, or less; a standard error that is not known follows
    from it.

    >>> from pipeline.analysis.tolerances import AtMost
    >>> [round(end, 3) for end in detected(Estimate(0.5, 0.4, 0.6, 0.05), AtMost(1))]
    [-inf, 1.164]
    """
    if not finite(estimate) or math.isinf(estimate.standard_error):
        return math.nan, math.nan
    if isinstance(
        tolerance, NoException
    ):  # its interval without exceptions ends at 1 − (1 − confidence)^(1/n)
        n = trials_of_none(estimate.high, 1 - confidence) if estimate.value == 0 else 0.0
        return -math.inf, 1 - (1 - power) ** (1 / n) if n else math.nan
    if share := binomial(estimate, confidence):
        return detected_share(*share, tolerance, power)
    spread = estimate.standard_error
    if math.isnan(spread):
        spread = (estimate.high - estimate.low) / 2 / NormalDist().inv_cdf(0.5 + confidence / 2)
    further = NormalDist().inv_cdf(power) * spread
    below, above = (_border(estimate, tolerance, side) for side in (-1, 1))
    if _log_symmetric(estimate, tolerance):
        times = math.exp(min(further / estimate.value, FAR))
        return below / times, above * times
    return below - further, above + further


def sentence(
    cells: Mapping[str, Estimate], tolerance: Tolerance, confidence: float = CONFIDENCE
) -> str:
    """`detected` in words, for the least precise cell, so true of each; empty if it says nothing.

    cells: by label, which is empty for a number that is about no cell.
    """
    ends = {label: detected(one, tolerance, confidence=confidence) for label, one in cells.items()}
    ends = {label: pair for label, pair in ends.items() if any(map(math.isfinite, pair))}
    if not ends:
        return ""
    lowest, highest = (
        min(ends, key=lambda label: ends[label][0]),
        max(ends, key=lambda label: ends[label][1]),
    )
    values = beyond(ends[lowest][0], ends[highest][1], tolerance)
    if not values:
        return ""
    label = next(iter(ends))
    where = f"at {label}, " * bool(label)
    if len(cells) > 1:
        determined = " that the data determine" * (len(ends) < len(cells))
        where = f"in each of the {len(ends)} cells{determined}, "
    widest = dict.fromkeys(
        name
        for name, end in ((lowest, ends[lowest][0]), (highest, ends[highest][1]))
        if math.isfinite(end)
    )
    alike = len({tuple(f"{end:.{DIGITS}g}" for end in pair) for pair in ends.values()}) == 1
    least = f" (the least precise: {' and '.join(widest)})" * (not alike)
    return (
        f"{where}a true value {values} would be contradicted by data as precise as these in at "
        f"least {100 * POWER:g} % of all cases{least}"
    )


def beyond(below: float, above: float, tolerance: Tolerance) -> str:
    """`below A or above B`, for the ends that are finite, rounded away from the tolerance: what it
    says is detected.

    In as few digits as tell A and B from the tolerance's own ends; as target and distance, `1 +
    10⁻⁶`, where six digits do not. A and B are the tolerance's own ends where the data have no
    error, or near to these if they are long.
    """
    ends = [
        (word, side, *_settled(value, tolerance, side))
        for word, side, value in (("below", -1, below), ("above", 1, above))
        if math.isfinite(value)
    ]
    for long in (False, True):
        for write in (_plain, _from_target):
            texts = [
                write(value, side, tolerance, room + long * near)
                for _, side, value, room, near in ends
            ]
            if all(texts):
                return " or ".join(
                    f"{word} {text}" for (word, *_), text in zip(ends, texts, strict=True)
                )
    return " or ".join(
        f"{word} {written(float(value), False, DIGITS)}" for word, _, value, _, _ in ends
    )


def _settled(value: float, tolerance: Tolerance, side: int) -> tuple[Decimal, float, float]:
    """A number on this side, without errors of rounding.

    How much further the one that is shown may be, if it is not long; and how much further besides
    if it is.
    """
    target = tolerance.target
    end = _border(Estimate(target, target, target, 0.0), tolerance, side)
    same = SAME * (max(abs(end), abs(target)) if target else SAME)
    end = next((one for one in (target, 0.0) if abs(end - one) <= same), end)
    value = end if abs(value - end) <= same else value
    room = ROUNDED * abs(value - end) + same
    return _decimal(value), room, NEAR * (abs(end - target) or abs(end))


def _plain(value: Decimal, side: int, tolerance: Tolerance, room: float) -> str:
    """The number itself, in at most six digits; empty where these are too far."""
    found = (
        Context(digits, ROUND_CEILING if side > 0 else ROUND_FLOOR).plus(value) for digits in SHORT
    )
    return next((written(float(one), False) for one in found if abs(one - value) <= room), "")


def _from_target(value: Decimal, side: int, tolerance: Tolerance, room: float) -> str:
    """`1 + 10⁻⁶`: the target, if it is short, and the distance from it.

    Empty where six digits are too far.
    """
    target = _decimal(tolerance.target)
    apart = abs(value - target)
    found = (Context(digits, ROUND_CEILING).plus(apart) for digits in SHORT)
    text = next((written(float(one), False) for one in found if one - apart <= room), "")
    short = Context(SHORT[-1]).plus(target) == target != 0
    return (
        f"{written(float(target), False)} {'+' if side > 0 else '−'} {text}"
        if text and short
        else ""
    )


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.{DIGITS}g}")


def _log_symmetric(estimate: Estimate, tolerance: Tolerance) -> bool:
    """Whether both are positive and the interval is [value/f, value·f]."""
    positive = min(tolerance.target, estimate.low) > 0 and estimate.high > estimate.low
    return positive and math.isclose(estimate.low * estimate.high, estimate.value**2, rel_tol=1e-9)


def _border(estimate: Estimate, tolerance: Tolerance, side: int) -> float:
    """The value nearest to the target, on this side of it, at which an interval of this width
    contradicts.
    """
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
