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

Where noise is not small beside the counts, K varies as well, and with it β̃ and
its variance, in the same direction: √(K⁺MK⁺) at an estimate is no scale for the
error of that estimate. What has a known law is the pivot at the truth,

    T_t(β*) = [K⁺(β*) Ψ(β*)]_t/s_t(β*),    s_t² = [K⁺MK⁺]_tt,

since Ψ(β*) has mean 0, and K only chooses which combination of it is meant. So
the interval of β_t is where |T_t| is small along the values of the other items
that go with β_t: its ends b solve

    b = β̃_t(b) ± q s_t(b),    β(b) = β̃ + K⁺MK⁺_{·t}/s_t² (b − β̃_t),

β̃_t(b) and s_t(b) one step of Newton's method, and its error, from β(b). One
iteration from β̃_t ± q s_t is taken; to first order it changes nothing. What is
left of the noise in K is that it turns u = K⁺_t·: Y_ij + Y_ji = c moves F by f =
a_ij a_ji/(a_ij + a_ji), hence u by −f k K⁺(e_i − e_j), k = u_i − u_j, and T by
this times the part of Ψ that has no covariance with u·Ψ:

    Var T = 1 + Σ_c f² k² [V_ij − x²/s²] Var(c)/s²,    q² = z² Var T,

V_ij the variance of β̃_i − β̃_j, x its covariance with β̃_t, Var(c) = 2s_noise² +
c. With two items there is one combination only, and T is normal however K varies.
Laplace noise in Y_ij is in β̃_k with the weight a_ij (K⁺_kj − K⁺_ki); z is then the
quantile of its kurtosis (`problems.common.heavy_tails`).

Source: first principles; the estimating equations are those of Nguyen and
Zhang, Algorithm 1, and of Zwinderman (1995); van der Vaart (1998), Asymptotic
Statistics, Theorem 5.21 and §5.7; intervals where estimating equations are small:
Godambe (1960), An optimum property of regular maximum likelihood estimation; Boos
(1992), On generalized score tests.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.heavy_tails import (
    excess_kurtosis,
    fourth_cumulants,
    heavy_quantile,
    pair_parts,
)
from pipeline.problems.common.laplacians import inverse_laplacian, is_definite, laplacian_of
from pipeline.problems.common.normal_scores import NormalScores, slices_of
from pipeline.problems.common.ranks import difference_errors
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.intervals import Interval, normal_interval, normal_quantile

from ..releases import CountedResponses, Differences, FlippedResponses, PairwiseRelease
from .fitted_abilities import (
    PairShares,
    assumed_abilities,
    fitted_abilities,
    pairs_answered,
    shared_covariance,
    without_diagonal,
)
from .person_influences import influence_variances
from .person_scores import score_covariance

HALVED = 0.5


class DifficultyLaw(Abstract):
    """Ψ of a release, its slope and its covariance, by weights a_ij(β)."""

    @abstractmethod
    def counts(self, rows: slice) -> Array:
        """Y, debiased, (reps of these rows, m, m); 0 on the diagonal and off the edges."""

    @abstractmethod
    def covariance(self, theta: Floats, weight: Floats, rows: slice) -> Floats:
        """M at β = theta, (reps of these rows, m, m). weight: a, in that shape."""


@dataclass(frozen=True)
class ResponseLaw(DifficultyLaw):
    """Of released responses. debiased: whether the estimator knows that they were flipped."""

    release: FlippedResponses
    debiased: bool

    def counts(self, rows: slice) -> Array:
        """Y of these replications."""
        return self._every_count[rows]

    @cached_property
    def _every_count(self) -> Floats:
        return without_diagonal(self.release.differences(self.debiased))

    @cached_property
    def _ahead(self) -> Floats:
        """Ỹ, as it was released."""
        return self.release.differences()

    def covariance(self, theta: Floats, weight: Floats, rows: slice) -> Floats:
        """Σ_l ψ_l ψ_lᵀ: `theory.person_scores`. O(reps · n · m²); O(reps · m²) where persons are
        counted by their answers to a pair.
        """
        release = self.release
        if self.is_counted:
            return _pair_covariance(self._ahead[rows], release.pairs[rows], weight, self._flip)
        return score_covariance(release.answers[rows], self._present(rows), weight, self._flip)

    def spectral_variance(self, weight: Floats, inverse: Floats, rows: slice) -> Floats:
        """Diagonal of K⁺MK⁺, (reps of these rows, m), of the spectral weights a_ij = weight_i.

        weight: (reps of these rows, m). inverse: K⁺. `theory.person_influences`.
        """
        answers = self.release.answers[rows]
        return influence_variances(answers, self._present(rows), weight, inverse, self._flip)

    @property
    def _flip(self) -> float:
        return float(flip_probability(self.release.epsilon)) if self.debiased else 0.0

    def _present(self, rows: slice) -> Booleans | None:
        observed = self.release.observed
        return None if observed is None else observed[rows]

    @property
    def is_counted(self) -> bool:
        """Whether the release has counts of persons, who answer two items each at most."""
        return isinstance(self.release, CountedResponses) and self.release.patterns is not None


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
        variance = 2 * self._noise(rows)[:, None, None] + np.maximum(counts + counts.mT, 0)
        edges = _edges(self.release.edges, rows)
        if edges is not None:
            variance = variance * edges
        return without_diagonal(variance)

    def covariance(self, theta: Floats, weight: Floats, rows: slice) -> Floats:
        """M of single pairs and noise, and that of pairs that share an item."""
        shared = self.item_covariance(theta, weight, rows)
        return self.single_covariance(weight, rows) + shared

    def single_covariance(self, weight: Floats, rows: slice) -> Floats:
        """M's part of single pairs, and that of the noise, (reps of these rows, m, m)."""
        single = np.maximum(_flow(self.counts(rows), weight), 0) * (weight + weight.mT)
        noise = self._noise(rows)[:, None, None] * (weight**2 + weight.mT**2)
        edges = _edges(self.release.edges, rows)
        if edges is not None:
            noise = noise * edges
        return laplacian_of(without_diagonal(single + noise))

    def item_covariance(self, theta: Floats, weight: Floats, rows: slice) -> Floats:
        """M's part of two pairs that share an item, which needs a law of abilities."""
        inclusion = self.release.inclusion
        if inclusion is None:
            return np.full(weight.shape, np.nan)
        if inclusion.triple == 0:
            return np.zeros(weight.shape)
        counts = self.counts(rows)
        edges = _edges(self.release.edges, rows)
        if not self.release.persons:
            abilities = assumed_abilities(len(theta))
            shared = shared_covariance(theta, weight, abilities, edges)
            answered = pairs_answered(theta, counts, abilities, edges)
            share = inclusion.triple / inclusion.pair
            return (answered * share)[:, None, None] * shared
        persons = self.release.persons * inclusion.pair
        measured = PairShares(counts, persons, self._noise(rows), edges)
        abilities = fitted_abilities(theta, measured)
        shared = shared_covariance(theta, weight, abilities, edges)
        return self.release.persons * inclusion.triple * shared

    def fourth_cumulants(self, weight: Floats, rows: slice) -> Floats | None:
        """κ₄ of the noise in Ψ of each pair, (reps of these rows, m, m); None of normal noise."""
        if self.release.fourth is None:
            return None
        fourth = np.broadcast_to(self.release.fourth, len(self.release.counts))[rows]
        of_pairs = fourth[:, None, None] * (weight**4 + weight.mT**4)
        edges = _edges(self.release.edges, rows)
        if edges is not None:
            of_pairs = of_pairs * edges
        return without_diagonal(of_pairs)

    def _noise(self, rows: slice) -> Floats:
        """Variance of the noise in one count, (reps of these rows,)."""
        variance = np.asarray(self.release.variance, float)
        return np.broadcast_to(variance, len(self.release.counts))[rows]


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

    def excess_of(self, rows: slice, of_differences: bool) -> Floats | None:
        """Excess kurtosis of a curator's Laplace noise in β̃; None where errors are normal."""
        if not isinstance(self.law, NoisyCountLaw):
            return None
        theta = np.atleast_2d(self.fitted)[rows]
        fourth = self.law.fourth_cumulants(_weights(theta, self.is_spectral), rows)
        if fourth is None:
            return None
        step = _step(theta, self.law, self.is_spectral, rows)
        variance = np.einsum("rii->ri", step.covariance)
        if of_differences:
            variance = difference_errors(step.covariance) ** 2
        cumulants = fourth_cumulants(pair_parts(step.inverse, fourth), of_differences)
        return excess_kurtosis(cumulants, variance)

    def interval(self, level: float) -> Interval:
        """An interval for each difficulty, which covers it with probability `level`.

        Of responses around theta; of noisy counts where estimating equations are small. O(reps ·
        m³), or O(reps · m⁴).
        """
        if not isinstance(self.law, NoisyCountLaw):
            return normal_interval(self.theta, self.errors, level)
        fitted = np.atleast_2d(self.fitted)
        low = np.empty(fitted.shape)
        high = np.empty(fitted.shape)
        for rows in slices_of(*fitted.shape):
            pivot = _Pivot.at(fitted[rows], self.law, self.is_spectral, rows)
            excess = self.excess_of(rows, of_differences=False)
            quantile: float | Floats = normal_quantile(level)
            if excess is not None:
                quantile = heavy_quantile(level, excess)
            ends = pivot.interval(quantile)
            low[rows] = ends.low
            high[rows] = ends.high
        return Interval(low.reshape(self.theta.shape), high.reshape(self.theta.shape))


def difficulties(fitted: Floats, law: DifficultyLaw, is_spectral: bool) -> Difficulties:
    """β̃ of β̂ = fitted, (reps, m), and its standard errors. O(reps · (m³ + n · m²))."""
    reps, m = fitted.shape
    centre = np.empty((reps, m))
    errors = np.empty((reps, m))
    for rows in slices_of(reps, m):
        if is_spectral and isinstance(law, ResponseLaw) and not law.is_counted:
            moved = _moved(fitted[rows], law, rows)
        else:
            step = _step(fitted[rows], law, is_spectral, rows)
            moved = _Moved(step.centre, np.einsum("rii->ri", step.covariance))
        centre[rows] = moved.centre
        errors[rows] = np.sqrt(np.where(moved.variance >= 0, moved.variance, np.nan))
    return Difficulties(centre, errors, fitted, law, is_spectral)


class _Moved(NamedTuple):
    """centre: β̃, (reps, m). variance: of it, (reps, m)."""

    centre: Floats
    variance: Floats


class _Step(NamedTuple):
    """centre: β̃, (reps, m). covariance: K⁺MK⁺, (reps, m, m). inverse: K⁺."""

    centre: Floats
    covariance: Floats
    inverse: Floats


@dataclass(frozen=True)
class _Pivot:
    """T of noisy counts of some replications, and how it varies.

    step: from β̂. shared: M's part that needs a law of abilities, at β̂. inflation: Var T, (reps, m).
    """

    law: NoisyCountLaw
    is_spectral: bool
    rows: slice
    step: _Step
    shared: Floats
    inflation: Floats

    @classmethod
    def at(cls, fitted: Floats, law: NoisyCountLaw, is_spectral: bool, rows: slice) -> "_Pivot":
        """That of β̂ = fitted, (reps of these rows, m)."""
        weight = _weights(fitted, is_spectral)
        with np.errstate(all="ignore"):
            shared = law.item_covariance(fitted, weight, rows)
            score_covariance = law.single_covariance(weight, rows) + shared
        step = _step_of(fitted, weight, law.counts(rows), score_covariance)
        inflation = _inflation(step, weight, law.count_variance(rows))
        return cls(law, is_spectral, rows, step, shared, inflation)

    def interval(self, quantile: float | Floats) -> Interval:
        """Where |T| is at most z = quantile times its standard deviation, (reps, m)."""
        reach = quantile * np.sqrt(self.inflation)
        low = np.empty_like(reach)
        high = np.empty_like(reach)
        for item in range(reach.shape[1]):
            low[:, item] = self._end(item, -reach[:, item])
            high[:, item] = self._end(item, reach[:, item])
        return Interval(low, high)

    def _end(self, item: int, reach: Floats) -> Floats:
        """b of an item, (reps,): one iteration.

        The first value where that has no answer, and the outer of both where errors fall to less
        than half on the way: T is then far from linear.
        """
        covariance = self.step.covariance
        centre = self.step.centre
        variance = covariance[:, item, item]
        with np.errstate(all="ignore"):
            first = centre[:, item] + reach * np.sqrt(variance)
            slope = covariance[:, :, item] / variance[:, None]
            there = centre + slope * (first - centre[:, item])[:, None]
            weight = _weights(there, self.is_spectral)
            score_covariance = self.law.single_covariance(weight, self.rows) + self.shared
            step = _step_of(there, weight, self.law.counts(self.rows), score_covariance)
            error = np.sqrt(step.covariance[:, item, item])
            end = step.centre[:, item] + reach * error
            outer = np.where(reach > 0, np.fmax(first, end), np.fmin(first, end))
            falls = error < HALVED * np.sqrt(variance)
        return np.where(falls | ~np.isfinite(end), outer, end)


def _inflation(step: _Step, weight: Floats, count_variance: Floats) -> Floats:
    """Var T, (reps, m): 1 where K does not vary."""
    total = weight + weight.mT
    flow = weight * weight.mT / total  # f
    variance = np.einsum("rii->ri", step.covariance)
    apart = variance[:, :, None] + variance[:, None] - 2 * step.covariance  # V
    inflation = np.ones(variance.shape)
    for item in range(variance.shape[1]):
        row = step.inverse[:, item]
        along = row[:, :, None] - row[:, None]  # k
        row = step.covariance[:, item]
        across = row[:, :, None] - row[:, None]  # x
        scale = variance[:, item].reshape(-1, 1, 1)
        with np.errstate(all="ignore"):
            other = np.maximum(apart - across**2 / scale, 0)
            turned = (flow * along) ** 2 * other * count_variance / scale
        inflation[:, item] += turned.sum(axis=(1, 2)) / 2
    return inflation


def _pair_covariance(ahead: Array, pairs: Array, weight: Floats, flip: float) -> Floats:
    """Σ_l ψ_l ψ_lᵀ of persons who answer two items each at most, (reps, m, m).

    ahead: Ỹ, persons whose released responses to i and j are right and wrong. pairs: who answered
    both. ψ_lj = −ψ_li, so that this is a Laplacian; a right response counts h = (1 − f)/(1 − 2f)
    as right and g = 1 − h as wrong, and a wrong one the reverse:

        |ψ_li| = |h² a_ij − g² a_ji|, |h² a_ji − g² a_ij| or |gh (a_ij − a_ji)|

    where i alone is right, j alone, or both or none. O(reps · m²).
    """
    hit = (1 - flip) / (1 - 2 * flip)
    miss = 1 - hit
    lead = hit**2 * weight - miss**2 * weight.mT
    tie = hit * miss * (weight - weight.mT)
    alike = pairs - ahead - ahead.mT
    weights = ahead * lead**2 + ahead.mT * lead.mT**2 + alike * tie**2
    return laplacian_of(without_diagonal(weights))


def _step(theta: Floats, law: DifficultyLaw, is_spectral: bool, rows: slice) -> _Step:
    weight = _weights(theta, is_spectral)
    with np.errstate(all="ignore"):
        covariance = law.covariance(theta, weight, rows)
    return _step_of(theta, weight, law.counts(rows), covariance)


def _step_of(theta: Floats, weight: Floats, counts: Array, score_covariance: Floats) -> _Step:
    """The step from theta, given M there."""
    newton = _Newton.at(theta, weight, counts)
    with np.errstate(all="ignore"):
        covariance = newton.inverse @ score_covariance @ newton.inverse
    is_known = np.isfinite(covariance).all(axis=(1, 2)) & newton.is_definite
    centre = np.where(is_known[:, None], newton.centre, np.nan)
    covariance[~is_known] = np.nan
    return _Step(centre, covariance, newton.inverse)


def _moved(theta: Floats, law: ResponseLaw, rows: slice) -> _Moved:
    """The step from spectral difficulties, and its variance from each person's part of it."""
    newton = _Newton.at(theta, _weights(theta, True), law.counts(rows))
    with np.errstate(all="ignore"):
        variance = law.spectral_variance(_spectral(theta), newton.inverse, rows)
    is_known = np.isfinite(variance).all(axis=1) & newton.is_definite
    variance[~is_known] = np.nan
    return _Moved(np.where(is_known[:, None], newton.centre, np.nan), variance)


class _Newton(NamedTuple):
    """centre: β̃, (reps, m). inverse: K⁺, (reps, m, m). is_definite: of K, (reps,)."""

    centre: Floats
    inverse: Floats
    is_definite: Booleans

    @classmethod
    def at(cls, theta: Floats, weight: Floats, counts: Array) -> "_Newton":
        """One step of Newton's method from theta."""
        flow = _flow(counts, weight)
        with np.errstate(all="ignore"):
            inverse = inverse_laplacian(flow, np.zeros(len(theta)))
            moves = weight * counts
            pull = moves.sum(axis=1) - moves.sum(axis=2)  # Ψ
            centre = theta + np.matvec(inverse, pull)
        return cls(centre, inverse, is_definite(flow))


def _weights(theta: Floats, is_spectral: bool) -> Floats:
    """a, (reps, m, m): e^(β_i) of the largest, or σ(β_i − β_j)."""
    if not is_spectral:
        return np.asarray(expit(theta[:, :, None] - theta[:, None]))
    return np.repeat(_spectral(theta)[:, :, None], theta.shape[1], axis=2)


def _spectral(theta: Floats) -> Floats:
    """e^(β_i) of the largest, (reps, m)."""
    return np.asarray(np.exp(theta - theta.max(axis=1, keepdims=True)))


def _flow(counts: Array, weight: Floats) -> Floats:
    """F, (reps, m, m), symmetric."""
    share = weight * weight.mT / (weight + weight.mT)
    flow: Floats = share * (counts + counts.mT)
    return without_diagonal(flow)


def _edges(edges: Booleans | None, rows: slice) -> Booleans | None:
    if edges is None or len(edges) == 1:
        return edges
    return edges[rows]


def law_of(release: PairwiseRelease, debiased: bool) -> DifficultyLaw | None:
    """How Ψ of a release varies; None where that is not known."""
    if isinstance(release, FlippedResponses):
        return ResponseLaw(release, debiased)
    if isinstance(release, Differences):
        return NoisyCountLaw(release)
    return None
