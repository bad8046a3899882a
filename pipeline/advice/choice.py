"""Which mechanism is advised: the one whose targets are met at most levels of the unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.advice.question import Question
from pipeline.advice.reached import Nowhere, Reached
from pipeline.advice.records import MechanismRow
from pipeline.advice.refusal import refusal
from pipeline.advice.search import find
from pipeline.advice.simulation import Simulator
from pipeline.study.parameters import InvalidInput, fields


@dataclass(frozen=True)
class Candidate:
    """What was found of a mechanism: where its targets begin to be met, or why that is nowhere.

    left_out: parameters that were given and that it does not take.
    """

    mechanism: str
    simulator: Simulator | None = None
    reached: Reached | None = None
    nowhere: Nowhere | None = None
    error: InvalidInput | None = None
    left_out: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reach(self) -> float:
        """How far along the unknown the targets are met."""
        assert self.reached is not None
        return self.reached.axis.reach(self.reached.value)

    def row(self) -> MechanismRow:
        """The mechanism beside others."""
        if self.reached is None or self.simulator is None:
            return MechanismRow(self.mechanism, None, None, None, None, self._why())
        estimator = self.simulator.question.values["estimator"]
        low, boundary, high = self.reached.shown()
        return MechanismRow(
            self.mechanism, estimator, boundary, low, high, self._why(), self.left_out
        )

    def _why(self) -> str | None:
        if self.error is not None:
            return str(self.error)
        if self.nowhere is None:
            return None
        if self.nowhere.met:
            return "meets the targets everywhere"
        return "does not reach the targets"


def choose(question: Question) -> tuple[Simulator, Reached, list[MechanismRow]]:
    """The mechanism that is advised, where its targets begin to be met, and what was found of each
    that fits.

    Only the one that the person named, if any; else all of the problem that have a budget. That
    whose targets are met over the longest stretch of the unknown is advised, whether more of it is
    better or less. InvalidInput where one meets them everywhere, or none anywhere: why the
    problem's first one does not.
    """
    names = mechanisms(question)
    candidates = [_candidate(question, name, 1 / len(names)) for name in names]
    everywhere = [
        candidate for candidate in candidates if candidate.nowhere and candidate.nowhere.met
    ]
    if everywhere:
        raise _refusal(everywhere[:1], named=len(everywhere) < len(names))
    able = [candidate for candidate in candidates if candidate.reached is not None]
    if not able:
        raise _refusal(candidates, named=False)
    best = max(able, key=lambda candidate: candidate.reach)
    assert best.simulator is not None and best.reached is not None
    rows = [candidate.row() for candidate in candidates]
    return replace(best.simulator, portion=1.0), best.reached, rows


def mechanisms(question: Question) -> list[str]:
    """Names of the mechanisms that are compared, the question's own first."""
    first = question.values["mechanism"]
    epsilon = question.advice.unknowns.get("epsilon")
    if "mechanism" in question.chosen or epsilon is None:
        return [first]
    others = [
        name
        for name in sorted(question.problem.mechanisms)
        if epsilon.parameter in fields(question.problem.part("mechanism", name))
        and name != first
        and question.fits(name)
    ]
    return [first, *others]


def _candidate(question: Question, mechanism: str, portion: float) -> Candidate:
    """What a search finds of a mechanism."""
    simulator = None
    try:
        with_mechanism = question
        if mechanism != question.values["mechanism"]:
            with_mechanism = question.using(mechanism)
        left_out = question.left_out(with_mechanism)
        simulator = Simulator(with_mechanism, portion=portion)
        return Candidate(mechanism, simulator, find(simulator), left_out=left_out)
    except Nowhere as nowhere:
        return Candidate(mechanism, simulator, nowhere=nowhere)
    except InvalidInput as error:
        return Candidate(mechanism, simulator, error=error)


def _refusal(candidates: Sequence[Candidate], named: bool) -> InvalidInput:
    """Why no level is advised: of the first candidate that could be searched, or else its error.

    named: whether to say which mechanism it is.
    """
    for candidate in candidates:
        if candidate.nowhere is not None and candidate.simulator is not None:
            return refusal(
                candidate.simulator, candidate.nowhere, candidate.mechanism if named else None
            )
    error = candidates[0].error
    assert error is not None
    return error
