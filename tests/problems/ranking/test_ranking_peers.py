"""Standard errors against those of others, without privacy: a binomial regression, arena-rank's, and
what psychotools prints.

The regression is what statsmodels' GLM fits and what psychotools' btmodel does (type "logit"): one
score is set to 0, and its covariance is (XᵀWX)⁻¹. arena-rank (arena_rank/models/bradley_terry.py, at
lmarena/arena-rank) takes squared residuals of each outcome in place of the model's variance.
"""

import csv

import numpy as np
import pytest
from scipy.special import expit

from pipeline.problems.ranking.estimators.errors import MeanScores
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.ranking.theory.inference import corrected
from tests.helpers.real_data import real

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


def counted(path: str, ties: bool = True) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, and wins and comparisons of each pair, (pairs,), of a file; a tie is half a win."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = sorted({row[side] for row in rows for side in ("left", "right")})
    wins = np.zeros((len(names), len(names)))
    for row in rows:
        if row["label"] == "tie" and not ties:
            continue
        left = names.index(row["left"])
        right = names.index(row["right"])
        score = {"left": 1.0, "right": 0.0, "tie": 0.5}[row["label"]]
        wins[left, right] += score
        wins[right, left] += 1 - score
    first, second = np.triu_indices(len(names), 1)
    return names, wins[first, second], wins[first, second] + wins[second, first]


def without_privacy(wins: np.ndarray, trials: np.ndarray, items: int) -> FlippedWins:
    """Wins as they are; people compared some of the pairs."""
    users = np.array([int(trials.max())])
    compared = trials[None, None].astype(int)
    return FlippedWins(wins[None, None], users, np.array([np.inf]), items, compared)


# Estimate and standard error of each party, the FDP's score being 0: what btmodel of psychotools prints
# (tests/Examples/psychotools-Ex.Rout.save, at cran/psychotools).
PSYCHOTOOLS = {
    "none": (-0.3756, 0.0890),
    "Linke": (-0.6161, 0.0910),
    "Gruene": (1.1858, 0.0951),
    "SPD": (0.8131, 0.0907),
    "CDU/CSU": (0.1756, 0.0875),
}


@pytest.mark.parametrize("path", [real("ranking/german_parties_2009.csv")])
def test_errors_of_german_parties_are_those_that_psychotools_prints(path: str) -> None:
    """To the four digits that are printed."""
    names, wins, trials = counted(path)
    release = without_privacy(wins, trials, len(names))
    estimate = Debiased(m=len(names), lambda_scale=0.0).fit(release, np.random.default_rng(0))
    ends = estimate.corrected.differences(0.95)
    last = names.index("FDP")
    for name, (score, error) in PSYCHOTOOLS.items():
        item = names.index(name)
        low = float(ends.low[0, item, last])
        high = float(ends.high[0, item, last])
        assert (low + high) / 2 == pytest.approx(score, abs=6e-5), name
        assert (high - low) / (2 * 1.959964) == pytest.approx(error, abs=6e-5), name


@pytest.mark.parametrize("path", [real("llm/llmfao.csv")])
def test_errors_of_language_models_beside_arena_ranks(path: str) -> None:
    """arena-rank's sandwich, outcome by outcome, on recorded comparisons.

    With the model's variance for its meat both errors are the same, to 1e-6. Its own meat has the squared
    residuals of outcomes. Ties, which count half a win, have small ones, and the model knows nothing of
    them: with ties its errors are smaller, and without them nearly the same.
    """
    for ties, least, most in ((True, 0.6, 0.9), (False, 0.9, 1.05)):
        names, wins, trials = counted(path, ties)
        items = len(names)
        release = without_privacy(wins, trials, items)
        estimate = Debiased(m=items, lambda_scale=0.0).fit(release, np.random.default_rng(0))
        assert estimate.converged.all()
        scores = estimate.theta[0]
        first, second = np.triu_indices(items, 1)
        contrasts = np.eye(items)[first] - np.eye(items)[second]
        chance = expit(scores[first] - scores[second])
        np.testing.assert_allclose(contrasts.T @ (wins - trials * chance), 0, atol=1e-6)
        hessian = contrasts.T @ ((trials * chance * (1 - chance))[:, None] * contrasts)
        inverse = np.linalg.pinv(hessian)
        expected = np.sqrt(np.diag(inverse @ hessian @ inverse))
        np.testing.assert_allclose(estimate.corrected.errors[0], expected, rtol=1e-6)
        meat = arena_ranks_meat(path, names, scores, ties)
        ratio = np.sqrt(np.diag(inverse @ meat @ inverse)) / expected
        middle = float(np.median(ratio))
        print(
            f"n={trials.sum():.0f}, ties {ties}: arena-rank's errors over the model's {middle:.3f}"
        )
        assert least < middle < most


def arena_ranks_meat(path: str, names: list[str], scores: np.ndarray, ties: bool) -> np.ndarray:
    """Σ (y − p)² x xᵀ over outcomes y of 1, ½ and 0."""
    meat = np.zeros((len(names), len(names)))
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["label"] == "tie" and not ties:
                continue
            contrast = np.zeros(len(names))
            contrast[names.index(row["left"])] = 1
            contrast[names.index(row["right"])] = -1
            outcome = {"left": 1.0, "right": 0.0, "tie": 0.5}[row["label"]]
            residual = outcome - expit(contrast @ scores)
            meat += residual**2 * np.outer(contrast, contrast)
    return meat
