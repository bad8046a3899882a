"""Estimators of comparisons whose law has a link other than the logistic one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation, flip_probability
from pipeline.problems.common.pairwise_newton import Local, Losses, minimise_pairs
from pipeline.study.arrays import Booleans, Floats, Integers

from ..releases import FlippedWins, ReleasedWins
from ..theory.inference import ScoreLaw
from ..theory.links import LINKS, Link
from ..transitive import LINK
from .errors import FlippedLinkedScores, LinkedScores
from .likelihood import Likelihood
from .moments import Debiased, PreferenceEstimate, ridge_of, shares


class MatchingLoss:
    """f(d) = n [Φ(d) − z̄ d], Φ the integral of the link: convex for any real z̄.

    mean z̄ and share n ≥ 0: (reps, pairs).
    """

    width = 1
    convex = True

    def __init__(self, link: Link, mean: Floats, share: Floats):
        self.link = link
        self.mean = mean
        self.share = share
        self.size = (share * (1 + np.abs(mean))).sum(axis=1)

    def take(self, rows: Integers | Booleans) -> "MatchingLoss":
        """Losses of some replications."""
        return MatchingLoss(self.link, self.mean[rows], self.share[rows])

    def __call__(self, gap: Floats) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""
        value = (self.share * (self.link.integral(gap) - self.mean * gap)).sum(axis=1)
        slope = self.share * (self.link.win(gap) - self.mean)
        return Local(value, slope, self.share * self.link.density(gap))


@dataclass(frozen=True)
class Linked(Debiased):
    """Regularised M-estimator on the debiased means z̄, by the loss that matches a link.

    argmin of Σ_{i<j} n_ij [Φ(θ_i−θ_j) − z̄_ij (θ_i−θ_j)] + λ‖θ‖², Φ the integral of F,
    with λ of `debiased`: for the logistic link it is `debiased`. If all users compare
    all pairs it orders items by their scores s_i = Σ_j z̄_ij, whatever the link.
    O(reps · m³) an iteration. Source: `theory.links`.
    """

    link: str = LINK

    by_replication: ClassVar[bool] = True

    def law(self, release: ReleasedWins) -> ScoreLaw:
        """How the gradient of the loss varies."""
        return LinkedScores(release, self.weights(release), LINKS[self.link])

    def fit(self, release: ReleasedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Estimate of a block; non-convergence is a value, not an error."""
        weights = self.weights(release)
        ridge = ridge_of(self.lambda_scale, release, weights)
        mean = self.mean(release)
        share = np.ones_like(mean)
        if release.compared is not None:
            share = np.broadcast_to(shares(release, weights), mean.shape)
        link = LINKS[self.link]
        loss = MatchingLoss(link, mean, share)
        minimum = minimise_pairs(loss, np.zeros((len(mean), release.items)), ridge)
        is_valid = minimum.converged & release.linked
        law = self.law(release)
        estimate = PreferenceEstimate(minimum.theta, is_valid, ridge, weights, law, link=link)
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 200 * self.m**2 + self.m**3


class FlippedLinkedLoss:
    """f(d) = −Σ_g [w log 2p̃ + (n−w) log 2(1−p̃)], p̃ = f + tF(d): not convex if f > 0.

    wins w and trials n: (reps, groups, pairs), in any unit. epsilon: (groups,), which
    gives the probability f of a flip and the attenuation t. Source: Lemma 1 of Xu, Sun
    and Cheng, which holds for any probability of a comparison.
    """

    convex = False

    def __init__(self, link: Link, wins: Floats, trials: Floats, epsilon: Floats):
        self.link = link
        self.wins = wins
        self.trials = trials
        self.epsilon = epsilon
        self.flip = flip_probability(epsilon)[:, None]
        self.slope = attenuation(epsilon)[:, None]
        self.size = trials.sum(axis=(1, 2))
        self.width = len(epsilon)

    def take(self, rows: Integers | Booleans) -> "FlippedLinkedLoss":
        """Losses of some replications."""
        return FlippedLinkedLoss(self.link, self.wins[rows], self.trials[rows], self.epsilon)

    def __call__(self, gap: Floats) -> Local:
        """Losses at gaps θ_i−θ_j, (reps, pairs)."""
        tiny = np.finfo(float).tiny  # keeps logarithms finite where nothing is flipped
        p = np.maximum(self.flip + self.slope * self.link.win(gap)[:, None], tiny)
        q = np.maximum(self.flip + self.slope * self.link.win(-gap)[:, None], tiny)
        losses = self.trials - self.wins
        value = np.vecdot(self.wins, np.log(2 * p)) + np.vecdot(losses, np.log(2 * q))
        slope = self.slope * self.link.density(gap)[:, None]  # of p̃ in d
        k = slope / (p * q)
        excess = self.wins * q - losses * p  # w − n p̃
        of_log_k = self.link.log_density_slope(gap)[:, None] - k * (q - p)
        curvature = k * (self.trials * slope - excess * of_log_k)
        return Local(-value.sum(axis=1), -(k * excess).sum(axis=1), curvature.sum(axis=1))


@dataclass(frozen=True)
class LinkedLikelihood(Likelihood):
    """`likelihood` for another link: penalised maximum likelihood of flipped wins.

    Newton's method starts from the `linked` estimate, or from 0 where that is
    better, and the minimum it reaches is the estimate.
    """

    link: str = LINK

    by_replication: ClassVar[bool] = True

    def loss(self, wins: Floats, trials: Floats, epsilon: Floats) -> Losses:
        """−log L of pairs; arguments as of `FlippedLinkedLoss`."""
        return FlippedLinkedLoss(LINKS[self.link], wins, trials, epsilon)

    def start(self, release: FlippedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Where Newton's method starts."""
        return Linked(self.m, self.lambda_scale, link=self.link).fit(release, rng)

    def law(self, release: FlippedWins, unit: float) -> ScoreLaw:
        """How the gradient of −log L over `unit` varies."""
        return FlippedLinkedScores(release, unit, LINKS[self.link])

    @property
    def fitted_link(self) -> Link:
        """The law of a comparison that is fitted."""
        return LINKS[self.link]
