"""What would be beside the advice: the errors without privacy, with twice the people, with half the budget."""

from collections.abc import Iterator
from typing import Any

from pipeline.advice.certificate import measure
from pipeline.advice.question import Question
from pipeline.advice.simulation import Simulator
from pipeline.study.parameters import InvalidInput

REPLICATIONS = 1000


def beside(simulator: Simulator, level: float) -> dict[str, Any]:
    """Name -> what is measured there, of each change that the problem allows; on the same replications.

    Each is a list of `metric`, `mean`, `low` and `high`, as far as the streams allow of the same people.
    """
    found = {}
    for name, question in _changed(simulator.question, level):
        try:
            found[name] = measured(simulator, question)
        except InvalidInput:  # too large, or a value that a part refuses
            continue
    simulator.drawn += REPLICATIONS  # more blocks than any of these used
    return found


def measured(simulator: Simulator, question: Question) -> list[dict[str, Any]]:
    """What fresh replications show of a question in which nothing is unknown."""
    other = Simulator(question, drawn=simulator.drawn)
    mechanism = question.values["mechanism"]
    reps = min(REPLICATIONS, other.affordable(mechanism, 0.05))
    return [{"metric": one.target.metric, "mean": one.mean, "low": one.low, "high": one.high,
             "met": bool(one.target.sign * (one.mean - one.target.value) <= 0)}
            for one in measure(other, mechanism, reps).measured]


def _changed(question: Question, level: float) -> Iterator[tuple[str, Question]]:
    known, words = question.known(level), question.advice.unknowns
    if "none" in question.problem.mechanisms and question.values["mechanism"] != "none":
        yield "without_privacy", known.using("none")
    people, epsilon = (words[one].parameter if one in words else "" for one in ("people", "epsilon"))
    if people in known.values:
        yield "twice_the_people", question.known(level, **{people: 2 * known.values[people]})
    if epsilon in known.values:
        yield "half_the_budget", question.known(level, **{epsilon: known.values[epsilon] / 2})
