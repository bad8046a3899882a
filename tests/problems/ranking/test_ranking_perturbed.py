"""Estimators that Cai, Chakraborty and Wang, and Nguyen and Zhang, propose are pairs of parts here."""

import numpy as np
import pytest
from scipy import optimize

import pipeline as pl
from pipeline.problems.ranking.mechanisms.sums import scores_of

M, L = 5, 400


def perturbed(wins, noise, ridge):
    """Minimum of −log L(θ)/L + wᵀθ/L + λ‖θ‖²: objective perturbation, by a general method."""
    first, second = np.triu_indices(M, 1)

    def objective(theta):
        gap = theta[first] - theta[second]
        likelihood = wins * np.logaddexp(0, -gap) + (L - wins) * np.logaddexp(0, gap)
        return (likelihood.sum() + noise @ theta) / L + ridge * theta @ theta

    return optimize.minimize(objective, np.zeros(M), options={"gtol": 1e-9}).x


@pytest.mark.parametrize("ridge", [0.002, 0.2])
def test_perturbed_likelihood_is_noise_on_scores(ridge):
    people = pl.simulate_data(pl.ranking.BTL(m=M, L=L), seed=1, replications=3)
    mechanism = pl.ranking.NoisyScores(m=M, L=L, person=1.0)
    release = pl.simulate_release(mechanism, people, seed=2)
    wins = people.data.wins
    # In wins less losses, of which the gradient of the likelihood has half, with the other sign.
    noise = scores_of(np.rint(2 * M * (release.wins[:, 0] - wins)).astype(int)) / M
    estimator = pl.ranking.Debiased(m=M)
    gain = float(release.gain[0])
    fitted = pl.ranking.Debiased(m=M, lambda_scale=ridge * L / gain).fit(release).theta
    assert estimator.fit(release).converged.all()
    for row in range(3):
        theta = perturbed(wins[row], -noise[row] / 2, ridge)
        assert fitted[row] == pytest.approx(theta, abs=2e-4)
        # Control: without the noise, or with its sign turned, the minimum is another one.
        assert np.abs(fitted[row] - perturbed(wins[row], noise[row] / 2, ridge)).max() > 0.01


def test_rank_centrality_on_noisy_counts_finds_the_scores():
    people = pl.simulate_data(pl.ranking.BTL(m=M, L=20_000, spread=1.0), seed=1, replications=200)
    mechanism = pl.ranking.NoisyCounts(m=M, L=20_000, person=0.5, person_delta=1e-6)
    release = pl.simulate_release(mechanism, people, seed=2)
    theta = pl.ranking.RankCentrality(m=M).fit(release).theta
    error = np.sqrt(((theta - people.truth.theta) ** 2).mean())
    guess = np.sqrt((people.truth.theta**2).mean())
    print(f"n=200, error {error:.4f} logits, bound 0.03; of knowing nothing {guess:.2f}")
    assert error < 0.03 < guess
