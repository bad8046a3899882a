"""How sure difficulties are that were learned from the share of right answers to each item.

β̂_i solves E σ(θ − β) = s_i over the assumed law of abilities, s_i the
unbiased share of right answers. By the delta method dβ̂_i = −ds_i/g_i, g_i =
E σ'(θ − β̂_i), and after centring, P = I − 11ᵀ/m,

    Cov β̂ = P G⁻¹ Cov(s) G⁻¹ P.

Where responses are released persons are independent: Cov(s) = Σ_l ψ_l ψ_lᵀ
with ψ_li = A_li (x̂_li − s_i)/n_i, which has what answers of one person have in
common. Where anonymous messages are counted, nobody knows which are of one
person, and Cov(s) is taken as diagonal, p̃(1 − p̃)/(n_i t²): exact where each
person sends one; with more of a person answers are alike, what they have in
common is largely a shift that centring takes off, and errors are too large.

A share that was raised to a floor, or an item without answers, has no normal
law: NaN for that replication. The bootstrap is for these.

Source: first principles; van der Vaart (1998), Asymptotic Statistics, §3.1.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.normal_scores import NormalScores
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Booleans, Floats

from ..releases import FlippedItemCounts, FlippedResponses, ItemRelease, RightPairs


class ShareLaw(Abstract):
    """How shares of right answers vary."""

    @abstractmethod
    def covariance(self, rows: slice) -> Floats:
        """Cov(s) of some replications, (reps of these rows, m, m)."""


@dataclass(frozen=True)
class AnonymousShares(ShareLaw):
    """Of anonymous messages, counted."""

    release: FlippedItemCounts

    def covariance(self, rows: slice) -> Floats:
        """Diagonal: that of binomial counts over the slope t squared."""
        squared_slope = float(np.tanh(self.release.epsilon / 2)) ** 2
        answered = np.maximum(self.release.answered[rows], 1)
        share = self.release.right[rows] / answered
        variance = share * (1 - share) / (answered * squared_slope)
        return np.asarray(variance[:, :, None] * np.eye(variance.shape[1]))


@dataclass(frozen=True)
class PersonShares(ShareLaw):
    """Of responses, known person by person."""

    release: FlippedResponses

    def covariance(self, rows: slice) -> Floats:
        """Σ_l ψ_l ψ_lᵀ from counts of pairs, as no person is needed; O(reps · m²) once counted.

        With B persons who answered i and j, C who have both right as released and C_i those of B
        who have i right, x̂ = (x̃ − f)/t and t = 1 − 2f,

            Σ_l A_li A_lj (x̂_li − s_i)(x̂_lj − s_j) = C/t² − (d_j C_i + d_i C_j)/t² + B d_i d_j/t²,

        d_i = f + t s_i.
        """
        flip = float(flip_probability(self.release.epsilon))
        answered = np.einsum("rii->ri", self._counts.answered[rows])
        right = np.einsum("rii->ri", self._counts.right[rows])
        people = np.maximum(answered, 1)
        mean = right / people  # d: share of right answers, as released
        both = self._counts.answered[rows]
        first = self._counts.first[rows]
        crossed = first * mean[:, None]
        moment = self._counts.right[rows] - crossed - crossed.mT
        moment += both * (mean[:, :, None] * mean[:, None])
        slope = (1 - 2 * flip) * people
        covariance: Floats = moment / (slope[:, :, None] * slope[:, None])
        return covariance

    @cached_property
    def _counts(self) -> RightPairs:
        return self.release.right_pairs()


@dataclass(frozen=True)
class ShareDifficulties(NormalScores):
    """β̂ and how it varies.

    theta: (reps, m) or (m,), centred. shift: (reps,), its mean before. known: (reps,), whether no
    share was raised to the floor. points, weights: of the assumed law of abilities.
    """

    theta: Floats
    law: ShareLaw
    shift: Floats
    known: Booleans
    points: Floats
    weights: Floats

    @property
    def errors(self) -> Floats:
        """Roots of the diagonal of Cov β̂, logits."""
        variance = np.einsum("rii->ri", self.covariance_of(slice(None)))
        errors: Floats = np.sqrt(variance)
        return errors.reshape(self.theta.shape)

    def covariance_of(self, rows: slice) -> Floats:
        """P G⁻¹ Cov(s) G⁻¹ P, logits², (reps of these rows, m, m)."""
        theta = np.atleast_2d(self.theta)[rows] + self.shift[rows, None]
        right = expit(self.points - theta[:, :, None])
        slope = (right * (1 - right)) @ self.weights
        m = theta.shape[1]
        centring = np.eye(m) - 1 / m
        change = centring / slope[:, None]
        covariance: Floats = change @ self.law.covariance(rows) @ change.mT
        covariance[~self.known[rows]] = np.nan
        return covariance


def share_law_of(release: ItemRelease) -> ShareLaw | None:
    """How the shares of a release vary; None of a release of another kind."""
    if isinstance(release, FlippedResponses):
        return PersonShares(release)
    if isinstance(release, FlippedItemCounts):
        return AnonymousShares(release)
    return None
