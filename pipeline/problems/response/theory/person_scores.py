"""What estimating equations from counts of pairs vary by, where responses of persons are known."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.kernels.loader import function
from pipeline.study.arrays import Booleans, Floats

_scores = function(
    __file__,
    "scores",
    """
    reps: size
    n: size
    m: size; m >= 1
    some: size
    answers: u1[reps, n, m]
    observed: u1[reps * some, n, m]
    weight: f8[reps, m, m]
    hit: f8
    miss: f8
    covariance: out f8[reps, m, m]
""",
)


class KernelResponses(NamedTuple):
    """Responses of persons, as kernels take them.

    some: 1 where some are missing, else 0. answers, observed: bytes 0 and 1, (reps, n, m) and
    (reps · some, n, m). hit, miss: unbiased number of right answers where the released one is
    right, and where it is not.
    """

    some: int
    answers: NDArray[np.uint8]
    observed: NDArray[np.uint8]
    hit: float
    miss: float

    @classmethod
    def of(cls, answers: Booleans, observed: Booleans | None, flip: float) -> "KernelResponses":
        """observed: None where all are. flip: chance that a response was flipped."""
        hit = (1 - flip) / (1 - 2 * flip)
        miss = -flip / (1 - 2 * flip)
        if observed is None:
            nothing = np.zeros((0, *answers.shape[1:]), np.uint8)
            return cls(0, _bytes_of(answers), nothing, hit, miss)
        return cls(1, _bytes_of(answers), _bytes_of(observed), hit, miss)


def score_covariance(
    answers: Booleans, observed: Booleans | None, weight: Floats, flip: float
) -> Floats:
    """Σ_l ψ_l ψ_lᵀ, ψ_li = w_li Σ_j r_lj a_ji − r_li Σ_j w_lj a_ij, (reps, m, m).

    answers, observed: (reps, n, m), whether the released response is right, and whether there is
    one, None where all are. weight: a, (reps, m, m). flip: chance that a response was flipped; r,
    w: unbiased numbers of right and of wrong answers, 0 where there is none. O(reps · n · m²).
    Source: `theory.inference`.

    >>> answers = np.array([[[True, False]]])
    >>> score_covariance(answers, None, np.ones((1, 2, 2)), 0.0)[0].tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    reps, n, m = answers.shape
    covariance = np.empty((reps, m, m))
    responses = KernelResponses.of(answers, observed, flip)
    _scores(
        reps,
        n,
        m,
        responses.some,
        responses.answers,
        responses.observed,
        np.ascontiguousarray(weight),
        responses.hit,
        responses.miss,
        covariance,
    )
    return covariance


def _bytes_of(values: Booleans) -> NDArray[np.uint8]:
    """The same as bytes 0 and 1, in the order of C; shared with `values` where that is possible."""
    return np.ascontiguousarray(values, bool).view(np.uint8)
