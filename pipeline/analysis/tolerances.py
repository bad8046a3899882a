"""Tolerances: what a claim allows.

Each decides an estimate and prints itself, so that text and check agree.

The estimate's interval inside the tolerance supports the claim, an interval wholly
outside contradicts it, anything else is inconclusive, and so is an interval that is not
finite, but for `Contains`.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, Protocol

from pipeline.analysis.estimate import Estimate

SUPPORTED = "supported"
IDENTITY = "identity"  # supported, as it must be: the claim holds by construction
# Supported, but plausible data could not have contradicted the claim.
NOT_REFUTED = "not refuted"
# One of those above, but the check does not reject the control: it shows nothing.
TOO_WEAK = "too weak"
INCONCLUSIVE = "inconclusive"  # tested, but undecided
# The data or the levels of the grid that it needs are not there.
NOT_TESTED = "not tested"
CONTRADICTED = "contradicted"
VERDICTS = (
    SUPPORTED,
    IDENTITY,
    NOT_REFUTED,
    NOT_TESTED,
    TOO_WEAK,
    INCONCLUSIVE,
    CONTRADICTED,
)  # the worst last
HELD = (SUPPORTED, IDENTITY, NOT_REFUTED)  # the intervals lie inside the tolerance

PLACES = 16  # in which an interval is looked at for a value that could decide
Worst = Literal["largest", "smallest", "farthest"]
_FRACTIONS = {"0.25": "¼", "0.5": "½", "0.75": "¾", "0.333333": "⅓", "0.666667": "⅔"}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Tolerance(Protocol):
    """What an estimate may be.

    `worst` says which of several cells is reported, and `target` from where "farthest"
    counts.

    A tolerance of your own is any class with these three attributes and a `__str__`
    that says what `verdict` decides.
    """

    @property
    def target(self) -> float:
        """The number that is claimed, or the bound."""

    @property
    def worst(self) -> Worst:
        """Which cell is nearest to a contradiction.

        The one with the largest or smallest value, or farthest from the target.
        """

    def verdict(self, estimate: Estimate) -> str:
        """`SUPPORTED`, `CONTRADICTED` or `INCONCLUSIVE`."""


@dataclass(frozen=True)
class Within:
    """Target ± margin: `Within(-0.5, 0.05)` prints "−½ ± 0.05"."""

    target: float
    margin: float
    _: KW_ONLY
    worst: Worst = "farthest"

    def verdict(self, estimate: Estimate) -> str:
        """Whether the interval lies in [target − margin, target + margin]."""
        return compare(estimate, self.target - self.margin, self.target + self.margin)

    def __str__(self) -> str:
        return f"{written(self.target)} ± {written(self.margin, fractions=False)}"


@dataclass(frozen=True)
class Exactly:
    """The target and nothing else: only an interval of width 0, of exact numbers, supports it."""

    target: float
    _: KW_ONLY
    worst: Worst = "farthest"

    def verdict(self, estimate: Estimate) -> str:
        """Whether the interval is the target alone."""
        return compare(estimate, self.target, self.target)

    def __str__(self) -> str:
        return f"exactly {written(self.target)}"


@dataclass(frozen=True)
class AtMost:
    """At most a bound."""

    target: float
    _: KW_ONLY
    worst: Worst = "largest"

    def verdict(self, estimate: Estimate) -> str:
        """Whether the interval lies at or below the bound."""
        return compare(estimate, -math.inf, self.target)

    def __str__(self) -> str:
        return f"at most {written(self.target)}"


@dataclass(frozen=True)
class AtLeast:
    """At least a bound."""

    target: float
    _: KW_ONLY
    worst: Worst = "smallest"

    def verdict(self, estimate: Estimate) -> str:
        """Whether the interval lies at or above the bound."""
        return compare(estimate, self.target, math.inf)

    def __str__(self) -> str:
        return f"at least {written(self.target)}"


@dataclass(frozen=True)
class Contains:
    """Agreement with a law, cell by cell.

    An interval that lies wholly outside target ± margin contradicts it. The margin is 0
    for a law that is exact. An interval that meets the target supports it however wide
    it is, even without ends, as where replications are too skewed for one: use this
    beside a tolerance that asks for precision, as `pipeline.analysis.exact.exact_law`
    does.
    """

    target: float
    margin: float = 0.0
    _: KW_ONLY
    worst: Worst = "farthest"

    def verdict(self, estimate: Estimate) -> str:
        """Whether the interval and [target − margin, target + margin] have a point in common."""
        meets = estimate.low <= self.target + self.margin
        meets = meets and self.target - self.margin <= estimate.high
        if meets:
            return SUPPORTED if math.isfinite(estimate.value) else INCONCLUSIVE
        return CONTRADICTED if finite(estimate) else INCONCLUSIVE

    def __str__(self) -> str:
        if not self.margin:
            return f"an interval that contains {written(self.target)}"
        return f"an interval that meets {Within(self.target, self.margin)}"


@dataclass(frozen=True)
class NoException:
    """No exception at all, in enough data to exclude a larger share than `largest`.

    The estimate is a share.
    """

    largest: float

    target: ClassVar[float] = 0.0
    worst: ClassVar[Worst] = "largest"

    def verdict(self, estimate: Estimate) -> str:
        """One exception contradicts.

        Without any, the upper end of the interval has to be at most `largest`.

        Where lost replications may be exceptions, which leaves the value above 0 and
        the low end at 0, none is known.
        """
        if estimate.value == 0:
            return compare(estimate, -math.inf, self.largest)
        return INCONCLUSIVE if estimate.lost and estimate.low <= 0 else CONTRADICTED

    def __str__(self) -> str:
        return f"none, in enough data to exclude a share of {100 * self.largest:g} %"


def compare(estimate: Estimate, least: float, most: float) -> str:
    """The verdict on an interval where [least, most] is allowed.

    `SUPPORTED` for one inside, `CONTRADICTED` for one wholly outside, else
    `INCONCLUSIVE`. An interval without an end on one side supports nothing, but
    contradicts what lies on its other side.
    """
    if any(map(math.isnan, (estimate.value, estimate.low, estimate.high))):
        return INCONCLUSIVE
    if estimate.high < least or estimate.low > most:
        return CONTRADICTED
    if finite(estimate) and least <= estimate.low and estimate.high <= most:
        return SUPPORTED
    return INCONCLUSIVE


def finite(estimate: Estimate) -> bool:
    """Whether the data determine the estimate: value and interval are finite."""
    return all(map(math.isfinite, (estimate.value, estimate.low, estimate.high)))


def open_for_good(estimate: Estimate, tolerance: Tolerance) -> bool:
    """Whether no number of replications could decide.

    The levels of the grid alone then leave too wide an interval. Wherever in its
    interval the number lies, the interval that the levels leave there must be
    undecided. It is as much longer and shorter than the number, by a factor, as at the
    estimate; so this is about positive numbers.
    """
    if estimate.finest is None or not finite(estimate) or estimate.low <= 0:
        return False
    low, high = (end / estimate.value for end in estimate.finest)
    least = estimate.low / low
    most = estimate.high / high
    steps = [least + k / PLACES * (most - least) for k in range(PLACES + 1)]
    for value in (estimate.value, *steps):
        narrow = Estimate(value, value * low, value * high)
        if tolerance.verdict(narrow) != INCONCLUSIVE:
            return False
    return True


def beside(tolerance: Tolerance) -> str:
    """What an estimate is compared with: what theory claims, told apart from what is tolerated.

    >>> beside(Within(-0.5, 0.05)), beside(AtMost(1.3))
    ('claimed −½, tolerated ± 0.05', 'tolerated at most 1.3')
    """
    if isinstance(tolerance, Within):
        margin = written(tolerance.margin, fractions=False)
        return f"claimed {written(tolerance.target)}, tolerated ± {margin}"
    if isinstance(tolerance, (AtMost, AtLeast)):
        return f"tolerated {tolerance}"
    return f"claimed {tolerance}"


def by_badness(values: Sequence[float], tolerance: Tolerance) -> list[int]:
    """Positions of the values, the one nearest to a contradiction first.

    Equal ones are in their order.
    """
    badness = {
        "largest": lambda value: value,
        "smallest": lambda value: -value,
        "farthest": lambda value: abs(value - tolerance.target),
    }
    return sorted(range(len(values)), key=lambda i: -badness[tolerance.worst](values[i]))


def written(number: float, fractions: bool = True, digits: int = 6) -> str:
    """A number as in print, in at most so many significant digits: −½, 0.05, 10⁻⁶."""
    sign = "−" if number < 0 else ""
    text = f"{abs(number):.{digits}g}"
    if fractions and text in _FRACTIONS:
        return sign + _FRACTIONS[text]
    mantissa, e, exponent = text.partition("e")
    if not e:
        return sign + text
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return sign + (power if mantissa == "1" else f"{mantissa}·{power}")
