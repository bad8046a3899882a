"""The ranking model without privacy against choix, scikit-learn and SciPy; predicted covariances against the fit."""

import itertools
from types import SimpleNamespace

import choix
import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.linear_model import LogisticRegression

from pipeline.problems.common.recovery import HammingTopK, kendall
from pipeline.problems.ranking.estimators.likelihood import Likelihood
from pipeline.problems.ranking.estimators.moments import Debiased, Weighted
from pipeline.problems.ranking.estimators.spectral import RankCentrality
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.ranking.theory.rates import win_probability
from pipeline.problems.ranking.theory.risk import debiased_variance, sandwich_covariance

M = 6
FIRST, SECOND = np.triu_indices(M, 1)
FITS = [Debiased, Weighted, Likelihood]


def answers(seed, skipped=False, users=40):
    """Raw wins of one replication and the comparisons made, (pairs,); every pair has a win on both sides or none."""
    rng = np.random.default_rng(seed)
    made = rng.integers(5, users, FIRST.size) if skipped else np.full(FIRST.size, users)
    if skipped:
        made[[1, 6, 8]] = 0
    theta = rng.uniform(-1, 1, (1, M))
    wins = rng.binomial(made, win_probability(theta)[0])
    return np.clip(wins, made > 0, np.maximum(made - 1, 0)), made


def raw(wins, made, users=40):
    compared = None if (made == users).all() else made[None, None]
    return FlippedWins(wins[None, None], np.array([users]), np.array([np.inf]), M, compared)


def fit(kind, data, **more):
    found = kind(m=M, **more).fit(data, np.random.default_rng(0))
    assert found.converged.all()
    return found.theta[0]


def as_pairs(wins, made):
    pairs = []
    for i, j, won, n in zip(FIRST, SECOND, wins, made, strict=True):
        pairs += [(i, j)] * won + [(j, i)] * (n - won)
    return pairs


def as_matrix(wins, made):
    matrix = np.zeros((M, M))
    matrix[FIRST, SECOND], matrix[SECOND, FIRST] = wins, made - wins
    return matrix


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("skipped", [False, True])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_regularised_fit_is_that_of_choix(kind, skipped, scale):
    """choix penalises by α‖θ‖² (its manual says α‖θ‖²/2) what is penalised by Lλ‖θ‖² = c‖θ‖² here."""
    wins, made = answers(1, skipped)
    theirs = choix.opt_pairwise(M, as_pairs(wins, made), alpha=scale, tol=1e-12)
    ours = fit(kind, raw(wins, made), lambda_scale=scale)
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-6)
    control = choix.opt_pairwise(M, as_pairs(wins, made), alpha=2 * scale, tol=1e-12)
    assert ours != pytest.approx(control - control.mean(), abs=1e-3)


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("skipped", [False, True])
def test_without_ridge_it_is_the_maximum_of_choix(kind, skipped):
    wins, made = answers(2, skipped)
    ours = fit(kind, raw(wins, made), lambda_scale=0.0)
    assert ours == pytest.approx(
        choix.ilsr_pairwise_dense(as_matrix(wins, made), tol=1e-12), abs=1e-6
    )
    assert ours == pytest.approx(
        choix.mm_pairwise(M, as_pairs(wins, made), max_iter=20_000, tol=1e-12), abs=1e-6
    )


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("skipped", [False, True])
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_it_is_a_logistic_regression_of_scikit_learn(kind, skipped, scale):
    """On rows e_i − e_j, weighted by counts: ½‖θ‖² + C Σ loss is C (Σ loss + c‖θ‖²) at C = 1/(2c)."""
    wins, made = answers(3, skipped)
    design = np.tile(np.eye(M)[FIRST] - np.eye(M)[SECOND], (2, 1))
    label, counts = np.repeat([1, 0], len(wins)), np.concatenate([wins, made - wins])
    model = LogisticRegression(
        C=1 / (2 * scale), fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cg"
    )
    theirs = model.fit(design, label, sample_weight=counts).coef_[0]
    assert theirs.sum() == pytest.approx(0, abs=1e-6)
    assert fit(kind, raw(wins, made), lambda_scale=scale) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("skipped", [False, True])
def test_rank_centrality_is_that_of_choix_where_nothing_is_cut(skipped):
    """The stationary law does not depend on the rate of staying, by which theirs and the paper's chain differ."""
    wins, made = answers(4, skipped)
    theirs = choix.rank_centrality(M, as_pairs(wins, made))
    assert fit(RankCentrality, raw(wins, made)) == pytest.approx(theirs - theirs.mean(), abs=1e-9)


def test_kendall_and_top_sets_of_scipy_and_by_hand():
    rng = np.random.default_rng(5)
    truth, found = (SimpleNamespace(theta=rng.normal(size=(20, M))) for _ in range(2))
    tau = [kendalltau(a, b).statistic for a, b in zip(truth.theta, found.theta, strict=True)]
    assert kendall()(truth, None, found) == pytest.approx((1 - np.array(tau)) / 2)
    for top in range(1, M):
        best = [
            [
                max(
                    itertools.combinations(range(M), top), key=lambda s, row=row: row[list(s)].sum()
                )
                for row in x.theta
            ]
            for x in (truth, found)
        ]
        missed = [len(set(a) - set(b)) / top for a, b in zip(*best, strict=True)]
        assert HammingTopK(M, top)(truth, None, found) == pytest.approx(missed)


@pytest.mark.parametrize(
    "kind, epsilon, scale",
    [(Debiased, [1.0], 1.0), (Debiased, [0.4, 3.0], 50.0), (Weighted, [0.4, 3.0], 50.0)],
)
def test_the_sandwich_is_the_jacobian_of_the_fit(kind, epsilon, scale):
    """θ̂(z̄) is differentiated by differences at the means for which it is θ*; V is Lemma 2's."""
    epsilon, users = np.array(epsilon), np.array([300, 200])[: len(epsilon)]
    theta = np.array([1.2, 0.7, 0.1, -0.2, -0.5, -1.3])
    probability = win_probability(theta[None])[0]

    def at(mean):
        wins = users[:, None] * (0.5 + (mean[:, None] - 0.5) * np.tanh(epsilon / 2)[:, None])
        found = kind(m=M, lambda_scale=scale).fit(FlippedWins(wins, users, epsilon, M), None)
        assert found.converged.all()
        return found

    probe = at(probability[None])
    gap = theta[FIRST] - theta[SECOND]
    mean = probability + 2 * probe.ridge / M * gap  # Σ_j of this is Σ_j σ + 2λθ_i
    step = 1e-3
    moved = mean + step * np.concatenate([np.eye(FIRST.size), -np.eye(FIRST.size)])
    assert at(mean[None]).theta[0] == pytest.approx(theta, abs=1e-7)
    up, down = np.split(at(moved).theta, 2)
    jacobian = ((up - down) / (2 * step)).T
    weights = np.ones(len(users)) if probe.weights is None else probe.weights
    variance = (
        sum(
            n * v**2 * debiased_variance(probability, e)
            for n, v, e in zip(users, weights, epsilon, strict=True)
        )
        / (users @ weights) ** 2
    )
    expected = jacobian * variance @ jacobian.T
    predicted = sandwich_covariance(theta[None], epsilon, users, probe.ridge, probe.weights)[0]
    assert predicted == pytest.approx(expected, abs=1e-4 * np.abs(expected).max())
    without = sandwich_covariance(theta[None], epsilon, users, 0.0, probe.weights)[0]
    assert without != pytest.approx(expected, abs=1e-2 * np.abs(expected).max())
