"""`task=release` for a crowd's answers: how many gave each task each label, with noise that nothing can seed.

What is released is made of the noisy counts and of settings alone. A file is refused for its header or for a row that
is wrong by itself, never for what rows say together.
"""

from collections.abc import Mapping
from dataclasses import Field
from typing import Any

import numpy as np

from pipeline.problems.common import sheets
from pipeline.problems.common.count_release import Answers, Asked, asked_for, published, statement
from pipeline.problems.common.release_arguments import receipt, target_of
from pipeline.problems.common.release_folder import Table, new_folder, plain_text, write
from pipeline.problems.common.sheets import Sheet
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Integers
from pipeline.study.parameters import InvalidInput, parameter, shorten

from .files import ANSWER, normal_label

HEADERS = "task,worker,label"
LABELS: Field[Any] = parameter("the two labels, with / between", default="0/1")
LABELS.type = str


def release(arguments: Mapping[str, Any]) -> str:
    """Release the answers of the file `data.path` into the new folder `outputs`; returns the account to print.

    data.items names the tasks, parameters.labels the two labels. arguments: key -> value, as typed on the command line.
    Raises InvalidInput for any mistake in them or in the file, before anything is written; OSError where the disk is
    full.
    """
    asked = asked_for(arguments, "answers of a crowd, task,worker,label", "tasks", {"labels": LABELS})
    labels = _labels(asked.settings.get("labels", LABELS.default))
    target = target_of(arguments)
    try:
        answers = _answers(sheets.read(asked.data, HEADERS), asked.names, labels)
    except Unreadable as error:
        raise InvalidInput("data.path", asked.data.path, str(error)) from None
    result, most = published(asked, answers, len(asked.names), "one answer")
    account = statement(asked, result, most, True, "one answer", "task") | {
        "labels": [plain_text(label) for label in labels],
        "votes.csv": "answers to a task with the first label, with the second, plus noise, which may make them "
                     "negative; label: the one with more of these, the second where they are equal"}
    with new_folder(target, arguments["outputs"]) as folder:
        write(folder, _tables(asked, labels, result.counts), account)
    return receipt(target, account)


def _labels(text: str) -> tuple[str, str]:
    """The two labels that a person named."""
    labels = [label.strip() for label in text.split("/")]
    if len(labels) != 2 or not all(labels) or normal_label(labels[0]) == normal_label(labels[1]):
        raise InvalidInput("parameters.labels", text, "must be two different labels with / between, as no/yes")
    return labels[0], labels[1]


def _answers(sheet: Sheet, tasks: tuple[str, ...], labels: tuple[str, str]) -> Answers:
    """The answers, each row checked by itself."""
    roles = sheet.roles(ANSWER)
    missing = [role for role in ANSWER if role not in roles]
    if missing:
        raise Unreadable(f"the header is {shorten(','.join(sheet.header))!r}, without {', '.join(missing)}; must be "
                         f"{HEADERS}")
    index, code = {name: k for k, name in enumerate(tasks)}, {normal_label(name): k for k, name in enumerate(labels)}
    person = sheet.names(roles["worker"], "worker")
    group, side = [], []
    for number, task, label in zip(sheet.numbers, sheet.columns[roles["task"]], sheet.columns[roles["label"]],
                                   strict=True):
        if task not in index:
            raise Unreadable(f"row {number}: task {shorten(task, 30)!r} is not in data.items")
        if normal_label(label) not in code:
            raise Unreadable(f"row {number}: label is {shorten(label, 30)!r}; must be one of "
                             f"{shorten(', '.join(labels))} (parameters.labels)")
        group.append(index[task])
        side.append(code[normal_label(label)])
    groups, sides = np.array(group, dtype=np.int64), np.array(side, dtype=np.int64)
    return Answers(person, groups, sides, np.ones(len(group), np.int64))


def _tables(asked: Asked, labels: tuple[str, str], counts: Integers) -> dict[str, Table]:
    """The table of a release by the name of its file. counts: (tasks, 2), noisy."""
    names = [plain_text(label) for label in labels]
    rows = [(plain_text(task), zero, one, names[int(one >= zero)])
            for task, (zero, one) in zip(asked.names, counts.tolist(), strict=True)]
    return {"votes.csv": (("task", "first", "second", "label"), rows)}
