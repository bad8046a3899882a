"""The least of an unknown that meets all targets: a bracket, a pilot, an interval, then a level
that can be certified.

A level's side is that of its mean. Positions are those of an `Axis`: larger ones are nearer to
where the target is met.
"""

import contextlib
import math
from dataclasses import replace

import numpy as np
from scipy import special

from pipeline.advice import numbers
from pipeline.advice.axis import Axis
from pipeline.advice.levels import Range, rounded, rungs
from pipeline.advice.pieces import Piece, pieces
from pipeline.advice.question import Question
from pipeline.advice.reached import Nowhere, Reached, Rough
from pipeline.advice.simulation import Simulator
from pipeline.analysis.paired_crossing import paired_crossings
from pipeline.study.parameters import InvalidInput

LOOK = 200
PILOT = 400  # replications: of a look at one level, of the pilot
WINDOW = 40_000
CERTIFICATE = 100_000  # replications at most: of a level of the window, of a certificate
FLAT = 400_000  # of a certificate where the mean hardly changes with the unknown
CONFIDENCE = 0.95
PRECISION = 0.03  # half-width of the interval that is aimed at, of the logarithm of the unknown
MARGIN = 0.05  # by which a level is to exceed the crossing for its certificate, of the logarithm
WIDE = 0.15  # margin above which a certificate takes more replications than usual
SAFE = 0.95  # chance that a certificate is meant to have
NEAR = 0.06
FAR = 0.6  # half-widths of the last window, of the logarithm
NARROW = math.log(2.5)  # of a bracket, from which on it is a window
TRIES = 6  # windows
HALVINGS = 30  # of the range in which theory looks for a crossing


def roughly(simulator: Simulator) -> Rough:
    """Where the targets begin to be met, roughly; Nowhere if that is not within the limits."""
    if numbers.is_about_numbers(simulator.question):
        return numbers.roughly(simulator)
    axis, worse, better = bracket(simulator)
    first = axis.position(worse)
    last = axis.position(better)
    pilot = min(PILOT, *(simulator.affordable(level, 0.03) for level in (worse, better)))
    return Rough(_window(simulator, axis, first, last, 5, pilot), first, last, pilot)


def find(simulator: Simulator) -> Reached:
    """Where the targets begin to be met; Nowhere if that is not within the limits."""
    return precisely(simulator, roughly(simulator))


def precisely(simulator: Simulator, rough: Rough) -> Reached:
    """Where the targets begin to be met, from where that roughly is."""
    if rough.reached.numbers:
        return numbers.precisely(simulator, rough)
    reached, first, last, pilot = rough
    axis = reached.axis
    z = float(special.ndtri(0.5 + CONFIDENCE / 2))
    wanted = reached.replications(z, PRECISION)
    middle = min(max(reached.value, first), last)
    half = 2 * PRECISION * math.sqrt(wanted / pilot)
    for _ in range(TRIES):
        half = min(max(half, NEAR), FAR)
        most = min(WINDOW, simulator.affordable(axis.level(middle), 0.12))
        reps = int(min(most, max(PILOT, wanted)))
        reached = _window(simulator, axis, middle - half, middle + half, 3, reps)
        if reached.settled:
            break
        if math.isfinite(reached.estimate):
            if half == FAR:
                break
            middle = reached.estimate
        else:
            middle += math.copysign(half, reached.estimate)
            _check_end(axis, middle, half)
        half *= 1.6
    return _beside_jumps(simulator, reached, reps)


def _beside_jumps(simulator: Simulator, reached: Reached, reps: int) -> Reached:
    """The same where mean curves jump within the window: no parabola is fitted across a jump.

    Pieces are looked at by themselves, the one nearest to the better end first. Where all of one
    meets the targets, and they are missed at the end of the one before it, they begin to be met at
    the jump between both.
    """
    axis = reached.axis
    parts = pieces(axis, *reached.window)
    if len(parts) == 1:
        return reached
    behind: Reached | None = None
    for piece in reversed(parts):
        of_piece = _of_piece(simulator, axis, piece, reps)
        if math.isfinite(of_piece.estimate):
            return of_piece
        if of_piece.estimate > 0:
            return of_piece if behind is None else behind
        behind = _from_its_start(of_piece, piece)
    assert behind is not None
    return behind


def _of_piece(simulator: Simulator, axis: Axis, piece: Piece, reps: int) -> Reached:
    """What fresh replications show of a piece, and then near the crossing within it.

    Ends of intervals beyond the piece are its own.
    """
    first, last = piece
    reps = min(reps, simulator.affordable(axis.level(first), 0.12))
    of_piece = _window(simulator, axis, first, last, 5, reps)
    if math.isfinite(of_piece.estimate):
        near = max(first, of_piece.estimate - NEAR), min(last, of_piece.estimate + NEAR)
        closer = _window(simulator, axis, *near, 3, reps)
        if math.isfinite(closer.estimate):
            of_piece = closer
    crossings = [
        crossing._replace(
            low=min(max(crossing.low, first), last), high=min(max(crossing.high, first), last)
        )
        for crossing in of_piece.crossings
    ]
    return replace(of_piece, crossings=crossings)


def _from_its_start(reached: Reached, piece: Piece) -> Reached:
    """That targets begin to be met at the start of a piece, all of which meets them."""
    at_start = [
        crossing._replace(value=piece.first, low=piece.first, high=piece.first, error=0.0)
        for crossing in reached.crossings
    ]
    return replace(reached, crossings=at_start)


def _check_end(axis: Axis, middle: float, half: float) -> None:
    """Raise Nowhere for a window that lies beyond an end of the axis."""
    if middle - half > axis.position(axis.best):
        raise Nowhere(False, axis.best, axis.beyond_best)
    if middle + half < axis.position(axis.worst):
        raise Nowhere(True, axis.worst)


def bracket(simulator: Simulator) -> tuple[Axis, float, float]:
    """The axis, a level that does not meet the targets, and one that does, as near as looks can
    tell.
    """
    helps = simulator.question.unknown.helps
    if helps is None:
        axis, worse, better = _ladder(simulator)
    else:
        axis = declared_axis(simulator.question)
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


def declared_axis(question: Question) -> Axis:
    """The axis of an unknown whose declaration says whether more of it helps."""
    if question.unknown.helps:
        return Axis(question, 1)
    return Axis(question, -1)


def met(simulator: Simulator, level: float) -> bool:
    """Whether means over a few replications meet all targets at a level."""
    reps = min(LOOK, simulator.affordable(level, 0.02))
    return all(float(excess.mean()) <= 0 for excess in simulator.excess([level], reps))


def _climb(simulator: Simulator, axis: Axis) -> tuple[float, float]:
    """Two levels around the beginning: from the predicted one on, in steps that grow."""
    limits = simulator.question.limits
    simulator.check_time(limits.low)  # before theory predicts anything
    level = axis.level(axis.position(start(simulator.question)))
    step = math.log(1.5)
    simulator.check_time(level)
    side = met(simulator, level)
    direction = 1  # towards the better end
    if side:
        direction = -1
    while True:
        following = axis.level(axis.position(level) + direction * step)
        if following == level:
            raise Nowhere(side, level, _beyond(limits, level))
        try:
            simulator.check_time(following)
            other = met(simulator, following)
        except InvalidInput as error:  # a part refuses the level, or it is too large
            raise Nowhere(side, level, error.allowed) from None
        if other != side:
            worse, better = sorted((level, following), key=axis.position)
            return worse, better
        level = following
        step *= 1.7


def _beyond(limits: Range, end: float) -> str:
    """Why there are no levels beyond an end of the limits; empty where nothing says so."""
    if end == limits.high:
        return limits.above or ""
    return limits.below or ""


def _ladder(simulator: Simulator) -> tuple[Axis, float, float]:
    """As `_climb`, where the side on which the targets are met is not declared: levels upwards
    until a side differs.
    """
    question = simulator.question
    limits = question.limits
    refused: InvalidInput | None = None
    before: bool | None = None
    last = limits.low
    for level in rungs(limits.low, limits.high, question.whole):
        try:
            simulator.check_time(level)
            side = met(simulator, level)
        except InvalidInput as error:
            refused = error
            if before is None:
                continue
            break
        if before is not None and side != before:
            if side:
                return Axis(question, 1), last, level
            return Axis(question, -1), level, last
        before = side
        last = level
    if refused is None:
        raise Nowhere(bool(before), last, limits.above or "")
    if before is None:
        raise refused
    raise Nowhere(before, last, refused.allowed)


def start(question: Question) -> float:
    """Where theory predicts the beginning, or else where the problem says to start."""
    unknown = question.unknown
    limits = question.limits
    low = limits.low
    high = limits.high
    with contextlib.suppress(ArithmeticError, ValueError), np.errstate(all="ignore"):
        at_low = question.predicted(low)
        at_high = question.predicted(high)
        if at_low is None or at_high is None or (at_low > 0) == (at_high > 0):
            return unknown.start
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            excess = question.predicted(rounded(middle, question.whole))
            if excess is None:
                return unknown.start
            if (excess > 0) == (at_low > 0):
                low = middle
            else:
                high = middle
        return math.sqrt(low * high)
    return unknown.start


def _window(
    simulator: Simulator, axis: Axis, first: float, last: float, count: int, reps: int
) -> Reached:
    """What fresh replications show of a window."""
    levels = axis.levels(first, last, count)
    if len(levels) < 3:  # the window lies at, or beyond, a limit; or there are no more levels
        levels = axis.levels(axis.within(first - NEAR), axis.within(last + NEAR), count)
    excess = simulator.excess(levels, reps)
    at = np.array([axis.position(level) for level in levels])
    ranges = [target.most - target.least for target in simulator.question.targets]
    crossings = paired_crossings(at, excess, CONFIDENCE, ranges)
    deviations = []
    for crossing, values in zip(crossings, excess, strict=True):
        nearest = int(np.abs(at - min(max(crossing.value, at[0]), at[-1])).argmin())
        deviations.append(float(values[:, nearest].std()))
    return Reached(axis, crossings, deviations, (float(at[0]), float(at[-1])))


def recommended(reached: Reached, reps: int, alpha: float) -> float:
    """Position at which a certificate of `reps` replications at error probability alpha is likely
    to be given.
    """
    position = reached.value
    for crossing, margin in zip(reached.crossings, margins(reached, reps, alpha), strict=True):
        if math.isfinite(crossing.value):
            position = max(position, crossing.value + min(margin, FAR))
    return reached.axis.within(position)


def margins(reached: Reached, reps: int, alpha: float) -> list[float]:
    """By how much a level is to exceed each target's crossing, for a certificate of `reps`
    replications.
    """
    chance = float(special.ndtri(SAFE))
    needed = float(special.ndtri(1 - alpha / len(reached.crossings)))
    widths = []
    for crossing, deviation in zip(reached.crossings, reached.deviations, strict=True):
        error = deviation / math.sqrt(reps)
        wanted = needed * error + chance * math.hypot(error, crossing.error)
        width = 0.0
        if crossing.slope < 0:
            width = wanted / -crossing.slope
        widths.append(width)
    return widths


def replications(reached: Reached, simulator: Simulator, alpha: float) -> int:
    """Replications of a certificate for which the margin is about MARGIN.

    More where it would be wide.
    """
    wanted = reached.replications(float(special.ndtri(1 - alpha) + special.ndtri(SAFE)), MARGIN)
    affordable = simulator.affordable(reached.axis.level(reached.value), 0.3)
    usual = int(min(max(wanted, 1000), CERTIFICATE, affordable))
    if max(margins(reached, usual, alpha)) <= WIDE:
        return usual
    return int(min(wanted, FLAT, affordable))
