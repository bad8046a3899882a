"""The spectral algorithm: difficulties from the stationary law of a Markov chain on the items."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.problems.common.stationary import stationary
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import parameter

from ..releases import FlippedResponses, PairwiseRelease
from ..theory.connectivity import strongly_connected
from .pair_count_estimator import ItemEstimate, PairCountEstimator

SLICE_BYTES = 1 << 23  # of one (rep, item, item) array: enough to amortise calls on small blocks
TOLERANCE = 1e-14  # largest relative change of π in the last step of power iteration
ITERATIONS = 100_000


@dataclass(frozen=True)
class Spectral(PairCountEstimator):
    """β̂ = log π, centred, π the stationary law of a Markov chain on the items.

    It moves from item i to j with chance Y_ij/d. At the expected counts,
    E[Y_ij] e^β_i = E[Y_ji] e^β_j, so π ∝ e^β and β̂ is consistent, also at
    fixed m. d is the largest row sum + 1: the law does not depend on it.
    solver: `direct` eliminates states without subtractions, every entry of
    π to a small relative error; `power` iterates until no entry changes by
    more than 1e-14 of itself, not converged after 100,000 steps. Where
    counts, or what is known of who answered what, do not connect the items,
    NaN, not converged. Source: Nguyen and Zhang, Algorithms 1 and 2.
    """

    by_replication: ClassVar[bool] = True

    solver: str = parameter(
        "how the stationary law is found", default="direct", choices=("direct", "power")
    )

    def fit(self, release: PairwiseRelease, rng: np.random.Generator) -> ItemEstimate:
        """Estimate of a block. O(reps · m³), or O(reps · m²) a step of power iteration."""
        estimate = self._fit(release)
        estimate = replace(estimate, law=self.law(release), is_spectral=True)
        return self.with_bootstrap(release, estimate, rng)

    def _fit(self, release: PairwiseRelease) -> ItemEstimate:
        counts = self.counts(release)
        with np.errstate(all="ignore"):
            if self.solver == "direct":
                return ItemEstimate.of(np.log(stationary(counts)), release.identifies())
            law = np.empty(counts.shape[:2])
            converged = np.ones(len(counts), bool)
            length = max(1, SLICE_BYTES // (8 * self.m**2))
            for start in range(0, len(counts), length):
                rows = slice(start, start + length)
                law[rows], converged[rows] = power(counts[rows])
            return ItemEstimate.of(np.log(law), converged & release.identifies())

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        if self.solver == "direct":
            return (4 + 0.02 * self.m) * self.m**2
        return 55 * self.m**2


@dataclass(frozen=True)
class SpectralDebiased(Spectral):
    """The spectral algorithm on unbiased counts from randomized response.

    The baseline of Nguyen and Zhang, §5, which is `Spectral`, applies
    Algorithm 1 to the flipped responses as they are.
    """

    accepts: ClassVar[type] = FlippedResponses
    debiased: ClassVar[bool] = True
    by_replication: ClassVar[bool] = True


def power(rates: Floats) -> tuple[Floats, Booleans]:
    """Stationary laws by power iteration from the uniform law, (reps, m).

    And whether they were reached, (reps,). rates: (reps, m, m), from row to
    column. Moves with probability rates/d, d the largest row sum + 1.
    Source: Nguyen and Zhang, Algorithm 1.
    """
    reps, m = rates.shape[:2]
    law = np.full((reps, m), 1 / m)
    converged = np.zeros(reps, bool)
    leaving = rates.sum(axis=2)
    chain = rates / (leaving.max(axis=1) + 1)[:, None, None]
    np.einsum("rii->ri", chain)[...] = 1 - leaving / (leaving.max(axis=1, keepdims=True) + 1)
    left = np.flatnonzero(np.isfinite(leaving).all(axis=1) & strongly_connected(rates > 0))
    chain = chain[left]
    now = law[left]
    for _ in range(ITERATIONS):
        if not left.size:
            break
        following = np.vecmat(now, chain)
        following /= following.sum(axis=1, keepdims=True)
        done = (np.abs(following - now) <= TOLERANCE * now).all(axis=1)
        now = following
        if done.any():
            law[left[done]] = now[done]
            converged[left[done]] = True
            left = left[~done]
            chain = chain[~done]
            now = now[~done]
    return law, converged
