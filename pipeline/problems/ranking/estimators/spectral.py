"""Rank centrality: preferences from the stationary law of a Markov chain on the items."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.problems.common.stationary import stationary
from pipeline.study.parameters import parameter

from ..releases import NoisyScoreWins, ReleasedWins
from .errors import ChainScores
from .moments import PreferenceEstimate

# Of one (rep, item, item) array: near the L2 cache, yet long enough to amortise
# calls.
SLICE_BYTES = 1 << 21


@dataclass(frozen=True)
class RankCentrality(Bootstrapped):
    """θ̂ = log π, centred.

    π is the stationary law of the chain that moves from i to j at rate
    z̄_ji. z̄_ji is the debiased share of comparisons that j wins over i; at
    the true shares, e^θ_j/(e^θ_i + e^θ_j), the chain is reversible and π ∝
    e^θ. Debiased shares can leave [0, 1], but a rate that is not positive
    would make an item impossible to leave or to reach, and θ̂ infinite. So
    shares are clipped to [1/(2n), 1 − 1/(2n)], n the number of comparisons
    of the pair: half of the smallest positive share that n comparisons can
    have. (The share of a pair compared once is therefore ½.) Pairs that no
    user compared have no edge. `ridge` is 0. Noisy scores do not tell the
    shares of pairs: from wins that only have these scores the estimate is not
    consistent, and has no errors. Source: Negahban, Oh and Shah (2016).
    """

    m: int = parameter("items", unit="items", low=2)
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = ReleasedWins
    by_replication: ClassVar[bool] = True

    def fit(self, release: ReleasedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Estimate of a block; NaN, not converged, where comparisons do not connect the items.

        O(reps · m³).
        """
        if release.compared is None:
            trials = release.users.sum()
        else:
            trials = release.compared.sum(axis=1)
        least = 0.5 / np.maximum(trials, 1)
        share = np.clip(release.debiased_mean(), least, 1 - least)
        is_compared = np.broadcast_to(trials > 0, share.shape)
        reps = len(share)
        m = release.items
        first, second = np.triu_indices(m, 1)
        theta = np.empty((reps, m))
        length = max(1, SLICE_BYTES // (8 * m * m))
        for start in range(0, reps, length):
            rows = slice(start, start + length)
            rates = np.zeros((len(share[rows]), m, m))
            rates[:, second, first] = np.where(is_compared[rows], share[rows], 0)
            rates[:, first, second] = np.where(is_compared[rows], 1 - share[rows], 0)
            with np.errstate(all="ignore"):
                theta[rows] = np.log(stationary(rates))
        theta -= theta.mean(axis=1, keepdims=True)
        converged = np.asarray(np.isfinite(theta).all(axis=1))
        theta[~converged] = np.nan
        tells_pairs = not isinstance(release, NoisyScoreWins)
        law = ChainScores(release) if tells_pairs else None
        estimate = PreferenceEstimate(theta, converged, 0.0, law=law)
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 30 * self.m**2 + 0.02 * self.m**3
