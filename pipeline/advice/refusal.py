"""Why no value of an unknown can be advised, in one line, and what would help.

Each number in it is measured.
"""

import math

from pipeline.advice.axis import Axis
from pipeline.advice.certificate import Certificate, Measured, measure
from pipeline.advice.levels import rounded
from pipeline.advice.numbers import is_about_numbers
from pipeline.advice.question import Question
from pipeline.advice.reached import Nowhere
from pipeline.advice.search import LOOK, bracket, declared_axis
from pipeline.advice.simulation import STEPS, Simulator
from pipeline.study.parameters import InvalidInput, shorten

CHECKED = 400
CHECKED_AGAIN = 4000  # replications that a refusal is measured with; again where they do not tell
HINT = 4000  # replications at most that show that a number of people reaches a target
ERROR = 0.05  # probability that a hint is wrong
RISES = (
    1.0,
    1.25,
    1.6,
    2.0,
)  # numbers of people that are tried, over the least that a look saw reach a target


def refusal(simulator: Simulator, nowhere: Nowhere, mechanism: str | None = None) -> InvalidInput:
    """The refusal. mechanism: the one that it is about, if several were compared."""
    question = simulator.question
    targets = ", ".join(map(str, question.targets))
    there = _measured(simulator, nowhere)
    where = f"{question.word} = {question.shown(nowhere.last):g}"
    means = [_mean(target, nowhere.met, there.replications) for target in there.measured]
    at = f"{', '.join(means)} at {where}"
    if mechanism:
        at += f" with mechanism={mechanism}"
    if question.unknown.helps is not None:
        wrong = _wrong_direction(simulator, there, nowhere)
        if wrong is not None:
            return InvalidInput("target", targets, wrong)
    if nowhere.met:
        return InvalidInput("target", targets, f"is met already, {_met(question, at)}")
    if is_about_numbers(question):
        best = _best_number(question, there, mechanism)
        return InvalidInput("target", targets, best + _people_needed(question, nowhere.last))
    why = _missed(question, at, shorten(nowhere.why.partition(";")[0], 120))
    return InvalidInput("target", targets, why + _people_needed(question, nowhere.last))


def _best_number(question: Question, there: Certificate, mechanism: str | None) -> str:
    """That no number of questions meets the targets, and what the best one does."""
    means = ", ".join(_mean(target, False, there.replications) for target in there.measured)
    using = f" of mechanism={mechanism}" if mechanism else ""
    return (
        f"no number of questions reaches it: the best{using} is {question.word}={there.level:g}, "
        f"with {means}"
    )


def _missed(question: Question, at: str, limit: str) -> str:
    """That targets are not met. at: what was measured, and where. limit: why nobody looks further,
    if there is such a limit.
    """
    level = question.level_name
    if not limit:
        return f"is out of reach at any {level}: {at}"
    if _of_the_machine(limit):
        return f"is not reached at any {level} that can be simulated: {at}; the next {limit}"
    return f"is out of reach at any {level} that is possible: {at}; beyond: {limit}"


def _met(question: Question, at: str) -> str:
    """That targets are met everywhere. at: what was measured, and where."""
    if question.word in ("epsilon", "person"):
        return f"a guess does as well: {at}; give a harder target"
    return (
        f"it is met at every {question.level_name} that was tried: {at}; "
        "give a harder target, or ask for another unknown"
    )


def _of_the_machine(limit: str) -> bool:
    """Whether a limit is one of time or memory, as `Simulator` words them, and none of a part."""
    return limit.startswith("takes ")


def _measured(simulator: Simulator, nowhere: Nowhere) -> Certificate:
    """What fresh replications show at the last level; more of them where a few do not tell."""
    affordable = simulator.affordable(nowhere.last, 0.05)
    there = measure(simulator, nowhere.last, min(CHECKED, affordable))
    if all(_tells(target, nowhere.met) for target in there.measured):
        return there
    return measure(simulator, nowhere.last, min(CHECKED_AGAIN, affordable))


def _tells(measured: Measured, met: bool) -> bool:
    """Whether the interval of a mean lies on the side of its target that a search saw."""
    target = measured.target
    least, most = sorted(
        target.sign * (end - target.value) for end in (measured.low, measured.high)
    )
    if met:
        return most <= 0
    return least > 0


def _mean(measured: Measured, met: bool, replications: int) -> str:
    """A mean, with its interval where that does not tell, and how many replications have no value."""
    text = f"{measured.target.metric} = {measured.mean:.3g}"
    if not _tells(measured, met):
        text += f" [{measured.low:.3g}, {measured.high:.3g}]"
    if measured.infinite:
        many = f"{measured.infinite:,} of {replications:,} replications"
        text += f" (without a value in {many}, which count as the worst)"
    return text


def _wrong_direction(simulator: Simulator, there: Certificate, nowhere: Nowhere) -> str | None:
    """That a target has the wrong direction: it is met where least is learned, and not where most
    is.
    """
    axis = declared_axis(simulator.question)
    level = axis.worst
    if nowhere.met:
        level = axis.best
    try:
        if simulator.cost(level) * LOOK > STEPS / 10:
            return None
        other_end = measure(simulator, level, LOOK)
    except InvalidInput:
        return None
    if nowhere.met:
        return _turned(simulator.question, there, other_end)
    return _turned(simulator.question, other_end, there)


def _turned(question: Question, least: Certificate, most: Certificate) -> str | None:
    """That a target is to be turned around, as it is met where least is learned, and not where most
    is; None if there is no such target.
    """
    for worst, best in zip(least.measured, most.measured, strict=True):
        target = worst.target
        if target.misses(worst.mean) == 0 < target.misses(best.mean):
            return (
                f"has the wrong direction: {target.metric} = {worst.mean:.3g} at {question.word} = "
                f"{question.shown(least.level):g}, where least is learned; write "
                f"{target.metric}{target.opposite}…"
            )
    return None


def _people_needed(question: Question, level: float) -> str:
    """How many people reach the targets at a level of the unknown.

    Nothing where no number was shown to.

    The number is certified as an answer is, by replications of its own, before it is said.
    """
    people = question.advice.unknowns.get("people")
    if people is None or question.word == "people" or people.parameter not in question.values:
        return ""
    values = {name: value for name, value in question.values.items() if name != people.parameter}
    values[question.parameter] = level
    other = Question(question.problem, "people", question.targets, values, {}, question.seed)
    simulator = Simulator(other)
    try:
        axis, worse, better = bracket(simulator)
        return _shown_people(simulator, axis, worse, better)
    except Nowhere as nowhere:
        return _no_people(simulator, nowhere)
    except InvalidInput:
        return ""


def _shown_people(simulator: Simulator, axis: Axis, worse: float, better: float) -> str:
    """The least of a few numbers of people that is certified, or that none of them is."""
    name = axis.question.parameter
    tried = [math.sqrt(worse * better), *(better * rise for rise in RISES)]
    for number in tried:
        level = axis.advisable(axis.position(number))
        reps = min(HINT, simulator.affordable(level, 0.05))
        if measure(simulator, level, reps, ERROR / len(tried)).targets_shown:
            return f"; {name}={rounded(level, True):,} people reach it there"
    return _not_shown(f"{name}={rounded(level, True):,}")


def _not_shown(last: str) -> str:
    """That replications do not tell whether people reach the targets, such as one near 0."""
    return f"; simulations with up to {last} people do not show whether they reach it there"


def _no_people(simulator: Simulator, nowhere: Nowhere) -> str:
    """That no number of people reaches the targets, if fresh replications tell that the last one
    does not.
    """
    if nowhere.met:
        return ""
    there = _measured(simulator, nowhere)
    last = f"{simulator.question.parameter}={nowhere.last:,}"
    if any(_tells(target, False) for target in there.measured):
        return f"; no number of people that can be simulated here, up to {last}, reaches it either"
    return _not_shown(last)
