"""Crowds in audits: few tasks, and one worker whose answers are replaced."""

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from pipeline.problems.common.stated_noise import stated
from pipeline.study.audits import Audits, Neighbouring, StatedNoise
from pipeline.study.guarantee import THERE_OR_NOT

from .design import Budgets
from .mechanisms.curator import NoisyVotes
from .mechanisms.shuffled import ShuffledResponse
from .model import Answers

MOST_ANSWERS = 4  # of a worker, up to which all rows are compared with all others
Mechanism: TypeAlias = Budgets | NoisyVotes | ShuffledResponse
Row: TypeAlias = tuple[int, ...]


def pairs(mechanism: Mechanism) -> Sequence[Neighbouring]:
    """Data sets in which one worker's answers are replaced by others.

    They are to the same tasks; also to other tasks where these are protected. Where neighbours
    differ in whether a worker is there, her answers are there or not.
    """
    answered = min(mechanism.answers, mechanism.m)
    tasks = _tasks_of(mechanism.n - 1, answered, mechanism.m)
    rows = [_row(tasks, signs, mechanism.m) for signs in _signs(answered)]
    datasets = {row: _data(row, mechanism.n, answered) for row in rows}
    if mechanism.promise().relation == THERE_OR_NOT:
        nobody = (0,) * mechanism.m
        absent = _data(nobody, mechanism.n, answered)
        return [
            Neighbouring(f"a worker's answers {_text(row)} there or not", present, absent)
            for row, present in datasets.items()
        ]
    if isinstance(mechanism, NoisyVotes) and mechanism.votes != "public":
        other_tasks = _tasks_of(mechanism.n, answered, mechanism.m)
        for signs in _signs(answered):
            row = _row(other_tasks, signs, mechanism.m)
            rows.append(row)
            datasets[row] = _data(row, mechanism.n, answered)
    named = []
    for first, second in _both(list(datasets)):
        name = f"a worker's answers {_text(first)} replaced by {_text(second)}"
        named.append(Neighbouring(name, datasets[first], datasets[second]))
    return named


def _signs(answered: int) -> list[Row]:
    """All answers to so many tasks; of many all yes, all no, and one no."""
    if answered <= MOST_ANSWERS:
        return list(product((1, -1), repeat=answered))
    yes = (1,) * answered
    return [yes, (-1,) * answered, (-1, *yes[1:])]


def _both(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Each row with all before it."""
    return [(rows[i], rows[j]) for i in range(len(rows)) for j in range(i)]


def _tasks_of(worker: int, answered: int, tasks: int) -> list[int]:
    """The tasks that a worker of a balanced survey labels."""
    first = worker * answered
    return [(first + k) % tasks for k in range(answered)]


def _row(tasks: Sequence[int], signs: Row, count: int) -> Row:
    row = np.zeros(count, int)
    row[list(tasks)] = signs
    return tuple(row.tolist())


def _text(row: Row) -> str:
    names = {1: "+", -1: "−", 0: "·"}
    return "".join(names[answer] for answer in row)


def _data(row: Row, workers: int, answered: int) -> Answers:
    """Workers who say yes to all that they are asked, and a last one with a row of her own."""
    answers = np.zeros((1, workers, len(row)), np.int8)
    for worker in range(workers - 1):
        answers[0, worker, _tasks_of(worker, answered, len(row))] = 1
    answers[:, -1] = row
    return Answers(answers)


def repeated(data: Answers, reps: int) -> Answers:
    """The same answers in so many replications."""
    return Answers(np.repeat(data.answers, reps, axis=0))


def noise(mechanism: Mechanism) -> StatedNoise | None:
    """The integer noise on the difference of votes on each task; None where more is released."""
    if not isinstance(mechanism, NoisyVotes) or mechanism.votes == "counts":
        return None
    return stated(mechanism.noise, mechanism.width)


AUDITS = Audits(
    Answers,
    pairs,
    repeated,
    parameters={"n": 1, "m": 2},
    particular={
        "noisy_votes": {"n": 2},
        "shuffled_response": {"n": 2},
    },
    lent=("start",),
    noise=noise,
)
