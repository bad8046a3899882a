"""Lemmas 1 and 3 of Wang and Xu's appendix: the metrics by hand, and where the events do not occur."""

import numpy as np
import pytest
from scipy.special import logit

from pipeline.problems.crowd.derivations import lemma_1_most
from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.metrics.lemmas import lemma_1_holds, lemma_3_share
from pipeline.problems.crowd.model import CrowdTruth
from pipeline.problems.crowd.releases import ReleasedAnswers


def test_events_by_hand():
    """m = 16: the mean of 16 may be 0.416 from its expectation, √(log 16/16)."""
    labels = np.array([[0, 1] * 8], np.int8)
    signs = 2 * labels[:, None] - 1
    abilities = np.array([[0.9, 0.5]])
    right = np.ones((1, 2, 16), np.int8)
    right[0, 1, 8:] = -1
    truth = CrowdTruth(abilities, labels)
    events = lemma_1_holds(projection=0.1)
    assert events(truth, ReleasedAnswers(right * signs, 0.0), None) == 1
    right[0, 1, :] = 1  # a coin that always falls right: 0.5 away
    assert events(truth, ReleasedAnswers(right * signs, 0.0), None) == 0
    # E₂ alone: workers are near their means, and all of them err on one task.
    many = np.ones((1, 400, 16), np.int8)
    many[0, :, 0] = -1
    truth = CrowdTruth(np.full((1, 400), 0.9), labels)
    release = ReleasedAnswers(many * signs, 0.0)
    apart = 400 * 0.9 * logit(0.9)
    assert apart > 2 * np.log(10) * np.sqrt(400 * np.log(16))
    assert events(truth, release, None) == 0
    assert lemma_1_most(20, 20) == pytest.approx(0.1)


def test_log_odds_by_hand_and_nothing_is_said_without_the_event():
    labels = np.array([[0, 1] * 8], np.int8)
    signs = 2 * labels[:, None] - 1
    right = np.ones((1, 3, 16), np.int8)
    right[0, :, :4] = -1  # 12 of 16 are right
    release = ReleasedAnswers(right * signs, 0.0, labels.astype(float))
    method = DawidSkene(3, 16, projection=0.1, initialisation="given", initial_error=0.0)
    fit = method.fit(release, np.random.default_rng(0))
    one_step = abs(logit(0.75) - logit(0.6)) / (2 / 0.1 * np.sqrt(np.log(16) / 16))
    near = lemma_3_share(projection=0.1)(CrowdTruth(np.full((1, 3), 0.6), labels), release, fit)
    assert one_step <= near[0] < 1
    far = lemma_3_share(projection=0.1)(CrowdTruth(np.full((1, 3), 0.2), labels), release, fit)
    assert far == 0


def test_lemma_2_by_enumeration():
    """Hoeffding's inequality of nine two-valued variables: all 512 outcomes, 30 laws, every t."""
    rng = np.random.default_rng(2)
    outcomes = (np.arange(512)[:, None] >> np.arange(9)) & 1
    sharper_fails = 0
    for _ in range(30):
        widths, chances = rng.uniform(0.2, 2, 9), rng.uniform(0.05, 0.95, 9)
        law = np.where(outcomes, chances, 1 - chances).prod(axis=1)
        away = np.abs((outcomes - chances) @ widths) / 9
        order = np.argsort(away)[::-1]
        beyond = np.cumsum(law[order])  # P(|mean − E| ≥ t) at each t that occurs
        exponent = 2 * 81 * away[order] ** 2 / np.square(widths).sum()
        assert (beyond <= 2 * np.exp(-exponent) + 1e-12).all()
        sharper_fails += (beyond > 2 * np.exp(-2 * exponent)).any()
    assert sharper_fails  # the wrong variant: twice the exponent
