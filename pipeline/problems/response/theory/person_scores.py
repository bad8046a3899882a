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


class UnbiasedNumbers(NamedTuple):
    """Unbiased number of right answers where the released one is right, and where it is not."""

    hit: float
    miss: float

    @classmethod
    def of(cls, flip: float) -> "UnbiasedNumbers":
        """flip: chance that a response was flipped."""
        return cls((1 - flip) / (1 - 2 * flip), -flip / (1 - 2 * flip))


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
    some = 0 if observed is None else 1
    present = np.zeros((0, n, m), np.uint8) if observed is None else bytes_of(observed)
    covariance = np.empty((reps, m, m))
    numbers = UnbiasedNumbers.of(flip)
    _scores(
        reps,
        n,
        m,
        some,
        bytes_of(answers),
        present,
        np.ascontiguousarray(weight),
        numbers.hit,
        numbers.miss,
        covariance,
    )
    return covariance


def bytes_of(values: Booleans) -> NDArray[np.uint8]:
    """The same as bytes 0 and 1, in the order of C; shared with `values` where that is possible."""
    return np.ascontiguousarray(values, bool).view(np.uint8)
