"""`task=advise`: how small ε may be, or how many people are needed: a question and its answer.

`advise` yields what it has as soon as it has it: files that it wrote, the atlas's first answer, and
the certified one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pipeline.advice.answer import Answer, answer
from pipeline.advice.atlas import NotInAtlas
from pipeline.advice.first import First, first
from pipeline.advice.question import Question, read
from pipeline.advice.trusted import Trusted, answer_by_trust, is_about_a_person
from pipeline.study.parameters import InvalidInput
from pipeline.study.untyped import Config
from pipeline.workflow import atlas_files
from pipeline.workflow.atlas_files import Saved, destination, is_page, is_promise
from pipeline.workflow.own_audits import OwnAudit, audit_of_question

OURS = ("task", "quick", "save")  # keys that are no part of the question


@dataclass(frozen=True)
class AdviceRequest:
    """What is to be answered. question: None where only the page over the atlas is to be written.

    quick: whether the atlas's first answer is enough. save: the file to write, if any.
    """

    question: Question | None
    quick: bool = False
    save: Path | None = None

    @property
    def saves_answer(self) -> bool:
        """Whether the file is the page of the certified answer, and not one of the atlas's."""
        if self.save is None or self.question is None or self.quick:
            return False
        return is_page(self.save)


@dataclass(frozen=True)
class NoFirstAnswer:
    """The atlas has no first answer to a question, and why."""

    why: str


Event: TypeAlias = Saved | First | NoFirstAnswer | OwnAudit | Answer | Trusted


def read_request(entries: Config) -> AdviceRequest:
    """The request of a command or a call: the question's own keys, `quick` and `save`.

    Raises InvalidInput, in one line, for every mistake.
    """
    quick = entries.get("quick", False)
    if not isinstance(quick, bool):
        raise InvalidInput("quick", quick, "must be true or false")
    save = destination(entries["save"]) if "save" in entries else None
    words = {key: value for key, value in entries.items() if key not in OURS}
    if save is not None and is_promise(save) and (quick or not words):
        raise InvalidInput(
            "save",
            save,
            "is the page of a certified answer's promise: give a problem, sizes and a target, and "
            "leave out quick=true; or give another name",
        )
    only_the_atlas = save is not None and not words
    question = None if only_the_atlas else read(words)
    return AdviceRequest(question, quick, save)


def advise(request: AdviceRequest, early: bool = False) -> Iterator[Event]:
    """Answer a request; the last event is the answer, if there is a question.

    quick: only the atlas's first answer, which is never certified. Otherwise the certified one;
    early: after the atlas's first answer, or why there is none. A page of the certified answer is
    written after it was found, every other file before. A mechanism of one's own is audited first:
    what that found, or that it could not be done, is an event. Raises InvalidInput for every
    mistake, where the audit contradicts the mechanism's promise, where targets are out of reach or
    are met already, and, with quick, where the atlas has no first answer.
    """
    if request.save is not None and not request.saves_answer:
        yield atlas_files.save(request.save, request.question, request.quick)
    if request.question is None:
        return
    own_audit = audit_of_question(request.question)
    if own_audit is not None:
        yield own_audit
    if request.quick:
        yield first_answer(request.question)
        return
    if early:
        yield _early(request.question)
    certified: Answer | Trusted
    if is_about_a_person(request.question):
        certified = answer_by_trust(request.question)
    else:
        certified = answer(request.question)
    if request.save is not None and request.saves_answer:
        yield _save_page(request.save, certified)
    yield certified


def _save_page(path: Path, certified: Answer | Trusted) -> Saved:
    """Write the page of an answer, or of what it promises to people, as the file's name says."""
    if is_promise(path):
        from pipeline.workflow.promise_page import save_promise  # Jinja

        return save_promise(path, certified)
    from pipeline.workflow.answer_page import save_answer  # Matplotlib

    best = certified.best if isinstance(certified, Trusted) else certified
    return save_answer(path, best)


def first_answer(question: Question) -> First:
    """The atlas's answer to a question; InvalidInput, with the reason, where it has none."""
    try:
        return first(question)
    except NotInAtlas as error:
        raise InvalidInput(
            "quick", True, f"no first answer from the atlas: {error}; without quick it is simulated"
        ) from None


def _early(question: Question) -> First | NoFirstAnswer:
    """The first answer, or why there is none."""
    try:
        return first(question)
    except NotInAtlas as error:
        return NoFirstAnswer(str(error))
