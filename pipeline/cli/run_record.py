"""What a run or a report told, as one object of JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from pipeline.study.untyped import JsonObject
from pipeline.workflow.events import (
    Crossed,
    Deviated,
    Event,
    Failed,
    FellShort,
    Judged,
    Noted,
    NotTestedAlike,
    OnTarget,
    Progressed,
    Reported,
    Warned,
)
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.told_verdicts import NOT_TESTED

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Ended:
    """How a run ended before its end.

    stopped: why there is more to do, in words; error: why it could not go on; both empty otherwise.
    """

    stopped: str = ""
    error: str = ""


class RunRecord:
    """A subscriber that keeps the events that an answer is made of, and counts the units that ended."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._units_ended = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progressed):
            self._units_ended += event.advance.units
        else:
            self._events.append(event)

    def _judged(self) -> Iterator[Judged]:
        """Every verdict, also where several claims share one line."""
        for event in self._events:
            if isinstance(event, Judged):
                yield event
            if isinstance(event, NotTestedAlike):
                for claim in event.claims:
                    yield Judged(event.study, claim, NOT_TESTED, event.text)

    def record(self, studies: Sequence[StoredStudy], ended: Ended = Ended()) -> JsonObject:
        """The answer: of each study what was told of it, then what was told of all."""
        verdicts = [asdict(judged) for judged in self._judged()]
        page = None
        for reported in self._of(Reported):
            page = str(reported.page)
        return {
            "studies": [self._record_of_study(stored) for stored in studies],
            "units_ended": self._units_ended,
            "verdicts": verdicts,
            "page": page,
            "stopped": ended.stopped,
            "error": ended.error,
            "warnings": [warned.text for warned in self._of(Warned)],
            "notes": [noted.text for noted in self._of(Noted)],
        }

    def _of(self, kind: type[Kind]) -> Iterator[Kind]:
        """The events of a kind, in the order in which they came."""
        for event in self._events:
            if isinstance(event, kind):
                yield event

    def _record_of_study(self, stored: StoredStudy) -> JsonObject:
        """What was told of one study; what was not told stays as it is here."""
        name = stored.study.name
        entries: JsonObject = {
            "name": name,
            "folder": str(stored.store.folder),
            "failed": 0,
            "failures": [],
            "shortfalls": "",
            "deviations": None,
            "groups_on_target": None,
            "crossings": [],
        }
        for event in self._events:
            if getattr(event, "study", None) == name:
                _note(entries, event)
        return entries


def _note(entries: JsonObject, event: Event) -> None:
    """Note in the entries of a study what an event tells of it."""
    if isinstance(event, Failed):
        entries["failed"] = event.count
        entries["failures"] = [asdict(unit) for unit in event.first]
    elif isinstance(event, FellShort):
        entries["shortfalls"] = event.says
    elif isinstance(event, Deviated):
        entries["deviations"] = event.deviations
    elif isinstance(event, OnTarget):
        entries["groups_on_target"] = event.groups_on_target
    elif isinstance(event, Crossed):
        entries["crossings"].append(asdict(event))
