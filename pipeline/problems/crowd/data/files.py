"""Files of a crowd's answers and of the true labels: read, checked, and cached by content.

Nothing is ever written. Answers: task, worker and label in
a row (names of columns: `ANSWER`, `TRUTH`), or workers ×
tasks, or tasks × workers. Truth: task and label, with or
without a header. Labels: any two texts; names of tasks and
workers are any text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common import sheets, tables
from pipeline.problems.common.sheets import PERSON, Sheet, plain, range_of
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, shorten

TASK = (
    "task",
    "taskid",
    "item",
    "itemid",
    "question",
    "questionid",
    "example",
    "exampleid",
    "instance",
    "unit",
    "unitid",
    "object",
    "picture",
    "image",
)
LABEL = ("label", "answer", "response", "vote", "class", "judgment", "judgement", "choice")
ANSWER = {"task": TASK, "worker": PERSON, "label": LABEL}
TRUTH = {
    "task": (*TASK, "id"),
    "truth": ("truth", "gold", "goldlabel", "truelabel", "trueclass", *LABEL),
}
BOTH = "answers (task,worker,label) are data.path, true labels (task,truth) data.truth"
SHAPES = {"data_path": "task,worker,label", "data_truth": "task,truth"}
# Pairs of labels of which the second is label 1; of other pairs it is the one that
# sorts last.
PAIRS = (
    ("0", "1"),
    ("-1", "1"),
    ("1", "2"),
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("-", "+"),
    ("wrong", "right"),
    ("incorrect", "correct"),
    ("bad", "good"),
)
MOST_CELLS = 10**9  # workers × tasks, one byte each
STAND_IN_WORKERS = 39
STAND_IN_TASKS = 108
UNKNOWN = -1  # label of a task whose true one is not given


@dataclass(frozen=True, eq=False)
class Crowd:
    """All workers' answers and the true labels, checked.

    Workers and tasks are in the order in which the answers
    name them. answers: (workers, tasks) int8, +1 says label
    1, −1 says label 0, 0 is no answer. labels: (tasks,)
    int8, y*, all `UNKNOWN` without a file of them.
    abilities: (workers,), share of right answers; NaN
    without true labels. source: one sentence on where they
    are from.
    """

    answers: NDArray[np.int8]
    labels: NDArray[np.int8]
    abilities: Floats
    workers: tuple[str, ...]
    tasks: tuple[str, ...]
    source: str

    @classmethod
    def of(
        cls,
        answers: NDArray[np.int8],
        labels: NDArray[np.int8],
        workers: Sequence[str],
        tasks: Sequence[str],
        origin: str,
        meaning: str = "",
        remark: str = "",
    ) -> "Crowd":
        """A crowd with the shares of right answers; every worker needs one answer.

        For `source`: origin, its beginning; meaning of
        label 1; remark, its end.
        """
        of_task = (answers != 0).sum(axis=0)
        of_worker = (answers != 0).sum(axis=1)
        total = of_worker.sum()
        if (labels != UNKNOWN).all():
            right = (answers == 2 * labels - 1).sum(axis=1)
            abilities = right / of_worker
            shares = f"{right.sum() / total:.1%} right; {labels.mean():.1%} of labels are 1"
        else:
            abilities = np.full(len(workers), np.nan)
            shares = f"{(answers == 1).sum() / total:.1%} of them 1"
        source = (
            f"{origin}: {total:,} answers by {len(workers):,} workers to {len(tasks):,} tasks, "
            f"{range_of(of_task.tolist())} of a task and {range_of(of_worker.tolist())} of a "
            f"worker, {shares}{meaning}{remark}."
        )
        return cls(answers, labels, abilities, tuple(workers), tuple(tasks), source)


def crowd_workers(
    data_path: Annotated[DataFile | None, "answers of a crowd; null is a stand-in"],
    data_truth: Annotated[DataFile | None, "true labels of the tasks"],
) -> Annotated[int, "workers of the file", "workers"]:
    """Workers of a file, so that they need not be counted by hand."""
    return len(load(data_path, data_truth).workers)


def crowd_tasks(
    data_path: Annotated[DataFile | None, "answers of a crowd; null is a stand-in"],
    data_truth: Annotated[DataFile | None, "true labels of the tasks"],
) -> Annotated[int, "tasks of the file", "tasks"]:
    """Tasks of a file, so that they need not be counted by hand."""
    return len(load(data_path, data_truth).tasks)


@lru_cache(maxsize=4)
@read_only
def load(path: DataFile | None, truth_file: DataFile | None) -> Crowd:
    """The crowd in two files, or the stand-in for no files.

    path: answers. truth_file: true labels, or None where
    they are not known. Read once per content. O(answers)
    steps, workers × tasks bytes. Raises InvalidInput with
    the row of the first mistake.
    """
    if path is None and truth_file is None:
        return _stand_in()
    if path is None:
        raise InvalidInput("data_path", None, f"is needed with data.truth: {BOTH}")
    answers, remark = _answers(path)
    rows = {"data_path": (path, answers)}
    truth: list[_Row] = []
    origin = "true labels not known"
    if truth_file is not None:
        truth = _true_labels(truth_file, {row.task for row in answers})
        rows["data_truth"] = (truth_file, truth)
        origin = f"and true labels, sha256 {truth_file.sha256[:8]}…"
    codes = _codes(rows)
    labels = {row.task: codes[normal_label(row.label)] for row in truth}
    if truth_file is not None:
        _check_labelled(answers, labels, path)
    table, workers, tasks = _table(answers, codes, path)
    return Crowd.of(
        table,
        np.array([labels.get(name, UNKNOWN) for name in tasks], np.int8),
        workers,
        tasks,
        f"A crowd's answers, sha256 {path.sha256[:8]}…, {origin}",
        _meaning(codes),
        remark,
    )


def _check_labelled(answers: Sequence["_Row"], labels: Mapping[str, int], file: DataFile) -> None:
    """Raise InvalidInput for an answer to a task without a true label."""
    for row in answers:
        if row.task not in labels:
            problem = (
                f"task {shorten(row.task, 30)!r} has no true label in data.truth; add it there, or "
                "leave out the task's answers"
            )
            raise _mistake("data_path", file, row.number, problem)


def _table(
    answers: Sequence["_Row"], codes: Mapping[str, int], file: DataFile
) -> tuple[NDArray[np.int8], list[str], list[str]]:
    """Answers as signs, (workers, tasks), with the names of both in the order of the answers."""
    workers = list(dict.fromkeys(row.worker for row in answers))
    tasks = list(dict.fromkeys(row.task for row in answers))
    if len(workers) * len(tasks) > MOST_CELLS:
        raise InvalidInput(
            "data_path",
            file.path,
            f"has {len(workers):,} workers × {len(tasks):,} tasks; at most {MOST_CELLS:,} in all",
        )
    row_of = {name: k for k, name in enumerate(workers)}
    column_of = {name: k for k, name in enumerate(tasks)}
    table = np.zeros((len(workers), len(tasks)), np.int8)
    for row in answers:
        sign = 2 * codes[normal_label(row.label)] - 1
        table[row_of[row.worker], column_of[row.task]] = sign
    return table, workers, tasks


def _meaning(codes: Mapping[str, int]) -> str:
    """What labels 1 and 0 are in the files, for the source.

    Empty where they are 1 and 0 themselves.
    """
    names = sorted(codes, key=codes.__getitem__)
    if len(names) < 2 or names == ["0", "1"]:
        return ""
    label_0, label_1 = names
    return f" ({shorten(label_1, 30)!r}; 0 is {shorten(label_0, 30)!r})"


class _Row(NamedTuple):
    """One answer, or one true label, whose worker is empty; number of the row in the file."""

    number: int
    task: str
    worker: str
    label: str


def _answers(file: DataFile) -> tuple[list[_Row], str]:
    """The answers in a file, and a remark on columns that are not used.

    Raises InvalidInput where a worker answers a task twice.
    """
    try:
        rows, remark = _rows(sheets.read(file, SHAPES["data_path"]))
    except Unreadable as error:
        raise InvalidInput("data_path", file.path, str(error)) from None
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        before = first.setdefault((row.worker, row.task), row.number)
        if before != row.number:
            problem = (
                f"worker {shorten(row.worker, 30)!r} has an answer to task "
                f"{shorten(row.task, 30)!r} before, in row {before}; keep one"
            )
            raise _mistake("data_path", file, row.number, problem)
    return rows, remark


def _rows(sheet: Sheet) -> tuple[list[_Row], str]:
    """The answers in a sheet of any of the three shapes, and a remark. Raises `Unreadable`."""
    roles = sheet.roles(ANSWER)
    if len(roles) == len(ANSWER):
        return _long(sheet, roles), sheet.unused(roles.values())
    corner = plain(sheet.header[0])
    if len(sheet.header) > 2 and len(roles) == 1 and corner in (*PERSON, *TASK):
        return _wide(sheet, workers_below=corner in PERSON), sheet.remark
    row_of_header = sheet.numbers[0] - 1 if sheet.numbers else 1
    raise Unreadable(
        f"row {row_of_header}: is {shorten(','.join(sheet.header), LISTED)!r}; must be the header "
        "task,worker,label, or begin with worker and name the tasks, or with task and name the "
        "workers"
    )


def _long(sheet: Sheet, roles: dict[str, int]) -> list[_Row]:
    """An answer in a row."""
    tasks = sheet.names(roles["task"], "task")
    workers = sheet.names(roles["worker"], "worker")
    labels = sheet.columns[roles["label"]]
    for number, label in zip(sheet.numbers, labels, strict=True):
        if sheets.is_missing(label) and label not in ("-", "?"):
            raise Unreadable(
                f"row {number}: label is {label!r}; must be one of two labels; leave out lines "
                "without an answer"
            )
    return [_Row(*row) for row in zip(sheet.numbers, tasks, workers, labels, strict=True)]


def _wide(sheet: Sheet, workers_below: bool) -> list[_Row]:
    """Answers in cells, missing ones left out."""
    names = sheet.names(0, "worker" if workers_below else "task")
    others = sheet.header[1:]
    if not all(others) or len(set(others)) < len(others):
        raise Unreadable("needs a name for every column in the header, each once")
    if len(set(names)) < len(names):
        again = next(k for k, name in enumerate(names) if name in names[:k])
        raise Unreadable(
            f"row {sheet.numbers[again]}: {shorten(names[again], 30)!r} has a row before"
        )
    rows = []
    for k, number in enumerate(sheet.numbers):
        for column, other in enumerate(others, 1):
            label = sheet.columns[column][k]
            if sheets.is_missing(label):
                continue
            if workers_below:
                rows.append(_Row(number, other, names[k], label))
            else:
                rows.append(_Row(number, names[k], other, label))
    if not rows:
        raise Unreadable("has no answer in any cell")
    return rows


def _true_labels(file: DataFile, tasks: set[str]) -> list[_Row]:
    """True labels, one of a task, which may stand without a header. tasks: those answered.

    There is no header if the first line is a task and its
    label. Raises InvalidInput.
    """
    try:
        if _headerless(file, tasks):
            return _labelled(_without_header(file), tasks)
        return _labelled(sheets.read(file, SHAPES["data_truth"]), tasks)
    except Unreadable as error:
        raise InvalidInput("data_truth", file.path, str(error)) from None


def _labelled(sheet: Sheet, tasks: set[str]) -> list[_Row]:
    """The true labels in a sheet. tasks: those answered. Raises `Unreadable`."""
    roles = sheet.roles(TRUTH)
    if len(roles) < len(TRUTH):
        raise Unreadable(
            f"row {sheet.numbers[0] - 1}: is {shorten(','.join(sheet.header), LISTED)!r}; must be "
            "the header task,truth or task,label"
        )
    names = sheet.names(roles["task"], "task")
    labels = sheet.columns[roles["truth"]]
    rows: dict[str, _Row] = {}
    for number, name, label in zip(sheet.numbers, names, labels, strict=True):
        task = f"task {shorten(name, 30)!r}"
        if name in rows:
            before = rows[name].number
            raise Unreadable(f"row {number}: {task} has a true label before, in row {before}")
        if name not in tasks:
            raise Unreadable(f"row {number}: no worker answered {task}; leave it out")
        if not label:
            raise Unreadable(f"row {number}: {task} has no true label")
        rows[name] = _Row(number, name, "", label)
    return list(rows.values())


def _headerless(file: DataFile, tasks: set[str]) -> bool:
    """Whether the first line is an answered task and its label."""
    texts = tables.lines(file)
    first, _, _ = tables.header(texts, SHAPES["data_truth"])
    return len(first) == 2 and first[0] in tasks and plain(first[0]) not in TRUTH["task"]


def _without_header(file: DataFile) -> Sheet:
    """The table in a file without a header."""
    texts = tables.lines(file)
    _, start, delimiter = tables.header(texts, SHAPES["data_truth"])
    rows, numbers = tables.rows(texts, range(start - 1, len(texts)), delimiter)
    filled = [k for k, row in enumerate(rows) if any(row)]
    rows = [rows[k] for k in filled]
    numbers = [numbers[k] for k in filled]
    return Sheet(
        ("task", "truth"),
        tables.columns(rows, numbers, 2, ", task and true label"),
        numbers,
        delimiter,
    )


def normal_label(text: str) -> str:
    """A label without regard to capitals and to the form of a number: 1, +1 and 1.0 are equal."""
    try:
        value = float(text)
    except ValueError:
        return text.casefold()
    return str(int(value)) if value.is_integer() else text


def _codes(files: Mapping[str, tuple[DataFile, Sequence[_Row]]]) -> dict[str, int]:
    """Label -> 0 or 1, of the labels in both files.

    Raises InvalidInput for a third label, and for a single
    one whose opposite is not known.
    """
    seen: list[str] = []
    for key, (file, rows) in files.items():
        for row in rows:
            label = normal_label(row.label)
            if label not in seen:
                seen.append(label)
            if len(seen) > 2:
                column = "label" if row.worker else "truth"
                problem = (
                    f"{column} is {shorten(row.label, 30)!r}, a third one beside "
                    f"{shorten(seen[0], 30)!r} and {shorten(seen[1], 30)!r}; two are allowed"
                )
                raise _mistake(key, file, row.number, problem)
    for pair in PAIRS:
        if set(seen) <= set(pair):
            return {label: pair.index(label) for label in pair}
    if len(seen) < 2:
        raise InvalidInput(
            "data_path",
            files["data_path"][0].path,
            f"all labels, also the true ones, are {shorten(seen[0], 30)!r}; there must be two",
        )
    return {label: k for k, label in enumerate(sorted(seen))}


def _mistake(key: str, file: DataFile, row: int, text: str) -> InvalidInput:
    return InvalidInput(key, file.path, f"row {row}: {text}")


def _stand_in() -> Crowd:
    """39 one-coin workers × 108 tasks, abilities uniform on [0.4, 0.95]; the same everywhere."""
    draw = np.random.Generator(np.random.Philox(1979)).random
    abilities = 0.4 + 0.55 * draw(STAND_IN_WORKERS)
    labels = (draw(STAND_IN_TASKS) < 0.5).astype(np.int8)
    right = draw((STAND_IN_WORKERS, STAND_IN_TASKS)) < abilities[:, None]
    answers = np.where(right == (labels == 1), 1, -1).astype(np.int8)
    return Crowd.of(
        answers,
        labels,
        [f"worker {i + 1}" for i in range(STAND_IN_WORKERS)],
        [f"task {j + 1}" for j in range(STAND_IN_TASKS)],
        "Synthetic stand-in made by this program, no real data (give data.path and data.truth)",
    )
