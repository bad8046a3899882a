"""Maximum likelihood under the law of randomized response."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation, flip_probability
from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.problems.common.pairwise_newton import Local, Losses, minimise_pairs
from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.parameters import parameter

from ..releases import FlippedWins
from ..theory.inference import ScoreLaw
from ..theory.links import LINKS, Link
from .errors import FlippedScores
from .moments import PreferenceEstimate, Weighted, ridge_of


class FlippedLoss:
    """f(d) = −Σ_g [w log 2p̃ + (n−w) log 2(1−p̃)], p̃ = f + tσ(d): not convex if f > 0.

    1−p̃ = f + tσ(−d). wins w and trials n: (reps, groups, pairs), in any
    unit. epsilon: (groups,), which gives the probability f of a flip and
    the attenuation t. Source: Lemma 1 of Xu, Sun and Cheng.
    """

    convex = False

    def __init__(self, wins: Floats, trials: Floats, epsilon: Floats):
        self.wins = wins
        self.trials = trials
        self.epsilon = epsilon
        self.flip = flip_probability(epsilon)[:, None]
        self.slope = attenuation(epsilon)[:, None]
        self.lean = wins - trials / 2
        self.size = trials.sum(axis=(1, 2))
        self.width = len(epsilon)

    def take(self, rows: Integers | Booleans) -> "FlippedLoss":
        """Losses of some replications."""
        return FlippedLoss(self.wins[rows], self.trials[rows], self.epsilon)

    def __call__(self, gap: Floats) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""
        fall = np.exp(-np.minimum(np.abs(gap), 700))
        more = 1 / (1 + fall)
        less = fall * more
        is_ahead = gap >= 0
        win = np.where(is_ahead, more, less)[:, None]  # σ(d)
        lose = np.where(is_ahead, less, more)[:, None]  # σ(−d)
        lead = win - lose
        t = self.slope
        p = self.flip + t * win  # p̃
        q = self.flip + t * lose  # 1 − p̃
        slope = t * (win * lose)  # of p̃ in d
        k = slope / (p * q)
        # w − n p̃; in this order it keeps its digits at small t.
        excess = self.lean - self.trials * (t / 2 * lead)
        losses = self.trials - self.wins
        value = np.vecdot(self.wins, np.log(2 * p)) + np.vecdot(losses, np.log(2 * q))
        # Fisher's, and what that leaves out.
        curvature = k * (self.trials * slope + excess * lead * (1 - t * k))
        return Local(-value.sum(axis=1), -(k * excess).sum(axis=1), curvature.sum(axis=1))


@dataclass(frozen=True)
class Likelihood(Bootstrapped):
    """Penalised maximum likelihood, argmin of −log L(θ) + c‖θ‖², from binomial released wins.

    The prior is that of eq. (3) with λ = c/Σ_l t(ε_l)², which is c·G/L for
    a common budget: exactly, times L, at ε = ∞; to first order in θ at any
    ε, as the likelihood's curvature at θ = 0 is that of eq. (3) times Σ_l
    t². `ridge` is that λ and `weights` are t(ε)², so that yardsticks can be
    paired. The likelihood need not be concave: Newton's method starts from
    the `weighted` estimate, or from 0 where that is better, and the minimum
    it reaches is the estimate. Not converged where comparisons do not link
    all items. Sources: Lemma 1 of Xu, Sun and Cheng; Cramér–Rao bound.
    """

    m: int = parameter("items", unit="items", low=2)
    lambda_scale: float = parameter("c in the penalty c‖θ‖²", default=1.0, low=0)
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = FlippedWins
    by_replication: ClassVar[bool] = True

    def fit(self, release: FlippedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Estimate of a block; non-convergence is a value, not an error."""
        weights = 1 / release.gain
        ridge = ridge_of(self.lambda_scale, release, weights)
        # Of the likelihood, so that its curvature is that of eq. (3).
        unit = release.users @ weights
        trials = np.broadcast_to(release.trials / unit, release.wins.shape)
        loss = self.loss(release.wins / unit, trials, release.epsilon)
        start = self.start(release, rng).theta
        minimum = minimise_pairs(loss, start, ridge)
        is_valid = minimum.converged & release.linked
        law = self.law(release, float(unit))
        estimate = PreferenceEstimate(
            minimum.theta, is_valid, ridge, weights, law, link=self.fitted_link
        )
        return self.with_bootstrap(release, estimate, rng)

    @property
    def fitted_link(self) -> Link:
        """The law of a comparison that is fitted."""
        return LINKS["logistic"]

    def loss(self, wins: Floats, trials: Floats, epsilon: Floats) -> Losses:
        """−log L of pairs; arguments as of `FlippedLoss`."""
        return FlippedLoss(wins, trials, epsilon)

    def start(self, release: FlippedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Where Newton's method starts."""
        return Weighted(self.m, self.lambda_scale).fit(release, rng)

    def law(self, release: FlippedWins, unit: float) -> ScoreLaw:
        """How the gradient of −log L over `unit` varies."""
        return FlippedScores(release, unit)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 200 * self.m**2 + self.m**3
