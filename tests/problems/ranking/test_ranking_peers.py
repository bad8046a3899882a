"""Standard errors against those of others, without privacy: a binomial regression, and arena-rank's.

The regression is what statsmodels' GLM fits and what psychotools' btmodel does (type "logit"): one
score is set to 0, and its covariance is (XᵀWX)⁻¹. arena-rank (arena_rank/models/bradley_terry.py, at
lmarena/arena-rank) takes squared residuals of each outcome in place of the model's variance.
"""

import numpy as np
import pytest
from scipy.special import expit

from pipeline.problems.ranking.estimators.errors import MeanScores
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.ranking.theory.inference import corrected

M = 6
PEOPLE = 192  # as many as the respondents on German parties
FIRST, SECOND = np.triu_indices(M, 1)


def comparisons() -> np.ndarray:
    """Wins of the first of each pair."""
    rng = np.random.default_rng(9)
    theta = np.array([1.2, 0.7, 0.3, -0.2, -0.8, -1.2])
    return rng.binomial(PEOPLE, expit(theta[FIRST] - theta[SECOND]))


def regression(wins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores and covariance by iteratively reweighted least squares; the last score is 0."""
    design = np.zeros((len(wins), M))
    design[np.arange(len(wins)), FIRST] = 1
    design[np.arange(len(wins)), SECOND] = -1
    design = design[:, :-1]
    score = np.zeros(M - 1)
    for _ in range(50):
        chance = expit(design @ score)
        weight = PEOPLE * chance * (1 - chance)
        working = design @ score + (wins - PEOPLE * chance) / weight
        information = design.T @ (weight[:, None] * design)
        score = np.linalg.solve(information, design.T @ (weight * working))
    covariance = np.zeros((M, M))
    covariance[:-1, :-1] = np.linalg.inv(information)
    return np.append(score, 0.0), covariance


def test_without_privacy_errors_are_those_of_a_binomial_regression() -> None:
    """Of scores less the last one, and of all differences, to 1e-6."""
    wins = comparisons()
    score, covariance = regression(wins)
    release = FlippedWins(wins[None, None], np.array([PEOPLE]), np.array([np.inf]), M)
    estimate = Debiased(m=M, lambda_scale=0.0).fit(release, np.random.default_rng(0))
    np.testing.assert_allclose(estimate.theta[0], score - score.mean(), atol=1e-6)
    centring = np.eye(M) - 1 / M
    expected = centring @ covariance @ centring
    np.testing.assert_allclose(estimate.corrected.covariance[0], expected, rtol=1e-6, atol=1e-12)
    ends = estimate.corrected.differences(0.95)
    half = (ends.high - ends.low)[0, :-1, -1] / 2
    np.testing.assert_allclose(half, 1.959964 * np.sqrt(np.diag(covariance)[:-1]), rtol=1e-6)


def test_arena_ranks_errors_are_ours_where_residuals_are_the_models() -> None:
    """At the expected wins both meats are the same; at others they differ, by little."""
    theta = np.array([1.2, 0.7, 0.3, -0.2, -0.8, -1.2])
    chance = expit(theta[FIRST] - theta[SECOND])
    for wins, close in ((PEOPLE * chance, 1e-6), (comparisons().astype(float), 0.1)):
        release = FlippedWins(wins[None, None], np.array([PEOPLE]), np.array([np.inf]), M)
        estimate = Debiased(m=M, lambda_scale=0.0).fit(release, np.random.default_rng(0))
        scores = estimate.theta[0]
        fitted = expit(scores[FIRST] - scores[SECOND])
        hessian = np.zeros((M, M))
        gradient = np.zeros((M, M))
        for pair, (i, j) in enumerate(zip(FIRST, SECOND, strict=True)):
            contrast = np.zeros(M)
            contrast[i] = 1
            contrast[j] = -1
            square = np.outer(contrast, contrast)
            p = fitted[pair]
            hessian += PEOPLE * p * (1 - p) * square
            lost = PEOPLE - wins[pair]
            gradient += (wins[pair] * (1 - p) ** 2 + lost * p**2) * square
        inverse = np.linalg.pinv(hessian)
        expected = np.sqrt(np.diag(inverse @ gradient @ inverse))
        ours = corrected(estimate.theta, MeanScores(release), 0.0).errors[0]
        np.testing.assert_allclose(ours, expected, rtol=close)


@pytest.mark.parametrize("users", [50, 400])
def test_two_items_have_the_textbooks_error(users: int) -> None:
    """θ_1 − θ_2 is a logit: its variance is 1/(n p (1 − p))."""
    wins = np.array([[[0.7 * users]]])
    release = FlippedWins(wins, np.array([users]), np.array([np.inf]), 2)
    estimate = Debiased(m=2, lambda_scale=0.0).fit(release, np.random.default_rng(0))
    ends = estimate.corrected.differences(0.95)
    half = float(ends.high[0, 0, 1] - ends.low[0, 0, 1]) / 2
    assert half == pytest.approx(1.959964 / np.sqrt(users * 0.7 * 0.3), rel=1e-6)
