"""What would be beside the advice: without privacy, with twice the people or half the budget, with
other people.
"""

from collections.abc import Iterator
from typing import Any

from pipeline.advice.certificate import measure
from pipeline.advice.question import Question
from pipeline.advice.simulation import Simulator
from pipeline.study.parameters import InvalidInput

REPLICATIONS = 1000


def beside(simulator: Simulator, level: float) -> dict[str, Any]:
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


def stressed(simulator: Simulator, level: float) -> list[dict[str, Any]]:
    """What would be at the level if people differed from the model, for each case of the problem's
    `Advice.stress`.

    Each has `case`, in words, the `changes` of parameters, what is `measured` as by `beside`, each
    also with `missed_by`, by how much the mean misses the target, 0 where it meets it; `why`
    nothing could be measured, or None.
    """
    question = simulator.question
    rows = list[dict[str, Any]]()
    for case, changes in question.advice.stress(question.parts(level).model).items():
        row: dict[str, Any] = {"case": case, "changes": dict(changes), "measured": [], "why": None}
        try:
            row["measured"] = measured(simulator, question.known(level, **changes))
        except InvalidInput as error:  # a part of the question refuses the change
            row["why"] = str(error)
        rows.append(row)
    simulator.drawn += REPLICATIONS
    return rows


def measured(simulator: Simulator, question: Question) -> list[dict[str, Any]]:
    """What fresh replications show of a question in which nothing is unknown."""
    other = Simulator(question, drawn=simulator.drawn)
    mechanism = question.values["mechanism"]
    reps = min(REPLICATIONS, other.affordable(mechanism, 0.02))
    rows = []
    for measured in measure(other, mechanism, reps).measured:
        missed_by = measured.target.misses(measured.mean)
        rows.append(
            {
                "metric": measured.target.metric,
                "mean": measured.mean,
                "low": measured.low,
                "high": measured.high,
                "met": missed_by == 0,
                "missed_by": missed_by,
            }
        )
    return rows


def _changed(question: Question, level: float) -> Iterator[tuple[str, Question]]:
    known = question.known(level)
    words = question.advice.unknowns
    if "none" in question.problem.mechanisms and question.values["mechanism"] != "none":
        yield "without_privacy", known.using("none")
    people = words["people"].parameter if "people" in words else ""
    epsilon = words["epsilon"].parameter if "epsilon" in words else ""
    if people in known.values:
        yield "twice_the_people", question.known(level, **{people: 2 * known.values[people]})
    if epsilon in known.values:
        yield "half_the_budget", question.known(level, **{epsilon: known.values[epsilon] / 2})
