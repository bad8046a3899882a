"""What mechanisms release about the items of a block model: sums of bits, by pair of items or by item."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PairSketches:
    """Released bits about pairs of items. users: U.

    agreements: (reps, N, N) int64, Â_ij, released ones among the users asked about {i, j}; symmetric, 0 on the
    diagonal. probes: (reps, N, N) int64, users asked, the same way: public; the paper's estimator does without, whose
    mean is U/C(N, 2) for all pairs. keep: probability that a bit is released as it is.
    """

    agreements: np.ndarray
    probes: np.ndarray
    keep: float
    users: int


@dataclass(frozen=True)
class ScoreSketches:
    """Released bits about sensed sets of items, added up by item. users: U.

    scores: (reps, N) int64, B_i = Σ_u H_ui S_u over all released bits S_u with sensing vectors H_u. sensed: (reps, N)
    int64, Σ_u H_ui, public; the paper's estimator does without. keep: probability that a bit is released as it is.
    """

    scores: np.ndarray
    sensed: np.ndarray
    keep: float
    users: int
