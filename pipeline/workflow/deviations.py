"""Deviations of a study from its protocol, told by comparison of what both fix."""

import json
from collections.abc import Iterator, Mapping

from pipeline.reporting.protocol import (
    ADDED,
    CHANGED,
    EXPLORATORY,
    LEFT_OUT,
    Deviation,
    Protocol,
)
from pipeline.study.untyped import Json
from pipeline.workflow import protocol_record
from pipeline.workflow.commitments import (
    CLAIM,
    KINDS,
    LEVELS,
    TOLERANCE,
    Fixed,
    fixed_by,
    requested,
)
from pipeline.workflow.studies import StoredStudy

MOST_LETTERS = 400  # of a value in words


def protocol_of(stored: StoredStudy) -> Protocol | None:
    """The protocol that is kept with a study, and its deviations; None without one."""
    from pipeline.workflow import assess

    record = protocol_record.read(stored.store)
    if record is None:
        return None
    deviations: tuple[Deviation, ...] = ()
    if record.is_whole:
        done = fixed_by(requested(stored), assess.claims_of(stored.experiment))
        deviations = tuple(deviations_between(record.fixed, done))
    return Protocol(
        digest=record.digest,
        date=record.date,
        url=record.url,
        registered=record.registered,
        is_whole=record.is_whole,
        begun_before=record.begun_before,
        deviations=deviations,
    )


def deviations_between(planned: Fixed, done: Fixed) -> Iterator[Deviation]:
    """Every difference between what was planned and what was done, kind by kind."""
    kinds = dict.fromkeys([*KINDS, *planned, *done])
    for kind in kinds:
        yield from _of_kind(kind, planned, done)


def _of_kind(kind: str, planned: Fixed, done: Fixed) -> Iterator[Deviation]:
    before = planned.get(kind, {})
    after = done.get(kind, {})
    for key in dict.fromkeys([*before, *after]):
        is_told_as_claim = kind == TOLERANCE and (key in before) != (key in after)
        if is_told_as_claim:
            continue
        if key not in before:
            change = EXPLORATORY if kind == CLAIM else ADDED
            yield Deviation(kind, key, change, "", _in_words(kind, after[key]))
        elif key not in after:
            yield Deviation(kind, key, LEFT_OUT, _in_words(kind, before[key]), "")
        elif before[key] != after[key]:
            yield _changed(kind, key, before[key], after[key])


def _changed(kind: str, key: str, before: Json, after: Json) -> Deviation:
    """A deviation of a value that both have: of levels and of claims only what differs."""
    if kind == LEVELS:
        only_before = [level for level in before if not _is_in(level, after)]
        only_after = [level for level in after if not _is_in(level, before)]
        if only_before or only_after:
            before = only_before
            after = only_after
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before = {name: before[name] for name in names if name in before}
        after = {name: after[name] for name in names if name in after}
    return Deviation(kind, key, CHANGED, _words(before), _words(after))


def _is_in(level: object, levels: list[object]) -> bool:
    """Whether a level is among others; True is not 1."""
    return any(level == other and type(level) is type(other) for other in levels)


def _in_words(kind: str, value: Json) -> str:
    """A value that one side lacks; a claim by its statement."""
    if kind == CLAIM:
        return str(value["statement"])
    return _words(value)


def _words(value: object) -> str:
    """A value of JSON for a person to read."""
    if isinstance(value, list):
        text = ", ".join(map(_words, value))
    elif isinstance(value, Mapping):
        text = "; ".join(f"{name}: {_words(part)}" for name, part in value.items())
    elif isinstance(value, str):
        text = value
    else:
        text = json.dumps(value)
    if len(text) > MOST_LETTERS:
        return f"{text[:MOST_LETTERS]}…"
    return text
