"""Releases of counts of people's answers, comparisons or labels: settings, files, statement."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from pipeline.privacy.budgeted_noise import BudgetedNoise
from pipeline.privacy.published_counts import (
    CHANGED,
    CountNoise,
    GaussianCounts,
    LaplaceCounts,
    PublishedCounts,
    bounded_counts,
)
from pipeline.study.arrays import Integers
from pipeline.study.disclosure import Disclosure
from pipeline.study.guarantee import CURATOR, ONE_ANSWER, ONE_PERSON, TRUSTS
from pipeline.study.making import build
from pipeline.study.parameters import DataFile, InvalidInput, describe, parameter
from pipeline.study.untyped import Config, JsonObject

from . import release_rows, tables
from .disclosed import disclosure
from .release_arguments import FILES, file_of, keys_as_typed, settings_of
from .release_folder import LAWS, LEFT_OUT, NAMES, made_by
from .release_rows import ENCODING, LeftOut, check_report
from .sheets import Sheet
from .tables import Unreadable

MECHANISMS: dict[str, type[CountNoise]] = {
    "discrete_gaussian": GaussianCounts,
    "discrete_laplace": LaplaceCounts,
}
SETTINGS = (
    "epsilon_user",
    "delta",
    "person",
    "person_delta",
    "conversion",
    "neighbours_are",
    "votes",
    "rounds",
)
MOST: Field[Any] = parameter(
    "answers of one person that count, the first ones; the noise grows with it", low=1, high=10**6
)
MOST.type = int
CHANGE = {"replace_one": "replaced by others", "add_remove": "there or not"}


class AnswerRow(NamedTuple):
    """What one row says: person, a name or None, group, side and times, as in `bounded_counts`."""

    person: str | None
    group: int
    side: int
    times: int = 1


class Publishes(Protocol):
    """Adds OpenDP's noise to counts, or to what it makes of them."""

    @property
    def neighbours_are(self) -> str:
        """`replace_one` or `add_remove`."""

    @property
    def noise(self) -> BudgetedNoise:
        """Law of the noise, and what it spends."""

    def publish(self, counts: Integers, most: int, named: bool) -> PublishedCounts:
        """Noisy numbers made of counts, (groups, 2); see `CountNoise`."""


class RowReader(Protocol):
    """Reads rows below one header. named: whether it has a column of persons."""

    named: bool

    def answer(self, row: int) -> AnswerRow | None:
        """What a row says, None where that is nothing, as a tie.

        Raises `Unreadable` with the reason if the row is wrong.
        """
        ...


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """Answers in a file, row by row.

    person: names, or None where the header has no column of them. group, side, times:
    (rows,), as in `bounded_counts`. left_out: rows that count as not there. numbers:
    (rows,), of each row in the file.
    """

    person: Sequence[str] | None
    group: Integers
    side: Integers
    times: Integers
    left_out: tuple[LeftOut, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ReleaseRequest:
    """The checked arguments of a release.

    name: of the mechanism. settings: others than its own. data: the file of the rows.
    names: those that are public.
    """

    name: str
    mechanism: Publishes
    settings: dict[str, Any]
    data: DataFile
    names: tuple[str, ...]


def request_of(
    arguments: Config,
    meaning: str,
    of: str,
    others: Mapping[str, Field[Any]],
    mechanisms: Mapping[str, type[Any]] = MECHANISMS,
) -> ReleaseRequest:
    """The checked arguments of a release. meaning: of data.path; of: whose names data.items has.

    mechanisms: by name, the first one the default.

    Names that are released must come from a list, since those in the rows are
    people's.
    """
    name, kind, settings = settings_of(arguments, mechanisms, {"most": MOST, **others}, FILES)
    data = file_of(arguments, "path", meaning)
    names = public_names(arguments, of)
    of_mechanism = {key: value for key, value in settings.items() if key in SETTINGS}
    other_settings = {key: value for key, value in settings.items() if key not in SETTINGS}
    with keys_as_typed():
        mechanism: Publishes = build(kind, of_mechanism)
    return ReleaseRequest(name, mechanism, other_settings, data, names)


def public_names(arguments: Config, of: str) -> tuple[str, ...]:
    """The names in data.items. of: whose names these are, in words."""
    if arguments.get("data.items") is None:
        raise InvalidInput(
            "data.items",
            None,
            f"is needed, a file with the names of all {of}, one a line: which of "
            "them occur in data.path is people's own",
        )
    return listed(file_of(arguments, "items", f"names of all {of}, one a line"), of)


def listed(items: DataFile, of: str) -> tuple[str, ...]:
    """Names in a file, one a line, in its order.

    Raises InvalidInput for one that stands twice, and for fewer than two.
    """
    try:
        stripped = [line.strip() for line in tables.lines(items)]
    except tables.Unreadable as error:
        raise InvalidInput("data.items", items.path, str(error)) from None
    names = [name for name in stripped if name]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InvalidInput("data.items", items.path, f"names {twice!r} twice")
    if len(names) < 2:
        allowed = f"has {len(names)} of the {of}; needs two at least, one a line"
        raise InvalidInput("data.items", items.path, allowed)
    return tuple(names)


def answers_of(
    request: ReleaseRequest, expected: str, reader_of: Callable[[Sheet], RowReader]
) -> AnswerRows:
    """The answers in the file of a request: see `answers_in`."""
    encoding = request.settings.get("encoding", ENCODING.default)
    return answers_in(request.data, encoding, expected, reader_of)


def answers_in(
    data: DataFile, encoding: str, expected: str, reader_of: Callable[[Sheet], RowReader]
) -> AnswerRows:
    """The answers in a file; a row that is wrong by itself is left out, as `release_rows` says.

    expected: the header in words. reader_of: makes the reader of the rows below a
    header; it raises `Unreadable` for a header that does not fit. Raises InvalidInput
    for the header alone.
    """
    try:
        table = release_rows.read(data, expected, encoding)
        reader = reader_of(table.sheet)
    except Unreadable as error:
        raise InvalidInput("data.path", data.path, str(error)) from None
    left_out = list(table.left_out)
    rows: list[int] = []
    answers: list[AnswerRow] = []
    for row, number in enumerate(table.sheet.numbers):
        try:
            answer = reader.answer(row)
        except Unreadable as error:
            left_out.append(LeftOut(number, str(error)))
            continue
        if answer is not None:
            rows.append(number)
            answers.append(answer)
    person = [answer.person or "" for answer in answers] if reader.named else None
    group = np.array([answer.group for answer in answers], np.int64)
    side = np.array([answer.side for answer in answers], np.int64)
    times = np.array([answer.times for answer in answers], np.int64)
    return AnswerRows(person, group, side, times, tuple(left_out), tuple(rows))


def checked(answers: AnswerRows) -> str:
    """What `check=true` prints."""
    return check_report(len(answers.group), answers.left_out)


def published(
    request: ReleaseRequest, answers: AnswerRows, groups: int, answer: str
) -> tuple[PublishedCounts, int]:
    """Noisy counts, (groups, 2), and how many answers of a person count.

    answer: one of them, in words. Where persons are named, parameters.most is needed;
    else an answer is a unit by itself. This depends on the header alone.
    """
    most = request.settings.get("most")
    has_persons = answers.person is not None
    if not has_persons:
        if most not in (None, 1):
            raise InvalidInput(
                "parameters.most",
                most,
                f"the file names no persons, so that {answer} is protected by "
                "itself; must be left out",
            )
        most = 1
    if most is None:
        allowed = f"is needed, {describe(MOST)} ({MOST.metadata['meaning']})"
        raise InvalidInput("parameters.most", None, allowed)
    counts = bounded_counts(
        answers.person, answers.group, answers.side, answers.times, groups, most
    )
    with keys_as_typed():
        return request.mechanism.publish(counts, most, has_persons), most


def statement(
    request: ReleaseRequest, result: PublishedCounts, most: int, named: bool, answer: str, of: str
) -> JsonObject:
    """What was released, how private it is, and what was not released.

    Nothing in it depends on the rows of the data. named: whether the file names
    persons. answer: one of them, of: what it is counted by, in words.
    """
    (noise,) = result.noise
    sensitivity = result.sensitivity
    mechanism = request.mechanism
    change = CHANGE[mechanism.neighbours_are]
    unit = (
        f"{answer}, since the file names no persons: whoever gave several spends the budget "
        "as often"
    )
    neighbours = f"{answer} {change}"
    if named:
        unit = (
            "all answers of one person, which are all rows of one name; of these the first "
            f"{most:,} count, and of several on the same {of} the first"
        )
        neighbours = f"these answers {change}, or any one row, whatever name it has"
    settings = {key: getattr(mechanism, key) for key in SETTINGS if hasattr(mechanism, key)}
    return {
        "trust": TRUSTS[CURATOR],
        "unit": unit,
        "neighbours": neighbours,
        "spent": result.spent,
        "asked": {**settings, "most": most},
        "mechanism": request.name,
        "noise": result.noise,
        "noise_law": LAWS[noise],
        "sensitivity": {"L1": sensitivity.absolute, "squared L2": sensitivity.squared},
        **made_by(),
        "names": NAMES,
        "public": f"names in data.items, law of the noise; every {of} has its counts, whether "
        "anybody answered or not",
        "rows left out": LEFT_OUT,
        "not released": "the number of persons, who answered what, any count without noise",
    }


def count_disclosure(
    request: ReleaseRequest,
    result: PublishedCounts,
    most: int,
    account: Mapping[str, Any],
    named: bool,
) -> Disclosure:
    """What the release says of itself. most: answers of a person that count. named: whether the
    file names persons.

    The best attack is known where counts for both sides of a group are released: every answer that
    another one replaces changes two of them by 1. Of other sums only the budget bounds it.
    """
    mechanism = request.mechanism
    attack = None
    if result.counts.ndim == 2 and result.counts.shape[1] == 2:
        (width,) = result.noise.values()
        answers = min(most, len(result.counts))
        attack = mechanism.noise.attack(width, CHANGED[mechanism.neighbours_are] * answers)
    unit = ONE_PERSON if named else ONE_ANSWER
    return disclosure(account, unit, mechanism.neighbours_are, attack)
