"""Power of a claim: the smallest deviation of the truth from its tolerance that is
contradicted.

Contradicted by data like these, with a stated probability.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from statistics import NormalDist
from typing import NamedTuple

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
    estimate: Estimate,
    tolerance: Tolerance,
    power: float = POWER,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """True values, below and above the tolerance, that data as precise as these
    contradict.

    They do with probability `power`. An estimate with an interval of the same width,
    moved to x, contradicts from some x on; a normal estimate is beyond that with chance
    `power` if the truth is z standard errors further, z the quantile of `power`. A
    ratio whose interval is symmetric in its logarithm, low·high = value², is moved in
    its logarithm. Infinite where no value is contradicted, on the free side of a bound.
    For `NoException`, where n replications had no exception: shares p with 1 − (1 − p)ⁿ
    = power. Counts of other shares are binomial: see `pipeline.analysis.shares`. NaN
    where the interval is not finite. confidence: of the interval, or less; a standard
    error that is not known follows from it.

    >>> from pipeline.analysis.tolerances import AtMost
    >>> [round(end, 3) for end in detected(Estimate(0.5, 0.4, 0.6, 0.05), AtMost(1))]
    [-inf, 1.164]
    """
    if not finite(estimate) or math.isinf(estimate.standard_error):
        return math.nan, math.nan
    if isinstance(tolerance, NoException):
        return -math.inf, _detected_exceptions(estimate, power, confidence)
    share = binomial(estimate, confidence)
    if share:
        return detected_share(*share, tolerance, power)
    spread = estimate.standard_error
    if math.isnan(spread):
        half_width = (estimate.high - estimate.low) / 2
        spread = half_width / NormalDist().inv_cdf(0.5 + confidence / 2)
    further = NormalDist().inv_cdf(power) * spread
    below = _border(estimate, tolerance, -1)
    above = _border(estimate, tolerance, 1)
    if _log_symmetric(estimate, tolerance):
        times = math.exp(min(further / estimate.value, FAR))
        return below / times, above * times
    return below - further, above + further


def _detected_exceptions(
    estimate: Estimate,
    power: float,
    confidence: float,
) -> float:
    """The share of exceptions that is detected where there were none; NaN where there
    were some.

    The interval without exceptions ends at 1 − (1 − confidence)^(1/n).
    """
    if estimate.value != 0:
        return math.nan
    n = trials_of_none(estimate.high, 1 - confidence)
    if not n:
        return math.nan
    share: float = 1 - (1 - power) ** (1 / n)
    return share


def sentence(
    cells: Mapping[str, Estimate],
    tolerance: Tolerance,
    confidence: float = CONFIDENCE,
) -> str:
    """`detected` in words, for the least precise cell, so true of each; empty if it
    says nothing.

    cells: by label, which is empty for a number that is about no cell.
    """
    ends = {}
    for label, estimate in cells.items():
        pair = detected(estimate, tolerance, confidence=confidence)
        if any(map(math.isfinite, pair)):
            ends[label] = pair
    if not ends:
        return ""
    lowest = min(ends, key=lambda label: ends[label][0])
    highest = max(ends, key=lambda label: ends[label][1])
    below = ends[lowest][0]
    above = ends[highest][1]
    values = beyond(below, above, tolerance)
    if not values:
        return ""
    text = (
        f"{_where(cells, ends)}a true value {values} would be contradicted by data as precise "
        f"as these in at least {100 * POWER:g} % of all cases"
    )
    different = {f"{below:.{DIGITS}g} {above:.{DIGITS}g}" for below, above in ends.values()}
    if len(different) == 1:
        return text
    least_precise = []
    if math.isfinite(below):
        least_precise.append(lowest)
    if math.isfinite(above) and highest not in least_precise:
        least_precise.append(highest)
    return f"{text} (the least precise: {' and '.join(least_precise)})"


def _where(cells: Mapping[str, Estimate], ends: Mapping[str, tuple[float, float]]) -> str:
    """Of which cells a sentence is, with a comma; empty for a number that is about no cell."""
    if len(ends) < len(cells):
        return f"in each of the {len(ends)} cells that the data determine, "
    if len(cells) > 1:
        return f"in each of the {len(ends)} cells, "
    (label,) = ends
    if not label:
        return ""
    return f"at {label}, "


def beyond(below: float, above: float, tolerance: Tolerance) -> str:
    """`below A or above B`, for the ends that are finite, rounded away from the
    tolerance.

    So what it says is detected. In as few digits as tell A and B from the tolerance's
    own ends; as target and distance, `1 + 10⁻⁶`, where six digits do not. A and B are
    the tolerance's own ends where the data have no error, or near to these if they are
    long.
    """
    ends = []
    if math.isfinite(below):
        ends.append(_End.of("below", -1, below, tolerance))
    if math.isfinite(above):
        ends.append(_End.of("above", 1, above, tolerance))
    for rooms in ([end.room for end in ends], [end.room_if_long for end in ends]):
        for write in (_plain, _from_target):
            rounded = zip(ends, rooms, strict=True)
            texts = [write(end, tolerance, room) for end, room in rounded]
            if all(texts):
                return _joined(ends, texts)
    return _joined(ends, [written(float(end.value), False, DIGITS) for end in ends])


class _End(NamedTuple):
    """A number below (side −1) or above (side 1) a tolerance, without errors of
    rounding.

    room: how much further the one that is shown may be. room_if_long: the same where it
    is long.
    """

    word: str
    side: int
    value: Decimal
    room: float
    room_if_long: float

    @classmethod
    def of(cls, word: str, side: int, value: float, tolerance: Tolerance) -> "_End":
        """The end at a value."""
        target = tolerance.target
        border = _border(Estimate(target, target, target, 0.0), tolerance, side)
        same = SAME * SAME
        if target:
            same = SAME * max(abs(border), abs(target))
        for simple in (0.0, target):
            if abs(border - simple) <= same:
                border = simple
        if abs(value - border) <= same:
            value = border
        room = ROUNDED * abs(value - border) + same
        near = NEAR * (abs(border - target) or abs(border))
        return cls(word, side, _decimal(value), room, room + near)


def _joined(ends: Sequence[_End], texts: Sequence[str]) -> str:
    return " or ".join(f"{end.word} {text}" for end, text in zip(ends, texts, strict=True))


def _plain(end: _End, tolerance: Tolerance, room: float) -> str:
    """The number itself, in at most six digits; empty where these are too far."""
    rounding = ROUND_FLOOR
    if end.side > 0:
        rounding = ROUND_CEILING
    for digits in SHORT:
        rounded = Context(digits, rounding).plus(end.value)
        if abs(rounded - end.value) <= room:
            return written(float(rounded), False)
    return ""


def _from_target(end: _End, tolerance: Tolerance, room: float) -> str:
    """`1 + 10⁻⁶`: the target, if it is short, and the distance from it.

    Empty where six digits are too far.
    """
    target = _decimal(tolerance.target)
    is_short = Context(SHORT[-1]).plus(target) == target != 0
    if not is_short:
        return ""
    distance = abs(end.value - target)
    sign = "+" if end.side > 0 else "−"
    for digits in SHORT:
        rounded = Context(digits, ROUND_CEILING).plus(distance)
        if rounded - distance <= room:
            text = written(float(rounded), False)
            return f"{written(float(target), False)} {sign} {text}"
    return ""


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.{DIGITS}g}")


def _log_symmetric(estimate: Estimate, tolerance: Tolerance) -> bool:
    """Whether both are positive and the interval is [value/f, value·f]."""
    positive = min(tolerance.target, estimate.low) > 0 and estimate.high > estimate.low
    product = estimate.low * estimate.high
    return positive and math.isclose(product, estimate.value**2, rel_tol=1e-9)


class _Moved(NamedTuple):
    """An estimate, moved to one side of a tolerance's target with its interval.

    side: 1 above the target, −1 below it. in_logarithm: whether it is the logarithm
    that is moved.
    """

    estimate: Estimate
    tolerance: Tolerance
    side: int
    in_logarithm: bool

    def value(self, distance: float) -> float:
        """The value at a distance from the target."""
        target = self.tolerance.target
        if self.in_logarithm:
            return target * math.exp(self.side * min(distance, FAR))
        return target + self.side * distance

    def is_contradicted(self, distance: float) -> bool:
        """Whether the estimate contradicts at a distance from the target."""
        x = self.value(distance)
        scale = 1.0
        if self.in_logarithm:
            scale = x / self.estimate.value
        below = self.estimate.value - self.estimate.low
        above = self.estimate.high - self.estimate.value
        there = Estimate(x, x - scale * below, x + scale * above)
        return self.tolerance.verdict(there) == CONTRADICTED


def _border(estimate: Estimate, tolerance: Tolerance, side: int) -> float:
    """The value nearest to the target at which an interval of this width contradicts.

    side: 1 above the target, −1 below it.
    """
    moved = _Moved(estimate, tolerance, side, _log_symmetric(estimate, tolerance))
    below = estimate.value - estimate.low
    above = estimate.high - estimate.value
    far = max(1e-12, abs(tolerance.target), below, above)
    for _ in range(STEPS):
        if moved.is_contradicted(far):
            return moved.value(_bisected(moved, far))
        far *= 2
    return side * math.inf


def _bisected(moved: _Moved, far: float) -> float:
    """The least distance at which an estimate contradicts. far: one at which it does."""
    near = 0.0
    for _ in range(STEPS):
        middle = (near + far) / 2
        if moved.is_contradicted(middle):
            far = middle
        else:
            near = middle
    return far
