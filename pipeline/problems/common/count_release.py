"""Releases of counts of people's answers, alike for comparisons and for labels: settings, files, statement."""

from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any, NamedTuple

from pipeline.privacy.published_counts import CountNoise, GaussianCounts, LaplaceCounts, PublishedCounts, bounded_counts
from pipeline.study.arrays import Integers
from pipeline.study.parameters import DataFile, InvalidInput, describe, parameter
from pipeline.study.study import build

from . import tables
from .release_arguments import file_of, keys_as_typed, settings_of
from .release_folder import LAWS, NAMES, made_by

MECHANISMS: dict[str, type[CountNoise]] = {"discrete_gaussian": GaussianCounts, "discrete_laplace": LaplaceCounts}
SETTINGS = ("epsilon_user", "delta", "conversion", "neighbours_are")
MOST: Field[Any] = parameter("answers of one person that count, the first ones; the noise grows with it", low=1,
                             high=10**6)
MOST.type = int


class Answers(NamedTuple):
    """Answers in a file, row by row: person, names or None, group, side and times, (rows,), as in `bounded_counts`."""

    person: Sequence[str] | None
    group: Integers
    side: Integers
    times: Integers


class Asked(NamedTuple):
    """What a release was asked for: mechanism's name and itself, other settings, file of the data, public names."""

    name: str
    mechanism: CountNoise
    settings: dict[str, Any]
    data: DataFile
    names: tuple[str, ...]


def asked_for(arguments: Mapping[str, Any], what: str, of: str, others: Mapping[str, Field[Any]]) -> Asked:
    """The checked arguments of a release. what: meaning of data.path; of: whose names data.items has.

    Names that are released must come from a list, since those in the rows are people's.
    """
    name, kind, settings = settings_of(arguments, MECHANISMS, {"most": MOST, **others}, ("path", "items"))
    data = file_of(arguments, "path", what)
    if arguments.get("data.items") is None:
        raise InvalidInput("data.items", None, f"is needed, a file with the names of all {of}, one a line: which of "
                           "them occur in data.path is people's own")
    names = listed(file_of(arguments, "items", f"names of all {of}, one a line"), of)
    with keys_as_typed():
        mechanism: CountNoise = build(kind, {key: value for key, value in settings.items() if key in SETTINGS})
    return Asked(name, mechanism, {key: value for key, value in settings.items() if key not in SETTINGS}, data, names)


def listed(items: DataFile, of: str) -> tuple[str, ...]:
    """Names in a file, one a line, in its order; InvalidInput for one that stands twice, and for fewer than two."""
    try:
        names = [name for line in tables.lines(items) if (name := line.strip())]
    except tables.Unreadable as error:
        raise InvalidInput("data.items", items.path, str(error)) from None
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InvalidInput("data.items", items.path, f"names {twice!r} twice")
    if len(names) < 2:
        raise InvalidInput("data.items", items.path, f"has {len(names)} of the {of}; needs two at least, one a line")
    return tuple(names)


def published(asked: Asked, answers: Answers, groups: int, one: str) -> tuple[PublishedCounts, int]:
    """Noisy counts, (groups, 2), and how many answers of a person count. one: an answer, in words.

    Where persons are named, parameters.most is needed; else an answer is a unit by itself. This depends on the header
    alone.
    """
    most = asked.settings.get("most")
    if answers.person is None:
        if most not in (None, 1):
            raise InvalidInput("parameters.most", most, f"the file names no persons, so that {one} is protected by "
                               "itself; must be left out")
        most = 1
    if most is None:
        raise InvalidInput("parameters.most", None, f"is needed, {describe(MOST)} ({MOST.metadata['meaning']})")
    counts = bounded_counts(answers.person, answers.group, answers.side, answers.times, groups, most)
    with keys_as_typed():
        return asked.mechanism.publish(counts, most), most


def statement(asked: Asked, result: PublishedCounts, most: int, named: bool, one: str, of: str) -> dict[str, Any]:
    """What was released, how private it is, and what was not released; nothing in it depends on the rows of the data.

    named: whether the file names persons. one: an answer; of: what it is counted by, in words.
    """
    (noise,) = result.noise
    unit = (f"all answers of one person; of these the first {most:,} count, and of several on the same {of} the first"
            if named else f"{one}, since the file names no persons: whoever gave several spends the budget as often")
    changed = {"replace_one": "replaced by others", "add_remove": "there or not"}[asked.mechanism.neighbours_are]
    return {
        "unit": unit, "neighbours": f"{'these answers' if named else one} {changed}", "spent": result.spent,
        "asked": {key: getattr(asked.mechanism, key) for key in SETTINGS if hasattr(asked.mechanism, key)}
                 | {"most": most},
        "mechanism": asked.name, "noise": result.noise, "noise_law": LAWS[noise],
        "sensitivity": {"squared L2, and L1": result.sensitivity}, **made_by(), "names": NAMES,
        "public": f"names in data.items, law of the noise; every {of} has its counts, whether anybody answered or not",
        "not released": "the number of persons, who answered what, any count without noise",
    }
