"""`task=release` for a crowd's answers: how many gave each task each label, with
noise that nothing can seed.

What is released is made of the noisy counts and of settings
alone. A file is refused for its header alone; a row that is
wrong by itself is left out without a word.
"""

from collections.abc import Sequence
from dataclasses import Field
from typing import Any

from pipeline.privacy.published_counts import PublishedCounts
from pipeline.problems.common import count_release
from pipeline.problems.common.count_release import (
    AnswerRow,
    ReleaseRequest,
    answers_of,
    checked,
    count_disclosure,
    published,
    request_of,
    statement,
)
from pipeline.problems.common.release_arguments import is_check, receipt, target_of
from pipeline.problems.common.release_folder import PageOf, Table, new_folder, plain_text, write
from pipeline.problems.common.release_intervals import (
    ENDS,
    OF_SUMS,
    RANKS,
    Noise,
    joined,
    sum_cells,
)
from pipeline.problems.common.sheets import Sheet
from pipeline.problems.common.tables import Unreadable
from pipeline.study.parameters import InvalidInput, parameter, shorten
from pipeline.study.untyped import Config

from ..mechanisms.protected_votes import ProtectedVotes
from .files import ANSWER, normal_label

MECHANISMS: dict[str, type[Any]] = {**count_release.MECHANISMS, "noisy_votes": ProtectedVotes}
HEADERS = "task,worker,label"
LABELS: Field[Any] = parameter("the two labels, with / between", default="0/1")
LABELS.type = str


def release(arguments: Config, page_of: PageOf) -> str:
    """Release the answers of the file `data.path` into the new folder `outputs`.

    Returns the account to print.

    data.items names the tasks, parameters.labels the two
    labels; page_of makes the page on what is promised,
    which lies beside the tables; check=true releases nothing, and returns what
    rows are left out. arguments: key -> value, as typed on
    the command line. Raises InvalidInput for any mistake in
    them or in the header of the file, before anything is
    written; OSError where the disk is full.
    """
    request = request_of(
        arguments, "answers of a crowd, task,worker,label", "tasks", {"labels": LABELS}, MECHANISMS
    )
    releases_net = isinstance(request.mechanism, ProtectedVotes) and _is_net(request.mechanism)
    labels = _labels(request.settings.get("labels", LABELS.default))
    target = None if is_check(arguments) else target_of(arguments)
    answers = answers_of(request, HEADERS, lambda sheet: _Reader(sheet, request.names, labels))
    if target is None:
        return checked(answers)
    result, most = published(request, answers, len(request.names), "one answer")
    account = statement(request, result, most, True, "one answer", "task")
    account["labels"] = [plain_text(label) for label in labels]
    if releases_net:
        account["votes.csv"] = NET
        tables = _net_tables(request, labels, result)
    else:
        account["votes.csv"] = COUNTS
        tables = _tables(request, labels, result)
    disclosed = count_disclosure(request, result, most, account, True)
    with new_folder(target, arguments["outputs"]) as folder:
        write(folder, tables, disclosed, page_of)
    return receipt(target, account)


COUNTS = (
    "answers to a task with the first label, with the second, plus noise, which may make them "
    "negative; label: the one with more of these, the second where they are equal; of the second "
    f"less the first: {OF_SUMS}"
)
NET = (
    "answers to a task with the second label less those with the first, plus noise; label: the "
    f"second where this is 0 or more; {OF_SUMS}"
)


def _is_net(mechanism: ProtectedVotes) -> bool:
    """Whether differences are released, which must be those that protect who labelled what."""
    if mechanism.votes == "public":
        allowed = "a release protects who labelled what; must be counts or net"
        raise InvalidInput("parameters.votes", mechanism.votes, allowed)
    return mechanism.votes == "net"


def _labels(text: str) -> tuple[str, str]:
    """The two labels that a person named."""
    labels = [label.strip() for label in text.split("/")]
    if len(labels) != 2 or not all(labels) or normal_label(labels[0]) == normal_label(labels[1]):
        raise InvalidInput(
            "parameters.labels", text, "must be two different labels with / between, as no/yes"
        )
    return labels[0], labels[1]


class _Reader:
    """Reads rows below one header, each by itself."""

    named = True  # the header must have a column of workers

    def __init__(self, sheet: Sheet, tasks: Sequence[str], labels: tuple[str, str]) -> None:
        """Raises `Unreadable` for the header."""
        roles = sheet.roles(ANSWER)
        missing = [role for role in ANSWER if role not in roles]
        if missing:
            header = shorten(",".join(sheet.header))
            raise Unreadable(
                f"the header is {header!r}, without {', '.join(missing)}; must be {HEADERS}"
            )
        self._tasks = sheet.columns[roles["task"]]
        self._workers = sheet.columns[roles["worker"]]
        self._labels = sheet.columns[roles["label"]]
        self._index = {name: k for k, name in enumerate(tasks)}
        self._code = {normal_label(name): k for k, name in enumerate(labels)}
        self._allowed = shorten(", ".join(labels))

    def answer(self, row: int) -> AnswerRow:
        """An answer. Raises `Unreadable` with the reason if the row is wrong."""
        task = self._tasks[row]
        worker = self._workers[row]
        label = self._labels[row]
        if task not in self._index:
            raise Unreadable(f"task {shorten(task, 30)!r} is not in data.items")
        if not worker:
            raise Unreadable("the worker has no name")
        code = self._code.get(normal_label(label))
        if code is None:
            raise Unreadable(
                f"label is {shorten(label, 30)!r}; must be one of {self._allowed} "
                "(parameters.labels)"
            )
        return AnswerRow(worker, self._index[task], code)


def _tables(
    request: ReleaseRequest, labels: tuple[str, str], result: PublishedCounts
) -> dict[str, Table]:
    """The table of a release by the name of its file, from counts (tasks, 2), noisy."""
    names = [plain_text(label) for label in labels]
    rows = [
        (plain_text(task), first, second, names[int(second >= first)])
        for task, (first, second) in zip(request.names, result.counts.tolist(), strict=True)
    ]
    leads = result.counts[:, 1] - result.counts[:, 0]
    intervals = sum_cells(leads, Noise.of(result.noise), draws=2)
    header = ("task", "first", "second", "label", *ENDS, *RANKS)
    return {"votes.csv": (header, joined(rows, intervals))}


def _net_tables(
    request: ReleaseRequest, labels: tuple[str, str], result: PublishedCounts
) -> dict[str, Table]:
    """The table of a release of differences, (tasks, 1), noisy, by the name of its file."""
    names = [plain_text(label) for label in labels]
    rows = [
        (plain_text(task), difference, names[int(difference >= 0)])
        for task, (difference,) in zip(request.names, result.counts.tolist(), strict=True)
    ]
    intervals = sum_cells(result.counts[:, 0], Noise.of(result.noise))
    header = ("task", "second_less_first", "label", *ENDS, *RANKS)
    return {"votes.csv": (header, joined(rows, intervals))}
