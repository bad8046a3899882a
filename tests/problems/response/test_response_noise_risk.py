"""What noise adds to first order, against derivatives of the estimators and simulated noise."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from pipeline.problems.response.estimators.likelihood import PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import Differences
from pipeline.problems.response.theory.noise_risk import ESTIMATORS, expected_counts, noise_risk
from pipeline.study.parameters import InvalidInput

KINDS = dict(
    spectral=lambda m: Spectral(m=m, pseudo_count=0.0, floor=0.0),
    pairwise_likelihood=lambda m: PairwiseLikelihood(m=m, pseudo_count=0.0, floor=0.0, ridge=0.0),
)


def truth(m, n=4000, reps=2, p=1.0):
    return Rasch(n=n, m=m, p=p, item_law="uniform", item_spread=1.5).truth(
        np.random.default_rng(m), reps, np.random.default_rng(0)
    )


def fitted(estimator, counts):
    found = KINDS[estimator](counts.shape[1]).fit(
        Differences(counts, 1000, np.zeros(len(counts))), None
    )
    assert found.converged.all()
    return found.theta


@pytest.mark.parametrize("p", [1.0, 0.6])
def test_expected_counts_are_the_mean_of_counts(p):
    known = truth(5, 300, p=p)
    model = Rasch(n=300, m=5, p=p)
    drawn = np.stack(
        [model.simulate(known, np.random.default_rng(seed)).differences() for seed in range(400)]
    )
    expected = expected_counts(known.theta, known.ability, p)
    error = (
        np.abs(drawn.mean(0) - expected)[:, ~np.eye(5, dtype=bool)]
        / stats.sem(drawn)[:, ~np.eye(5, dtype=bool)]
    )
    bound = stats.norm.isf(5e-7 / error.size)
    print(f"counts: n=400 statistic={error.max():.2f} bound={bound:.2f} alpha=1e-06")
    assert error.max() < bound
    assert (
        np.abs(drawn.mean(0) - expected * p)[:, 0, 1] / stats.sem(drawn)[:, 0, 1] > bound
    ).all() == (p < 1)


@pytest.mark.parametrize("spread", [0, 1e-7, 0.9e-5, 1.1e-5, 1e-3, 1, 5, 20])
def test_expected_counts_are_the_sums_over_persons(spread):
    """Also of items as difficult as others, or nearly: of those gaps the quotient, and the derivative."""
    theta = np.random.default_rng(1).uniform(-spread, spread, (3, 70))
    ability = np.random.default_rng(2).normal(size=(3, 700))
    right = expit(ability[:, :, None] - theta[:, None])
    sums = np.einsum("rli,rlj->rij", right, expit(theta[:, None] - ability[:, :, None])) * (
        1 - np.eye(70)
    )
    assert expected_counts(theta, ability, 0.5) == pytest.approx(sums / 4, rel=1e-9, abs=0)
    assert (expected_counts(theta[:, ::-1].copy(), ability) == pytest.approx(sums, rel=1e-9)) == (
        spread == 0
    )


def test_expected_counts_of_extreme_items_and_of_nobody():
    theta = np.array([[-800.0, 0, 800]])
    found = expected_counts(theta, np.zeros((1, 4)))[0]
    assert (found == [[0, 2, 4], [0, 0, 2], [0, 0, 0]]).all()
    assert not expected_counts(theta, np.zeros((1, 0))).any()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("m", [2, 5, 8])
def test_against_numerical_derivatives(estimator, m):
    """σ²/m times the sum of the squared derivatives of β̂ in every count, at the expected counts."""
    known = truth(m)
    counts = expected_counts(known.theta, known.ability)
    assert fitted(estimator, counts) == pytest.approx(known.theta, abs=1e-6)  # consistent
    squares = np.zeros(2)
    for i in range(m):
        for j in range(m):
            if i != j:
                step = np.zeros((m, m))
                step[i, j] = 0.05
                squares += (
                    ((fitted(estimator, counts + step) - fitted(estimator, counts - step)) / 0.1)
                    ** 2
                ).sum(1)
    variance = np.array([2.0, 3.0])
    found = noise_risk(estimator, known.theta, counts, variance)
    assert found == pytest.approx(variance * squares / m, rel=1e-4)
    if m > 2:
        other = noise_risk(ESTIMATORS[estimator == ESTIMATORS[0]], known.theta, counts, variance)
        assert (np.abs(other / found - 1) > 0.05).all()  # negative control: the other estimator


def test_an_unknown_estimator_is_refused():
    with pytest.raises(InvalidInput, match="spectral"):
        noise_risk("spectre", np.zeros((1, 3)), np.ones((1, 3, 3)), np.ones(1))
