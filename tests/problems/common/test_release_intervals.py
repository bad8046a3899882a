"""Intervals in the tables of releases: exact laws of noise, ranks, coverage of scores from noisy counts."""

import numpy as np
import pytest
from scipy.special import expit

from pipeline.privacy.integer_laws import gaussian_pmf, laplace_pmf
from pipeline.privacy.integer_noise import discrete_laplace
from pipeline.problems.common.normal_scores import SingleScores
from pipeline.problems.common.release_intervals import (
    LEVEL,
    Noise,
    cells,
    chance_wrong,
    score_cells,
    sum_cells,
    sum_ranks,
)
from pipeline.problems.ranking.theory.count_inference import count_scores
from pipeline.problems.ranking.theory.fit import weighted_fit
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import CuratorDifferences
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import Differences, Inclusion
from pipeline.study.intervals import Interval


@pytest.mark.parametrize(
    "noise", [Noise("variance", 0.3), Noise("variance", 50.0), Noise("scale", 4.0)]
)
@pytest.mark.parametrize("number", [1, 7])
def test_reach_is_the_least_that_is_enough(noise: Noise, number: int) -> None:
    """Against sums of the law over all integers that matter."""
    pmf = laplace_pmf if noise.law == "scale" else gaussian_pmf
    reach = noise.reach(0.95, number)
    within = [pmf(np.arange(-r, r + 1), noise.width).sum() ** number for r in (reach - 1, reach)]
    assert within[0] < 0.95 <= within[1]
    grid = np.arange(-500, 501)
    assert noise.variance == pytest.approx(pmf(grid, noise.width) @ grid**2, rel=1e-6)


def test_wide_noise_has_the_reach_of_the_normal_law() -> None:
    assert Noise("variance", 1.0001e10).reach(0.95) == pytest.approx(1.95996e5, rel=1e-3)


def test_ranks_of_sums_hold_at_once() -> None:
    """8 close sums with noise, n = 4,000, α = 1e-6; with noise that is thought half as wide they do not."""
    rng = np.random.default_rng(3)
    true = np.arange(8) * 12
    noise = Noise("scale", 5.0)
    rank = 8 - np.arange(8)
    right = {5.0: 0, 1.2: 0}
    runs = 4000
    drawn = discrete_laplace(rng, 5.0, (runs, 8))
    for width in right:
        reach = Noise("scale", width).reach(LEVEL, 8)
        for noisy in true + drawn:
            ranks = sum_ranks(noisy, reach)
            right[width] += bool(((ranks.low <= rank) & (rank <= ranks.high)).all())
    band = 4.9 * np.sqrt(LEVEL * (1 - LEVEL) / runs)
    print(
        f"n={runs}: {right[5.0] / runs:.4f} ≥ {LEVEL - band:.4f}; too narrow {right[1.2] / runs:.4f}"
    )
    assert right[5.0] / runs >= LEVEL - band
    assert right[1.2] / runs < LEVEL - band
    table = sum_cells(true + drawn[0], noise)
    assert table[0][1] - table[0][0] == 2 * noise.reach(LEVEL)


def test_scores_from_noisy_counts_cover() -> None:
    """500 releases of 4 items, α = 1e-6; the centre is right though the fit is shrunk and cut."""
    rng = np.random.default_rng(1)
    m, people, variance = 4, 60, 40.0
    theta = np.array([0.9, 0.3, -0.2, -1.0])
    theta -= theta.mean()
    first, second = np.triu_indices(m, 1)
    chance = expit(theta[first] - theta[second])
    covered = []
    careless = []
    for _ in range(500):
        wins = rng.binomial(people, chance)
        counts = np.stack([wins, people - wins], axis=1)
        counts = counts + np.rint(rng.normal(0, np.sqrt(variance), counts.shape)).astype(int)
        won = np.maximum(counts, 0).astype(float)
        fitted = weighted_fit(won[:, 0], won.sum(axis=1), m, 1.0)
        for values, noise in ((covered, variance), (careless, 0.0)):
            ends = count_scores(fitted, counts, noise).interval(LEVEL)
            values.append(((ends.low <= theta) & (theta <= ends.high)).mean())
    band = 4.9 * np.std(covered) / np.sqrt(500)
    print(f"n=500: {np.mean(covered):.4f} ± {band:.4f}; without noise {np.mean(careless):.4f}")
    assert 0.94 - band <= np.mean(covered) <= 0.96 + band
    assert np.mean(careless) < 0.9 - band


def test_difficulties_of_a_release_without_the_number_of_persons_cover() -> None:
    """Of abilities twice as spread as is assumed; n = 400 releases, α = 1e-6."""
    model = Rasch(n=1500, m=4, person_spread=2.0, items="fixed")
    truth = model.truth(np.random.default_rng(1), 400, np.random.default_rng(4))
    data = model.simulate(truth, np.random.default_rng(2))
    private = CuratorDifferences(m=4, person=1.0, person_delta=1e-6)
    release = private.release(data, np.random.default_rng(3))
    unknown = Differences(release.counts, 0, release.variance, inclusion=Inclusion(1, 1))
    estimate = Spectral(m=4).fit(unknown, np.random.default_rng(0))
    ends = estimate.interval(LEVEL)
    covered = ((ends.low <= truth.theta) & (truth.theta <= ends.high)).mean(axis=1)
    band = 4.9 * covered.std() / np.sqrt(400)
    print(f"n=400: {covered.mean():.4f} in [.93, .97] ± {band:.4f}")
    assert 0.93 - band <= covered.mean() <= 0.97 + band


def test_a_wrong_order_is_likelier_where_noise_is_laplace() -> None:
    """Of Laplace noise alone half of e^(−√2 z) is beyond z standard errors."""
    leads = np.array([3.0, 3.0])
    normal = chance_wrong(leads, np.ones(2))
    laplace = chance_wrong(leads, np.ones(2), np.array([0.0, 3.0]))
    assert laplace[0] == pytest.approx(normal[0]) == pytest.approx(0.00135, abs=1e-5)
    assert laplace[1] == pytest.approx(np.exp(-3 * np.sqrt(2)) / 2)


def test_what_is_not_available_is_empty() -> None:
    drowned = count_scores(np.zeros(3), np.full((3, 2), -5), 9.0)
    assert score_cells(drowned)[0] == ("", "", 1, 3)
    # One eigenvalue is below 0, and the 0 of the vector 1 is rounded up.
    wins = [[-41, -18], [60, 8], [32, -1], [-28, -37], [73, 19], [91, 1]]
    fitted = np.array([-0.17142097, 0.1560906, 0.08952869, -0.27090463])
    for turned in (fitted, fitted / 2, np.zeros(4)):
        assert np.isnan(count_scores(turned, np.array(wins), 400.0).errors).all()
    assert cells(Interval(np.array([1.0, np.nan]), np.array([2.0, np.nan]))) == [
        (1.0, 2.0),
        ("", ""),
    ]
    assert chance_wrong(np.array([1.96, 0.0, 1.0]), np.array([1.0, 1.0, np.nan])) == [
        pytest.approx(0.025, abs=1e-5),
        0.5,
        "",
    ]
    clear = SingleScores(np.array([1.0, -1.0]), np.full(2, 0.01), 1e-4 * np.eye(2))
    assert [row[2:] for row in score_cells(clear)] == [(1, 1), (2, 2)]
