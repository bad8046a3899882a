"""Errors of a ranking, weighted by how likely a release drawn from a tilted law is under the true one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.problems.common.recovery import ExactTopK, HammingTopK, Kendall, TopK
from pipeline.study.arrays import Floats

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory.rates import win_probability
from ..tilted import TiltedPreferences


class _Weighted(ABC):
    """Weight times a metric, (reps,); the weight is 1 for models that tilt nothing. It has no upper end."""

    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m³)."""
        error: Floats = self._error(truth, release, estimate)
        if not isinstance(truth, TiltedPreferences):
            return error
        weighted: Floats = error * np.exp(np.where(error > 0, log_weights(truth, release), 0.0))
        return weighted

    @abstractmethod
    def _error(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """The metric itself, (reps,)."""


@dataclass(frozen=True)
class KendallWeighted(_Weighted):
    """Weight · share of pairs in the wrong order: its mean is that of `kendall`. Source: Xu, Sun and Cheng, Theorem 6."""

    long_name: ClassVar[str] = "Kendall distance, by tilted comparisons"
    units: ClassVar[str] = "share of pairs"

    def _error(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        return Kendall()(truth, release, estimate)


@dataclass(frozen=True)
class HammingTopKWeighted(_Weighted, TopK):
    """Weight · H_K: its mean is that of `hamming_top_k`. Source: Xu, Sun and Cheng, Theorem 5."""

    long_name: ClassVar[str] = "top-K Hamming error H_K, by tilted comparisons"
    units: ClassVar[str] = "share of K"

    def _error(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        return HammingTopK(self.m, self.K)(truth, release, estimate)


@dataclass(frozen=True)
class TopKMissedWeighted(_Weighted, TopK):
    """Weight · 1{top K not recovered exactly}: its mean is 1 − that of `exact_top_k`.

    Source: Xu, Sun and Cheng, Theorem 4.
    """

    long_name: ClassVar[str] = "chance that the top K is missed, by tilted comparisons"
    units: ClassVar[str] = "probability"

    def _error(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        return 1 - ExactTopK(self.m, self.K)(truth, release, estimate)


@dataclass(frozen=True)
class WinsDispersion:
    """Mean over pairs and groups of (x − n p̃)²/(n p̃(1 − p̃)), x the released wins, p̃ the chance of one: its mean is 1.

    p̃ is that of the law by which the replication was drawn, tilted or not, and of randomized response with the
    release's budgets: that by which errors are weighed. NaN for other releases, and where no group made comparisons.
    Source: Xu, Sun and Cheng, Lemma 1.
    """

    long_name: ClassVar[str] = "variance of released wins over that of their law"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · groups · m²)."""
        if not isinstance(release, FlippedWins):
            return np.full(len(truth.theta), np.nan)
        raw = (
            truth.chances
            if isinstance(truth, TiltedPreferences)
            else win_probability(truth.theta)[:, None]
        )
        chance = released_probability(raw, release.epsilon[:, None])
        made = release.users[:, None] if release.compared is None else release.compared
        variance = made * chance * (1 - chance)
        square = (release.wins - made * chance) ** 2
        varies = variance > 0
        ratios = np.divide(square, variance, out=np.zeros(square.shape), where=varies)
        count = varies.sum(axis=(1, 2))
        dispersion: Floats = np.divide(
            ratios.sum(axis=(1, 2)), count, out=np.full(len(raw), np.nan), where=count > 0
        )
        return dispersion


def log_weights(truth: TiltedPreferences, release: ReleasedWins) -> Floats:
    """(reps,): log P(x | σ) − log mean_c P(x | q_c) of the released wins x; NaN for releases of another law or groups.

    Wins of a group of users are Binomial(n, ½ + (q − ½) t(ε)). Source: Xu, Sun and Cheng, Lemma 1.
    """
    if not isinstance(release, FlippedWins) or len(release.epsilon) != truth.proposals.shape[1]:
        return np.full(len(truth.theta), np.nan)
    reps, m = truth.theta.shape
    first, second = np.triu_indices(m, 1)
    made = np.broadcast_to(
        release.users[:, None] if release.compared is None else release.compared, release.wins.shape
    )
    ranked = np.take_along_axis(truth.theta, truth.order, axis=1)[: len(truth.proposals)]
    ratios = np.zeros((reps, m - 1))
    for group, epsilon in enumerate(release.epsilon):
        won = np.zeros((reps, m, m))
        won[:, first, second] = won_here = release.wins[:, group]
        won[:, second, first] = made[:, group] - won_here
        rows, better, worse = (
            np.arange(reps)[:, None],
            truth.order[:, first],
            truth.order[:, second],
        )
        wins, losses = won[rows, better, worse], won[rows, worse, better]
        plain = released_probability(win_probability(ranked), epsilon)[:, None]
        tilted = released_probability(truth.proposals[:, group], epsilon)
        for count, ratio in (
            (wins, np.log(tilted / plain)),
            (losses, np.log((1 - tilted) / (1 - plain))),
        ):
            ratios += np.matvec(ratio, count)
    weights: Floats = np.log(m - 1) - logsumexp(ratios, axis=1)
    return weights
