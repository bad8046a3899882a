"""How sure the scores of a Bradley–Terry–Luce fit are, from the release alone.

θ̂ minimises Σ_{i<j} n_ij [log(1 + e^{θ_i−θ_j}) − z̄_ij (θ_i − θ_j)] + λ‖θ‖², eq. (3) with n_ij = 1
if all users compare all pairs. Its gradient at θ is Σ_j n_ij (σ(θ_i−θ_j) − z̄_ij) + 2λθ_i, its
Hessian J = K + 2λI, K the Laplacian with weights n_ij w_ij, w = σ(1 − σ) (Lemma S5). To first order,
in the space Σθ = 0,

    θ̂ − θ* = J⁺ S − 2λ J⁺ θ*,    S_i = Σ_j n_ij (z̄_ij − σ(θ*_i − θ*_j)).

Comparisons of different pairs are independent, so that Cov S = V is the Laplacian with weights
n_ij² Var(z̄_ij), and Cov θ̂ = J⁺VJ⁺: the sandwich (Huber 1967).

The ridge's bias −2λJ⁺θ* is not negligible where privacy costs much, since λ grows as the variance
does. The mean J⁺Kθ* of θ̂ is solved for θ*:

    θ̃ = K⁺Jθ̂ = θ̂ + 2λK⁺θ̂,

which is one step of Newton's method from θ̂ to the minimum without a ridge (Le Cam's one-step
estimator), has no bias to first order, and Cov θ̃ = K⁺VK⁺. Intervals are around θ̃. K and V are
evaluated at θ̂: the error of that is of second order.

Source: Xu, Sun and Cheng, eq. (3), Lemmas 2 and S5; van der Vaart (1998), Asymptotic Statistics,
Theorem 5.21 (sandwich) and §5.7 (one-step estimators).
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pipeline.problems.common.ranks import RankIntervals, difference_errors, rank_intervals
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Floats
from pipeline.study.intervals import Interval, normal_interval

from .risk import Variances, inverse_laplacian

# Of one slice's (rep, item, item) array: a few such arrays stay in the cache.
SLICE_BYTES = 1 << 19


class ScoreMoments(NamedTuple):
    """Weights of Laplacians, (reps, m, m), symmetric with zero diagonals.

    curvature: of K, the Hessian of the loss without a ridge. variance: of V, the covariance of its
    gradient.
    """

    curvature: Floats
    variance: Floats


class ScoreLaw(Abstract):
    """How the gradient of a loss varies, whatever θ is; known from a release."""

    @abstractmethod
    def moments(self, theta: Floats, rows: slice) -> ScoreMoments:
        """Moments at θ of some replications; theta: (reps of these rows, m)."""

    def variances(self, theta: Floats, ridge: float) -> Variances:
        """Diagonal of AVA and Aθ, A = (K + 2λI)⁺, at θ of all replications, (reps, m).

        NaN where the condition number exceeds 1e12. O(reps · m³).
        """
        variance = np.empty(theta.shape)
        image = np.empty(theta.shape)
        for rows in _slices(*theta.shape):
            moments = self.moments(theta[rows], rows)
            inverse = _inverse(moments, ridge)
            half = inverse @ _laplacian(moments.variance)
            variance[rows] = np.vecdot(half, inverse)
            image[rows] = np.matvec(inverse, theta[rows])
        return Variances(variance, image)


@dataclass(frozen=True)
class Corrected:
    """θ̃, the estimate without the ridge's bias, and how it varies.

    theta: (reps, m) or (m,), logits, sums to 0. errors: standard errors of it, in that shape. fitted:
    θ̂, where the law was evaluated. law: None where errors are not known. NaN where the condition
    number of K exceeds 1e12.
    """

    theta: Floats
    errors: Floats
    fitted: Floats
    law: ScoreLaw | None

    @cached_property
    def covariance(self) -> Floats:
        """(reps, m, m) or (m, m): K⁺VK⁺, logits²; O(reps · m³)."""
        reps, m = np.atleast_2d(self.fitted).shape
        covariance = np.empty((reps, m, m))
        for rows in _slices(reps, m):
            covariance[rows] = self._covariance(rows)
        return covariance.reshape(*self.fitted.shape, m)

    def interval(self, level: float) -> Interval:
        """An interval for each score, which covers it with probability `level`."""
        return normal_interval(self.theta, self.errors, level)

    def differences(self, level: float) -> Interval:
        """An interval for each difference θ_i − θ_j, (…, m, m); 0 on the diagonal."""
        leads = self.theta[..., :, None] - self.theta[..., None, :]
        return normal_interval(leads, difference_errors(self.covariance), level)

    def ranks(self, level: float) -> RankIntervals:
        """Intervals of all ranks, which cover all of them at once with probability `level`.

        O(reps · m³), without covariances of all replications in memory.
        """
        scores = np.atleast_2d(self.theta)
        reps, m = scores.shape
        low = np.empty((reps, m), np.int64)
        high = np.empty((reps, m), np.int64)
        for rows in _slices(reps, m):
            ranks = rank_intervals(scores[rows], self._covariance(rows), level)
            low[rows] = ranks.low
            high[rows] = ranks.high
        return RankIntervals(low.reshape(self.theta.shape), high.reshape(self.theta.shape))

    def _covariance(self, rows: slice) -> Floats:
        """(reps of these rows, m, m): K⁺VK⁺."""
        theta = np.atleast_2d(self.fitted)[rows]
        if self.law is None:
            return np.full((*theta.shape, theta.shape[1]), np.nan)
        moments = self.law.moments(theta, rows)
        inverse = _inverse(moments, 0.0)
        covariance: Floats = inverse @ _laplacian(moments.variance) @ inverse
        return covariance


def standard_errors(theta: Floats, law: ScoreLaw, ridge: float) -> Floats:
    """(reps, m): roots of the diagonal of J⁺VJ⁺ at θ̂ = theta, (reps, m).

    NaN where J's condition number exceeds 1e12. O(reps · m³).
    """
    errors: Floats = np.sqrt(law.variances(theta, ridge).variance)
    return errors


def corrected(theta: Floats, law: ScoreLaw, ridge: float) -> Corrected:
    """θ̃ = θ̂ + 2λK⁺θ̂ and its standard errors, of θ̂ = theta, (reps, m), which sum to 0.

    O(reps · m³).
    """
    variances = law.variances(theta, 0.0)
    centre = theta + 2 * ridge * variances.image
    return Corrected(centre, np.sqrt(variances.variance), theta, law)


def _slices(reps: int, m: int) -> list[slice]:
    length = max(1, SLICE_BYTES // (8 * m * m))
    return [slice(start, start + length) for start in range(0, reps, length)]


def _inverse(moments: ScoreMoments, ridge: float) -> Floats:
    """(K + 2λI)⁺; NaN where it has hardly any digits."""
    with np.errstate(all="ignore"):
        return inverse_laplacian(moments.curvature, np.full(len(moments.curvature), ridge))


def _laplacian(weights: Floats) -> Floats:
    """(reps, m, m): with these weights between items."""
    laplacian = -weights
    np.einsum("rii->ri", laplacian)[...] = weights.sum(axis=2)
    return laplacian
