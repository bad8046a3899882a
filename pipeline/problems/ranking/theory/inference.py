"""How sure the scores of a Bradley–Terry–Luce fit are, from the release
alone.

θ̂ minimises Σ_{i<j} n_ij [log(1 + e^{θ_i−θ_j}) − z̄_ij (θ_i − θ_j)] + λ‖θ‖²,
eq. (3) with n_ij = 1 if all users compare all pairs. Its gradient at θ is Σ_j
n_ij (σ(θ_i−θ_j) − z̄_ij) + 2λθ_i, its Hessian J = K + 2λI, K the Laplacian
with weights n_ij w_ij, w = σ(1 − σ) (Lemma S5). To first order, in the space
Σθ = 0,

    θ̂ − θ* = J⁺ S − 2λ J⁺ θ*,    S_i = Σ_j n_ij (z̄_ij − σ(θ*_i − θ*_j)).

Comparisons of different pairs are independent, so that Cov S = V is the
Laplacian with weights n_ij² Var(z̄_ij), and Cov θ̂ = J⁺VJ⁺: the sandwich
(Huber 1967).

The ridge's bias −2λJ⁺θ* is not negligible where privacy costs much, since λ
grows as the variance does. The mean J⁺Kθ* of θ̂ is solved for θ*:

    θ̃ = K⁺Jθ̂ = θ̂ + 2λK⁺θ̂,

which is one step of Newton's method from θ̂ to the minimum without a ridge
(Le Cam's one-step estimator), has no bias to first order, and Cov θ̃ = K⁺VK⁺.
Intervals are around θ̃. K and V are evaluated at θ̂: the error of that is of
second order. Their quantile is the normal one, but where a curator's Laplace
noise is a large part of few numbers: `problems.common.heavy_tails`.

Source: Xu, Sun and Cheng, eq. (3), Lemmas 2 and S5; van der Vaart (1998),
Asymptotic Statistics, Theorem 5.21 (sandwich) and §5.7 (one-step estimators).
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.problems.common.heavy_tails import NoiseParts, excess_kurtosis, fourth_cumulants
from pipeline.problems.common.laplacians import inverse_laplacian, laplacian_of
from pipeline.problems.common.normal_scores import NormalScores, slices_of
from pipeline.problems.common.ranks import difference_errors
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Floats

from .risk import Variances


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

    @property
    def has_heavy_tails(self) -> bool:
        """Whether `noise_parts` matter: noise of few draws that is not normal."""
        return False

    def noise_parts(self, inverse: Floats, theta: Floats, rows: slice) -> Iterator[NoiseParts]:
        """What draws of such noise do to K⁺ times the gradient, of some replications.

        inverse: K⁺ at θ = theta, (reps of these rows, m, m). None where the gradient is a sum of
        many small parts, and so normal.
        """
        yield from ()

    def variances(self, theta: Floats, ridge: float) -> Variances:
        """Diagonal of AVA and Aθ, A = (K + 2λI)⁺, at θ of all replications, (reps, m).

        NaN where the condition number exceeds 1e12. O(reps · m³).
        """
        variance = np.empty(theta.shape)
        image = np.empty(theta.shape)
        for rows in slices_of(*theta.shape):
            moments = self.moments(theta[rows], rows)
            inverse = _inverse(moments, ridge)
            half = inverse @ laplacian_of(moments.variance)
            variance[rows] = np.vecdot(half, inverse)
            image[rows] = np.matvec(inverse, theta[rows])
        return Variances(variance, image)


@dataclass(frozen=True)
class Corrected(NormalScores):
    """θ̃, the estimate without the ridge's bias, and how it varies.

    theta: (reps, m) or (m,), logits, sums to 0. errors: standard errors of it, in that shape.
    fitted: θ̂, where the law was evaluated. law: None where errors are not known. NaN where the
    condition number of K exceeds 1e12.
    """

    theta: Floats
    errors: Floats
    fitted: Floats
    law: ScoreLaw | None

    def covariance_of(self, rows: slice) -> Floats:
        """(reps of these rows, m, m): K⁺VK⁺, logits²."""
        theta = np.atleast_2d(self.fitted)[rows]
        if self.law is None:
            return np.full((*theta.shape, theta.shape[1]), np.nan)
        moments = self.law.moments(theta, rows)
        inverse = _inverse(moments, 0.0)
        covariance: Floats = inverse @ laplacian_of(moments.variance) @ inverse
        return covariance

    def excess_of(self, rows: slice, of_differences: bool) -> Floats | None:
        """Excess kurtosis of a curator's Laplace noise in θ̃; None where errors are normal."""
        if self.law is None or not self.law.has_heavy_tails:
            return None
        theta = np.atleast_2d(self.fitted)[rows]
        moments = self.law.moments(theta, rows)
        inverse = _inverse(moments, 0.0)
        covariance = inverse @ laplacian_of(moments.variance) @ inverse
        parts = self.law.noise_parts(inverse, theta, rows)
        cumulants = fourth_cumulants(parts, of_differences)
        variance = np.einsum("rii->ri", covariance)
        if of_differences:
            variance = difference_errors(covariance) ** 2
        return excess_kurtosis(cumulants, variance)


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


def _inverse(moments: ScoreMoments, ridge: float) -> Floats:
    """(K + 2λI)⁺; NaN where it has hardly any digits."""
    with np.errstate(all="ignore"):
        return inverse_laplacian(moments.curvature, np.full(len(moments.curvature), ridge))
