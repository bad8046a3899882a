"""What mechanisms release about the items: ratings, sums of private bits, noisy sums."""

from dataclasses import dataclass
from typing import Annotated

from pipeline.study.arrays import Integers


@dataclass(frozen=True)
class SeenRatings:
    """Ratings of single items that were seen as they are.

    positive, seen: (reps, N), positive ratings and ratings of each item.
    users: U. users_asked: (reps,), users to whom a question was put, fewer
    than U where a scheme was done earlier.
    """

    positive: Annotated[Integers, "reps", "N"]
    seen: Annotated[Integers, "reps", "N"]
    users: int
    users_asked: Annotated[Integers, "reps"]


@dataclass(frozen=True)
class PairSketches:
    """Released bits about pairs of items. users: U.

    agreements: (reps, N, N) int64, Â_ij, released ones among the users
    asked about {i, j}; symmetric, 0 on the diagonal. probes: (reps, N, N)
    int64, users asked about {i, j}: public, with mean U/C(N, 2) for every
    pair; the paper's estimator does not use them. keep: probability that a
    bit is released as it is.
    """

    agreements: Annotated[Integers, "reps", "N", "N"]
    probes: Annotated[Integers, "reps", "N", "N"]
    keep: float
    users: int


@dataclass(frozen=True)
class NoisyPairSums(PairSketches):
    """Sums over records about pairs of items, with a curator's noise.

    agreements: (reps, N, N), the noisy sums, which may be negative. probes: all users, for every
    pair. keep: 1, as no bit is flipped. variance: of the noise.
    """

    variance: float = 0.0


@dataclass(frozen=True)
class ScoreSketches:
    """Released bits about sensed sets of items, added up by item. users: U.

    scores: (reps, N) int64, B_i = Σ_u H_ui S_u over all released bits S_u
    with sensing vectors H_u. sensed: (reps, N) int64, Σ_u H_ui, public; the
    paper's estimator does not use them. keep: probability that a bit is
    released as it is.
    """

    scores: Annotated[Integers, "reps", "N"]
    sensed: Annotated[Integers, "reps", "N"]
    keep: float
    users: int
