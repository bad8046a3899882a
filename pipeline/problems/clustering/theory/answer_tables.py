"""Answers about a user's record with more than two values, as tables of chances P(S = s | X).

(D, s): rows are the D records that a user may have, in the order of
`information.records`; each row sums to 1. Bounds on all answers are tried
on these, beside the questions with two answers that `information` searches.
"""

import numpy as np

from pipeline.study.arrays import Floats

DRAWN = 20  # answers whose chances are drawn, of each number of values
VALUES = 2, 3, 8  # of drawn answers
SPREAD = 0.3  # of a Dirichlet law: most of a row's chance is on one or two values
SEED = 9
BUDGETS = 0.1, 1.0, 4.0  # ε of the private ones among all answers


def the_record(count: int) -> Floats:
    """The record itself, of `count` possible ones.

    >>> the_record(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.eye(count)


def another(count: int) -> Floats:
    """Any record but the user's own, each with the same chance.

    >>> another(3)[0].tolist()
    [0.0, 0.5, 0.5]
    """
    return (1 - np.eye(count)) / (count - 1)


def named_set(count: int, size: int, epsilon: float) -> Floats:
    """One of `count` sets of `size` successive records, e^ε times as likely if hers is in it.

    It is ε-LDP. A set of one record is randomized response with `count`
    answers; of a certain share of them it carries the most information
    about the record that any ε-LDP answer does, up to rounding of the size:
    see `information.capacity`.

    >>> named_set(2, 1, np.log(3)).round(9).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    distance = (np.arange(count)[:, None] - np.arange(count)) % count
    weights = np.where(distance < size, np.exp(epsilon), 1.0)
    chances: Floats = weights / weights.sum(axis=1, keepdims=True)
    return chances


def private_answers(count: int, epsilon: float) -> list[Floats]:
    """The ε-LDP answers that name a set of records, of every size from 1 to count − 1."""
    return [named_set(count, size, epsilon) for size in range(1, count)]


def all_answers(count: int) -> list[Floats]:
    """Answers with privacy and without.

    The record, another one, sets of them, and chances that are drawn once.
    """
    generator = np.random.default_rng(SEED)
    answers = [the_record(count), another(count)]
    for epsilon in BUDGETS:
        answers += private_answers(count, epsilon)
    for values in VALUES:
        drawn = generator.dirichlet(np.full(values, SPREAD), (DRAWN, count))
        answers += [*drawn]
    return answers
