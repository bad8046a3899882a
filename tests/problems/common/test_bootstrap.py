"""The bootstrap through the mechanism: releases drawn again have its law; exact cases; the unknown."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import pipeline as pl
from pipeline.problems.common import inference
from pipeline.problems.common.bootstrap import bootstrap_scores
from pipeline.problems.crowd.estimators.majority_vote import MajorityVote
from pipeline.problems.crowd.estimators.vote_mixture import VoteMixture
from pipeline.problems.crowd.mechanisms.curator import NoisyVotes
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse as CrowdFlips
from pipeline.problems.crowd.model import CrowdTruth
from pipeline.problems.crowd.model import DawidSkene as Crowd
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.estimators.spectral import RankCentrality
from pipeline.problems.ranking.mechanisms.curator import NoisyCounts, NoisyScores
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.model import BTL, Preferences
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.ranking.theory.links import LINKS
from pipeline.problems.response.estimators.shares import ItemShares
from pipeline.problems.response.estimators.spectral import SpectralDebiased
from pipeline.problems.response.mechanisms.noisy_differences import CuratorDifferences
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse as Flips
from pipeline.problems.response.model import ItemParameters, Rasch

REPS = 4000
Z = 5.5  # two-sided α of 4e-8 for each of some 60 numbers
THETA = np.array([0.8, 0.1, -0.9])


def alike(first: np.ndarray, second: np.ndarray, what: str) -> float:
    """Largest z of the differences of means and of variances of columns of two samples."""
    deviations = []
    for power in (1, 2):
        a = (first - first.mean(axis=0)) ** 2 if power == 2 else first
        b = (second - second.mean(axis=0)) ** 2 if power == 2 else second
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        gap = np.abs(a.mean(axis=0) - b.mean(axis=0))
        deviations.append(np.max(np.divide(gap, error, out=np.zeros_like(gap), where=error > 0)))
    print(f"{what}: n={len(first)}, largest z {max(deviations):.2f}, bound {Z}")
    return max(deviations)


@pytest.mark.parametrize("questions", [None, 2])
@pytest.mark.parametrize("kind", [RandomizedResponse, Laplace, NoisyCounts, NoisyScores])
def test_wins_drawn_again_have_the_mechanisms_law(kind: type, questions: int | None) -> None:
    """Wins of the same people at the same scores; with the scores reversed they have not."""
    if kind is NoisyScores and questions is not None:
        questions = None
    names = {"person": 1.0, "questions": questions}
    if kind in (RandomizedResponse, Laplace):
        names = {"epsilon": 1.0}
    model = BTL(m=3, L=60, questions=questions, design="balanced")
    truth = Preferences(np.tile(THETA, (REPS, 1)))
    data = model.simulate(truth, np.random.default_rng(1))
    release = kind(m=3, L=60, **names).release(data, np.random.default_rng(2))
    for sign, is_right in ((1, True), (-1, False)):
        estimate = SimpleNamespace(theta=sign * truth.theta[:1], link=LINKS["logistic"])
        again = release.drawn_again(estimate, 0, REPS, np.random.default_rng(3))
        fits = [Debiased(m=3).mean(wins) for wins in (release, again)]
        if kind is NoisyScores:  # only sums for items have a meaning
            fits = [
                Debiased(m=3).fit(wins, np.random.default_rng(0)).theta for wins in (release, again)
            ]
        assert (alike(*fits, f"{kind.__name__} {sign}") < Z) == is_right


def test_responses_drawn_again_have_the_mechanisms_law() -> None:
    """Counts of pairs of people whose abilities are normal, at the truth and at its reverse."""
    theta = np.tile(THETA, (120, 1))
    for questions in (None, 2):
        model = Rasch(n=400, m=3, questions=questions)
        ability = model.truth(np.random.default_rng(5), 120, np.random.default_rng(0)).ability
        data = model.simulate(ItemParameters(theta, ability), np.random.default_rng(6))
        noisy = CuratorDifferences(m=3, person=2.0, person_delta=1e-6, questions=questions)
        flips = Flips(n=400, m=3, person=6.0, questions=questions)
        for mechanism in (noisy, flips):
            release = mechanism.release(data, np.random.default_rng(7))
            for sign, is_right in ((1, True), (-1, False)):
                rng = np.random.default_rng(8)
                estimate = SimpleNamespace(theta=sign * theta)
                again = [release.drawn_again(estimate, row, 4, rng) for row in range(120)]
                drawn = np.concatenate([part.differences(True) for part in again])
                counts = release.differences(True)
                pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
                columns = [np.array([x[:, i, j] for i, j in pairs]).T for x in (counts, drawn)]
                leads = [x[:, :3] - x[:, [2, 4, 5]] for x in columns]
                name = f"{type(mechanism).__name__} {questions} {sign}"
                assert (alike(*leads, name) < Z) == is_right


def test_answers_drawn_again_have_the_mechanisms_law() -> None:
    """Agreement of each worker with the labels."""
    abilities = np.tile([0.6, 0.75, 0.9], (REPS, 1))
    labels = np.tile(np.array([0, 1, 1, 0, 1, 0, 1, 1], np.int8), (REPS, 1))
    data = Crowd(n=3, m=8).simulate(CrowdTruth(abilities, labels), np.random.default_rng(1))
    release = CrowdFlips(n=3, m=8, epsilon=1.5).release(data, np.random.default_rng(2))
    signs = 2 * labels[0] - 1
    right = (release.answers * signs).sum(axis=2).astype(float)
    for known, is_right in ((abilities, True), (abilities[:, ::-1], False)):
        estimate = SimpleNamespace(abilities=known, labels=labels)
        again = release.drawn_again(estimate, 0, REPS, np.random.default_rng(3))
        drawn = (again.answers * signs).sum(axis=2).astype(float)
        assert (alike(right, drawn, "answers") < Z) == is_right


def test_two_items_have_the_enumerated_mean_and_variance() -> None:
    """Rank centrality of two items, 9 users: bias and variance over all 10 numbers of wins."""
    users = 9
    wins = 6
    release = FlippedWins(np.array([[[wins]]]), np.array([users]), np.array([2.0]), 2)
    estimator = RankCentrality(m=2, bootstrap=20_000)
    estimate = estimator.fit(release, np.random.default_rng(1))

    def lead(number: np.ndarray) -> np.ndarray:
        mean = 0.5 + (number / users - 0.5) / np.tanh(1.0)
        least = 0.5 / users
        return logit(np.clip(mean, least, 1 - least))

    every = np.arange(users + 1)
    kept = 0.5 + (expit(lead(np.array(wins))) - 0.5) * np.tanh(1.0)
    chances = binom.pmf(every, users, kept)
    mean = chances @ lead(every)
    variance = chances @ (lead(every) - mean) ** 2
    centre = 2 * float(lead(np.array(wins))) - mean
    got = estimate.corrected.theta[0, 0] - estimate.corrected.theta[0, 1]
    matrix = estimate.corrected.covariance[0]
    spread = matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1]
    z = (got - centre) / np.sqrt(variance / 20_000)
    print(f"n=20000, z {z:.2f}, bound {Z}; variance {spread:.4f}, exact {variance:.4f}")
    assert abs(z) < Z
    assert spread == pytest.approx(variance, rel=0.06)
    assert abs(got - float(lead(np.array(wins)))) > Z * np.sqrt(
        variance / 20_000
    )  # no bias taken off


def test_item_shares_have_the_errors_of_the_delta_method() -> None:
    """Squared errors over their variance are 1 in the mean; of one who ignores flips they are not."""
    model = Rasch(n=800, m=4, questions=1, item_spread=0.5)
    truth = model.truth(np.random.default_rng(1), 400, np.random.default_rng(0))
    data = model.simulate(truth, np.random.default_rng(2))
    release = Flips(n=800, m=4, person=2.0, questions=1).release(data, np.random.default_rng(3))
    estimate = ItemShares(m=4).fit(release, np.random.default_rng(0))
    ratio = inference.error_ratio_squared()(truth, release, estimate)
    known = ratio[np.isfinite(ratio)]
    z = (known.mean() - 1) / (known.std() / len(known) ** 0.5)
    attenuation = np.tanh(1.0) ** 2
    naive = known / attenuation
    wrong = (naive.mean() - 1) / (naive.std() / len(naive) ** 0.5)
    print(
        f"n={len(known)}, ratio {known.mean():.3f}, z {z:.2f}, bound 5; ignoring flips {wrong:.1f}"
    )
    assert abs(z) < 5
    assert wrong > 5


def test_slices_draw_alike_and_one_data_set_is_a_block_of_one() -> None:
    """A replication's bootstrap depends on nothing but its release and its seed."""
    people = pl.simulate_data(pl.ranking.BTL(m=3, L=200), seed=1)
    mechanism = pl.ranking.RandomizedResponse(m=3, L=200, epsilon=1.0)
    release = pl.simulate_release(mechanism, people, seed=2)
    estimate = pl.ranking.RankCentrality(m=3, bootstrap=100).fit(release)
    assert estimate.interval(0.95).low.shape == (3,)
    assert estimate.ranks(0.95).low.shape == (3,)
    assert np.isfinite(estimate.errors).all()
    centre = np.zeros((4, 1))
    centre[2] = np.nan

    def refit(row: int, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_normal((50, 1))

    whole = bootstrap_scores(centre, refit, np.array([1, 2, 3, 4]))
    part = bootstrap_scores(centre[3:], refit, np.array([4]))
    assert whole.theta[3] == part.theta[0]
    assert np.isnan(whole.errors[2]).all()
    few = bootstrap_scores(centre, lambda row, rng: np.full((50, 1), np.nan), np.arange(4))
    assert np.isnan(few.theta).all()


def test_where_the_limit_law_is_known_the_bootstrap_agrees() -> None:
    """Errors of many people within a tenth; 400 releases have an error of 3.5 % themselves."""
    model = Rasch(n=1200, m=3)
    truth = model.truth(np.random.default_rng(1), 3, np.random.default_rng(0))
    data = model.simulate(truth, np.random.default_rng(2))
    release = Flips(n=1200, m=3, person=12.0).release(data, np.random.default_rng(3))
    plain = SpectralDebiased(m=3).fit(release, np.random.default_rng(4))
    drawn = SpectralDebiased(m=3, bootstrap=400).fit(release, np.random.default_rng(4))
    np.testing.assert_array_equal(plain.theta, drawn.theta)
    np.testing.assert_allclose(drawn.errors, plain.errors, rtol=0.2)


def test_what_cannot_be_drawn_again_is_not_available() -> None:
    """Votes do not tell how able each worker is; workers who answer are drawn again."""
    data = Crowd(n=5, m=40).simulate(
        CrowdTruth(np.full((2, 5), 0.8), np.ones((2, 40), np.int8)), np.random.default_rng(1)
    )
    votes = NoisyVotes(n=5, m=40, person=50.0).release(data, np.random.default_rng(2))
    estimate = MajorityVote(n=5, m=40, bootstrap=30).fit(votes, np.random.default_rng(3))
    assert np.isnan(estimate.errors).all()
    assert np.isnan(VoteMixture(n=5, m=40).fit(votes, np.random.default_rng(3)).errors).all()
    answers = CrowdFlips(n=5, m=40, epsilon=3.0).release(data, np.random.default_rng(2))
    known = MajorityVote(n=5, m=40, bootstrap=30).fit(answers, np.random.default_rng(3))
    assert np.isfinite(known.errors).all()
    without = replace(MajorityVote(n=5, m=40), bootstrap=0).fit(answers, np.random.default_rng(3))
    assert np.isnan(without.errors).all()
