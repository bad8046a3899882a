"""`task=status`: what is done, who works on it, how long it will take, what failed.

From the storage alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pipeline.execution.schedule import Schedule
from pipeline.execution.sessions import (
    FAILED,
    RUNNING,
    SessionRecord,
    cost_per_second,
    sessions,
    units_per_second,
)
from pipeline.storage import agreement
from pipeline.storage.layout import counted
from pipeline.storage.replications import Listing
from pipeline.study.parameters import InvalidInput
from pipeline.study.until import EndedCells
from pipeline.workflow import seen
from pipeline.workflow.events import Failed, OnTarget
from pipeline.workflow.failed_units import failed_units
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.precision import all_done, on_target, settled
from pipeline.workflow.sealed import is_current
from pipeline.workflow.seen import EffortSoFar, Queue
from pipeline.workflow.shortfalls import line_of
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.until import ends


class State(StrEnum):
    """Whether anything is left to do, and whether somebody will do it."""

    DONE = "done"
    FAILED = "failed"
    MORE_TO_DO = "more to do"


@dataclass(frozen=True)
class Units:
    """How many units there are, are done, and failed. at_most: whether fewer may be enough."""

    all: int
    done: int
    failed: int
    at_most: bool


@dataclass(frozen=True)
class StudyProgress:
    """What is known of a study that was begun.

    groups_on_target: of cells that met their targets of precision, once sealed. shortfalls: what
    did not converge or is not finite, in words. mixed: code or arithmetic that a person accepted
    beside another. failed: units, with what happened. seconds_left: None where no pace is known.
    """

    sealed: bool
    units: Units
    groups_on_target: OnTarget | None
    shortfalls: str
    mixed: Sequence[str]
    sessions: Sequence[SessionRecord]
    units_per_second: float
    seconds_left: float | None
    state: State
    failed: Failed

    @property
    def running(self) -> bool:
        """Whether a session runs."""
        return any(session.state == RUNNING for session in self.sessions)


@dataclass(frozen=True)
class StudyStatus:
    """The state of a study. storage: where it is; progress: None before it is begun.

    wanted: units that it has in all. targets: of precision. stops: which cells ended when, see
    `pipeline.workflow.until.ends`. queue: its last submission, if any.
    """

    name: str
    storage: str
    cells: int
    blocks: int
    replications_of_a_block: int
    wanted: Units
    targets: Sequence[str]
    stops: Sequence[EndedCells]
    effort: EffortSoFar
    queue: Queue | None
    progress: StudyProgress | None

    @property
    def units(self) -> Units:
        """How many units there are, and how many of them are done."""
        return self.wanted if self.progress is None else self.progress.units

    @property
    def deserted(self) -> bool:
        """Whether there is more to do and nobody who will do it."""
        queue_is_empty = self.queue is not None and self.queue.known and not self.queue.left
        running = self.progress is not None and self.progress.running
        return queue_is_empty and not running and self._state == State.MORE_TO_DO

    @property
    def state(self) -> State:
        """A deserted study counts as failed, so that no script waits for ever."""
        return State.FAILED if self.deserted else self._state

    @property
    def _state(self) -> State:
        return State.MORE_TO_DO if self.progress is None else self.progress.state


def status(studies: Sequence[StoredStudy], invocation: Invocation) -> list[StudyStatus]:
    """The state of studies. invocation: whose words the commands that replay failed units have."""
    statuses = []
    for stored in studies:
        listing = stored.store.listing() if stored.store.exists() else None
        statuses.append(status_of(stored, listing, invocation))
    return statuses


def status_of(stored: StoredStudy, listing: Listing | None, invocation: Invocation) -> StudyStatus:
    """The state of a study. listing: None before it is begun."""
    study = stored.study
    count = int(counted(study).sum())
    return StudyStatus(
        name=study.name,
        storage=str(stored.store.backend),
        cells=len(study.grid),
        blocks=study.blocks,
        replications_of_a_block=study.block,
        wanted=Units(count, 0, 0, bool(study.precision)),
        targets=list(map(str, study.precision)),
        stops=ends(study),
        effort=seen.effort(stored),
        queue=seen.queue(stored),
        progress=None if listing is None else _progress(stored, listing, invocation),
    )


def _progress(stored: StoredStudy, listing: Listing, invocation: Invocation) -> StudyProgress:
    """What is known of a study that was begun."""
    study = stored.study
    store = stored.store
    wanted = counted(study)
    sealed = is_current(store)
    past = sessions(store.folder)
    running = [session for session in past if session.state == RUNNING and session.seconds]
    pace = cost_per_second(running)
    done = all_done(study, listing, settled(store, listing) if sealed else None)
    return StudyProgress(
        sealed=sealed,
        units=Units(
            all=int(wanted.sum()),
            done=int((listing.done & wanted).sum()),
            failed=int(listing.failed.sum()),
            at_most=bool(study.precision),
        ),
        groups_on_target=on_target(store),
        shortfalls=_shortfalls(stored) if sealed else "",
        mixed=[writer.accepted for writer in agreement.recorded(store) if writer.accepted],
        sessions=past,
        units_per_second=units_per_second(running),
        seconds_left=Schedule(study, listing).cost / pace if pace else None,
        state=_state(done, listing, past, bool(running)),
        failed=failed_units(stored, listing, invocation),
    )


def _state(done: bool, listing: Listing, past: Sequence[SessionRecord], running: bool) -> State:
    """Whether anything is left to do. past: sessions."""
    if done:
        return State.FAILED if listing.failed.any() else State.DONE
    # What a shard left, others do.
    if past and not running and past[-1].state == FAILED and not past[-1].shard:
        return State.FAILED
    return State.MORE_TO_DO


def _shortfalls(stored: StoredStudy) -> str:
    """What did not converge or is not finite; or that the moments are damaged, so that nobody
    can say."""
    try:
        return line_of(stored)
    except (InvalidInput, OSError) as error:
        return f"not known whether all converged and is finite: {error}"
