"""Levels of an unknown at which the parts of a question can be made: found by making them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.study.parameters import InvalidInput

Refusal = Callable[[float], InvalidInput | None]  # why the parts refuse a level, or None

FINEST = 1e-6  # relative distance to which an end is found
CLOSE = 64  # whole levels above the low end of which each is tried
FAR_ABOVE = 16
SPARSE = 64  # up to so many times the low end, so many levels are tried


@dataclass(frozen=True)
class Range:
    """Levels at which the parts can be made, both ends included.

    below, above: what a part says of a level beyond that end; None where nobody looks further.
    """

    low: float
    high: float
    below: str | None = None
    above: str | None = None


def possible(low: float, start: float, high: float, whole: bool, refusal: Refusal) -> Range:
    """The range around `start` in which no part refuses a level.

    Low, high: where it must end at the latest.

    Ends are found by bisection, on a logarithmic axis. Sizes that are rounded may refuse single
    whole levels above the first that they take: the low end lies above all of these that are found.
    Raises the refusal of `start` where no level is taken. O(log(high/low)) attempts to make the
    parts.

    >>> def odd(level):
    ...     return None if 3 <= level <= 90 else InvalidInput("n", level, "must be from 3 to 90")
    >>> possible(1, 1000, 10**6, True, odd)
    Range(low=3, high=90, below='must be from 3 to 90', above='must be from 3 to 90')
    """
    inside = _taken(low, start, high, whole, refusal)
    bottom, below = _end(inside, low, whole, refusal)
    top, above = _end(inside, high, whole, refusal)
    if whole and below is not None:
        bottom = _above_gaps(int(bottom), int(top), refusal)
    return Range(bottom, top, below, above)


def narrowed(limits: Range, whole: bool, refusal: Refusal) -> Range:
    """The part of a range that something else does not refuse, which has one of its ends.

    Raises the refusal of the low end where it has neither. O(log(high/low)) questions.

    >>> def few(level):
    ...     return None if level >= 7 else InvalidInput("n", level, "is too few")
    >>> narrowed(Range(3, 90), True, few)
    Range(low=7, high=90, below='is too few', above=None)
    """
    inside = limits.high
    if refusal(inside) is not None:
        inside = limits.low
    refused = refusal(inside)
    if refused is not None:
        raise refused
    bottom, below = _end(inside, limits.low, whole, refusal)
    top, above = _end(inside, limits.high, whole, refusal)
    return Range(bottom, top, below or limits.below, above or limits.above)


def _taken(low: float, start: float, high: float, whole: bool, refusal: Refusal) -> float:
    """A level that no part refuses: `start`, or the nearest rung of a ladder."""
    first_refusal = refusal(start)
    if first_refusal is None:
        return start
    nearest = sorted(rungs(low, high, whole), key=lambda level: abs(math.log(level / start)))
    for level in nearest:
        if refusal(level) is None:
            return level
    raise first_refusal


def rungs(low: float, high: float, whole: bool) -> Iterator[float]:
    """Levels from low to high, each about twice the one before; both ends are among them."""
    count = max(1, round(math.log2(high / low)))
    last = None
    for k in range(count + 1):
        level = rounded(low * (high / low) ** (k / count), whole)
        if level != last:
            yield level
        last = level


def rounded(level: float, whole: bool) -> float:
    """The nearest level that a parameter may have: whole, or with six digits."""
    return max(1, round(level)) if whole else float(f"{level:.6g}")


def _end(inside: float, limit: float, whole: bool, refusal: Refusal) -> tuple[float, str | None]:
    """The last level from one that is taken towards a limit, and what is said of the next one."""
    outermost = refusal(limit)
    if outermost is None:
        return limit, None
    outside = limit
    while not _adjacent(inside, outside, whole):
        middle = rounded(math.sqrt(inside * outside), whole)
        if refusal(middle) is None:
            inside = middle
        else:
            outside = middle
    return inside, (refusal(outside) or outermost).allowed


def _adjacent(inside: float, outside: float, whole: bool) -> bool:
    if whole:
        return abs(inside - outside) <= 1
    return abs(math.log(inside / outside)) <= FINEST * 10


def _above_gaps(bottom: int, top: int, refusal: Refusal) -> int:
    """The first whole level, from `bottom` on, above all that are refused, as far as those that are
    tried tell.
    """
    close = range(bottom, min(bottom + CLOSE, top) + 1)
    widest = min(FAR_ABOVE * bottom, top)
    step = max(1, (widest - bottom) // SPARSE)
    sparse = range(bottom, widest + 1, step)
    tried = sorted({*close, *sparse})
    refused = [level for level in tried if refusal(level) is not None]
    if not refused:
        return bottom
    following: int = max(refused) + 1
    while following < top and refusal(following) is not None:
        following += 1
    return following
