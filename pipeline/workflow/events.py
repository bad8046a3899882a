"""What a task tells while it works: facts as they come, without the words of a terminal.

A task tells each event to all who subscribed to its `Job`. The command narrates them,
and so does a call from Python with progress (`pipeline.workflow.narration`); without a subscriber
nothing is said.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pipeline.execution.progress import Advance
from pipeline.storage.contributions import VerifiedWriter


@dataclass(frozen=True)
class NothingToDo:
    """All units were done before."""

    units: int


@dataclass(frozen=True)
class SweepBegins:
    """Units are about to be simulated.

    done: units that were done before. shard: "3/20" where only a share is simulated, else None.
    open_ended: whether more units follow where targets of precision need them.
    """

    pending: int
    done: int
    shard: str | None
    open_ended: bool


@dataclass(frozen=True)
class ExecutorOpened:
    """Who simulates. description: of the workers, in words."""

    description: str


@dataclass(frozen=True)
class SweepStarted:
    """Counting begins. cost: the sum of the predicted costs of the units.

    left: gives the units that are left and their cost where that changes on the way. waits: says
    what is waited for while no unit has ended, such as jobs in a queue, else "".
    """

    units: int
    cost: float
    left: Callable[[], tuple[int, float]] | None
    waits: Callable[[], str]


@dataclass(frozen=True)
class Progressed:
    """Units ended together."""

    advance: Advance


@dataclass(frozen=True)
class Warned:
    """Something went wrong that does not stop the task, such as a worker that vanished."""

    text: str


@dataclass(frozen=True)
class Noted:
    """Something that a person should know, such as what no fingerprint covers."""

    text: str


@dataclass(frozen=True)
class Swept:
    """Counting ends: all units of this sweep are done, or it was stopped."""


@dataclass(frozen=True)
class FailedUnit:
    """One failed unit. name: its cell and block in words. error: the last line of its traceback.

    replay: what simulates it again here, with its traceback.
    """

    name: str
    error: str
    replay: str


@dataclass(frozen=True)
class Failed:
    """The failed units of one study: how many there are, and the first of them."""

    study: str
    count: int
    first: tuple[FailedUnit, ...]


@dataclass(frozen=True)
class MoreReplications:
    """A round ended without a decision: the study goes on to its next look at the claims."""

    study: str
    replications: int
    next_look: int
    most: int


@dataclass(frozen=True)
class MoreLevels:
    """A round of refinement ended: the study goes on with more cells.

    searched: what is looked for, as `error_l2 = 0.5 along epsilon`.
    """

    study: str
    cells: int
    searched: str


Round: TypeAlias = MoreReplications | MoreLevels


@dataclass(frozen=True)
class ShardDone:
    """One share of the units is simulated; a run without `shard` seals and reports."""

    shard: str


@dataclass(frozen=True)
class OnTarget:
    """How many groups of cells of sealed results met their targets of precision."""

    study: str
    groups_on_target: int
    groups: int
    replications: int


@dataclass(frozen=True)
class Crossed:
    """Where a curve of sealed results crosses its level, or a boundary over a second axis.

    level: in the unit of the metric. place: the labels of the curve, "" where there is one curve
    only. says: a sentence.
    """

    study: str
    metric: str
    level: float
    place: str
    says: str


@dataclass(frozen=True)
class DataSource:
    """Where the data of a study come from, as its model states it."""

    study: str
    source: str


@dataclass(frozen=True)
class Judged:
    """The verdict on one claim. text: the result in words, as long as it is."""

    study: str
    claim: str
    verdict: str
    text: str


@dataclass(frozen=True)
class NotTestedAlike:
    """Claims on a study that are not tested, all for the same reason. text: the reason."""

    study: str
    claims: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Tallied:
    """How many claims of a study have each verdict. study: its name; empty for all together."""

    study: str
    verdicts: Mapping[str, int]


@dataclass(frozen=True)
class FellShort:
    """What did not converge or is not finite in a study's sealed results, in words."""

    study: str
    says: str


@dataclass(frozen=True)
class Reported:
    """The page of a report. seconds: that writing it took; None where it was up to date."""

    page: Path
    seconds: float | None


@dataclass(frozen=True)
class ProtocolKept:
    """A protocol was written down, or was there before.

    digest: of all that it fixes. answered: of the questions that there are. begun_before: folders
    of studies of this name that were there when it was written. is_new: whether none was kept.
    """

    study: str
    record_path: Path
    digest: str
    answered: int
    questions: int
    begun_before: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True)
class Deviated:
    """A study and its protocol. deviations: how many there are; None where the file that keeps the
    protocol is not as it was written.
    """

    study: str
    date: str
    deviations: int | None


@dataclass(frozen=True)
class Archived:
    """An archive was written. files, size: how many and how many bytes; resumed: of these bytes,
    those that an interrupted command had written.
    """

    path: Path
    studies: int
    files: int
    size: int
    resumed: int


@dataclass(frozen=True)
class PartChecked:
    """A part of an archive was checked. equal: how many of `total` are as they must be.

    wrong: those that are not, in words.
    """

    part: str
    equal: int
    total: int
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Reproduced:
    """An archive was checked. archive: name of its file; title: of its report.

    nonce: by which units were drawn. units: in all; drawn: of these. close: of those drawn, equal
    within 1e-9 and not to the last bit. exactly: whether all else was compared to the last bit, as
    the archive was made by the arithmetic that is here, and not within 1e-9. most_false: share of
    all units that could be false, with this confidence.
    """

    archive: str
    title: str
    nonce: str
    parts: tuple[PartChecked, ...]
    units: int
    drawn: int
    close: int
    exactly: bool
    confidence: float
    most_false: float

    @property
    def is_sound(self) -> bool:
        """Whether nothing is false in what was checked."""
        return all(part.equal == part.total for part in self.parts)


@dataclass(frozen=True)
class UnitsVerified:
    """Units of a writer of another person were simulated here, and are as stored."""

    study: str
    writer: VerifiedWriter


@dataclass(frozen=True)
class Merged:
    """Units of another person were taken in. shared: units that were here, with equal numbers."""

    study: str
    contributor: str
    units: int
    shared: int
    writers: tuple[VerifiedWriter, ...]


@dataclass(frozen=True)
class SiteWritten:
    """A site of archives was written. page: its index."""

    page: Path
    archives: int


Event: TypeAlias = (
    Archived
    | NotTestedAlike
    | Tallied
    | SiteWritten
    | UnitsVerified
    | Merged
    | PartChecked
    | Reproduced
    | ProtocolKept
    | Deviated
    | NothingToDo
    | SweepBegins
    | ExecutorOpened
    | SweepStarted
    | Progressed
    | Warned
    | Noted
    | Swept
    | Failed
    | Round
    | ShardDone
    | OnTarget
    | Crossed
    | DataSource
    | Judged
    | FellShort
    | Reported
)
