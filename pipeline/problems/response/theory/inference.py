"""How sure difficulties are that were learned from counts of pairs.

Estimators from counts of pairs solve Ψ_i(β) = Σ_j (a_ji Y_ji − a_ij Y_ij) = 0
for every item i, the spectral one with a_ij = e^(β_i), pairwise likelihood
with a_ij = σ(β_i − β_j). A person of any ability has i right and j wrong
e^(β_j − β_i) times as often as the reverse, so that at β* the mean of a_ij
Y_ij is that of a_ji Y_ji, whatever the abilities: Ψ(β*) has mean 0 given
them.

The slope of Ψ is −K, K the Laplacian with weights F_ij = a_ij a_ji (Y_ij +
Y_ji)/(a_ij + a_ji), the common mean of a_ij Y_ij and a_ji Y_ji.
Pseudo-counts, floors and ridges make β̂ another point than the solution; one
step of Newton's method from there,

    β̃ = β̂ + K⁺ Ψ(β̂),    Ψ of the counts as they were released, debiased,

has none of their bias to first order, and Cov β̃ = K⁺ M K⁺, M = Cov Ψ(β*):
the sandwich. Persons are independent, and M is a sum over them.

Where their responses are released, flipped or not, a person's part ψ_l is
known, and M = Σ_l ψ_l ψ_lᵀ at β̂: no law of flips or abilities is needed
(Huber 1967).

Where counts with noise of variance s² are released, M is a mean over a law of
abilities, and the Laplacian with weights s² (a_ij² + a_ji²) besides. Given θ,
with p_i = σ(θ − β_i), q = 1 − p, v = pq, δ = x − p, a person's part is linear
and quadratic in independent δ:

    ψ_i = Σ_j [B_ij δ_j − B_ji δ_i + D_ij δ_i δ_j],  B_ij = a_ji q_i + a_ij p_i,  D_ij = a_ij −
    a_ji,

so that its covariance is L diag(v) Lᵀ + Laplacian(D² v vᵀ), L_ij = B_ij, L_ii
= −Σ_j B_ji. Persons answer both items of a pair with chance π₂ and three
items with chance π₃: parts of one pair count π₂ times, their weights are
a_ij² Y_ij + a_ji² Y_ji, known from the counts alone; parts of two pairs that
share an item count π₃ times, and pairs that share none have no covariance.
Only these parts need abilities. Their law is taken as normal; mean and spread
are fitted to Y_ij + Y_ji. Of releases that do not say how many persons they
are of, the law is taken as N(0, 1), and that number is the one that Σ Y_ij
implies.

Where noise is not small beside the counts, K varies as well, and with it the
variance as stated, s² = [K⁺MK⁺]_tt. Y_ij + Y_ji = c moves F by f = a_ij
a_ji/(a_ij + a_ji) and single parts of M by f (a_ij + a_ji), so that, with k =
K⁺_ti − K⁺_tj and x = [K⁺MK⁺]_ti − [K⁺MK⁺]_tj,

    ∂s²/∂c = −2 f k x + f (a_ij + a_ji) k²,    Var c = 2s_noise² + c,

and intervals take Student's quantile at ν = 2 s⁴/Σ (∂s²/∂c)² Var c degrees of
freedom (Satterthwaite 1946): the variance of c times its slope, as everywhere
above, to first order.

Source: first principles; the estimating equations are those of Nguyen and
Zhang, Algorithm 1, and of Zwinderman (1995); van der Vaart (1998), Asymptotic
Statistics, Theorem 5.21 and §5.7.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pipeline.problems.common.laplacians import inverse_laplacian, is_definite, laplacian_of
from pipeline.problems.common.normal_scores import NormalScores, slices_of
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Booleans, Floats

from ..releases import Differences, FlippedResponses, PairwiseRelease
from .fitted_abilities import (
    Abilities,
    PairShares,
    assumed_abilities,
    fitted_abilities,
    pairs_answered,
    without_diagonal,
)

SLICE_RESPONSES = 1 << 18  # responses of persons processed at a time


class DifficultyLaw(Abstract):
    """Ψ of a release, its slope and its covariance, by weights a_ij(β)."""

    @abstractmethod
    def counts(self, rows: slice) -> Array:
        """Y, debiased, (reps of these rows, m, m); 0 on the diagonal and off the edges."""

    @abstractmethod
    def covariance(self, theta: Floats, weight: Floats, rows: slice) -> Floats:
        """M at β = theta, (reps of these rows, m, m). weight: a, in that shape."""

    def count_variance(self, rows: slice) -> Floats | None:
        """Var(Y_ij + Y_ji), (reps of these rows, m, m); None where it is small beside the counts."""
        return None


@dataclass(frozen=True)
class ResponseLaw(DifficultyLaw):
    """Of released responses. debiased: whether the estimator knows that they were flipped."""

    release: FlippedResponses
    debiased: bool

    def counts(self, rows: slice) -> Array:
        """Y of these replications."""
        return without_diagonal(self.release.differences(self.debiased)[rows])

    def covariance(self, theta: Floats, weight: Floats, rows: slice) -> Floats:
        """Σ_l ψ_l ψ_lᵀ, ψ_li = w_li Σ_j r_lj a_ji − r_li Σ_j w_lj a_ij; O(reps · n · m²).

        r, w: unbiased numbers of right and of wrong answers of person l to item i.
        """
        release = self.release
        answers = release.answers[rows]
        right = answers.astype(float)
        present = None if release.observed is None else release.observed[rows]
        if self.debiased:
            flip = 1 / (1 + np.exp(release.epsilon))
            right = (right - flip) / (1 - 2 * flip)
        wrong = 1 - right
        if present is not None:
            right *= present
            wrong *= present
        part = wrong * (right @ weight) - right * (wrong @ weight.mT)
        covariance: Floats = part.mT @ part
        return covariance


@dataclass(frozen=True)
class NoisyCountLaw(DifficultyLaw):
    """Of noisy counts; NaN where the release has no `inclusion`: nobody knows who answers what."""

    release: Differences

    def counts(self, rows: slice) -> Array:
        """Y of these replications."""
        counts = np.array(self.release.counts[rows], float)
        edges = _edges(self.release.edges, rows)
        if edges is not None:
            counts *= edges
        return without_diagonal(counts)

    def count_variance(self, rows: slice) -> Floats:
        """2s² + Y_ij + Y_ji, 0 on the diagonal and off the edges."""
        counts = self.counts(rows)
        noise = np.asarray(self.release.variance, float)
        noise = np.broadcast_to(noise, len(self.release.counts))[rows]
        variance = 2 * noise[:, None, None] + np.maximum(counts + counts.mT, 0)
        edges = _edges(self.release.edges, rows)
        if edges is not None:
            variance = variance * edges
        return without_diagonal(variance)

    def covariance(self, theta: Floats, weight: Floats, rows: slice) -> Floats:
        """K's part of single pairs, that of pairs that share an item, and that of the noise."""
        inclusion = self.release.inclusion
        m = theta.shape[1]
        if inclusion is None:
            return np.full((len(theta), m, m), np.nan)
        counts = self.counts(rows)
        edges = _edges(self.release.edges, rows)
        single = np.maximum(_flow(counts, weight), 0) * (weight + weight.mT)
        variance = np.broadcast_to(
            np.asarray(self.release.variance, float), len(self.release.counts)
        )
        noise = variance[rows, None, None] * (weight**2 + weight.mT**2)
        if edges is not None:
            noise = noise * edges
        covariance = laplacian_of(without_diagonal(single + noise))
        if inclusion.triple == 0:
            return covariance
        if not self.release.persons:
            abilities = assumed_abilities(len(theta))
            shared = _shared_covariance(theta, weight, abilities, edges)
            answered = pairs_answered(theta, counts, abilities, edges)
            share = inclusion.triple / inclusion.pair
            return covariance + (answered * share)[:, None, None] * shared
        persons = self.release.persons * inclusion.pair
        measured = PairShares(counts, persons, variance[rows], edges)
        abilities = fitted_abilities(theta, measured)
        shared = _shared_covariance(theta, weight, abilities, edges)
        return covariance + self.release.persons * inclusion.triple * shared


@dataclass(frozen=True)
class Difficulties(NormalScores):
    """β̃, difficulties without the bias of pseudo-counts, floors and ridges, and how they vary.

    theta: (reps, m) or (m,), logits, sums to 0. errors: standard errors of it. fitted: β̂, where
    the law is evaluated. NaN where K is not positive definite, as where noise outweighs the counts.
    """

    theta: Floats
    errors: Floats
    fitted: Floats
    law: DifficultyLaw
    is_spectral: bool

    def covariance_of(self, rows: slice) -> Floats:
        """K⁺MK⁺, logits², (reps of these rows, m, m)."""
        step = _step(np.atleast_2d(self.fitted)[rows], self.law, self.is_spectral, rows)
        return step.covariance

    @cached_property
    def freedom(self) -> Floats | None:
        """ν, in the shape of theta; None of responses. O(reps · m³)."""
        fitted = np.atleast_2d(self.fitted)
        reps, m = fitted.shape
        freedom = np.empty((reps, m))
        for rows in _slices(reps, m, self.law):
            variance = self.law.count_variance(rows)
            if variance is None:
                return None
            step = _step(fitted[rows], self.law, self.is_spectral, rows)
            weight = _weights(fitted[rows], self.is_spectral)
            freedom[rows] = _freedom(step, weight, variance)
        return freedom.reshape(self.theta.shape)


def difficulties(fitted: Floats, law: DifficultyLaw, is_spectral: bool) -> Difficulties:
    """β̃ of β̂ = fitted, (reps, m), and its standard errors. O(reps · (m³ + n · m²))."""
    reps, m = fitted.shape
    centre = np.empty((reps, m))
    errors = np.empty((reps, m))
    for rows in _slices(reps, m, law):
        step = _step(fitted[rows], law, is_spectral, rows)
        centre[rows] = step.centre
        variance = np.einsum("rii->ri", step.covariance)
        errors[rows] = np.sqrt(np.where(variance >= 0, variance, np.nan))
    return Difficulties(centre, errors, fitted, law, is_spectral)


class _Step(NamedTuple):
    """centre: β̃, (reps, m). covariance: K⁺MK⁺, (reps, m, m). inverse: K⁺."""

    centre: Floats
    covariance: Floats
    inverse: Floats


def _freedom(step: _Step, weight: Floats, count_variance: Floats) -> Floats:
    """ν, (reps, m); infinite where the variance as stated does not vary, NaN where there is none."""
    total = weight + weight.mT
    flow = weight * weight.mT / total  # f
    variance = np.einsum("rii->ri", step.covariance)
    freedom = np.empty(variance.shape)
    for item in range(variance.shape[1]):
        row = step.inverse[:, item]
        along = row[:, :, None] - row[:, None]  # k
        row = step.covariance[:, item]
        across = row[:, :, None] - row[:, None]  # x
        slope = flow * along * (total * along - 2 * across)
        spread = (slope**2 * count_variance).sum(axis=(1, 2)) / 2
        with np.errstate(divide="ignore"):
            freedom[:, item] = 2 * variance[:, item] ** 2 / spread
    return freedom


def _step(theta: Floats, law: DifficultyLaw, is_spectral: bool, rows: slice) -> _Step:
    weight = _weights(theta, is_spectral)
    counts = law.counts(rows)
    flow = _flow(counts, weight)
    with np.errstate(all="ignore"):
        inverse = inverse_laplacian(flow, np.zeros(len(theta)))
        pull = (weight * counts).sum(axis=1) - (weight * counts).sum(axis=2)  # Ψ
        covariance = inverse @ law.covariance(theta, weight, rows) @ inverse
        centre = theta + np.matvec(inverse, pull)
    is_known = np.isfinite(covariance).all(axis=(1, 2)) & is_definite(flow)
    centre[~is_known] = np.nan
    covariance[~is_known] = np.nan
    return _Step(centre, covariance, inverse)


def _weights(theta: Floats, is_spectral: bool) -> Floats:
    """a, (reps, m, m): e^(β_i) of the largest, or σ(β_i − β_j)."""
    if not is_spectral:
        return np.asarray(expit(theta[:, :, None] - theta[:, None]))
    relative = np.exp(theta - theta.max(axis=1, keepdims=True))
    return np.repeat(relative[:, :, None], theta.shape[1], axis=2)


def _flow(counts: Array, weight: Floats) -> Floats:
    """F, (reps, m, m), symmetric."""
    share = weight * weight.mT / (weight + weight.mT)
    flow: Floats = share * (counts + counts.mT)
    return without_diagonal(flow)


def _edges(edges: Booleans | None, rows: slice) -> Booleans | None:
    if edges is None or len(edges) == 1:
        return edges
    return edges[rows]


def _shared_covariance(
    theta: Floats, weight: Floats, abilities: Abilities, edges: Booleans | None
) -> Floats:
    """Covariance of one person's ψ from two pairs that share an item, (reps, m, m)."""
    reps, m = theta.shape
    present = without_diagonal(np.ones((1, m, m)) if edges is None else edges)
    total = np.zeros((reps, m, m))
    apart = (weight - weight.mT) ** 2
    for node, share in enumerate(abilities.weights.tolist()):
        right = expit(abilities.points[:, node, None] - theta)
        wrong = 1 - right
        variance = right * wrong
        linear = (weight.mT * wrong[:, :, None] + weight * right[:, :, None]) * present  # B
        linear = linear - linear.sum(axis=1)[:, :, None] * np.eye(m)  # L
        total += share * (linear * variance[:, None]) @ linear.mT
        product = apart * (variance[:, :, None] * variance[:, None])
        alone = weight.mT**2 * wrong[:, :, None] * right[:, None]
        alone = alone + weight**2 * right[:, :, None] * wrong[:, None]
        total += share * laplacian_of((product - alone) * present)
    return total


def _slices(reps: int, m: int, law: DifficultyLaw) -> list[slice]:
    """Replications processed at a time."""
    if isinstance(law, ResponseLaw):
        length = max(1, SLICE_RESPONSES // (max(1, law.release.persons) * m))
        return [slice(start, start + length) for start in range(0, reps, length)]
    return slices_of(reps, m)


def law_of(release: PairwiseRelease, debiased: bool) -> DifficultyLaw | None:
    """How Ψ of a release varies; None where that is not known."""
    if isinstance(release, FlippedResponses):
        return ResponseLaw(release, debiased)
    if isinstance(release, Differences):
        return NoisyCountLaw(release)
    return None
