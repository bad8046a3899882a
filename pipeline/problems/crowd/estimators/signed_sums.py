"""Sums of a crowd's answers with signs, compiled: votes, agreement, and steps of
expectation–maximisation.

Answers s_ij = ±1 of worker i to task j, 0 for none, are
(reps, n, m) int8. Weights are added up as whole numbers of
a unit that is some 10⁻¹⁶ of the largest possible sum: the
order of workers and tasks does not matter, and ties are
exact.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.kernels.loader import function
from pipeline.study.arrays import Floats, Integers

_ANSWERS = """
    reps: size
    n: size; n >= 1
    m: size; m >= 1
    answers: i1[reps, n, m]
"""
_SIGNS = _ANSWERS.rstrip() + "; answers.min(initial=0) >= -1 and answers.max(initial=0) <= 1"
_mean_vote = function(
    __file__,
    "mean_vote",
    _ANSWERS
    + """
    votes: out f8[reps, m]
""",
)
_agreement = function(
    __file__,
    "agreement",
    _ANSWERS
    + """
    labels: f8[reps, m]
    agree: out f8[reps, n]
""",
)
_weighted_votes = function(
    __file__,
    "weighted_votes",
    _SIGNS
    + """
    weights: f8[reps, n]; abs(weights) < 1e300
    votes: out f8[reps, m]
""",
)
_em_steps = function(
    __file__,
    "em_steps",
    _SIGNS
    + """
    voted: size; voted <= 1
    limit: f8; 0 <= limit < 1
    steps: size; steps >= 1
    least: f8
    start: out f8[reps, m]; (0 if voted else abs(start)) <= 1
    labels: out f8[reps, m]
    abilities: out f8[reps, n]
    answered: out f8[reps, n]
    changes: out f8[reps]
    unsure: out f8[reps]
    taken: out i8[reps]
""",
)

Signs = NDArray[np.int8]


def mean_vote(answers: Signs) -> Floats:
    """(reps, m): mean sign of each task's answers, 0 without any. O(reps · n · m)."""
    reps, n, m = answers.shape
    votes = np.empty((reps, m))
    _mean_vote(reps, n, m, np.ascontiguousarray(answers), votes)
    return votes


def agreement(answers: Signs, labels: Floats) -> Floats:
    """(reps, n): mean of s_ij · sign(u_j) over a worker's answers, 0 without any; sign(0) = 1.

    labels: u, (reps, m).
    """
    reps, n, m = answers.shape
    agree = np.empty((reps, n))
    _agreement(
        reps, n, m, np.ascontiguousarray(answers), np.ascontiguousarray(labels, float), agree
    )
    return agree


def weighted_votes(answers: Signs, weights: Floats) -> Floats:
    """(reps, m): Σ_i w_i s_ij; weights w: (reps, n), finite. O(reps · n · m)."""
    reps, n, m = answers.shape
    votes = np.empty((reps, m))
    _weighted_votes(
        reps, n, m, np.ascontiguousarray(answers), np.ascontiguousarray(weights, float), votes
    )
    return votes


class Steps(NamedTuple):
    """What steps of expectation–maximisation end with, for each replication.

    start: (reps, m), the first u. labels: (reps, m), u.
    abilities: (reps, n), c. answered: (reps, n), numbers k
    of answers, 1 for a worker without any. change: (reps,),
    the largest change of a c in the last step, infinite
    after one step. unsure: (reps,), Σ (1 − u²). taken:
    (reps,), steps.
    """

    start: Floats
    labels: Floats
    abilities: Floats
    answered: Floats
    change: Floats
    unsure: Floats
    taken: Integers


def em_steps(answers: Signs, start: Floats | None, limit: float, steps: int, least: float) -> Steps:
    """Steps c = S u / k, cut to ±limit, u = tanh(Sᵀ artanh c), until no c changes by
    `least`, or so many.

    start: the first u, (reps, m); None is the mean vote.
    limit < 1. O(reps · n · m) a step.
    """
    reps, n, m = answers.shape
    first = np.empty((reps, m))
    if start is not None:
        first[...] = start
    fit = Steps(
        start=first,
        labels=np.empty((reps, m)),
        abilities=np.empty((reps, n)),
        answered=np.empty((reps, n)),
        change=np.empty(reps),
        unsure=np.empty(reps),
        taken=np.empty(reps, np.int64),
    )
    signs = np.ascontiguousarray(answers)
    _em_steps(reps, n, m, signs, start is None, limit, steps, least, *fit)
    return fit
