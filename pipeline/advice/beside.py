"""What would be beside the advice: without privacy, with twice the people or half the budget, with
other people.
"""

from collections.abc import Iterator

from pipeline.advice.certificate import measure
from pipeline.advice.question import Question
from pipeline.advice.records import ChangedMean, StressCase
from pipeline.advice.simulation import Simulator
from pipeline.study.parameters import InvalidInput

REPLICATIONS = 1000


def beside(simulator: Simulator, level: float) -> dict[str, list[ChangedMean]]:
    """Name -> what is measured there, of each change that the problem allows.

    On the same replications.

    Each is a list, one entry for each target, as far as the streams allow of the same people.
    """
    by_change = {}
    for name, question in _changed(simulator.question, level):
        try:
            by_change[name] = measured(simulator, question)
        except InvalidInput:  # too large, or a value that a part refuses
            continue
    simulator.drawn += REPLICATIONS  # more blocks than any of these used
    return by_change


def stressed(simulator: Simulator, level: float) -> list[StressCase]:
    """What would be at the level if people differed from the model, for each case of the problem's
    `Advice.stress`.
    """
    question = simulator.question
    cases = []
    for case, changes in question.advice.stress(question.parts(level).model).items():
        try:
            means = measured(simulator, question.known(level, **changes))
        except InvalidInput as error:  # a part of the question refuses the change
            cases.append(StressCase(case, dict(changes), [], str(error)))
            continue
        cases.append(StressCase(case, dict(changes), means, None))
    simulator.drawn += REPLICATIONS
    return cases


def measured(simulator: Simulator, question: Question) -> list[ChangedMean]:
    """What fresh replications show of a question in which nothing is unknown."""
    other = Simulator(question, drawn=simulator.drawn)
    mechanism = question.values["mechanism"]
    reps = min(REPLICATIONS, other.affordable(mechanism, 0.02))
    means = []
    for row in measure(other, mechanism, reps).measured:
        missed_by = row.target.misses(row.mean)
        means.append(
            ChangedMean(row.metric, row.mean, row.low, row.high, missed_by == 0, missed_by)
        )
    return means


def _changed(question: Question, level: float) -> Iterator[tuple[str, Question]]:
    known = question.known(level)
    if "none" in question.problem.mechanisms and question.values["mechanism"] != "none":
        yield "without_privacy", known.using("none")
    people = question.advice.parameter_of("people")
    if people in known.values:
        yield "twice_the_people", question.known(level, **{people: 2 * known.values[people]})
    for word in ("epsilon", "person"):
        budget = question.advice.parameter_of(word)
        if budget in known.values:
            yield "half_the_budget", question.known(level, **{budget: known.values[budget] / 2})
