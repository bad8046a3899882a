"""The answer to a question, or the reason why there is none, in one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.advice import text, words
from pipeline.advice.advised import Advised, better_side
from pipeline.advice.beside import beside, stressed
from pipeline.advice.certificate import ERROR, Certificate, Measured, certify
from pipeline.advice.choice import choose
from pipeline.advice.numbers import extent, is_about_numbers
from pipeline.advice.question import Question, read
from pipeline.advice.reached import Nowhere, Reached
from pipeline.advice.records import ChangedMean, MechanismRow, StressCase
from pipeline.advice.refusal import refusal
from pipeline.advice.simulation import Simulator
from pipeline.study.parameters import InvalidInput


@dataclass(frozen=True, repr=False)
class Answer(Advised):
    """What is advised. value: at which the targets were certified; low, high: 95 % interval of
    where they begin to be met.

    beside: name of a change -> means after it; stress: what if people are not as the model says.
    extent: which numbers of questions meet the targets, in words; empty for other unknowns.
    """

    low: float
    high: float
    certificate: Certificate
    beside: Mapping[str, Sequence[ChangedMean]]
    stress: Sequence[StressCase]
    extent: str = ""

    interval = "95 % interval"
    source = "simulation"
    confidence = 1 - ERROR
    recorded = (
        "value",
        "low",
        "high",
        "boundary",
        "better",
        "beyond",
        "source",
        "certified",
        "confidence",
        "measured",
        "replications",
        "not_converged",
        "beside",
        "stress",
        "mechanisms",
    )

    @property
    def certified(self) -> bool:
        """Whether fresh replications showed, with 95 % confidence, that all targets are met."""
        return self.certificate.targets_shown

    @property
    def measured(self) -> Sequence[Measured]:
        """What the certificate measured of each target's metric."""
        return self.certificate.measured

    @property
    def replications(self) -> int:
        """Fresh replications of the certificate."""
        return self.certificate.replications

    @property
    def not_converged(self) -> float:
        """Share of the certificate's replications without a valid estimate."""
        return self.certificate.not_converged

    @property
    def beyond(self) -> float:
        """How many times the value is the boundary, or the boundary the value where less is
        advised; of a share that is missing, that of what is left.
        """
        level, boundary = (self.question.shown(end) for end in (self.value, self.boundary))
        return max(level / boundary, boundary / level)

    @property
    def result(self) -> str:
        """What is learned, and how sure that is, in one sentence."""
        return words.result(self.question, self.certificate)

    @property
    def remark(self) -> str | None:
        """Which numbers of questions meet the targets; of other unknowns, that the value lies far
        beyond the boundary, and why, or None where it does not.
        """
        if self.extent:
            return self.extent
        return words.far_beyond(self.question, self.beyond, self.replications)

    def boundary_line(self) -> str:
        """Where the targets are just met; that this is everywhere, where the ends are one."""
        if self.extent and self.low == self.high:
            return f"  the targets are met at every {self.question.level_name}"
        return super().boundary_line()

    def basis(self) -> list[str]:
        """Whether the targets were shown to be met, and the means; lines for a person."""
        shown = "certified with" if self.certified else "NOT certified: not shown with"
        lines = [
            f"  {shown} {100 * self.confidence:g} % confidence by {self.replications:,} fresh "
            "replications:"
        ]
        lines.extend(
            f"    {text.mean(row)} on average; a single run meets its target with probability "
            f"{row.share_of_runs_met:.2g}"
            for row in self.measured
        )
        if self.not_converged:
            lines.append(
                f"    {100 * self.not_converged:.2g} % of the estimates did not converge; they "
                "are counted"
            )
        return lines

    def aside(self) -> list[str]:
        """What would be with one thing changed; lines for a person."""
        return [*text.beside_lines(self.beside, self.stress)]


def answer(request: Mapping[str, Any] | Question) -> Answer:
    """The answer to a question, or a request as `question.read` takes it.

    The same one gives the same, to the last bit.

    Raises InvalidInput, in one line, for every mistake, and where no value of the unknown, or each,
    meets the targets.
    """
    question = request if isinstance(request, Question) else read(request)
    try:
        return _answer(question)
    except MemoryError as error:
        raise InvalidInput(
            "problem",
            question.problem.name,
            f"takes more memory than there is here ({error}); ask for smaller sizes",
        ) from None


def _answer(question: Question) -> Answer:
    simulator, reached, rows = choose(question)
    certificate = certify(simulator, reached)
    if is_about_numbers(question) and certificate.misses:
        raise refusal(simulator, Nowhere(False, certificate.level))
    return certified_answer(simulator, reached, certificate, rows)


def certified_answer(
    simulator: Simulator, reached: Reached, certificate: Certificate, rows: Sequence[MechanismRow]
) -> Answer:
    """The answer whose level was certified, with what would be beside it.

    reached: where the targets begin to be met; rows: mechanisms side by side.
    """
    question = simulator.question
    level = certificate.level
    low, boundary, high = reached.shown()
    nearby = beside(simulator, level)
    return Answer(
        question=question,
        level=level,
        value=question.shown(level),
        boundary=boundary,
        low=low,
        high=high,
        better=better_side(reached.axis),
        mechanisms=rows,
        certificate=certificate,
        beside=nearby,
        stress=stressed(simulator, level),
        extent=extent(reached.numbers),
    )
