"""The Cramér–Rao bound of the Rasch model: how well responses determine the difficulties."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Floats, Integers

_information_sums = function(
    __file__,
    "information_sums",
    """
    reps: size
    n: size
    r: size; r >= 1
    odds: f8[reps, r]
    share: f8[reps, r]
    ability: f8[reps, n]
    own: out f8[reps, r]
    core: out f8[reps, r, r]
""",
)

# Half of the range of difficulties, logits, up to which σ' is interpolated: rounding
# grows with it.
WIDEST = 4.0
DIGITS = 33.0  # −log of what is neglected


def item_information(theta: Floats, ability: Floats) -> Floats:
    """Fisher information of β if all responses are observed, abilities unknown; (reps, m, m).

    theta: β*, (reps, m), logits. ability: θ*, (reps, n), logits.

    With v_li = σ'(θ_l − β_i) the information of (β, θ) is a bipartite
    Laplacian; what is left of it for β is Σ_l (diag(v_l) − v_l v_lᵀ/Σ_i
    v_li), whose rows sum to 0. O(reps · (n · r² + m² · r)), see `_parts`.
    """
    information = np.empty((*theta.shape, theta.shape[1]))
    for part in _parts(theta, ability):
        information[part.rows] = -(part.basis @ part.core @ part.basis.mT)
        information[part.rows] += part.diagonal[:, :, None] * np.eye(theta.shape[1])
    return information


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def cramer_rao_risk(theta: Floats, ability: Floats, p: float = 1.0) -> Floats:
    """Cramér–Rao bound tr(I⁺)/m on E‖β̂ − β*‖₂²/m of unbiased estimators, without privacy.

    In logits², of estimators with Σβ̂ = 0. theta: β*, (reps, m). ability:
    θ*, (reps, n), unknown to the estimator. p: probability that a response
    is observed; responses missing at random leave p times the information
    of all. Of order 1/(np). Returns (reps,), NaN without persons and for
    infinite logits. O(reps · (n + m + r) · r²), r ≤ m, and r ≤ 48 where
    difficulties are within 8 logits, see `_parts`.

    With I = D − CKCᵀ, whose null vector 1 = C1 gets the eigenvalue ℓ = tr(I)/m, so
    that K becomes J = K − 11ᵀℓ/m: tr(I⁺) = Σ_i 1/D_ii + tr((1 − JCᵀD⁻¹C)⁻¹
    JCᵀD⁻²C) − 1/ℓ (Woodbury).
    Source: Fisher information of eq. (1) of Nguyen and Zhang; that the bound is of
    order m/(np) for ‖·‖₂² is Theorem 3.5 of Nguyen and Zhang (2022), which Theorem
    3.3 extends to all estimators.
    """
    reps, m = theta.shape
    risk = np.full(reps, np.nan)
    if not ability.shape[1]:
        return risk
    parts = _parts(np.asarray(theta, float), np.asarray(ability, float))
    for part in parts:
        diagonal = part.diagonal
        basis = part.basis
        trace = diagonal.sum(axis=1) - np.einsum("rij,rij->r", basis @ part.core, basis)
        level = trace / m
        core = part.core - (level / m)[:, None, None]
        once = basis / diagonal[:, :, None]
        inner = np.eye(core.shape[1]) - core @ (basis.mT @ once)
        rest = np.einsum("rii->r", np.linalg.solve(inner, core @ (once.mT @ once)))
        risk[part.rows] = ((1 / diagonal).sum(axis=1) + rest - 1 / level) / (m * p)
    return risk


@dataclass(frozen=True)
class _Part:
    """The information diag(D) − CKCᵀ of some replications.

    rows: their numbers. diagonal: D, (rows, m). basis: C, (rows, m, r).
    core: K, (rows, r, r).
    """

    rows: Integers
    diagonal: Floats
    basis: Floats
    core: Floats


def _parts(theta: Floats, ability: Floats) -> Iterator[_Part]:
    """The information of replications of one number of points r at a time.

    v_l = C σ'(θ_l − x) for r difficulties x: the items' own, C = 1, or,
    where they are fewer, Chebyshev points between the least and the
    largest. σ'(θ − ·) has its poles at a distance of π or more, so r points
    leave an error of order ρ^−r, log ρ = arsinh(π over half of the range):
    neglected are e^−33 (Trefethen, Approximation Theory and Approximation
    Practice, Theorem 8.2). Replications of one r at a time, whatever the
    others. O(reps · n · r²).
    """
    m = theta.shape[1]
    half = np.ptp(theta, axis=1) / 2
    needed = DIGITS / np.arcsinh(np.pi / np.where(half > 0, half, 1)) + 2
    interpolated = (half > 0) & (half <= WIDEST) & (needed < m)
    points = np.where(interpolated, np.ceil(needed), m).astype(int)
    for r in np.unique(points):
        rows = np.flatnonzero(points == r)
        difficulties, matrices = _interpolation(theta[rows], r)
        diagonal, basis, core = _sums(difficulties, matrices, ability[rows])
        yield _Part(rows, diagonal, basis, core)


def _sums(points: Floats, basis: Floats, ability: Floats) -> tuple[Floats, Floats, Floats]:
    """D, C and K of replications; points: (reps, r), basis: (reps, m, r). Compiled."""
    reps, r = points.shape
    odds = np.exp(points)
    diagonal = np.empty((reps, r))
    core = np.empty((reps, r, r))
    share = odds * basis.sum(axis=1)
    _information_sums(reps, ability.shape[1], r, odds, share, ability, diagonal, core)
    core *= odds[:, :, None] * odds[:, None]
    return np.matvec(basis, odds * diagonal), basis, core


def _interpolation(theta: Floats, r: int) -> tuple[Floats, Floats]:
    """Points, (reps, r), and matrices that take values of σ'(θ − ·) there to those at β.

    Matrices: (reps, m, r).
    """
    reps, m = theta.shape
    if r == m:
        return theta, np.broadcast_to(np.eye(m), (reps, m, m))
    middle = (theta.max(axis=1) + theta.min(axis=1))[:, None] / 2
    half = np.ptp(theta, axis=1)[:, None] / 2
    angle = np.pi * (np.arange(r) + 0.5) / r
    coefficients = np.cos(np.outer(np.arange(r), angle)) * (2 / r)
    coefficients[0] /= 2
    polynomials = np.ones((r, reps, m))  # of Chebyshev, by their recurrence
    polynomials[1] = np.clip((theta - middle) / half, -1, 1)
    for d in range(2, r):
        np.multiply(polynomials[1], polynomials[d - 1], out=polynomials[d])
        polynomials[d] *= 2
        polynomials[d] -= polynomials[d - 2]
    return middle + half * np.cos(angle), np.moveaxis(polynomials, 0, 2) @ coefficients
