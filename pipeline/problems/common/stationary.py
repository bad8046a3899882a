"""Stationary laws of Markov chains, many at a time, which all spectral estimators share."""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Floats

_stationary = function(
    __file__,
    "stationary",
    """
    reps: size
    m: size; m >= 1
    rates: out f8[reps, m, m]
    law: out f8[reps, m]
""",
)


def stationary(rates: Floats) -> Floats:
    """Stationary laws of Markov chains, up to a factor.

    Rates (reps, m, m) from row to column -> (reps, m). rates ≥ 0,
    C-contiguous, with any diagonal; overwritten. Elimination without
    subtractions, so every entry of the law has a small relative error. Not
    finite, or not positive, where states do not communicate. O(reps · m³),
    compiled. Source: Grassmann, Taksar and Heyman (1985).
    """
    reps, m = rates.shape[:2]
    law = np.empty((reps, m))
    _stationary(reps, m, rates, law)
    return law
