"""Maximum likelihood under the law of randomized response."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation, flip_probability
from pipeline.problems.common.pairwise_newton import Local, minimise_pairs
from pipeline.study.parameters import Checked, parameter

from ..releases import FlippedWins
from .moments import PreferenceEstimate, Weighted, ridge_of


class FlippedLoss:
    """f(d) = −Σ_g [w log 2p̃ + (n−w) log 2(1−p̃)], p̃ = f + tσ(d), 1−p̃ = f + tσ(−d): not convex if f > 0.

    wins w and made n: (reps, groups, pairs), in any unit. epsilon: (groups,), which gives the probability f of a
    flip and the attenuation t. Source: Lemma 1 of Xu, Sun and Cheng.
    """

    convex = False

    def __init__(self, wins: np.ndarray, made: np.ndarray, epsilon: np.ndarray):
        self.wins, self.made, self.epsilon = wins, made, epsilon
        self.flip, self.slope = flip_probability(epsilon)[:, None], attenuation(epsilon)[:, None]
        self.lean = wins - made / 2
        self.size, self.width = made.sum(axis=(1, 2)), len(epsilon)

    def take(self, rows: np.ndarray) -> "FlippedLoss":
        """Losses of some replications."""
        return FlippedLoss(self.wins[rows], self.made[rows], self.epsilon)

    def __call__(self, gap: np.ndarray) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""
        fall = np.exp(-np.minimum(np.abs(gap), 700))
        more, ahead = 1 / (1 + fall), gap >= 0
        less = fall * more
        win, lose = np.where(ahead, more, less)[:, None], np.where(ahead, less, more)[:, None]
        t, lead = self.slope, win - lose
        p, q = self.flip + t * win, self.flip + t * lose
        own = t * (win * lose)
        k = own / (p * q)
        excess = self.lean - self.made * (
            t / 2 * lead
        )  # w − n p̃; in this order it keeps its digits at small t
        value = np.vecdot(self.wins, np.log(2 * p)) + np.vecdot(
            self.made - self.wins, np.log(2 * q)
        )
        curvature = k * (
            self.made * own + excess * lead * (1 - t * k)
        )  # Fisher's, and what that leaves out
        return Local(-value.sum(axis=1), -(k * excess).sum(axis=1), curvature.sum(axis=1))


@dataclass(frozen=True)
class Likelihood(Checked):
    """Penalised maximum likelihood, argmin of −log L(θ) + c‖θ‖², from released wins, which are binomial.

    The prior is that of eq. (3) with λ = c/Σ_l t(ε_l)², which is c·G/L for a common budget: exactly, times L, at
    ε = ∞; to first order in θ at any ε, as the likelihood's curvature at θ = 0 is that of eq. (3) times Σ_l t².
    `ridge` is that λ and `weights` are t(ε)², so that yardsticks can be paired. The likelihood need not be
    concave: Newton's method starts from the `weighted` estimate, or from 0 where
    that is better, and the minimum it reaches is the estimate. Not converged where comparisons do not link all items.
    Sources: Lemma 1 of Xu, Sun and Cheng; Cramér–Rao bound.
    """

    m: int = parameter("items", unit="items", low=2)
    lambda_scale: float = parameter("c in the penalty c‖θ‖²", default=1.0, low=0)

    accepts: ClassVar[type] = FlippedWins
    by_replication: ClassVar[bool] = True

    def fit(self, release: FlippedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Estimate of a block; non-convergence is a value, not an error."""
        weights = 1 / release.gain
        ridge = ridge_of(self.lambda_scale, release, weights)
        unit = (
            release.users @ weights
        )  # of the likelihood, so that its curvature is that of eq. (3)
        made = release.users[:, None] if release.compared is None else release.compared
        loss = FlippedLoss(
            release.wins / unit, np.broadcast_to(made / unit, release.wins.shape), release.epsilon
        )
        start = Weighted(self.m, self.lambda_scale).fit(release, rng).theta
        minimum = minimise_pairs(loss, start, ridge)
        return PreferenceEstimate(minimum.theta, minimum.converged & release.linked, ridge, weights)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 200 * self.m**2 + self.m**3
