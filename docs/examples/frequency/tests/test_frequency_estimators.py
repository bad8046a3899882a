"""Estimators, metrics and the model: against definitions, bisection and closed forms."""

import math

import numpy as np
import pytest
from private_frequencies import PROBLEM
from private_frequencies.derivations import epsilon_from_odds, epsilon_from_share
from private_frequencies.estimators import Normalised, Projected, Unbiased, on_simplex, unbiased
from private_frequencies.metrics import ErrorAbsent, SupportHeld
from private_frequencies.model import Frequencies, People, Values
from private_frequencies.releases import Supports
from private_frequencies.theory.reports import Support
from private_frequencies.yardsticks import ProjectionBound
from scipy import optimize
from statistical import mean_is

from pipeline.study.parameters import InvalidInput

RNG = np.random.default_rng(0)


def test_projection_is_the_nearest_point():
    """Entries max(y − τ, 0) with τ found by bisection, and no point of the simplex is nearer."""
    points = np.random.default_rng(1).normal(0, [[0.1], [1.0], [10.0]] * 20, (60, 7))
    projected = on_simplex(points)
    for y, x in zip(points, projected, strict=True):
        tau = optimize.brentq(lambda t, y=y: np.maximum(y - t, 0).sum() - 1, y.min() - 1, y.max())
        np.testing.assert_allclose(x, np.maximum(y - tau, 0), atol=1e-9)
        others = np.random.default_rng(2).dirichlet(np.ones(7), 50)
        assert (np.square(others - y).sum(axis=1) >= np.square(x - y).sum() - 1e-12).all()
    positive = np.maximum(points, 1e-9)  # the negative control: divided by the sum
    assert np.abs(positive / positive.sum(axis=1, keepdims=True) - projected).max() > 0.01


def test_projection_leaves_frequencies_as_they_are():
    inside = np.random.default_rng(3).dirichlet(np.ones(5), 20)
    np.testing.assert_allclose(on_simplex(inside), inside, atol=1e-15)
    assert on_simplex(np.array([[1e300, -1e300]])).tolist() == [[1.0, 0.0]]


def test_estimates_of_known_supports():
    release = Supports(np.array([[6, 3, 1], [1, 1, 8]]), 10, Support(0.6, 0.2))
    expected = (np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]) - 0.2) / 0.4
    np.testing.assert_allclose(unbiased(release), expected)
    assert (Unbiased(k=3).fit(release, RNG).frequencies == unbiased(release)).all()
    for estimator in (Normalised(k=3), Projected(k=3)):
        fit = estimator.fit(release, RNG)
        assert fit.converged.all() and (fit.frequencies >= 0).all()
        np.testing.assert_allclose(fit.frequencies.sum(axis=1), 1)
    nothing = Supports(np.zeros((1, 4), int), 10, Support(0.5, 0.25))
    assert Normalised(k=4).fit(nothing, RNG).frequencies.tolist() == [[0.25] * 4]


def test_without_privacy_frequencies_come_out_as_they_are():
    model = People(n=50, k=4, law="zipf")
    truth = model.truth(RNG, 6, RNG)
    release = model.simulate(truth, RNG).release_plainly()
    for name in PROBLEM.estimators:
        fit = PROBLEM.part("estimator", name)(k=4).fit(release, RNG)
        np.testing.assert_allclose(fit.frequencies, truth.frequencies, atol=1e-12)


@pytest.mark.parametrize(
    "law, expected",
    [
        ("uniform", [0.25] * 4),
        ("half", [0.5, 0.5, 0, 0]),
        ("point", [1, 0, 0, 0]),
        ("zipf", [12 / 25, 6 / 25, 4 / 25, 3 / 25]),
    ],
)
def test_people_follow_the_law(law, expected):
    model = People(n=200, k=4, law=law)
    np.testing.assert_allclose(model.probabilities(), expected)
    truth = model.truth(np.random.default_rng(4), 500, RNG)
    counts = model.simulate(truth, RNG).counts
    assert (counts.sum(axis=1) == 200).all() and (counts == np.rint(200 * truth.frequencies)).all()
    population = People(n=200, k=4, law=law, target="population")
    truth = population.truth(RNG, 500, RNG)
    assert (truth.frequencies == population.probabilities()).all()
    drawn = population.simulate(truth, np.random.default_rng(5)).counts[:, 0]
    assert mean_is(drawn, 200 * expected[0], law) if 0 < expected[0] < 1 else (drawn == 200).all()


def test_metrics_of_values_that_nobody_or_everybody_holds():
    release = Supports(np.array([[6, 3, 2], [4, 4, 4]]), 10, Support(0.6, 0.2))
    truth = Frequencies(np.array([[1.0, 0.0, 0.0], [0.5, 0.3, 0.2]]))
    fit = Unbiased(k=3).fit(release, RNG)
    absent, held = ErrorAbsent()(truth, release, fit), SupportHeld()(truth, release, fit)
    assert absent[0] == pytest.approx((0.25**2 + 0) / 2) and held[0] == 0.6
    assert math.isnan(absent[1]) and math.isnan(held[1])


def test_the_projection_bound_holds_and_is_near_for_two_values():
    rng = np.random.default_rng(6)
    truth = Frequencies(rng.dirichlet(np.full(6, 0.3), 2000))
    release = Supports(rng.integers(0, 100, (2000, 6)), 100, Support(0.5, 0.4))
    errors = np.square(Projected(k=6).fit(release, rng).frequencies - truth.frequencies).sum(axis=1)
    bound = ProjectionBound()(truth, release, Projected(k=6).fit(release, rng))
    assert (errors <= bound).all() and (errors > bound / 5).any()


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: epsilon_from_odds(1.0), "odds=1.0: must be a number > 1"),
        (lambda: epsilon_from_share(10, 2.0), "share=2.0: must be a number > 0 and < k/5"),
        (lambda: People(n=0, k=4), "n=0: must be a whole number ≥ 1"),
        (lambda: People(n=5, k=4, law="normal"), "law=normal"),
        (lambda: People(n=5, k=4, target="sample"), "target=sample"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(InvalidInput, match=said):
        call()


def test_plain_values():
    assert (Values(np.array([[2, 3]])).release_plainly().supports == [[2, 3]]).all()
