"""The largest budget of a person that keeps a risk, for each mechanism and number of questions."""

import math

from pipeline.advice.question import Question
from pipeline.advice.risk import Risk

DIGITS = 5  # to which it is rounded down, so that what is printed keeps the risk, too
FINE = 1e-6  # relative distance to which the largest budget is found


def power(question: Question, risk: Risk, person: float, level: float | None = None) -> float:
    """True alarms of the best attack on a person at a budget; NaN where the mechanism has none.

    level: of the unknown, where that is not the budget; the lowest, if it is not given.
    InvalidInput where the parts cannot be made.
    """
    name = question.advice.parameter_of("person")
    if question.parameter == name:
        level = person
    if level is None:
        level = question.limits.low
    known = question.known(level, **{name: person})
    mechanism = known.parts(known.values["mechanism"]).mechanism
    attack = mechanism.attacks().get("person")
    return math.nan if attack is None else float(attack.power(risk.false_alarms))


def largest_budget(question: Question, risk: Risk, level: float | None = None) -> float:
    """The largest budget of a person at which the risk is kept, within the problem's range.

    Rounded down to `DIGITS`. question: with its mechanism and number of questions. level: of the
    unknown, where that is not the budget; the lowest, if it is not given. 0 where none keeps it.
    The attack is exact, or a bound, as its mechanism says. O(log(range)) attacks.
    """
    unknown = question.advice.unknowns["person"]
    low = unknown.low
    high = unknown.high
    if not power(question, risk, low, level) <= risk.most:
        return 0.0
    if power(question, risk, high, level) <= risk.most:
        return high
    while high / low > 1 + FINE:
        middle = math.sqrt(low * high)
        if power(question, risk, middle, level) <= risk.most:
            low = middle
        else:
            high = middle
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(low)))
    return math.floor(low * scale) / scale
