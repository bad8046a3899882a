"""The least of an unknown that meets all targets: a bracket, a pilot, an interval, then a level that can be certified.

A level's side is that of its mean. Positions are ± log of the parameter, larger ones nearer to where the target is met.
"""

import contextlib
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

from pipeline.advice.question import Question
from pipeline.advice.simulation import Simulator
from pipeline.analysis.paired_crossing import Crossing, paired_crossings
from pipeline.study.parameters import InvalidInput

LOOK, PILOT = 200, 400  # replications: of a look at one level, of the pilot
WINDOW, CERTIFICATE = 40_000, 100_000  # replications at most: of a level of the window, of a certificate
CONFIDENCE = 0.95
PRECISION = 0.03  # half-width of the interval that is aimed at, of the logarithm of the unknown
MARGIN = 0.05  # by which a level is to exceed the crossing for its certificate, of the logarithm
SAFE = 0.95  # chance that a certificate is meant to have
NEAR, FAR = 0.06, 0.6  # half-widths of the last window, of the logarithm
NARROW = math.log(2.5)  # of a bracket, from which on it is a window
TRIES = 6  # windows


class Nowhere(Exception):
    """No level within the limits meets the targets, or all do. met: at all of them. last: the last level looked at."""

    def __init__(self, met: bool, last: float, why: str = ""):
        self.met, self.last, self.why = met, last, why
        super().__init__(why)


class Axis(NamedTuple):
    """The unknown as an axis. better: 1 where targets are met at large levels, −1 where at small ones."""

    question: Question
    better: int

    def level(self, position: float) -> float:
        """The level at a position, whole where it must be, or with six digits."""
        exact = math.exp(self.better * position)
        low, high = self.question.unknown.low, self.question.unknown.high
        exact = min(max(exact, low), high)
        return max(1, round(exact)) if self.question.whole else float(f"{exact:.6g}")

    def position(self, level: float) -> float:
        """Of a level."""
        return self.better * math.log(level)

    def levels(self, first: float, last: float, count: int) -> list[float]:
        """Distinct levels from one position to another, in order of their positions; three at least."""
        chosen = {self.level(x) for x in np.linspace(first, last, count)}
        step = 1
        while len(chosen) < 3 and self.question.whole and step < 4:  # neighbours that are whole numbers
            middle = self.level((first + last) / 2)
            chosen |= {one for one in (middle - step, middle + step) if self.inside(one)}
            step += 1
        return sorted(chosen, key=self.position)

    def inside(self, level: float) -> bool:
        """Whether a level is one that is looked for."""
        return self.question.unknown.low <= level <= self.question.unknown.high

    def rounded(self, position: float) -> float:
        """The first level at or after a position that has three digits, or is whole."""
        exact = math.exp(self.better * position)
        up = math.ceil if self.better > 0 else math.floor
        if self.question.whole:
            return min(max(up(exact - 1e-9 * self.better), 1), int(self.question.unknown.high))
        if self.question.unknown.left:  # the person reads 1 − level
            return min(up(exact * 1000) / 1000, 1.0)
        scale = 10.0 ** (math.floor(math.log10(exact)) - 2)
        return float(f"{up(exact / scale * (1 - 1e-12 * self.better)) * scale:.3g}")


class Found(NamedTuple):
    """Where the targets begin to be met, in positions of the axis. value, low, high: of the target that is met last.

    crossings, deviations: of each target, where it begins to be met, and the standard deviation of one replication.
    """

    axis: Axis
    crossings: list[Crossing]
    deviations: list[float]

    @property
    def value(self) -> float:
        """Estimate."""
        return max(one.value for one in self.crossings)

    @property
    def low(self) -> float:
        """Low end of the interval."""
        return max(one.low for one in self.crossings)

    @property
    def high(self) -> float:
        """High end of the interval."""
        return max(one.high for one in self.crossings)

    def shown(self) -> tuple[float, float, float]:
        """Low end, estimate and high end as the person names the unknown, in ascending order."""
        levels = (self.axis.question.shown(_level(self.axis.better * one)) for one in (self.low, self.value, self.high))
        low, value, high = sorted(levels)
        return low, value, high

    def replications(self, z: float, width: float) -> float:
        """Replications at which z standard errors of the deciding mean move the crossing by `width`; may be infinite.
        """
        last = max(range(len(self.crossings)), key=lambda k: self.crossings[k].value)
        slope = -self.crossings[last].slope
        return (z * self.deviations[last] / (width * slope)) ** 2 if slope > 0 else math.inf


def _level(position: float) -> float:
    """The level at a position of log, six digits; 0 or inf beyond all."""
    return float(f"{math.exp(position):.6g}") if math.isfinite(position) else (math.inf if position > 0 else 0.0)


def find(simulator: Simulator) -> Found:
    """Where the targets begin to be met; Nowhere if that is not within the limits."""
    axis, worse, better = bracket(simulator)
    first, last = axis.position(worse), axis.position(better)
    pilot = min(PILOT, *(simulator.affordable(level, 0.03) for level in (worse, better)))
    found = _window(simulator, axis, first, last, 5, pilot)
    wanted = found.replications(float(special.ndtri(0.5 + CONFIDENCE / 2)), PRECISION)
    middle, half = min(max(found.value, first), last), 2 * PRECISION * math.sqrt(wanted / pilot)
    for _ in range(TRIES):
        half = min(max(half, NEAR), FAR)
        most = min(WINDOW, simulator.affordable(axis.level(middle), 0.12))
        reps = int(min(most, max(PILOT, wanted)))
        found = _window(simulator, axis, middle - half, middle + half, 3, reps)
        if all(map(math.isfinite, (found.low, found.value, found.high))):
            break
        if math.isfinite(found.value):
            if half == FAR:
                break
            middle = found.value
        else:
            middle += half if found.value > 0 else -half
        half *= 1.6
    return found


def bracket(simulator: Simulator) -> tuple[Axis, float, float]:
    """The axis, a level that does not meet the targets, and one that does, as near as looks can tell."""
    question = simulator.question
    unknown = question.unknown
    if unknown.helps is None:
        axis, worse, better = _ladder(simulator)
    else:
        axis = Axis(question, 1 if unknown.helps else -1)
        worse, better = _climb(simulator, axis)
    while abs(math.log(better / worse)) > NARROW:
        middle = axis.level((axis.position(better) + axis.position(worse)) / 2)
        if middle in (better, worse):
            break
        if met(simulator, middle):
            better = middle
        else:
            worse = middle
    return axis, worse, better


def met(simulator: Simulator, level: float) -> bool:
    """Whether means over a few replications meet all targets at a level."""
    reps = min(LOOK, simulator.affordable(level, 0.02))
    return all(float(one.mean()) <= 0 for one in simulator.excess([level], reps))


def _climb(simulator: Simulator, axis: Axis) -> tuple[float, float]:
    """Two levels with the beginning between them, from the predicted one on, in steps that double."""
    simulator.check_time(axis.level(axis.position(simulator.question.unknown.low)))  # before theory predicts anything
    level, step = start(simulator.question), math.log(1.5)
    level = axis.level(axis.position(level))
    simulator.check_time(level)
    side = met(simulator, level)
    while True:
        following = axis.level(axis.position(level) + (-step if side else step))
        if following == level:
            raise Nowhere(side, level)
        try:
            simulator.check_time(following)
            other = met(simulator, following)
        except InvalidInput as error:  # a part refuses the level, or it is too large
            raise Nowhere(side, level, error.allowed) from None
        if other != side:
            return (following, level) if side else (level, following)
        level, step = following, step * 1.7


def _ladder(simulator: Simulator) -> tuple[Axis, float, float]:
    """As `_climb`, where the side on which the targets are met is not declared: levels upwards until a side differs."""
    question, unknown = simulator.question, simulator.question.unknown
    up, before, last = Axis(question, 1), False, math.nan
    refused: InvalidInput | None = None
    for level in _rungs(up, unknown.low, unknown.high):
        try:
            simulator.check_time(level)
            side = met(simulator, level)
        except InvalidInput as error:
            refused = error
            if math.isnan(last):
                continue
            break
        if not math.isnan(last) and side != before:
            return (up, last, level) if side else (Axis(question, -1), level, last)
        before, last = side, level
    if math.isnan(last) and refused is not None:
        raise refused
    raise Nowhere(before, unknown.start if math.isnan(last) else last)


def _rungs(axis: Axis, low: float, high: float) -> Iterator[float]:
    count = max(2, round(math.log(high / low) / math.log(2)) + 1)
    yield from dict.fromkeys(axis.level(x) for x in np.linspace(math.log(low), math.log(high), count))


def start(question: Question) -> float:
    """Where theory predicts that the targets begin to be met, or where the problem says to begin."""
    unknown = question.unknown
    low, high = math.log(unknown.low), math.log(unknown.high)
    with contextlib.suppress(ArithmeticError, ValueError), np.errstate(all="ignore"):
        ends = [question.predicted(_whole(question, math.exp(x))) for x in (low, high)]
        if None in ends or not (ends[0] > 0) != (ends[1] > 0):  # type: ignore[operator]
            return unknown.start
        for _ in range(30):
            middle = (low + high) / 2
            if (question.predicted(_whole(question, math.exp(middle))) > 0) == (ends[0] > 0):  # type: ignore[operator]
                low = middle
            else:
                high = middle
        return math.exp((low + high) / 2)
    return unknown.start


def _whole(question: Question, level: float) -> float:
    return max(1, round(level)) if question.whole else level


def _window(simulator: Simulator, axis: Axis, first: float, last: float, count: int, reps: int) -> Found:
    """What fresh replications show of a window."""
    levels = axis.levels(first, last, count)
    if len(levels) < 3:  # the window lies at, or beyond, a limit
        limits = [axis.position(one) for one in (simulator.question.unknown.low, simulator.question.unknown.high)]
        raise Nowhere(first + last < sum(limits), levels[0])
    excess = simulator.excess(levels, reps)
    at = np.array([axis.position(level) for level in levels])
    ranges = [one.most - one.least for one in simulator.question.targets]
    crossings = paired_crossings(at, excess, CONFIDENCE, ranges)
    nearest = [int(np.abs(at - min(max(one.value, at[0]), at[-1])).argmin()) for one in crossings]
    return Found(axis, crossings, [float(one[:, k].std()) for one, k in zip(excess, nearest, strict=True)])


def recommended(found: Found, reps: int, alpha: float) -> float:
    """Position at which a certificate of `reps` replications at error probability alpha is likely to be given."""
    chance, needed = special.ndtri(SAFE), special.ndtri(1 - alpha / len(found.crossings))
    position = found.value
    for one, deviation in zip(found.crossings, found.deviations, strict=True):
        if one.slope < 0:
            error = deviation / math.sqrt(reps)
            margin = (needed * error + chance * math.hypot(error, one.error)) / -one.slope
            position = max(position, one.value + min(float(margin), FAR))
    return position


def replications(found: Found, simulator: Simulator, alpha: float) -> int:
    """Replications of a certificate for which the margin is about MARGIN."""
    wanted = found.replications(float(special.ndtri(1 - alpha) + special.ndtri(SAFE)), MARGIN)
    return int(min(max(wanted, 1000), CERTIFICATE, simulator.affordable(found.axis.level(found.value), 0.4)))
