"""Confusion matrices: EM against a literal transcription, against one coin, and on planted labels."""

import numpy as np
import pytest
from scipy import special

from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.estimators.two_coins import TwoCoins
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.metrics.two_coins import coin_error_l2, coin_risk
from pipeline.problems.crowd.model import Answers
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.problems.crowd.two_coins import TwoCoinCrowd, TwoCoinTruth
from pipeline.study.parameters import InvalidInput


def literally(answers, steps, least=1e-3):
    """Posterior of Dawid and Skene's EM, one worker and task after another; answers (n, m)."""
    n, m = answers.shape
    q = [(1 + answers[:, j].sum() / max(1, np.abs(answers[:, j]).sum())) / 2 for j in range(m)]
    for _ in range(steps):
        coins = []
        for i in range(n):
            of_label = []
            for weight, right in ((q, 1), ([1 - x for x in q], -1)):
                given = sum(w for w, x in zip(weight, answers[i], strict=True) if x)
                hit = sum(w for w, x in zip(weight, answers[i], strict=True) if x == right)
                share = hit / given if given else 0.5
                of_label.append(min(max(share, least), 1 - least))
            coins.append(of_label)
        share = min(max(sum(q) / m, least), 1 - least)
        new = []
        for j in range(m):
            odds = np.log(share / (1 - share))
            for (sees, misses), x in zip(coins, answers[:, j], strict=True):
                if x == 1:
                    odds += np.log(sees / (1 - misses))
                elif x == -1:
                    odds += np.log((1 - sees) / misses)
            new.append(special.expit(odds))
        q = new
    return np.array(q)


def test_em_against_a_literal_transcription():
    rng = np.random.default_rng(1)
    answers = rng.choice([-1, 0, 1], (2, 5, 9), p=[0.35, 0.2, 0.45]).astype(np.int8)
    fit = TwoCoins(5, 9, iterations=7).fit(ReleasedAnswers(answers, 0.1), rng)
    for of_one, posterior in zip(answers, fit.posterior, strict=True):
        assert posterior == pytest.approx(literally(of_one, 7), abs=1e-10)
    assert not fit.converged.any()
    alone = TwoCoins(5, 9, iterations=7).fit(ReleasedAnswers(answers[1:], 0.1), rng)
    assert (alone.posterior[0] == fit.posterior[1]).all()


def test_two_coins_see_what_one_coin_cannot_and_their_error_is_of_first_order():
    """n = 60, m = 1,000, ε = 4, 20 replications: 4.9 standard errors; half of ε is seen."""
    rng = np.random.default_rng(2)
    crowd = TwoCoinCrowd(n=60, m=1000)
    truth = crowd.truth(rng, 20, rng)
    data = crowd.simulate(truth, rng)
    release = RandomizedResponse(n=60, m=1000, epsilon=4.0).release(data, rng)
    fit = TwoCoins(60, 1000).fit(release, rng)
    one = DawidSkene(60, 1000, iterations=10_000).fit(release, rng)
    wrong = (fit.labels != truth.labels).mean()
    assert fit.converged.all() and wrong < 0.02 < (one.labels != truth.labels).mean() / 2
    squares = coin_error_l2()(truth, release, fit) ** 2
    risks = coin_risk()(truth, release, fit)
    half = 4.9 * squares.std() / np.sqrt(20)
    print(f"n = 20, {squares.mean():.6f} ± {half:.6f}, first order {risks.mean():.6f}")
    assert abs(squares.mean() - risks.mean()) < half
    told = ReleasedAnswers(release.answers, special.expit(-2.0))
    assert abs(coin_risk()(truth, told, fit).mean() - squares.mean()) > half
    assert (coin_error_l2()(truth, release, one) ** 2 > 4 * squares).all()


def test_a_model_has_both_abilities_and_a_worker_without_answers_is_a_coin():
    rng = np.random.default_rng(3)
    crowd = TwoCoinCrowd(
        n=3,
        m=4000,
        sensitivity_low=1,
        sensitivity_high=1,
        specificity_low=0.6,
        specificity_high=0.6,
    )
    truth = crowd.truth(rng, 1, rng)
    answers = crowd.simulate(truth, rng).answers[0]
    is_one = truth.labels[0] == 1
    assert (answers[:, is_one] == 1).all()
    share = (answers[:, ~is_one] == -1).mean()
    assert share == pytest.approx(0.6, abs=4.9 * np.sqrt(0.24 / (3 * (~is_one).sum())))
    with pytest.raises(InvalidInput, match="sensitivity_low"):
        TwoCoinCrowd(n=3, m=4, sensitivity_low=0.9)
    silent = np.zeros((1, 2, 3), np.int8)
    fit = TwoCoins(2, 3).fit(Answers(silent).release_plainly(), rng)
    assert (fit.sensitivities == 0.5).all() and (fit.abilities == 0.5).all()
    exact = TwoCoinTruth(truth.abilities, truth.labels, truth.sensitivities, truth.specificities)
    assert np.isfinite(coin_risk()(exact, ReleasedAnswers(answers[None], 0.0), fit)).all()
