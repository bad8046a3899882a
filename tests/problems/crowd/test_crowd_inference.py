"""How sure abilities of workers are: information by differences, coverage by simulation."""

from dataclasses import replace
from itertools import product

import numpy as np

from pipeline.problems.common import inference
from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.estimators.majority_vote import MajorityVote
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.model import DawidSkene as Crowd
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.problems.crowd.theory.inference import posterior


def rng(seed: int) -> np.random.Generator:
    """A generator."""
    return np.random.default_rng(seed)


def likelihood(signs: np.ndarray, agreement: np.ndarray) -> float:
    """log Π_j of the two-label mixture, written down from its definition."""
    chance = (1 + agreement[:, None] * signs) / 2
    other = (1 - agreement[:, None] * signs) / 2
    present = signs != 0
    one = np.where(present, chance, 1).prod(axis=0)
    two = np.where(present, other, 1).prod(axis=0)
    return float(np.log(one / 2 + two / 2).sum())


def test_the_information_is_the_likelihoods_curvature() -> None:
    """Second differences of the log likelihood at its maximum, with missing answers."""
    model = Crowd(n=4, m=300, ability_low=0.7, ability_high=0.85, answered=0.8)
    truth = model.truth(rng(1), 1, rng(0))
    release = RandomizedResponse(n=4, m=300, epsilon=2.0).release(
        model.simulate(truth, rng(2)), rng(3)
    )
    estimate = DawidSkene(n=4, m=300, iterations=10_000).fit(release, rng(0))
    law = estimate.law
    assert law is not None
    signs = release.answers[0].astype(float)
    centre = law.agreement[0]
    step = 1e-4
    unit = step * np.eye(4)
    curvature = np.empty((4, 4))
    for i, j in product(range(4), repeat=2):
        rise = likelihood(signs, centre + unit[i] + unit[j])
        rise -= likelihood(signs, centre + unit[i] - unit[j])
        fall = likelihood(signs, centre - unit[i] + unit[j])
        fall -= likelihood(signs, centre - unit[i] - unit[j])
        curvature[i, j] = (rise - fall) / (4 * step**2)
    expected = np.linalg.inv(-curvature) / (4 * law.attenuation**2)
    np.testing.assert_allclose(estimate.corrected.covariance[0], expected, rtol=1e-4, atol=1e-7)


def test_intervals_cover() -> None:
    """95 % intervals of abilities, n = 300 replications, α = 1e-6; without the flips they do not."""
    model = Crowd(n=12, m=600, ability_low=0.6, ability_high=0.9)
    truth = model.truth(rng(5), 300, rng(0))
    release = RandomizedResponse(n=12, m=600, epsilon=1.5).release(
        model.simulate(truth, rng(6)), rng(7)
    )
    part = DawidSkene(n=12, m=600)
    estimate = part.fit(release, rng(0))
    careless = part.fit(ReleasedAnswers(release.answers, 0.0, None), rng(0))
    values = inference.coverage()(truth, release, estimate)
    ignoring = inference.coverage()(truth, release, careless).mean()
    ends = estimate.posterior_interval(0.95)
    true = posterior(release.answers, truth.abilities, 1 - 2 * release.flip)
    labels = ((ends.low <= true) & (true <= ends.high)).mean()
    band = 4.9 * values.std() / np.sqrt(300)
    print(f"n=300: {values.mean():.4f} in [.94, .96] ± {band:.4f}; posterior {labels:.4f};")
    print(f"without the flips {ignoring:.4f}")
    assert 0.94 - band <= values.mean() <= 0.96 + band
    assert 0.93 <= labels <= 0.97
    assert ignoring < 0.5


def test_what_is_not_known_is_not_available() -> None:
    """Of majority votes; at an end of the range; of workers without answers; at a saddle."""
    signs = np.ones((1, 3, 40), np.int8)
    signs[0, 1:, :15] = -1
    signs[0, 2] = 0
    signs[0, 1, 30:] = -1
    release = ReleasedAnswers(signs, 0.0, None)
    vote = MajorityVote(n=3, m=40).fit(release, rng(0))
    assert np.isnan(vote.errors).all()
    assert np.isnan(vote.posterior_interval(0.9).low).all()
    coins = DawidSkene(n=3, m=40).fit(replace(release, flip=0.5), rng(0))
    assert np.isnan(coins.errors).all()
    only = DawidSkene(n=1, m=40).fit(replace(release, answers=signs[:, :1]), rng(0))
    truth = Crowd(n=1, m=40).truth(rng(1), 1, rng(0))
    assert np.isnan(inference.rank_coverage()(truth, release, only)).all()
    assert np.isnan(inference.pairs_told_apart()(truth, release, only)).all()
    estimate = DawidSkene(n=3, m=40).fit(release, rng(0))
    assert np.isnan(estimate.errors[0, 2])
    assert np.isnan(estimate.interval(0.9).low[0, 2])
