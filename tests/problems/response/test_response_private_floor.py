"""A floor of the error of all private releases, and the estimate that is drawn towards 0."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit

from pipeline.problems.response.estimators.shrunk import ShrunkScores
from pipeline.problems.response.releases import Differences
from pipeline.problems.response.theory import private_floor as theory
from pipeline.problems.response.theory.abilities import ability_points


def information_in_release(n, rho):
    """Fisher information, about one of two items, of a count with Gaussian noise that is ρ-zCDP.

    The count is of persons who have the one right and the other wrong, less the reverse.
    It is a sum of n independent values −1, 0, 1 and noise of standard deviation √(2²/(2ρ)).
    """
    points, weights = ability_points("normal", 1.0)

    def law(beta):
        right = expit(points[:, None] - np.array([beta, -beta]))
        up = float(weights @ (right[:, 0] * (1 - right[:, 1])))
        down = float(weights @ (right[:, 1] * (1 - right[:, 0])))
        each = np.array([down, 1 - up - down, up])
        total = np.ones(1)
        for _ in range(n):
            total = np.convolve(total, each)
        return total

    deviation = math.sqrt(4 / (2 * rho))
    seen = np.linspace(-8 * deviation - n, 8 * deviation + n, 20_001)
    noise = np.exp(-np.square((seen[:, None] - np.arange(-n, n + 1)) / deviation) / 2)
    step = 1e-4
    low, middle, high = (noise @ law(beta) for beta in (-step, 0.0, step))
    middle = np.maximum(middle, 1e-300)
    return float((np.square((high - low) / (2 * step)) / middle).sum() / middle.sum())


@pytest.mark.parametrize("n, rho", [(1, 0.5), (1, 0.02), (30, 0.01), (200, 1e-4)])
def test_no_gaussian_release_tells_more_than_the_bound(n, rho):
    """β and −β of two items: their direction of sum 0 is √2 β."""
    told = information_in_release(n, rho) / 2
    most = n**2 * math.expm1(2 * rho) * theory.row_information("normal", 1.0)
    print(told, most)
    assert 0.04 * most < told <= most


def test_no_flipped_row_tells_more_than_the_bound():
    """Randomized response of one answer each, ε-DP and so ε²/2-zCDP: by enumeration of rows."""
    epsilon, m = 0.7, 3
    points, weights = ability_points("normal", 1.0)
    keep = 1 / (1 + math.exp(-epsilon / m))
    rows = np.array(list(itertools.product((0, 1), repeat=m)))

    def law(beta):
        right = expit(points[:, None] - beta)
        seen = 1 - keep + (2 * keep - 1) * right
        return np.prod(np.where(rows[:, None], seen, 1 - seen), axis=2) @ weights

    step = 1e-5
    slopes = [(law(step * e) - law(-step * e)) / (2 * step) for e in np.eye(m)]
    trace = sum(float((slope**2 / law(np.zeros(m))).sum()) for slope in slopes)
    assert trace <= math.expm1(epsilon**2) * theory.row_information("normal", 1.0)


def test_floor_is_that_of_no_data_without_budget_and_nothing_with_much():
    assert theory.private_floor(10, 100, 1e-12) == pytest.approx(1, abs=1e-6)
    assert theory.private_floor(10, 10_000, 1.0) < 1e-6


def test_slope_is_that_of_regression():
    rng = np.random.default_rng(1)
    ability, beta = rng.standard_normal((2, 400_000))
    chance = expit(ability - beta)
    assert theory.mean_slope(1.0, "normal", 1.0) == pytest.approx(
        -np.cov(chance, beta)[0, 1], abs=0.003
    )


def release_of(beta, persons, variance, rng):
    """Noisy counts as they are expected of equal abilities."""
    right = expit(-beta)
    counts = persons * right[:, :, None] * (1 - right[:, None])
    counts += math.sqrt(variance) * rng.standard_normal(counts.shape)
    np.einsum("rii->ri", counts)[...] = 0
    return Differences(counts, persons, np.full(len(beta), variance))


def test_scores_are_drawn_towards_0_as_regression_asks():
    """The best multiple of the scores is the one that is taken."""
    rng = np.random.default_rng(2)
    beta = rng.standard_normal((2000, 6))
    beta -= beta.mean(axis=1, keepdims=True)
    part = ShrunkScores(m=6, assumed_spread=0)
    for variance in (0.01, 1e4, 1e7):
        estimate = part.fit(release_of(beta, 500, variance, rng), rng)
        assert estimate.converged.all() and np.allclose(estimate.theta.sum(axis=1), 0)
        best = (estimate.theta * beta).sum() / (estimate.theta**2).sum()
        print(variance, best)
        assert abs(best - 1) < (0.1 if variance < 1e6 else 0.5)
        risk = 5 / 6 * theory.shrunk_risk(6, 500, variance, 1.0, "normal", 0)
        assert np.square(estimate.theta - beta).mean() == pytest.approx(risk, rel=0.1, abs=0.02)


def test_a_sparse_graph_has_no_estimate():
    rng = np.random.default_rng(3)
    counts = np.ones((2, 4, 4))
    release = Differences(counts, 10, np.ones(2), edges=np.ones((2, 4, 4), bool))
    estimate = ShrunkScores(m=4).fit(release, rng)
    assert not estimate.converged.any() and np.isnan(estimate.theta).all()
