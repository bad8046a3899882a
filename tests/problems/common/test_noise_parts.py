"""How much of each draw of a curator's noise is in each score: by changes of what was released."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.problems.common.heavy_tails import NoiseParts, fourth_cumulants, heavy_quantile
from pipeline.problems.common.normal_scores import NormalScores
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.estimators.spectral import RankCentrality
from pipeline.problems.ranking.mechanisms.curator import NoisyCounts, NoisyScores
from pipeline.problems.ranking.model import BTL
from pipeline.problems.ranking.releases import NoisyWins
from pipeline.problems.ranking.theory.count_inference import count_scores
from pipeline.problems.ranking.theory.fit import weighted_fit
from pipeline.problems.response.estimators.likelihood import PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import CuratorDifferences
from pipeline.problems.response.model import Rasch

ANY = np.random.default_rng(0)


def expected(slopes: np.ndarray, fourth: float) -> tuple[np.ndarray, np.ndarray]:
    """κ₄ of scores, and of their differences, from ∂θ̂/∂(draw), (draws, m)."""
    apart = slopes[:, :, None] - slopes[:, None]
    return fourth * (slopes**4).sum(axis=0), fourth * (apart**4).sum(axis=0)


def judged(scores: NormalScores, slopes: np.ndarray, fourth: float, tolerance: float) -> None:
    """Kurtosis of all scores and differences is that of the slopes, and quantiles are made of it."""
    variance = np.square(np.atleast_2d(scores.errors)[0])
    single, apart = expected(slopes, fourth)
    excess = scores.excess_of(slice(0, 1), False)
    assert excess is not None
    np.testing.assert_allclose(excess[0], single / variance**2, rtol=tolerance)
    of_leads = scores.excess_of(slice(0, 1), True)
    assert of_leads is not None
    covariance = scores.covariance_of(slice(0, 1))[0]
    own = np.diag(covariance)
    of_lead = own[:, None] + own - 2 * covariance
    off = ~np.eye(len(own), dtype=bool)
    np.testing.assert_allclose(of_leads[0][off], apart[off] / of_lead[off] ** 2, rtol=tolerance)
    ends = scores.differences(0.95)
    reach = np.reshape(ends.high - ends.low, (-1, *off.shape))[0] / 2
    stated = heavy_quantile(0.95, of_leads[0]) * np.sqrt(np.maximum(of_lead, 0))
    np.testing.assert_allclose(reach[off], stated[off], rtol=1e-9)


def test_cumulants_by_their_definition() -> None:
    shares = np.random.default_rng(1).standard_normal((2, 4, 6))
    fourth = np.random.default_rng(2).uniform(size=(2, 6))
    halves = [
        NoiseParts(shares[:, :, :2], fourth[:, :2]),
        NoiseParts(shares[:, :, 2:], fourth[:, 2:]),
    ]
    single = np.einsum("rkd,rd->rk", shares**4, fourth)
    apart = np.einsum("rkld,rd->rkl", (shares[:, :, None] - shares[:, None]) ** 4, fourth)
    np.testing.assert_allclose(fourth_cumulants(halves, False), single, rtol=1e-12)
    np.testing.assert_allclose(fourth_cumulants(halves, True), apart, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("questions", [None, 3])
@pytest.mark.parametrize("kind", [Debiased, RankCentrality])
def test_noise_in_wins(kind: type, questions: int | None) -> None:
    """The slopes of rank centrality are those at shares of some scores, as its law has it."""
    model = BTL(m=4, L=4000, spread=1.0, questions=questions, design="random")
    truth = model.truth(ANY, 1, np.random.default_rng(0))
    private = NoisyCounts(m=4, L=4000, person=0.1, person_delta=0.0, questions=questions)
    release = private.release(model.simulate(truth, ANY), ANY)
    assert release.fourth > 0
    first, second = np.triu_indices(4, 1)
    part = kind(m=4) if kind is RankCentrality else kind(m=4, lambda_scale=0.0)
    start = part.fit(release, ANY).theta[0]
    shares = 1 / (1 + np.exp(start[second] - start[first]))
    exact = replace(release, wins=(release.trials * shares).reshape(1, 1, -1))
    scores = part.fit(exact, ANY).corrected
    slopes = np.array(
        [
            (
                part.fit(replace(exact, wins=exact.wins + change), ANY).theta[0]
                - part.fit(replace(exact, wins=exact.wins - change), ANY).theta[0]
            )
            / 2
            for change in np.eye(6)
        ]
    )
    judged(scores, slopes, release.fourth, 1e-3)


def test_noise_in_counts_of_a_real_release() -> None:
    rng = np.random.default_rng(3)
    wins = rng.integers(200, 400, 6)
    counts = np.stack([wins, 600 - wins], axis=1).astype(float)

    def fit(table: np.ndarray) -> np.ndarray:
        return weighted_fit(table[:, 0], table.sum(axis=1), 4, 1e-9)

    slopes = []
    for place in np.ndindex(counts.shape):
        change = np.zeros(counts.shape)
        change[place] = 0.5
        slopes.append(fit(counts + change) - fit(counts - change))
    scores = count_scores(fit(counts), counts, 50.0, 7000.0)
    judged(scores, np.array(slopes), 7000.0, 1e-3)
    normal = count_scores(fit(counts), counts, 50.0)
    assert normal.excess_of(slice(0, 1), False) is None
    assert (scores.interval(0.95).high > normal.interval(0.95).high).all()
    assert (scores.interval(0.5).high < normal.interval(0.5).high).all()


@pytest.mark.parametrize("kind", [Spectral, PairwiseLikelihood])
def test_noise_in_counts_of_pairs(kind: type) -> None:
    """Of the solution without pseudo-counts; means of counts at some difficulties."""
    model = Rasch(n=4000, m=4)
    truth = model.truth(ANY, 1, np.random.default_rng(0))
    private = CuratorDifferences(m=4, person=0.5, person_delta=0.0)
    release = private.release(model.simulate(truth, ANY), ANY)
    assert release.fourth is not None
    worth = np.exp(truth.theta.reshape(-1))
    means = 800 * worth / (worth[:, None] + worth)
    np.fill_diagonal(means, 0)
    exact = replace(release, counts=means.T[None])
    part = kind(m=4, pseudo_count=0.0, floor=0.0)
    scores = part.fit(exact, ANY).corrected
    slopes = []
    for i, j in np.ndindex(4, 4):
        if i == j:
            continue
        change = np.zeros((4, 4))
        change[i, j] = 0.5
        up = part.fit(replace(exact, counts=exact.counts + change), ANY).theta[0]
        down = part.fit(replace(exact, counts=exact.counts - change), ANY).theta[0]
        slopes.append(up - down)
    judged(scores, np.array(slopes), float(release.fourth[0]), 1e-3)


def test_scores_do_not_tell_a_chains_shares() -> None:
    """Rank centrality has no errors of noisy scores; drawn again, wins have scores and no more."""
    model = BTL(m=4, L=500, spread=1.0, questions=2, design="random")
    truth = model.truth(ANY, 2, np.random.default_rng(0))
    private = NoisyScores(m=4, L=500, person=1.0, person_delta=1e-6, questions=2)
    release = private.release(model.simulate(truth, ANY), np.random.default_rng(1))
    estimate = RankCentrality(m=4).fit(release, ANY)
    assert np.isnan(estimate.errors).all()
    again = release.drawn_again(estimate, 0, 3000, np.random.default_rng(2))
    assert isinstance(again, NoisyWins)
    leads = (2 * again.wins - again.trials)[:, 0]
    # Leads are differences of heights: those around the triangle 0, 1, 2 sum to 0.
    np.testing.assert_allclose(leads[:, 0] + leads[:, 3] - leads[:, 1], 0, atol=1e-9)
    first, second = np.triu_indices(4, 1)
    trials = np.asarray(again.trials)[0, 0]
    chance = 1 / (1 + np.exp(estimate.theta[0][second] - estimate.theta[0][first]))
    score = leads[:, first == 0].sum(axis=1)
    mean = (trials * (2 * chance - 1))[first == 0].sum()
    spread = (4 * trials * chance * (1 - chance))[first == 0].sum() + 4 * 4 * release.variance
    band = 4.9 * np.sqrt(spread / 3000)
    print(f"n=3000: score {score.mean():.2f} in {mean:.2f} ± {band:.2f}")
    # Scores sum to 0: the mean of the noise of all is taken off.
    assert abs(score.mean() - mean) <= band
    assert score.var() < 1.2 * spread
