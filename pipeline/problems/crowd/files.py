"""Files of a crowd's answers and of the true labels: read, checked, and cached by content. Nothing is ever written.

Answers: a header task,worker,label (item for task will do) and a line for each answer, label 0 or 1. Truth: a header
task,truth and a line for each task. Names of tasks and workers are any text.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common import tables
from pipeline.study.arrays import Floats
from pipeline.study.parameters import LISTED, DataFile, InvalidInput, shorten

HEADERS = {"data_path": ("task", "worker", "label"), "data_truth": ("task", "truth")}
BIT = {"0": 0, "1": 1}
MOST_CELLS = 10**9  # workers × tasks, one byte each
WORKERS, TASKS = 39, 108  # of the stand-in


@dataclass(frozen=True, eq=False)
class Crowd:
    """All workers' answers and the true labels, checked; workers and tasks in the order in which the answers name them.

    answers: (workers, tasks) int8, +1 says label 1, −1 says label 0, 0 is no answer. labels: (tasks,) int8, y*.
    abilities: (workers,), share of right answers. source: one sentence on where they are from.
    """

    answers: NDArray[np.int8]
    labels: NDArray[np.int8]
    abilities: Floats
    workers: tuple[str, ...]
    tasks: tuple[str, ...]
    source: str

    @classmethod
    def of(
        cls, answers: NDArray[np.int8], labels: NDArray[np.int8], workers: Sequence[str], tasks: Sequence[str],
        origin: str,
    ) -> "Crowd":
        """A crowd with the shares of right answers; every worker needs one answer. origin: beginning of `source`."""
        asked, right = (answers != 0).sum(axis=1), (answers == 2 * labels - 1).sum(axis=1)
        votes = (answers != 0).sum(axis=0)
        source = (f"{origin}: {asked.sum():,} answers by {len(workers):,} workers to {len(tasks):,} tasks, "
                  f"{votes.min():,} to {votes.max():,} of a task and {asked.min():,} to {asked.max():,} of a worker, "
                  f"{right.sum() / asked.sum():.1%} right; {labels.mean():.1%} of labels are 1.")
        return cls(answers, labels, right / asked, tuple(workers), tuple(tasks), source)


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
def load(path: DataFile | None, truth_file: DataFile | None) -> Crowd:
    """The crowd in two files, or the stand-in for no files; InvalidInput with the row of the first mistake.

    path: answers. truth_file: true labels. Read once per content. O(answers) steps, workers × tasks bytes.
    """
    if path is None and truth_file is None:
        return _stand_in()
    if path is None or truth_file is None:
        given, missing = ("truth", "path") if path is None else ("path", "truth")
        raise InvalidInput(f"data_{missing}", None, f"is needed with data.{given}: answers (task,worker,label) are "
                           "data.path, true labels (task,truth) data.truth")
    answer_rows, truth_rows = _rows(path, "data_path"), _rows(truth_file, "data_truth")
    truth = _true_labels(truth_file, truth_rows)
    workers, tasks, label = _answers(path, answer_rows, truth)
    for row in truth_rows:
        if row.task not in tasks:
            raise _mistake("data_truth", truth_file, row.number,
                           f"no worker answered task {shorten(row.task, 30)!r}; leave it out")
    if len(workers) * len(tasks) > MOST_CELLS:
        raise InvalidInput("data_path", path.path, f"has {len(workers):,} workers × {len(tasks):,} tasks; at most "
                           f"{MOST_CELLS:,} in all")
    answers = np.zeros((len(workers), len(tasks)), np.int8)
    answers[tuple(np.array(list(label)).T)] = [2 * bit - 1 for bit in label.values()]
    labels = np.array([truth[task] for task in tasks], np.int8)
    return Crowd.of(answers, labels, list(workers), list(tasks), f"A crowd's answers, sha256 {path.sha256[:8]}…, and "
                    f"true labels, sha256 {truth_file.sha256[:8]}…")


class _Row(NamedTuple):
    """A line of a file below its header. worker: "" in a file of true labels."""

    number: int
    task: str
    worker: str
    label: int


def _true_labels(file: DataFile, rows: Sequence[_Row]) -> dict[str, int]:
    """Label of each task; InvalidInput for a task that has two."""
    labels: dict[str, int] = {}
    first: dict[str, int] = {}
    for row in rows:
        if row.task in labels:
            raise _mistake("data_truth", file, row.number, f"task {shorten(row.task, 30)!r} has a true label before, "
                           f"in row {first[row.task]}")
        labels[row.task], first[row.task] = row.label, row.number
    return labels


def _answers(
    file: DataFile, rows: Sequence[_Row], truth: Container[str]
) -> tuple[dict[str, int], dict[str, int], dict[tuple[int, int], int]]:
    """Workers and tasks, each numbered as they come, and the label that a worker (number) gave a task (number).

    InvalidInput for a task without a true label, and for a second answer of a worker to a task.
    """
    workers: dict[str, int] = {}
    tasks: dict[str, int] = {}
    labels: dict[tuple[int, int], int] = {}
    first: dict[tuple[int, int], int] = {}
    for row in rows:
        if row.task not in truth:
            raise _mistake("data_path", file, row.number, f"task {shorten(row.task, 30)!r} has no true label in "
                           "data.truth; add it there, or leave out the task's answers")
        cell = workers.setdefault(row.worker, len(workers)), tasks.setdefault(row.task, len(tasks))
        if cell in labels:
            raise _mistake("data_path", file, row.number, f"worker {shorten(row.worker, 30)!r} has an answer to task "
                           f"{shorten(row.task, 30)!r} before, in row {first[cell]}; keep one")
        labels[cell], first[cell] = row.label, row.number
    return workers, tasks, labels


def _mistake(key: str, file: DataFile, row: int, text: str) -> InvalidInput:
    return InvalidInput(key, file.path, f"row {row}: {text}")


def _rows(file: DataFile, key: str) -> list[_Row]:
    """The lines below a checked header; InvalidInput for the first that cannot be read."""
    expected = HEADERS[key]
    like = ",".join(expected)
    try:
        lines = tables.lines(file)
        read, numbers = tables.rows(lines, range(len(lines)))
    except tables.Unreadable as error:
        raise InvalidInput(key, file.path, str(error)) from None
    if not read:
        raise InvalidInput(key, file.path, f"is empty; must begin with {like}")
    header = ["task" if name.lower() == "item" else name.lower() for name in read[0]]
    if header != list(expected):
        raise _mistake(key, file, numbers[0],
                       f"is {shorten(','.join(read[0]), LISTED)!r}; must be the header {like}")
    if len(read) == 1:
        raise InvalidInput(key, file.path, "has a header and nothing below it")
    rows = []
    for number, fields in zip(numbers[1:], read[1:], strict=True):
        if wrong := _what_is_wrong(fields, expected):
            raise _mistake(key, file, number, wrong)
        rows.append(_Row(number, fields[0], fields[1] if "worker" in expected else "", BIT[fields[-1]]))
    return rows


def _what_is_wrong(fields: Sequence[str], expected: Sequence[str]) -> str:
    """Mistake in the fields of a line, empty if there is none: names may be any text, the last field is 0 or 1."""
    if len(fields) != len(expected):
        return f"has {len(fields)} fields; must have {len(expected)}, {','.join(expected)}"
    for name, text in zip(expected[:-1], fields[:-1], strict=True):
        if not text:
            return f"has no {name}"
    if fields[-1] not in BIT:
        advice = "; leave out lines without an answer" if "worker" in expected else ""
        return f"{expected[-1]} is {shorten(fields[-1], 30)!r}; must be 0 or 1{advice}"
    return ""


def _stand_in() -> Crowd:
    """39 one-coin workers × 108 tasks, abilities uniform on [0.4, 0.95], the same on every machine."""
    draw = np.random.Generator(np.random.Philox(1979)).random
    ability, labels = 0.4 + 0.55 * draw(WORKERS), (draw(TASKS) < 0.5).astype(np.int8)
    right = draw((WORKERS, TASKS)) < ability[:, None]
    answers = np.where(right == (labels == 1), 1, -1).astype(np.int8)
    return Crowd.of(answers, labels, [f"worker {i + 1}" for i in range(WORKERS)],
                    [f"task {j + 1}" for j in range(TASKS)],
                    "Synthetic stand-in made by this program, no real data (give data.path and data.truth)")
