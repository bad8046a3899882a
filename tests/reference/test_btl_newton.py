"""The compiled Newton method against the same in NumPy, both to the rounding of their gradients."""

import numpy as np
import pytest

from pipeline.problems.common.pairwise_newton import Logistic, minimise_pairs
from pipeline.problems.ranking.estimators.newton import MANY, minimise, scores
from pipeline.problems.ranking.theory.fit import weighted_fit
from tests.helpers.reference import btl_exact, btl_newton

RIDGES = (1e-3, 0.1, 3.0)
TIGHT = 1e-12  # not less: the gradient of hundreds of items is rounded


def drawn(m, reps, spread):
    """Scores, some of which no θ matches; the first of items that are all alike, the second of a total order."""
    s = (m - 1) / 2 + spread * np.random.default_rng(m).standard_normal((reps, m))
    s[0], s[1] = (m - 1) / 2, np.arange(m)
    return s


def apart(ours, theirs):
    """Largest difference, relative to the largest estimate of the replication."""
    return (
        np.abs(ours.theta - theirs.theta).max(1) / np.maximum(np.abs(theirs.theta).max(1), 1)
    ).max()


@pytest.mark.parametrize(
    "m, reps",
    [
        (2, 50),
        (3, 50),
        (5, 60),
        (10, 61),
        (33, 20),
        (100, 5),
        (MANY - 1, 3),
        (MANY, 3),
        (MANY + 7, 3),
    ],
)
def test_values_are_those_of_the_reference(m, reps):
    largest = 0.0
    for spread in (0.1, 0.5, 3.0):
        s = drawn(m, reps, spread * np.sqrt(m))
        for ridge in RIDGES:
            ours, theirs = minimise(s, ridge, TIGHT), btl_newton.minimise(s, ridge, TIGHT)
            assert ours.converged.all() and theirs.converged.all()
            largest = max(largest, apart(ours, theirs))
    wrong = minimise(s, RIDGES[-1] * (1 + 1e-10), TIGHT)  # the negative control
    print(f"m={m}: {reps * 9} fits, largest relative difference {largest:.1e}, bound 1e-12")
    assert largest <= 1e-12 < apart(wrong, theirs)


@pytest.mark.parametrize("m", [2, 7, 40, MANY])
def test_statuses_and_iterations_are_those_of_the_reference(m):
    s = np.concatenate(
        [drawn(m, 20, 0.3), drawn(m, 20, 2.0 * m), drawn(m, 4, 1e8), np.full((2, m), np.nan)]
    )
    s[43, -1] = 1e60
    for ridge in (0.0, 1e-12, 1e-6, 1e-2, np.geomspace(1e-9, 10, len(s)), -1.0, np.inf):
        ours, theirs = minimise(s, ridge), btl_newton.minimise(s, ridge)
        assert np.array_equal(ours.converged, theirs.converged)
        assert np.array_equal(np.isnan(ours.theta), np.isnan(theirs.theta))
        assert np.array_equal(ours.iterations == 0, theirs.iterations == 0)
        near = theirs.converged & (np.abs(theirs.theta).max(1) < 100)
        assert np.abs(ours.iterations - theirs.iterations)[near].max(initial=0) <= 1
        assert ours.iterations.max() <= theirs.iterations.max() + 5


def test_far_minimisers_are_those_of_the_reference():
    """Where they are ill-conditioned: within what the rounding of the gradient moves them."""
    for m in (3, 12, MANY):
        s = drawn(m, 30 if m < 100 else 4, 2.0 * m)
        for ridge in (1e-10, 1e-6):
            ours, theirs = minimise(s, ridge, TIGHT), btl_newton.minimise(s, ridge, TIGHT)
            assert (
                np.ptp(theirs.theta, axis=1).max() > 1e4
                and theirs.converged.all()
                and ours.converged.all()
            )
            size = np.linalg.norm(s, axis=1) + m * np.linalg.norm(theirs.theta, axis=1)
            moved = (
                2
                * ridge
                * np.linalg.norm(ours.theta - theirs.theta, axis=1)
                / (np.finfo(float).eps * size)
            )
            print(
                f"m={m}, λ={ridge}: {len(s)} fits, gradients apart by {moved.max():.2f} roundings, bound 4"
            )
            assert moved.max() <= 4


def separable(m, kind):
    """Means of pairs that a ridge alone keeps finite: a total order, an unbeaten item, two groups of items."""
    first, second = np.triu_indices(m, 1)
    if kind == "order":
        return np.ones(len(first))
    even = np.random.default_rng(m).uniform(0.2, 0.8, len(first))
    return np.where((first == 0) if kind == "unbeaten" else (first < 2) & (second >= 2), 1.0, even)


@pytest.mark.parametrize("kind", ["order", "groups"])
def test_the_fit_to_all_of_a_file_is_as_near(kind):
    """Of up to 10⁸ comparisons, at λ = 1/users."""
    mean = separable(5, kind)
    for users in (1e4, 1e6, 1e8):
        theta = weighted_fit(mean, np.ones(10), 5, 1 / users)
        exact = btl_exact.fit(mean, np.ones(10), 5, 1 / users, theta)
        assert np.abs(theta - exact).max() <= 1e-6 * (1 + np.ptp(exact))


@pytest.mark.parametrize("solver", ["complete", "weighted"])
def test_separable_data_with_hardly_a_ridge_are_fitted_or_not_converged(solver):
    """λ = 1/L for up to 10¹⁴ users, against 60 digits: also where a gradient of 10⁻⁸ was .2 logits and more away."""
    worst, alike = {}, 0
    for users in (1e4, 1e6, 1e8, 1e9, 1e10, 1e11, 1e12, 1e14):
        for m, kind in ((3, "order"), (3, "unbeaten"), (5, "order"), (5, "groups")):
            mean = separable(m, kind)
            if solver == "complete":
                found = minimise(scores(mean[None], m), 1 / users)
            else:
                found = minimise_pairs(
                    Logistic(mean[None], np.ones((1, len(mean)))), np.zeros((1, m)), 1 / users
                )
            exact = btl_exact.fit(mean, np.ones(len(mean)), m, 1 / users, found.theta[0])
            error = np.abs(found.theta[0] - exact).max() / (1 + np.ptp(exact))
            assert found.converged.all() or users > 1e9, (users, m, kind)
            if found.converged.all():
                worst[users] = max(worst.get(users, 0), error)
            alike += (np.argsort(found.theta[0]) == np.argsort(exact)).all()
    print(f"largest error of converged fits, relative to 1 + range: {worst}; orders {alike} of 32")
    assert max(worst.values()) <= 1e-6 and alike >= 28
    early = minimise(
        scores(separable(5, "order")[None], 5), 1e-9, iterations=15
    )  # a control: it stops too early
    exact = btl_exact.fit(separable(5, "order"), np.ones(10), 5, 1e-9, early.theta[0])
    assert not early.converged[0] and np.abs(early.theta[0] - exact).max() > 0.1
