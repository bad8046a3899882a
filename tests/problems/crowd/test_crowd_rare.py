"""Rare errors of labels by tilted answers: against exact tails, enumeration and plain replications."""

import itertools
import math

import numpy as np
import pytest

from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene as Method
from pipeline.problems.crowd.estimators.majority_vote import MajorityVote
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.metrics.rare import (
    first_label_wrong,
    first_label_wrong_weighted,
    log_weights,
)
from pipeline.problems.crowd.model import Answers, CrowdTruth, DawidSkene
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.problems.crowd.theory.vote_errors import expert_vote_error, vote_error
from pipeline.problems.crowd.theory.wisdom import private_ability
from pipeline.problems.crowd.tilted import TiltedCrowd, TiltedTruth, vote_tilt
from pipeline.study.study import build
from tests.helpers.checks import mean_agrees

UNWEIGHTED, WEIGHTED = first_label_wrong(), first_label_wrong_weighted()


def simulated(reps, epsilon=None, estimator=MajorityVote, model=TiltedCrowd, seed=1, **values):
    """Truth, release and estimate of a block, as a study makes them."""
    values = dict(m=1) | values | (dict(epsilon=epsilon) if epsilon else {})
    crowd, (truth_rng, data_rng, noise_rng) = (
        build(model, values),
        np.random.default_rng(seed).spawn(3),
    )
    truth = crowd.truth(truth_rng, reps, truth_rng)
    data = crowd.simulate(truth, data_rng)
    release = (
        build(RandomizedResponse, values).release(data, noise_rng)
        if epsilon
        else data.release_plainly()
    )
    return truth, release, build(estimator, values).fit(release, noise_rng)


@pytest.mark.parametrize(
    "values",
    [
        dict(n=101, epsilon=1.5, ability_low=0.9, ability_high=0.9, reps=6_000),  # 2·10⁻⁸
        dict(n=100, epsilon=2.0, ability_low=0.9, ability_high=0.9, reps=6_000),  # 10⁻¹¹, with ties
        dict(
            n=31, ability_law="ends", ability_low=0.7, ability_high=0.8, reps=6_000
        ),  # without privacy
        dict(n=60, epsilon=1.5, ability_low=0.9, ability_high=0.9, tilt=0.6, reps=6_000),
        dict(n=100, epsilon=2.0, ability_low=0.9, ability_high=0.9, answered=0.7, reps=6_000),
    ],
    ids=str,
)
def test_tilted_votes_have_the_exact_error(values):
    """Errors from 10⁻⁵ to 10⁻¹¹ are those of the Poisson–binomial law; without weights they are far from it."""
    truth, release, estimate = simulated(**values)
    epsilon = values.get("epsilon", np.inf)
    right = private_ability(truth.abilities, epsilon)
    kinds, position = np.unique(np.sort(right, axis=1), axis=0, return_inverse=True)
    exact = vote_error(kinds, values.get("answered", 1.0))[position.ravel()]
    found = WEIGHTED(truth, release, estimate)
    relative = found.std(ddof=1) / found.mean() / len(found) ** 0.5
    print(
        f"exact {exact.mean():.3g}, relative error {relative:.3f}, largest weight {found.max():.3g}"
    )
    assert mean_agrees(found - exact, 0, "weighted errors less exact ones")
    assert relative < 0.1 and found.max() <= 1
    assert not mean_agrees(UNWEIGHTED(truth, release, estimate) - exact, 0, "control: no weights")


def test_weights_by_enumeration():
    """Σ over all releases of their law under the tilt, times weight, is their true law; for both labels, with gaps."""
    abilities, proposal, flip, answered = (
        np.array([0.9, 0.6, 0.3]),
        np.array([0.5, 0.55, 0.1]),
        0.2,
        0.8,
    )
    for label in (0, 1):
        total = 0.0
        for answers in itertools.product((-1, 0, 1), repeat=3):
            truth = TiltedTruth(abilities[None], np.array([[label, 1]], np.int8), proposal[None])
            release = ReleasedAnswers(np.array([[[x, 1] for x in answers]], np.int8), flip)

            def law(able, answers=answers, label=label):
                right = flip + (1 - 2 * flip) * able
                sign = 2 * label - 1
                return math.prod(
                    {sign: answered * p, -sign: answered * (1 - p), 0: 1 - answered}[x]
                    for p, x in zip(right, answers, strict=True)
                )

            weight = math.exp(log_weights(truth, release)[0])
            assert law(proposal) * weight == pytest.approx(law(abilities), rel=1e-12)
            total += law(proposal) * weight
        assert total == pytest.approx(1, rel=1e-12)


def test_no_tilt_is_the_plain_model():
    values = dict(n=7, m=3, ability_low=0.2, ability_high=0.9, epsilon=0.7, answered=0.8)
    plain, tilted = build(DawidSkene, values), build(TiltedCrowd, values | {"tilt": 0.0})
    rngs = np.random.default_rng(1).spawn(4)
    truth = tilted.truth(rngs[0], 50, rngs[1])
    assert np.allclose(truth.proposal, truth.abilities, rtol=0, atol=1e-12)
    same = CrowdTruth(truth.abilities, truth.labels)
    answers = [
        one.simulate(truth, np.random.default_rng(3))
        for one, truth in ((plain, same), (tilted, truth))
    ]
    assert isinstance(answers[0], Answers) and (answers[0].answers == answers[1].answers).all()
    estimate = MajorityVote(n=7, m=3).fit(answers[1].release_plainly(), rngs[2])
    release = answers[1].release_plainly()
    assert np.allclose(
        WEIGHTED(truth, release, estimate), UNWEIGHTED(truth, release, estimate), atol=1e-9
    )
    assert (WEIGHTED(same, release, estimate) == UNWEIGHTED(same, release, estimate)).all()


def test_dawid_and_skene_against_plain_replications():
    """At 10⁻³ tilted replications agree with plain ones, in both directions, with less than a fifth of the variance."""
    values = dict(n=25, m=20, epsilon=3.0, ability_low=0.75, ability_high=0.85, estimator=Method)
    plain = UNWEIGHTED(*simulated(10_000, model=DawidSkene, seed=5, **values))
    for by in ("vote", "odds"):
        found = simulated(3_000, tilt_by=by, seed=6, **values)
        weighted = WEIGHTED(*found)
        apart = weighted.mean() - plain.mean()
        error = math.hypot(weighted.std() / len(weighted) ** 0.5, plain.std() / len(plain) ** 0.5)
        print(
            f"{by}: plain {plain.mean():.3g}, tilted {weighted.mean():.3g}, z={apart / error:.2f}, bound 4.9, "
            "alpha=1e-6"
        )
        assert (
            abs(apart) < 4.9 * error and abs(UNWEIGHTED(*found).mean() - plain.mean()) > 50 * error
        )
        assert weighted.var() < plain.var() / 5


def test_the_tilt_balances_the_vote():
    half_odds = np.random.default_rng(1).uniform(-0.2, 2, (20, 9))
    tilt = vote_tilt(half_odds)
    assert np.abs(np.tanh(half_odds - tilt[:, None]).sum(axis=1)).max() < 2e-3 * 9
    assert (vote_tilt(-np.abs(half_odds)) == 0).all()


def test_abilities_that_cannot_be_tilted_stay():
    perfect = build(TiltedCrowd, dict(n=3, m=1))
    assert (perfect.tilted(np.array([[1.0, 0.0, 0.7]]))[:, :2] == [[1, 0]]).all()
    for by in ("vote", "odds"):
        tilted = build(TiltedCrowd, dict(n=3, m=1, epsilon=1.0, tilt_by=by)).tilted(
            np.array([[1.0, 0.7, 0.5]])
        )
        assert (tilted > 0).all() and (tilted < 1).all()  # the mechanism flips


def test_experts_among_spammers():
    """Abilities 1 and ½, as in Theorem 4: the tilt makes even perfect experts err, as randomized response does."""
    values = dict(n=40, epsilon=3.0, ability_law="experts", expert_exponent=0.9)
    found = WEIGHTED(*simulated(6_000, **values))
    exact = expert_vote_error(40, 0.9, 3.0)
    print(f"exact {exact:.3g}")
    assert exact < 1e-6 and mean_agrees(found, exact, "experts")
