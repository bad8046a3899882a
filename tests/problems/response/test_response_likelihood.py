"""Likelihood estimators: against SciPy's minimisers and closed forms; consistent the one, inconsistent the other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from pipeline.problems.response.estimators import likelihood as rasch_likelihood
from pipeline.problems.response.estimators.likelihood import (
    JointLikelihood,
    PairwiseLikelihood,
    joint,
)
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import Differences, OpenResponses
from tests.helpers.checks import mean_agrees

RAW = dict(pseudo_count=0.0, floor=0.0, ridge=0.0)


def rng(seed):
    return np.random.default_rng(seed)


def simulated(seed, n=60, m=5, reps=4, p=1.0, **more):
    model = Rasch(n=n, m=m, p=p, **more)
    truth = model.truth(rng(seed), reps, rng(0))
    data = model.simulate(truth, rng(seed + 1))
    return truth, OpenResponses(data.answers, data.observed)


def joint_kind(release):
    answers = release.answers
    return JointLikelihood(
        m=answers.shape[2], n=answers.shape[1], p=1.0 if release.observed is None else 0.5
    )


@pytest.mark.parametrize("ridge", [0.0, 3.0])
@pytest.mark.parametrize("p", [1.0, 0.6])
def test_pairwise_is_the_maximum_that_scipy_finds(ridge, p):
    _, release = simulated(1, p=p)
    counts = release.differences()
    found = PairwiseLikelihood(m=5, pseudo_count=0.0, floor=0.0, ridge=ridge).fit(release, rng(0))
    assert found.converged.all()
    for Y, ours in zip(counts, found.theta, strict=True):

        def loss(beta, Y=Y):
            return (Y * np.logaddexp(0, beta[:, None] - beta)).sum() + ridge * beta @ beta

        theirs = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-7}).x
        assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-5)
        assert loss(-ours) > loss(ours) + 1  # control: the sign turned round


def test_two_items_in_closed_form():
    """log Y_01 − log Y_10 apart by pairs and by the chain; twice that by joint likelihood."""
    _, release = simulated(3, n=500, m=2)
    counts = release.differences()
    gap = np.log(counts[:, 1, 0] / counts[:, 0, 1])
    for kind, factor in (
        (PairwiseLikelihood(m=2, **RAW), 1),
        (Spectral(m=2, pseudo_count=0.0, floor=0.0), 1),
        (joint_kind(release), 2),
    ):
        found = kind.fit(release, rng(0))
        assert found.converged.all() and found.theta[:, 0] - found.theta[:, 1] == pytest.approx(
            factor * gap, abs=1e-8
        )


@pytest.mark.parametrize("p", [1.0, 0.7])
def test_joint_is_the_maximum_that_scipy_finds(p):
    _, release = simulated(4, n=25, m=6, reps=3, p=p)
    found = joint_kind(release).fit(release, rng(0))
    assert found.converged.all()
    for r in range(3):
        seen = np.ones((25, 6), bool) if release.observed is None else release.observed[r]
        score = release.answers[r].sum(axis=1)
        kept = (score > 0) & (score < seen.sum(axis=1))
        sign, seen = np.where(release.answers[r], -1, 1)[kept], seen[kept]

        def loss(x, sign=sign, seen=seen):
            gap = x[6:, None] - x[:6]
            slope = seen * sign * expit(sign * gap)
            return (seen * np.logaddexp(0, sign * gap)).sum(), np.concatenate(
                [-slope.sum(axis=0), slope.sum(axis=1)]
            )

        theirs = minimize(
            loss, np.zeros(6 + kept.sum()), jac=True, method="BFGS", options={"gtol": 1e-8}
        ).x[:6]
        assert found.theta[r] == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_score_groups_are_persons():
    """Complete responses, taken as a table of observed ones, give the same."""
    _, release = simulated(5, n=80, m=7)
    by_score = joint_kind(release).fit(release, rng(0))
    listed = OpenResponses(release.answers, np.ones(release.answers.shape, bool))
    assert by_score.theta == pytest.approx(joint_kind(listed).fit(listed, rng(0)).theta, abs=1e-9)


def expected_tables(beta, abilities=(-1.0, 0.5, 1.5)):
    """What `by_score` gives of infinitely many persons, by enumeration."""
    m = len(beta)
    patterns = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
    law = np.mean(
        [np.where(patterns, expit(a - beta), expit(beta - a)).prod(axis=1) for a in abilities],
        axis=0,
    )
    score = patterns.sum(axis=1)
    sizes = np.bincount(score, law, m + 1)[1:m]
    inner = (score > 0) & (score < m)
    return (
        sizes[None, :, None],
        (sizes * np.arange(1, m))[None],
        (law[inner] @ patterns[inner])[None],
    )


@pytest.mark.parametrize("m", [2, 3, 4, 5, 8])
def test_joint_likelihood_tends_to_m_over_m_minus_one_times_the_truth(m):
    beta = 0.5 * (np.arange(m) - (m - 1) / 2) / m
    found, converged = joint(*expected_tables(beta))
    assert converged.all() and found[0] / (m / (m - 1)) == pytest.approx(beta, rel=1e-2, abs=1e-3)
    assert found[0] != pytest.approx(beta, rel=0.1)  # control: consistent
    if m == 2:
        assert found[0] == pytest.approx(2 * beta, rel=1e-9)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_pairs_are_consistent_and_joint_likelihood_is_not(m):
    truth, release = simulated(
        6, n=100_000, m=m, reps=16, items="fixed", item_law="uniform", item_spread=1.0
    )
    target, hardest = truth.theta[0], truth.theta[0].argmax()
    for name, kind, fine in (
        ("pairwise", PairwiseLikelihood(m=m), True),
        ("joint", joint_kind(release), False),
    ):
        found = kind.fit(release, rng(0))
        assert found.converged.all()
        assert fine == mean_agrees(found.theta[:, hardest], target[hardest], name)
        if not fine:
            assert found.theta[:, hardest].mean() == pytest.approx(
                m / (m - 1) * target[hardest], rel=0.03
            )


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.permutations(range(4)), st.sampled_from([1.0, 0.8]))
def test_renaming_items_renames_estimates_and_right_for_wrong_turns_signs(seed, order, p):
    _, release = simulated(seed, n=40, m=4, reps=2, p=p)
    order = list(order)
    seen = None if release.observed is None else release.observed[:, :, order]
    turned = ~release.answers if seen is None else ~release.answers & release.observed
    for kind in (PairwiseLikelihood(m=4), joint_kind(release)):
        first = kind.fit(release, rng(0))
        again = kind.fit(OpenResponses(release.answers[:, :, order], seen), rng(0))
        assert again.theta == pytest.approx(first.theta[:, order], abs=1e-6, nan_ok=True)
        mirrored = kind.fit(OpenResponses(turned, release.observed), rng(0))
        assert mirrored.theta == pytest.approx(-first.theta, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("p", [1.0, 0.6])
def test_a_replication_does_not_depend_on_its_batch(p, monkeypatch):
    _, release = simulated(7, n=40, m=6, reps=9, p=p)
    kinds = [PairwiseLikelihood(m=6), joint_kind(release)]
    whole = [kind.fit(release, rng(0)).theta for kind in kinds]
    for rows in (slice(0, 1), slice(3, 8)):
        part = OpenResponses(
            release.answers[rows], None if release.observed is None else release.observed[rows]
        )
        for kind, theta in zip(kinds, whole, strict=True):
            assert np.array_equal(kind.fit(part, rng(0)).theta, theta[rows], equal_nan=True)
    monkeypatch.setattr(rasch_likelihood, "SLICE_CELLS", 1)
    assert np.array_equal(kinds[1].fit(release, rng(0)).theta, whole[1], equal_nan=True)


def test_poor_data_break_nothing():
    answers = np.zeros((5, 6, 3), bool)
    answers[1] = True
    answers[2, :3] = True  # everybody all or nothing
    answers[3, :, 0] = True
    observed = np.ones((5, 6, 3), bool)
    observed[3, :, 1] = False  # nobody answered item 1
    observed[4] = False  # nobody answered anything
    for release in (OpenResponses(answers, observed), OpenResponses(answers[:3], None)):
        found = joint_kind(release).fit(release, rng(0))
        assert not found.converged.any() and np.isnan(found.theta).all()
        raw = PairwiseLikelihood(m=3, **RAW).fit(release, rng(0))
        assert not raw.converged.any() and np.isnan(raw.theta).all()
        regular = PairwiseLikelihood(m=3).fit(release, rng(0)).converged
        assert regular.tolist() == [True] * 3 + [False] * (
            len(regular) - 3
        )  # a ridge replaces no pairs of items


def test_a_person_with_equal_answers_changes_nothing():
    _, release = simulated(8, n=50, m=4)
    more = np.concatenate(
        [release.answers, np.zeros((4, 3, 4), bool), np.ones((4, 2, 4), bool)], axis=1
    )
    for kind in (JointLikelihood(m=4, n=50), PairwiseLikelihood(m=4, **RAW)):
        first, second = (
            kind.fit(OpenResponses(x, None), rng(0)).theta for x in (release.answers, more)
        )
        assert second == pytest.approx(first, abs=1e-8)


def test_pairwise_takes_noisy_counts():
    counts = rng(1).normal(3, 30, (20, 6, 6))
    found = PairwiseLikelihood(m=6).fit(Differences(counts, 50, 900.0), rng(0))
    assert found.converged.all() and np.abs(found.theta.sum(axis=1)).max() < 1e-10
    counts[3, 0, 1] = np.nan
    assert PairwiseLikelihood(m=6).fit(Differences(counts, 50, 900.0), rng(0)).converged.sum() == 19


def halves(n=40, m=6, seed=11):
    """Responses of which one half of the persons saw one half of the items, and the other the other."""
    answers = np.random.default_rng(seed).random((3, n, m)) < 0.5
    observed = np.zeros((3, n, m), bool)
    observed[:, : n // 2, : m // 2] = observed[:, n // 2 :, m // 2 :] = True
    bridged = observed.copy()
    bridged[:, :4] = True  # four persons saw all items
    return answers, observed, bridged


def test_every_estimator_says_that_a_design_identifies_nothing():
    answers, apart, bridged = halves()
    for observed, identified in ((apart, False), (bridged, True)):
        release = OpenResponses(answers & observed, observed)
        for kind in (
            JointLikelihood(m=6, n=40, p=0.5),
            PairwiseLikelihood(m=6),
            Spectral(m=6),
            Spectral(m=6, solver="power"),
        ):
            found = kind.fit(release, rng(0))
            assert found.converged.tolist() == [identified] * 3, kind
            assert np.isnan(found.theta).all() == (not identified)


def test_joint_likelihood_has_a_maximum_where_wins_lead_from_every_item_to_every_other():
    """Nobody has an item of the second half right and one of the first wrong, until somebody has."""
    answers = np.array(
        [[[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]]] * 2, bool
    )
    answers[1, 4] = [0, 1, 1, 0]
    assert JointLikelihood(m=4, n=5).fit(
        OpenResponses(answers, None), rng(0)
    ).converged.tolist() == [False, True]
