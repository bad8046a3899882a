"""Crowds in audits: few tasks, and one worker whose answers are replaced."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from pipeline.study.audits import Audits, Neighbouring

from .mechanisms.randomized_response import RandomizedResponse
from .model import Answers

MOST_TASKS = 4  # up to which all rows are compared with all others


def pairs(mechanism: RandomizedResponse) -> Sequence[Neighbouring]:
    """Data sets in which one worker's answers are replaced by others to the same tasks."""
    tasks = mechanism.m
    if tasks <= MOST_TASKS:
        rows = list(product((1, -1), repeat=tasks))
        both = [(rows[i], rows[j]) for i in range(len(rows)) for j in range(i)]
    else:
        yes = (1,) * tasks
        both = [(yes, (-1,) * tasks), (yes, (-1, *yes[1:]))]
    named = []
    for first, second in both:
        name = f"a worker's answers {_text(first)} replaced by {_text(second)}"
        datasets = [_data(row, mechanism.n) for row in (first, second)]
        named.append(Neighbouring(name, *datasets))
    return named


def _text(row: Sequence[int]) -> str:
    return "".join("+" if answer > 0 else "−" for answer in row)


def _data(row: Sequence[int], workers: int) -> Answers:
    answers = np.ones((1, workers, len(row)), np.int8)
    answers[:, -1] = row
    return Answers(answers)


def repeated(data: Answers, reps: int) -> Answers:
    """The same answers in so many replications."""
    return Answers(np.repeat(data.answers, reps, axis=0))


AUDITS = Audits(Answers, pairs, repeated, parameters={"n": 1, "m": 2}, lent=("start",))
