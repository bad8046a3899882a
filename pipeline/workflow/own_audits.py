"""Mechanisms of one's own, audited before advice is taken of them.

Nobody has tried to refute what they promise unless an audit did. So a short one is made each time,
in this session and of the code that runs: no record can be out of date.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from pipeline.advice.question import Question
from pipeline.auditing.audit import Options
from pipeline.auditing.verdict import Audited
from pipeline.study.audits import Audits
from pipeline.study.parameters import InvalidInput, fields
from pipeline.study.protocols import Mechanism
from pipeline.workflow.audit import AuditRequest, case_of_part, perform

PROGRAM = __name__.partition(".")[0]
SHORT = Options(samples=50_000, repeats=0, seconds=10.0)
CALL_SECONDS = 10.0
BUDGETS = ("epsilon", "epsilon_user", "person")  # which are audited near 1, if they are unknown


@dataclass(frozen=True)
class OwnAudit:
    """What is known of a mechanism of one's own. audited: None where no audit was possible.

    why: there is none, in words.
    """

    name: str
    audited: Audited | None
    why: str = ""

    def __str__(self) -> str:
        if self.audited is None:
            return (
                f"mechanism={self.name} is not audited: {self.why}; its promise is taken as it is"
            )
        if self.audited.exact:
            return f"mechanism={self.name}: an audit found {self.audited.promise} kept, exactly"
        return (
            f"mechanism={self.name}: a short audit by {self.audited.samples:,} samples did not "
            f"refute {self.audited.promise}; its power was not measured, pipeline audit does so"
        )


def is_own(part: type) -> bool:
    """Whether a class is not of this program.

    >>> is_own(OwnAudit)
    False
    """
    return part.__module__.partition(".")[0] != PROGRAM


def audit_of_question(question: Question) -> OwnAudit | None:
    """A short audit of the mechanism that a question is about; None if that ships.

    Raises InvalidInput where the audit contradicts what the mechanism promises.
    """
    name = str(question.values.get("mechanism"))
    if "mechanism" not in question.values or not is_own(question.problem.part("mechanism", name)):
        return None
    if question.problem.audits is None:
        return OwnAudit(name, None, f"problem={question.problem.name} has no pairs to audit")
    audits: Audits = question.problem.load(question.problem.audits)
    try:
        mechanism = _of_small_size(question, audits, name)
        case = case_of_part(mechanism, audits, None)
        audited = perform(AuditRequest(case, SHORT, "", CALL_SECONDS))
    except InvalidInput as error:
        return OwnAudit(name, None, str(error))
    if audited.violates:
        raise contradiction(name, audited)
    return OwnAudit(name, audited)


def contradiction(name: str, audited: Audited) -> InvalidInput:
    """The refusal of a mechanism whose promise an audit broke."""
    bound = "no finite ε holds"
    if audited.epsilon_lower != float("inf"):
        bound = f"ε is at least {audited.epsilon_lower:.4g}"
    allowed = f"an audit contradicts its promise of {audited.promise}: {bound} ({audited.pair})"
    advice = "mend the mechanism or its guarantee; pipeline audit shows the event"
    return InvalidInput("mechanism", name, f"{allowed}; {advice}")


def _of_small_size(question: Question, audits: Audits, name: str) -> Mechanism:
    """The mechanism of the question, of as few people and items as audits are of."""
    mechanism = question.parts(_level(question)).mechanism
    sizes = {**audits.parameters, **audits.particular.get(name, {})}
    known = fields(type(mechanism))
    changes: dict[str, Any] = {key: value for key, value in sizes.items() if key in known}
    small: Mechanism = dataclasses.replace(mechanism, **changes)  # type: ignore[type-var]
    return small


def _level(question: Question) -> object:
    """A level of the unknown: a budget of about 1, else the least."""
    if not question.word:
        return question.values["mechanism"]
    limits = question.limits
    if question.parameter in BUDGETS:
        return min(max(1.0, limits.low), limits.high)
    return limits.low
