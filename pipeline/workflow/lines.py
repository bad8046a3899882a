"""Events in words: the lines by which a person follows a task, in a terminal or in a notebook."""

import functools
from collections.abc import Sequence

from pipeline.execution.amounts import format_bytes, format_time
from pipeline.study.parameters import shorten
from pipeline.workflow.events import (
    Archived,
    Crossed,
    DataSource,
    Deviated,
    ExecutorOpened,
    Failed,
    FellShort,
    Judged,
    Merged,
    MoreLevels,
    MoreReplications,
    Noted,
    NothingToDo,
    NotTestedAlike,
    OnTarget,
    PartChecked,
    ProtocolKept,
    Reported,
    Reproduced,
    ShardDone,
    SiteWritten,
    SweepBegins,
    Tallied,
    UnitsVerified,
    Warned,
)

CONTRADICTED = "contradicted"
NOT_TESTED = "not tested"
MOST_NAMED = 2  # claims that are named of those that are not tested for the same reason
MARKS = {CONTRADICTED: "✗", "too weak": "!"}  # in front of the lines of these verdicts
MOST_WRONG = 10  # things that are wrong in a part of an archive, which are shown
MOST_LETTERS = 150  # characters of what is wrong in a part of an archive


@functools.singledispatch
def lines_of(event: object) -> list[str]:
    """The lines of an event; none for those of a progress, which is drawn.

    >>> lines_of(NothingToDo(units=8))
    ['nothing to do: all 8 units were done before']
    """
    return []


@lines_of.register
def _(event: NothingToDo) -> list[str]:
    return [f"nothing to do: all {event.units:,} units were done before"]


@lines_of.register
def _(event: SweepBegins) -> list[str]:
    line = f"{event.pending:,} units to do, {event.done:,} done before"
    if event.shard:
        line += f", in shard {event.shard}"
    if event.open_ended:
        line += "; and as many more as the targets of precision need"
    return [line]


@lines_of.register
def _(event: ExecutorOpened) -> list[str]:
    return [event.description]


@lines_of.register
def _(event: Warned) -> list[str]:
    return [f"warning: {event.text}"]


@lines_of.register
def _(event: Noted) -> list[str]:
    return [f"note: {event.text}"]


@lines_of.register
def _(event: Failed) -> list[str]:
    lines = [f"  failed: {unit.replay}  # {unit.name}: {unit.error}" for unit in event.first]
    total = f"  {event.count} failed units"
    if event.count > len(event.first):
        total += f", {len(event.first)} shown"
    if event.count:
        total += "; retry_failed=true runs them again"
    return [*lines, total]


@lines_of.register
def _(event: MoreReplications) -> list[str]:
    return [
        f"{event.study}: not all claims are decided after {event.replications:,} replications; "
        f"{event.next_look:,} at the next look, {event.most:,} at most"
    ]


@lines_of.register
def _(event: MoreLevels) -> list[str]:
    return [f"{event.study}: {event.cells:,} more cells, to find where {event.searched}"]


@lines_of.register
def _(event: ShardDone) -> list[str]:
    return [
        f"shard {event.shard} is done; the same command without it simulates what is left, seals "
        "and reports"
    ]


@lines_of.register
def _(event: OnTarget) -> list[str]:
    line = f"{event.groups_on_target:,} of {event.groups:,} groups of cells on target"
    if event.groups_on_target < event.groups:
        line += f"; the others have all {event.replications:,} replications"
    return [line]


@lines_of.register
def _(event: Crossed) -> list[str]:
    place = f" at {event.place}" if event.place else ""
    return [f"{event.metric} = {event.level:g}{place}: {event.says}"]


@lines_of.register
def _(event: DataSource) -> list[str]:
    return [f"  data of {event.study}: {event.source}"]


@lines_of.register
def _(event: Judged) -> list[str]:
    mark = MARKS.get(event.verdict, " ")
    return [f"{mark} {event.verdict:<13} {event.claim}: {event.text}"]


@lines_of.register
def _(event: NotTestedAlike) -> list[str]:
    return [
        f"  {NOT_TESTED:<13} {len(event.claims)} claims: each {event.text}: {_few(event.claims)}"
    ]


@lines_of.register
def _(event: Tallied) -> list[str]:
    total = sum(event.verdicts.values())
    claims = "1 claim" if total == 1 else f"{total} claims"
    tally = ", ".join(f"{number} {verdict}" for verdict, number in event.verdicts.items())
    if event.study:
        return [f"  {event.study}: {tally}"]
    return [f"{claims}: {tally}"]


def _few(claims: Sequence[str]) -> str:
    """The first names of claims, and how many more there are."""
    names = ", ".join(claims[:MOST_NAMED])
    if len(claims) <= MOST_NAMED:
        return names
    return f"{names} and {len(claims) - MOST_NAMED} more"


@lines_of.register
def _(event: FellShort) -> list[str]:
    return [f"{event.study}: {event.says}"]


@lines_of.register
def _(event: Reported) -> list[str]:
    lines = [f"report: {event.page}"]
    if event.seconds is not None:
        lines.insert(0, f"report written in {format_time(event.seconds)}")
    return lines


@lines_of.register
def _(event: ProtocolKept) -> list[str]:
    state = "is kept" if event.is_new else "was kept before"
    lines = [
        f"{event.study}: the protocol {state} in {event.record_path}",
        f"  digest        {event.digest}",
        f"  questions     {event.answered} of {event.questions} answered by the config",
    ]
    if event.begun_before:
        lines.append(
            f"  begun before  {', '.join(event.begun_before)}: somebody may have looked at numbers"
        )
    return lines


@lines_of.register
def _(event: Deviated) -> list[str]:
    if event.deviations is None:
        return [f"{event.study}: the file of its protocol was changed after it was written"]
    day = event.date[:10]
    if event.deviations == 0:
        return [f"{event.study}: no deviation from the protocol of {day}"]
    many = "1 deviation" if event.deviations == 1 else f"{event.deviations} deviations"
    return [f"{event.study}: {many} from the protocol of {day}, listed in the report"]


@lines_of.register
def _(event: Archived) -> list[str]:
    studies = "1 study" if event.studies == 1 else f"{event.studies} studies"
    line = f"wrote {event.path}: {studies}, {event.files:,} files, {format_bytes(event.size)}"
    if event.resumed:
        line += f", {format_bytes(event.resumed)} of these written before"
    return [line, f"to check it anywhere: pipeline reproduce archive={event.path.name}"]


@lines_of.register
def _(event: PartChecked) -> list[str]:
    lines = [f"{event.part}: {event.equal:,} of {event.total:,} are as they must be"]
    lines.extend(f"  false: {shorten(wrong, MOST_LETTERS)}" for wrong in event.wrong[:MOST_WRONG])
    if len(event.wrong) > MOST_WRONG:
        lines.append(f"  and {len(event.wrong) - MOST_WRONG:,} more")
    return lines


@lines_of.register
def _(event: Reproduced) -> list[str]:
    return [bound_in_words(event), f"for a review: {for_review(event)}"]


def bound_in_words(event: Reproduced) -> str:
    """What drawing units showed: how many are false at most."""
    equal = next(part.equal for part in event.parts if part.part == "units")
    line = f"{equal:,} of {event.drawn:,} units equal"
    if event.close:
        line += f", {event.close:,} of these within 1e-9 (this machine's arithmetic is another)"
    elif not event.exactly:
        line += " (this machine's arithmetic is another: what follows is compared within 1e-9)"
    most = 100 * event.most_false
    if event.drawn == event.units:
        return f"{line}: all units, {most:.1f} % are false"
    confidence = f"{100 * event.confidence:g} %"
    return f"{line}: with {confidence} confidence at most {most:.1f} % of {event.units:,} are false"


def for_review(event: Reproduced) -> str:
    """A line for a reviewer's report."""
    counts = [f"{part.part} {part.equal:,}/{part.total:,}" for part in event.parts]
    verdict = "reproduced" if event.is_sound else "NOT reproduced"
    return (
        f"I {verdict} {event.archive} on my machine: {bound_in_words(event)}; recomputed and "
        f"equal: {', '.join(counts)}; drawn by {event.nonce}."
    )


@lines_of.register
def _(event: UnitsVerified) -> list[str]:
    writer = event.writer
    most = 100 * writer.most_false
    line = (
        f"{event.study}: {writer.recomputed:,} of {writer.units:,} units of writer {writer.writer} "
        f"were simulated here and are equal; with 95 % confidence at most {most:.1f} % are false"
    )
    return [line]


@lines_of.register
def _(event: Merged) -> list[str]:
    line = f"{event.study}: {event.units:,} units of {event.contributor} merged"
    if event.shared:
        line += f"; {event.shared:,} that both have are equal"
    return [line]


@lines_of.register
def _(event: SiteWritten) -> list[str]:
    archives = "1 archive" if event.archives == 1 else f"{event.archives} archives"
    return [f"wrote {event.page}, with {archives}: open it, or put its folder on any web host"]
