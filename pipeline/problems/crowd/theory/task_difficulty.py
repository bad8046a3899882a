"""Majority vote where abilities differ by task, exactly."""

import numpy as np
from numpy.polynomial import chebyshev

from pipeline.study.arrays import Booleans, Floats

from .vote_errors import vote_error

NODES = 48  # of the interpolation in the easiness; half as many differ by less than 1e-8


def vote_error_by_task(leans: Floats, easiness: Floats, ties_wrong: Booleans) -> Floats:
    """Exact error of majority vote on every task, (reps, m), to 10⁻⁹.

    leans: 2p̂ − 1, (reps, n), of answers to a task of
    easiness 1. easiness: e, (reps, m) in [0, 1]; an answer
    is right with chance ½ + e(p̂ − ½). ties_wrong: (reps,
    m). The error is a polynomial in e, of degree n: it is
    computed at `NODES` points of Chebyshev's and
    interpolated. O(reps · (n² + m)) steps, O(reps · n)
    bytes.
    """
    nodes = (1 + chebyshev.chebpts1(NODES)) / 2
    right = 0.5 + nodes[:, None] * leans[:, None] / 2  # (reps, nodes, n)
    ties = np.array([0.0, 1.0])
    at_nodes = vote_error(right, ties=ties[:, None, None])  # (2, reps, nodes)
    errors = []
    for replication, wrong in enumerate(ties_wrong):
        if_right, if_wrong = _interpolated(at_nodes[:, replication], easiness[replication])
        errors.append(np.where(wrong, if_wrong, if_right))
    return np.array(errors)


def _interpolated(at_nodes: Floats, easiness: Floats) -> Floats:
    """(2, m): values at an easiness, (m,), from those at the nodes, (2, nodes)."""
    points = chebyshev.chebpts1(NODES)
    coefficients = chebyshev.chebfit(points, at_nodes.T, NODES - 1)
    values = chebyshev.chebval(2 * easiness - 1, coefficients)
    return np.asarray(values, np.float64)
