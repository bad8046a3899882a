"""How sure abilities of workers are, and posterior probabilities of labels,
from answers alone.

With c = 2p − 1 of released answers s_ij = ±1, and labels that are ±1 with
chance ½, a task has the likelihood ½ Π_i (1 + c_i s_ij)/2 + ½ Π_i (1 − c_i
s_ij)/2. Where expectation–maximisation stops inside the range of abilities,
the score Σ_j (s_ij u_j − c_i)/(1 − c_i²) is 0 for each worker, u_j = 2y_j − 1
the posterior, and the observed information is (Louis 1982: that of complete
data, less the variance of its score that the labels leave)

    J = diag(k_i/(1 − c_i²)) − Σ_j (1 − u_j²) v_j v_jᵀ,    v_ji = s_ij/(1 − c_i²),

k_i the answers of worker i. Tasks are independent, whatever their labels are,
as a task and the opposite one have one law; so Cov ĉ = J⁻¹. An ability is ½ +
c/(2t), t = 1 − 2 flip: flips are in the answers, and so in J.

The posterior's log odds are ℓ_j = Σ_i 2 s_ij artanh c_i, and Var ℓ_j = 4 v_jᵀ
J⁻¹ v_j by the delta method.

Source: first principles; Louis (1982), Finding the observed information
matrix when using the EM algorithm, Journal of the Royal Statistical Society B
44, 226–233.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from pipeline.problems.common.normal_scores import SLICE_BYTES, NormalScores
from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.intervals import Interval, normal_interval

INSIDE = 1e-9  # distance from an end of the range of c below which an ability is at the end
LEAST_SHARE = 1e-10  # of the largest eigenvalue of J: with less, abilities are not determined


@dataclass(frozen=True)
class AnswerLaw:
    """What the information is made of.

    answers: s, (reps, n, m), 0 for none. leaning: u, (reps, m). agreement: c, (reps, n).
    attenuation: t. limit: the largest |c| that the estimator gives.
    """

    answers: Array
    leaning: Floats
    agreement: Floats
    attenuation: float
    limit: float

    def covariance(self, rows: slice) -> Floats:
        """J⁻¹ of some replications, (reps, n, n); NaN for workers without answers or at an end.

        Those at an end count as known. All is NaN where J is not positive definite, as at a saddle.
        O(reps · n² · (n + m)).
        """
        signs = self.answers[rows].astype(float)
        agreement = self.agreement[rows]
        count = np.abs(signs).sum(axis=2)
        is_inside = (count > 0) & (np.abs(agreement) < self.limit - INSIDE)
        scale = np.where(is_inside, 1 - agreement**2, 1.0)
        part = signs / scale[:, :, None]
        unsure = 1 - self.leaning[rows] ** 2
        information = -(part * unsure[:, None]) @ part.mT
        information *= is_inside[:, :, None] & is_inside[:, None]
        diagonal = np.einsum("rii->ri", information)
        diagonal += np.where(is_inside, count / scale, 1.0)
        return _inverse(information, is_inside)


@dataclass(frozen=True)
class Abilities(NormalScores):
    """Abilities, (reps, n), normal around the true ones, with the covariance of the law."""

    theta: Floats
    law: AnswerLaw

    @cached_property
    def errors(self) -> Floats:
        """(reps, n): standard errors; O(reps · n² · (n + m))."""
        variance = np.empty(np.atleast_2d(self.theta).shape)
        for rows in _slices_of(self.law.answers.shape):
            variance[rows] = np.einsum("rii->ri", self.covariance_of(rows))
        return np.sqrt(variance).reshape(self.theta.shape)

    def covariance_of(self, rows: slice) -> Floats:
        """(reps, n, n), of some replications; NaN where answers are coins, t = 0."""
        covariance = self.law.covariance(rows)
        if self.law.attenuation == 0:
            return np.full_like(covariance, np.nan)
        scaled: Floats = covariance / (4 * self.law.attenuation**2)
        return scaled


def posterior_interval(abilities: Abilities, level: float) -> Interval:
    """Ends for the posterior of each label at the true abilities, (reps, m) or (m,).

    Normal in log odds. Workers whose abilities have no errors count as known.
    """
    law = abilities.law
    odds = np.empty(law.leaning.shape)
    errors = np.empty(law.leaning.shape)
    for row in range(len(odds)):
        rows = slice(row, row + 1)
        signs = law.answers[rows].astype(float)
        agreement = law.agreement[rows]
        odds[rows] = np.vecmat(2 * np.arctanh(agreement), signs)
        covariance = law.covariance(rows)
        is_unknown = np.isnan(covariance).all(axis=(1, 2))
        covariance = np.nan_to_num(covariance, nan=0.0)
        part = signs / (1 - agreement**2)[:, :, None]
        variance = 4 * ((covariance @ part) * part).sum(axis=1)
        variance[is_unknown] = np.nan
        errors[rows] = np.sqrt(variance)
    ends = normal_interval(odds, errors, level)
    shape = odds.shape if abilities.theta.ndim > 1 else odds.shape[1:]
    return Interval(expit(ends.low).reshape(shape), expit(ends.high).reshape(shape))


def posterior(answers: Array, abilities: Floats, attenuation: float) -> Floats:
    """Chance that a label is 1, (reps, m), at known abilities p, (reps, n), of unflipped answers.

    answers: (reps, n, m), as they were released.
    """
    right = 0.5 + attenuation * (abilities - 0.5)
    chance: Floats = expit(np.vecmat(logit(right), answers.astype(float)))
    return chance


def _slices_of(shape: tuple[int, ...]) -> list[slice]:
    """Replications whose answers, of this shape, are computed with at a time."""
    reps, n, m = shape
    length = max(1, SLICE_BYTES // (8 * n * max(n, m)))
    return [slice(start, start + length) for start in range(0, reps, length)]


def _inverse(information: Floats, is_inside: Booleans) -> Floats:
    values, vectors = np.linalg.eigh(information)
    is_definite = values[:, 0] > LEAST_SHARE * values[:, -1]
    safe = np.where(is_definite[:, None], values, 1.0)
    inverse = (vectors / safe[:, None]) @ vectors.mT
    is_known = is_inside & is_definite[:, None]
    inverse[~(is_known[:, :, None] & is_known[:, None])] = np.nan
    unknown: Floats = inverse
    return unknown
