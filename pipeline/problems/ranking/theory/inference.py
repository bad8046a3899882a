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

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from pipeline.problems.common.ranks import RankIntervals, difference_errors, rank_intervals
from pipeline.study.arrays import Floats
from pipeline.study.intervals import Interval, normal_interval

from .risk import inverse_laplacian

# Of one slice's (rep, item, item) array: a few such arrays stay in the cache.
SLICE_BYTES = 1 << 19


class ScoreMoments(NamedTuple):
    """Weights of Laplacians, (reps, m, m), symmetric with zero diagonals.

    curvature: of K, the Hessian of the loss without a ridge. variance: of V, the covariance of its
    gradient.
    """

    curvature: Floats
    variance: Floats


class ScoreLaw(Protocol):
    """How the gradient of a loss varies, whatever θ is; known from a release."""

    def moments(self, theta: Floats, rows: slice) -> ScoreMoments:
        """Moments at θ of some replications; theta: (reps of these rows, m)."""


@dataclass(frozen=True)
class Corrected:
    """θ̃, the estimate without the ridge's bias, and how it varies.

    theta: (reps, m) or (m,), logits, sums to 0. covariance: (reps, m, m) or (m, m), K⁺VK⁺. NaN
    where the condition number of K exceeds 1e12.
    """

    theta: Floats
    covariance: Floats

    @cached_property
    def errors(self) -> Floats:
        """Standard error of every score, in the shape of theta."""
        variance: Floats = np.einsum("...ii->...i", self.covariance)
        return np.sqrt(variance)

    @cached_property
    def difference_errors(self) -> Floats:
        """(…, m, m): standard errors of θ̃_i − θ̃_j."""
        return difference_errors(self.covariance)

    def interval(self, level: float) -> Interval:
        """An interval for each score, which covers it with probability `level`."""
        return normal_interval(self.theta, self.errors, level)

    def differences(self, level: float) -> Interval:
        """An interval for each difference θ_i − θ_j, (…, m, m); 0 on the diagonal."""
        leads = self.theta[..., :, None] - self.theta[..., None, :]
        return normal_interval(leads, self.difference_errors, level)

    def ranks(self, level: float) -> RankIntervals:
        """Intervals of all ranks, which cover all of them at once with probability `level`."""
        m = self.theta.shape[-1]
        scores = self.theta.reshape(-1, m)
        ranks = rank_intervals(scores, self.covariance.reshape(-1, m, m), level)
        shape = self.theta.shape
        return RankIntervals(ranks.low.reshape(shape), ranks.high.reshape(shape))


def standard_errors(theta: Floats, law: ScoreLaw, ridge: float) -> Floats:
    """(reps, m): roots of the diagonal of J⁺VJ⁺ at θ̂ = theta, (reps, m).

    NaN where J's condition number exceeds 1e12. O(reps · m³).
    """
    errors = np.empty(theta.shape)
    for rows in _slices(theta):
        moments = law.moments(theta[rows], rows)
        inverse = _inverse(moments, ridge)
        half = inverse @ _laplacian(moments.variance)
        errors[rows] = np.sqrt(np.einsum("rij,rij->ri", half, inverse))
    return errors


def corrected(theta: Floats, law: ScoreLaw, ridge: float) -> Corrected:
    """θ̃ = θ̂ + 2λK⁺θ̂ and K⁺VK⁺ of θ̂ = theta, (reps, m), which sum to 0. O(reps · m³)."""
    reps, m = theta.shape
    centre = np.empty((reps, m))
    covariance = np.empty((reps, m, m))
    for rows in _slices(theta):
        moments = law.moments(theta[rows], rows)
        inverse = _inverse(moments, 0.0)
        centre[rows] = theta[rows] + 2 * ridge * np.matvec(inverse, theta[rows])
        np.matmul(inverse @ _laplacian(moments.variance), inverse, out=covariance[rows])
    return Corrected(centre, covariance)


def _slices(theta: Floats) -> list[slice]:
    reps, m = theta.shape
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
