"""How many questions meet all targets: each number is tried by itself.

More questions help up to some number, and harm beyond it, where a person's budget is shared by all
of her answers. So the targets may be met by a few numbers in the middle only, by those up to one,
by those from one on, by all, or by none; a ladder of levels sees the first change of side at most.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.advice.axis import Axis
from pipeline.advice.question import Question
from pipeline.advice.reached import Nowhere, Reached, Rough
from pipeline.advice.simulation import Simulator
from pipeline.advice.tried import Tried
from pipeline.analysis.paired_crossing import Crossing, paired_crossings
from pipeline.study.parameters import InvalidInput

IN_A_ROW = 16  # numbers from the fewest on that are tried one by one
STEP = 1.25  # factor between larger ones
LOOK = 400  # replications of the first look at a number
CLOSER = 4000  # of a closer one
RISING = 3  # numbers in turn, ever further from the targets, after which no more are tried
CLOSE = 8  # numbers that are looked at more closely
CONFIDENCE = 0.95


def is_about_numbers(question: Question) -> bool:
    """Whether the number of questions is the unknown."""
    if question.unknown.helps is not None or not question.whole:
        return False
    return question.parameter == question.advice.parameter_of("questions")


def candidates(fewest: int, most: int) -> list[int]:
    """Numbers that are tried first.

    >>> candidates(1, 7), candidates(1, 40)[-6:]
    ([1, 2, 3, 4, 5, 6, 7], [16, 20, 25, 31, 39, 40])
    """
    numbers = [*range(fewest, min(most, fewest + IN_A_ROW - 1) + 1)]
    while numbers[-1] < most:
        numbers.append(min(most, round(numbers[-1] * STEP)))
    return numbers


@dataclass
class _Trials:
    """What is known of the numbers that were tried; refused: why the last other one was not."""

    simulator: Simulator
    known: dict[int, Tried]
    refused: InvalidInput | None = None

    def look(self, number: int, most: int) -> None:
        """Try a number by fresh replications, `most` at most; not where that cannot be done."""
        try:
            self.simulator.check_time(number)
            reps = min(most, self.simulator.affordable(number, 0.02))
            excess = self.simulator.excess([number], reps)
        except InvalidInput as error:
            self.refused = error
            return
        tried = Tried.of(number, [values[:, 0] for values in excess])
        if number in self.known:
            tried = tried.together(self.known[number])
        self.known[number] = tried

    @property
    def best(self) -> Tried:
        """The number that is furthest within the targets, or nearest to them."""
        return min(self.known.values(), key=lambda tried: tried.height)

    @property
    def only_get_worse(self) -> bool:
        """Whether the largest numbers surely miss the targets, ever further."""
        last = [self.known[number] for number in sorted(self.known)[-RISING:]]
        heights = [tried.height for tried in last]
        return heights == sorted(heights) and all(tried.surely_misses for tried in last)

    def fill(self) -> None:
        """Try numbers between neighbours, until the advised one and the one before are adjacent."""
        passed = set[int]()
        while True:
            number = self._between()
            if number is None or number in passed:
                return
            passed.add(number)
            self.look(number, LOOK)

    def _between(self) -> int | None:
        """A number in the middle of a gap at which the answer may lie; None where there is none."""
        numbers = sorted(self.known)
        edge = advised(self.known)
        if edge is None:
            edge = self.best.number
        place = numbers.index(edge)
        neighbours = [edge, *numbers[max(0, place - 1) : place], *numbers[place + 1 : place + 2]]
        gaps = [abs(other - edge) for other in neighbours]
        widest = int(np.argmax(gaps))
        if gaps[widest] < 2:
            return None
        return round(math.sqrt(edge * neighbours[widest]))

    def look_closer(self) -> None:
        """Look longer at the numbers of which a few replications do not tell their side, the best
        ones first, and at the advised one.
        """
        for _ in range(CLOSE):
            unsure = [tried for tried in self.known.values() if not tried.is_sure]
            number = advised(self.known)
            if number is not None:
                unsure.append(self.known[number])
            wanting = [tried for tried in unsure if tried.replications < CLOSER]
            if not wanting:
                return
            nearest = min(wanting, key=lambda tried: tried.height)
            before = nearest.replications
            self.look(nearest.number, CLOSER)
            if self.known[nearest.number].replications < 2 * before:  # too expensive
                return


def advised(known: Mapping[int, Tried], better: int | None = None) -> int | None:
    """The number that is advised: the fewest questions that meet the targets, or the most. None
    where none meets them.

    better: which of the two it is, as `better_side` says unless given.
    """
    meeting = [number for number in sorted(known) if known[number].meets]
    if not meeting:
        return None
    if (better or better_side(known)) > 0:
        return meeting[0]
    return meeting[-1]


def better_side(known: Mapping[int, Tried]) -> int:
    """−1, for the most questions, where the smallest number that was tried meets the targets and the
    largest misses them; else 1, for the fewest.
    """
    if known[min(known)].meets and not known[max(known)].meets:
        return -1
    return 1


def _stretches(known: Mapping[int, Tried]) -> list[list[int]]:
    """Numbers that meet the targets, those in turn together, ascending."""
    stretches = list[list[int]]()
    is_within = False
    for number in sorted(known):
        meets = known[number].meets
        if meets and not is_within:
            stretches.append([])
        if meets:
            stretches[-1].append(number)
        is_within = meets
    return stretches


def extent(known: Mapping[int, Tried]) -> str:
    """Which numbers meet the targets, in words; empty where none was tried.

    >>> means = {1: 0.1, 2: -0.1, 3: -0.2, 4: 0.1, 5: -0.1}
    >>> extent({k: Tried(k, np.array([mean]), np.ones(1), 400) for k, mean in means.items()})
    'as far as simulations tell, of 1 to 5 questions these meet the targets: 2 to 3, 5'
    """
    if not known:
        return ""
    meeting = ", ".join(_span(stretch) for stretch in _stretches(known))
    return (
        f"as far as simulations tell, of {min(known)} to {max(known)} questions these meet the "
        f"targets: {meeting}"
    )


def _span(stretch: Sequence[int]) -> str:
    """Numbers in turn, in words."""
    if len(stretch) == 1:
        return str(stretch[0])
    return f"{stretch[0]} to {stretch[-1]}"


def in_turn(reached: Reached) -> list[Tried]:
    """Numbers as they are to be certified: from the advised one to the best of its stretch, then
    all others, the best first.
    """
    known = reached.numbers
    stretches = _stretches(known)
    stretch = stretches[0]
    if reached.axis.better < 0:
        stretch = stretches[-1][::-1]
    heights = [known[number].height for number in stretch]
    preferred = stretch[: int(np.argmin(heights)) + 1]
    others = sorted(set(known) - set(preferred), key=lambda number: known[number].height)
    return [known[number] for number in (*preferred, *others)]


def roughly(simulator: Simulator) -> Rough:
    """Which numbers of questions meet the targets, roughly; Nowhere if none does."""
    limits = simulator.question.limits
    trials = _Trials(simulator, {})
    for number in candidates(int(limits.low), int(limits.high)):
        if number >= limits.low + IN_A_ROW and trials.only_get_worse:
            break
        trials.look(number, LOOK)
    if not trials.known:
        assert trials.refused is not None
        raise trials.refused
    trials.fill()
    if advised(trials.known) is None:
        _look_again(trials)
    return _rough(trials)


def precisely(simulator: Simulator, rough: Rough) -> Reached:
    """The same by more replications."""
    trials = _Trials(simulator, dict(rough.reached.numbers))
    _look_again(trials)
    return _reached(trials, CLOSER)


def side_of_all(mechanisms: Iterable[Reached]) -> int:
    """The better side of several mechanisms, a number of questions by the one that is best at it.

    So 1 where one mechanism can ask one question and meets the targets, and another can ask two or
    more, all of which meet them.
    """
    known = dict[int, Tried]()
    for reached in mechanisms:
        for number, tried in reached.numbers.items():
            other = known.get(number, tried)
            known[number] = min(other, tried, key=lambda one: one.height)
    return better_side(known)


def towards(simulator: Simulator, reached: Reached, better: int) -> Reached:
    """The same numbers, with the fewest (1) or the most (−1) of them advised."""
    trials = _Trials(simulator, dict(reached.numbers))
    return _reached(trials, CLOSER, better)


def _look_again(trials: _Trials) -> None:
    """Look longer; Nowhere where no number meets the targets then."""
    trials.look_closer()
    trials.fill()
    if advised(trials.known) is None:
        raise Nowhere(False, trials.best.number)


def _rough(trials: _Trials) -> Rough:
    reached = _reached(trials, LOOK)
    return Rough(reached, *reached.window, LOOK)


def _reached(trials: _Trials, replications: int, better: int | None = None) -> Reached:
    """Where the targets begin to be met: on the way to the advised number from the one before."""
    known = trials.known
    side = better or better_side(known)
    number = advised(known, side)
    assert number is not None
    axis = Axis(trials.simulator.question, side)
    before = _before(known, number, axis.better)
    deviations = known[number].deviations.tolist()
    if before is None:
        position = axis.position(number)
        crossing = Crossing(position, position, position, 0.0, 0.0)
        crossings = [crossing for _ in deviations]
        return Reached(axis, crossings, deviations, (position, position), known)
    window = (axis.position(before), axis.position(number))
    reps = min(replications, trials.simulator.affordable(number, 0.02))
    excess = trials.simulator.excess([before, number], reps)
    ranges = [target.most - target.least for target in axis.question.targets]
    crossings = paired_crossings(np.array(window), excess, CONFIDENCE, ranges)
    within = [_within(crossing, known, axis, window) for crossing in crossings]
    return Reached(axis, within, deviations, window, known)


def _before(known: Mapping[int, Tried], number: int, better: int) -> int | None:
    """The nearest number on the worse side, which misses the targets; None where there is none."""
    if better > 0:
        return max((other for other in known if other < number), default=None)
    return min((other for other in known if other > number), default=None)


def _within(
    crossing: Crossing, known: Mapping[int, Tried], axis: Axis, window: tuple[float, float]
) -> Crossing:
    """A crossing with ends at numbers that surely miss and surely meet the targets, where the
    window from one number to the next does not hold them.
    """
    first, last = window
    low = crossing.low
    if not math.isfinite(low):
        missing = [axis.position(n) for n, tried in known.items() if tried.surely_misses]
        low = max((position for position in missing if position <= first), default=-math.inf)
    high = crossing.high
    if not math.isfinite(high):
        meeting = [axis.position(n) for n, tried in known.items() if tried.surely_meets]
        high = min((position for position in meeting if position >= last), default=math.inf)
    value = min(max(crossing.value, first), last)
    return crossing._replace(value=value, low=min(low, value), high=max(high, value))
