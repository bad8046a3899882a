"""Errors of a ranking from tilted laws, weighted by how likely the release is under the true one.

A weighted error is 0 or more and has no upper end. The weight is 1 for
models that tilt nothing.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.problems.common.recovery import ExactTopK, HammingTopK, TopK, kendall_distance
from pipeline.study.arrays import Array, Floats
from pipeline.study.metric import metric

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory.rates import win_probability
from ..tilted import TiltedPreferences


@metric("Kendall distance, by tilted comparisons", units="share of pairs", least=0.0)
def kendall_weighted(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """Weight · share of pairs in the wrong order: its mean is that of `kendall`; O(reps · m³).

    Source: Xu, Sun and Cheng, Theorem 6.
    """
    return _weighted(kendall_distance(truth.theta, estimate.theta), truth, release)


@dataclass(frozen=True)
class HammingTopKWeighted(TopK):
    """Weight · H_K: its mean is that of `hamming_top_k`. Source: Xu, Sun and Cheng, Theorem 5."""

    long_name: ClassVar[str] = "top-K Hamming error H_K, by tilted comparisons"
    units: ClassVar[str] = "share of K"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m³)."""
        error = HammingTopK(self.m, self.K)(truth, release, estimate)
        return _weighted(error, truth, release)


@dataclass(frozen=True)
class TopKMissedWeighted(TopK):
    """Weight · 1{top K not recovered exactly}: its mean is 1 − that of `exact_top_k`.

    Source: Xu, Sun and Cheng, Theorem 4.
    """

    long_name: ClassVar[str] = "chance that the top K is missed, by tilted comparisons"
    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m³)."""
        error = 1 - ExactTopK(self.m, self.K)(truth, release, estimate)
        return _weighted(error, truth, release)


def _weighted(error: Floats, truth: Preferences, release: ReleasedWins) -> Floats:
    """(reps,): weight times an error ≥ 0."""
    if not isinstance(truth, TiltedPreferences):
        return error
    weighted: Floats = error * np.exp(np.where(error > 0, log_weights(truth, release), 0.0))
    return weighted


@metric("variance of released wins over that of their law", least=0.0)
def wins_dispersion(truth: Preferences, release: ReleasedWins) -> Floats:
    """Mean over pairs and groups of (x − n p̃)²/(n p̃(1 − p̃)), x the released wins.

    O(reps · groups · m²). Its mean is 1. p̃, the chance of a released win,
    is that of the law by which the replication was drawn, tilted or not,
    and of randomized response with the release's budgets: that by which
    errors are weighed. NaN for other releases, and where no group made
    comparisons. Source: Xu, Sun and Cheng, Lemma 1.
    """
    if not isinstance(release, FlippedWins):
        return np.full(len(truth.theta), np.nan)
    if isinstance(truth, TiltedPreferences):
        raw = truth.chances
    else:
        raw = win_probability(truth.theta)[:, None]
    chance = released_probability(raw, release.epsilon[:, None])
    variance = release.trials * chance * (1 - chance)
    square = (release.wins - release.trials * chance) ** 2
    varies = variance > 0
    ratios = np.divide(square, variance, out=np.zeros(square.shape), where=varies)
    count = varies.sum(axis=(1, 2))
    unknown = np.full(len(raw), np.nan)
    dispersion: Floats = np.divide(ratios.sum(axis=(1, 2)), count, out=unknown, where=count > 0)
    return dispersion


def log_weights(truth: TiltedPreferences, release: ReleasedWins) -> Floats:
    """(reps,): log P(x | σ) − log mean_c P(x | q_c) of the released wins x.

    NaN for releases of another law or groups. Wins of a group of users are
    Binomial(n, ½ + (q − ½) t(ε)).
    Source: Xu, Sun and Cheng, Lemma 1.
    """
    if not isinstance(release, FlippedWins) or len(release.epsilon) != truth.proposals.shape[1]:
        return np.full(len(truth.theta), np.nan)
    reps, m = truth.theta.shape
    trials = np.broadcast_to(release.trials, release.wins.shape)
    ranked = np.take_along_axis(truth.theta, truth.order, axis=1)[: len(truth.proposals)]
    log_ratios = np.zeros((reps, m - 1))
    for group, epsilon in enumerate(release.epsilon):
        wins, losses = _by_rank(release.wins[:, group], trials[:, group], truth)
        plain = released_probability(win_probability(ranked), epsilon)[:, None]
        tilted = released_probability(truth.proposals[:, group], epsilon)
        log_ratios += np.matvec(np.log(tilted / plain), wins)
        log_ratios += np.matvec(np.log((1 - tilted) / (1 - plain)), losses)
    weights: Floats = np.log(m - 1) - logsumexp(log_ratios, axis=1)
    return weights


def _by_rank(wins: Array, trials: Array, truth: TiltedPreferences) -> tuple[Floats, Floats]:
    """Wins and losses of rank a against rank b, a < b, from wins of i over j, i < j.

    (reps, pairs) all.
    """
    reps, m = truth.theta.shape
    first, second = np.triu_indices(m, 1)
    won = np.zeros((reps, m, m))
    won[:, first, second] = wins
    won[:, second, first] = trials - wins
    rows = np.arange(reps)[:, None]
    better = truth.order[:, first]
    worse = truth.order[:, second]
    return won[rows, better, worse], won[rows, worse, better]
