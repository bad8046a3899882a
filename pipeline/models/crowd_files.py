"""Files of a crowd's answers and of the truth: read, checked, and kept by content. Nothing is ever written.

Answers: a header task,worker,label (item for task will do) and a line for each answer, label 0 or 1. Truth: a header
task,truth and a line for each task. Names of tasks and workers are any text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np

from pipeline.models import tables
from pipeline.parameters import LISTED, DataFile, InvalidInput, shorten

HEADERS = {"data_path": ("task", "worker", "label"), "data_truth": ("task", "truth")}
BIT = {"0": 0, "1": 1}
MOST_CELLS = 10**9  # workers × tasks, one byte each
WORKERS, TASKS = 39, 108  # of the stand-in


@dataclass(frozen=True, eq=False)
class Crowd:
    """Everybody's answers and the truth, checked; workers and tasks in the order in which the answers name them.

    answers: (workers, tasks) int8, +1 says label 1, −1 says label 0, 0 is no answer. labels: (tasks,) int8, y*.
    abilities: (workers,), share of right answers. source: one sentence on where they are from.
    """

    answers: np.ndarray
    labels: np.ndarray
    abilities: np.ndarray
    workers: tuple[str, ...]
    tasks: tuple[str, ...]
    source: str

    @classmethod
    def of(cls, answers: np.ndarray, labels: np.ndarray, workers: Sequence[str], tasks: Sequence[str], said: str):
        """A crowd with the shares of right answers; every worker needs one answer."""
        asked, right = (answers != 0).sum(axis=1), (answers == 2 * labels - 1).sum(axis=1)
        votes = (answers != 0).sum(axis=0)
        source = (f"{said}: {asked.sum():,} answers by {len(workers):,} workers to {len(tasks):,} tasks, "
                  f"{votes.min():,} to {votes.max():,} of a task and {asked.min():,} to {asked.max():,} of a worker, "
                  f"{right.sum() / asked.sum():.1%} right; {labels.mean():.1%} of labels are 1.")
        return cls(answers, labels, right / asked, tuple(workers), tuple(tasks), source)


def crowd_workers(
    data_path: Annotated[DataFile | None, "answers of a crowd; null is a stand-in"],
    data_truth: Annotated[DataFile | None, "true labels of the tasks"],
) -> Annotated[int, "workers of the file", "workers"]:
    """Workers of a file, so that a person need not count them."""
    return len(load(data_path, data_truth).workers)


def crowd_tasks(
    data_path: Annotated[DataFile | None, "answers of a crowd; null is a stand-in"],
    data_truth: Annotated[DataFile | None, "true labels of the tasks"],
) -> Annotated[int, "tasks of the file", "tasks"]:
    """Tasks of a file, so that a person need not count them."""
    return len(load(data_path, data_truth).tasks)


@lru_cache(maxsize=4)
def load(path: DataFile | None, truth_file: DataFile | None) -> Crowd:
    """What two files say, or the stand-in for no files; InvalidInput with the row of the first mistake.

    path: answers. truth_file: true labels. Read once per content. O(answers) steps, workers × tasks bytes.
    """
    if path is None and truth_file is None:
        return _stand_in()
    if path is None or truth_file is None:
        given, missing = ("truth", "path") if path is None else ("path", "truth")
        raise InvalidInput(f"data_{missing}", None, f"is needed with data.{given}: answers (task,worker,label) are "
                           "data.path, true labels (task,truth) data.truth")
    answered, true = _rows(path, "data_path"), _rows(truth_file, "data_truth")
    truth = {}
    for row, (task, label) in true:
        if task in truth:
            raise _mistake("data_truth", truth_file, row, f"task {shorten(task, 30)!r} has a true label before, in row "
                           f"{truth[task][1]}")
        truth[task] = label, row
    workers, tasks, seen = {}, {}, {}
    for row, (task, worker, label) in answered:
        if task not in truth:
            raise _mistake("data_path", path, row, f"task {shorten(task, 30)!r} has no true label in data.truth; add "
                           "it there, or leave out the task's answers")
        place = workers.setdefault(worker, len(workers)), tasks.setdefault(task, len(tasks))
        if place in seen:
            raise _mistake("data_path", path, row, f"worker {shorten(worker, 30)!r} has an answer to task "
                           f"{shorten(task, 30)!r} before, in row {seen[place][1]}; keep one")
        seen[place] = label, row
    for task, (_, row) in truth.items():
        if task not in tasks:
            raise _mistake("data_truth", truth_file, row, f"nobody answered task {shorten(task, 30)!r}; leave it out")
    if len(workers) * len(tasks) > MOST_CELLS:
        raise InvalidInput("data_path", path.path, f"has {len(workers):,} workers × {len(tasks):,} tasks; at most "
                           f"{MOST_CELLS:,} in all")
    answers = np.zeros((len(workers), len(tasks)), np.int8)
    answers[tuple(np.array(list(seen)).T)] = [2 * label - 1 for label, _ in seen.values()]
    labels = np.array([truth[task][0] for task in tasks], np.int8)
    return Crowd.of(answers, labels, workers, tasks, f"A crowd's answers, sha256 {path.sha256[:8]}…, and true labels, "
                    f"sha256 {truth_file.sha256[:8]}…")


def _mistake(key, file, row, text):
    return InvalidInput(key, file.path, f"row {row}: {text}")


def _rows(file, key):
    """(row, fields) of the lines below a checked header; the last field is 0 or 1, the others texts."""
    expected = HEADERS[key]
    try:
        lines = tables.lines(file)
        read, numbers = tables.rows(lines, range(len(lines)))
    except tables.Unreadable as error:
        raise InvalidInput(key, file.path, str(error)) from None
    found = list(zip(numbers, read, strict=True))
    like = ",".join(expected)
    if not found:
        raise InvalidInput(key, file.path, f"is empty; must begin with {like}")
    row, header = found.pop(0)
    if ["task" if name.lower() == "item" else name.lower() for name in header] != list(expected):
        raise _mistake(key, file, row, f"is {shorten(','.join(header), LISTED)!r}; must be the header {like}")
    if not found:
        raise InvalidInput(key, file.path, "has a header and nothing below it")
    for row, fields in found:
        if len(fields) != len(expected):
            raise _mistake(key, file, row, f"has {len(fields)} fields; must have {len(expected)}, {like}")
        for name, text in zip(expected[:-1], fields[:-1], strict=True):
            if not text:
                raise _mistake(key, file, row, f"has no {name}")
        if fields[-1] not in BIT:
            raise _mistake(key, file, row, f"{expected[-1]} is {shorten(fields[-1], 30)!r}; must be 0 or 1"
                           + ("; leave out lines without an answer" if key == "data_path" else ""))
        fields[-1] = BIT[fields[-1]]
    return found


def _stand_in():
    """39 one-coin workers × 108 tasks, abilities uniform on [0.4, 0.95], the same on every machine."""
    draw = np.random.Generator(np.random.Philox(1979)).random
    ability, labels = 0.4 + 0.55 * draw(WORKERS), (draw(TASKS) < 0.5).astype(np.int8)
    right = draw((WORKERS, TASKS)) < ability[:, None]
    answers = np.where(right == (labels == 1), 1, -1).astype(np.int8)
    return Crowd.of(answers, labels, [f"worker {i + 1}" for i in range(WORKERS)],
                    [f"task {j + 1}" for j in range(TASKS)],
                    "Synthetic stand-in made by this program, nobody's (give data.path and data.truth)")
