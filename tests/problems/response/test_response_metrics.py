"""Metrics of the Rasch model: what they are fed, by hand, and what they find of real releases."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy import accounting
from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import (
    DiscreteGaussian,
    DiscreteLaplace,
)
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.metrics import privacy_loss
from pipeline.problems.response.metrics.cramer_rao import error_over_bound, item_bound
from pipeline.problems.response.metrics.noise_risk import noise_drawn
from pipeline.problems.response.model import ItemParameters, Rasch
from pipeline.problems.response.theory.cramer_rao import cramer_rao_risk
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import mean_agrees

ALL = dict(epsilon_user=1.0, delta=1e-4)


def chain(mechanism, n=20, m=4, reps=3, seed=1, **model):
    rng = np.random.default_rng(seed)
    rasch = Rasch(n=n, m=m, **model)
    truth = rasch.truth(rng, reps, rng)
    release = mechanism.release(rasch.simulate(truth, rng), rng)
    return truth, release, Spectral(m=m).fit(release, rng)


def test_bounds():
    truth, release, estimate = chain(NoPrivacy())
    bound = cramer_rao_risk(truth.theta, truth.ability, 0.5)
    assert item_bound(p=0.5)(truth, release, estimate) == pytest.approx(bound)
    square = np.square(estimate.theta - truth.theta).mean(axis=1)
    assert error_over_bound(p=0.5)(truth, release, estimate) == pytest.approx(square / bound)
    recorded = ItemParameters(truth.theta, np.empty((3, 0)))
    assert np.isnan(item_bound()(recorded, release, estimate)).all()


def test_the_bound_is_nearly_reached():
    given = chain(NoPrivacy(), n=3000, m=5, reps=1500, item_law="uniform", item_spread=1.0)
    ratio = error_over_bound()(*given)
    efficient = ratio / ratio.mean()
    assert mean_agrees(efficient, 1.0) and 0.95 < ratio.mean() < 1.3
    assert not mean_agrees(ratio, 2.0, "control: twice the bound")


@pytest.mark.parametrize(
    "calibration, m, least, most", [("tight", 4, 0.9999, 1.0001), ("paper", 4, 0.6, 0.7)]
)
def test_releases_spend(calibration, m, least, most):
    for cls, name in (
        (DiscreteGaussian, "discrete_gaussian"),
        (DiscreteLaplace, "discrete_laplace"),
    ):
        mechanism = cls(m=m, epsilon_user=1.0, calibration=calibration)
        spent = privacy_loss.PersonSpent(m=m, mechanism=name, **ALL)(*chain(mechanism))
        assert spent.shape == (3,) and least < spent.min() <= spent.max() < most
    add = DiscreteGaussian(
        m=m, epsilon_user=1.0, neighbours_are="add_remove"
    )  # the control: for other neighbours
    assert privacy_loss.PersonSpent(m=m, mechanism="discrete_gaussian", **ALL)(
        *chain(add)
    ) == pytest.approx(2)


@pytest.mark.parametrize("conversion", ["bun_steinke", "paper", "tight", "exact"])
def test_what_is_spent_is_judged_by_the_conversion_that_the_noise_was_made_for(conversion):
    """In full, of ρ or of δ. Control: by zCDP the noise of the exact account spends too much."""
    given = chain(DiscreteGaussian(m=4, epsilon_user=1.0, conversion=conversion))
    audit = dict(m=4, mechanism="discrete_gaussian", **ALL)
    assert privacy_loss.PersonSpent(conversion=conversion, **audit)(*given) == pytest.approx(
        [1] * 3, rel=2e-3
    )
    if conversion == "exact":
        assert privacy_loss.PersonSpent(**audit)(*given).min() > 1.1
        less = DiscreteGaussian(m=4, epsilon_user=1.05, conversion=conversion)
        assert privacy_loss.PersonSpent(conversion=conversion, **audit)(*chain(less)).min() > 1.1


def test_shuffling_is_judged_for_budgets_that_numbers_hold():
    with pytest.raises(InvalidInput, match="epsilon_user=800"):
        privacy_loss.local_budget(n=100, epsilon_user=800.0)
    assert privacy_loss.local_budget(n=100, epsilon_user=500.0).value == 500


def test_audits_are_the_same_in_every_replication_and_nan_where_they_say_nothing():
    given = chain(RandomizedResponse(n=20, m=4, epsilon_user=1.0))
    audit = dict(m=4, mechanism="randomized_response", **ALL)
    assert np.isnan(privacy_loss.PersonSpent(**audit)(*given)).all()
    assert np.isnan(privacy_loss.person_spent_printed(**audit)(*given)).all()
    audit["mechanism"] = "discrete_gaussian"
    assert privacy_loss.person_spent_printed(**audit)(*given) == pytest.approx(
        [8 / np.sqrt(12)] * 3
    )
    count = privacy_loss.count_spent(m=4, mechanism="discrete_gaussian", epsilon_user=1.0)
    assert count(*given) == pytest.approx([1] * 3)
    assert privacy_loss.shortcut_epsilon_cited(**ALL)(*given) == pytest.approx(
        [1 + 1 / (4 * np.log(1e4))] * 3
    )


@pytest.mark.parametrize("epsilon, delta", [(1.0, 1e-4), (0.3, 1e-2), (6.0, 1e-3)])
def test_the_shortcuts_exact_delta_is_that_of_two_normal_laws(epsilon, delta):
    """∫ max(φ(x − s) − e^ε φ(x), 0) dx over δ, s²/2 = ρ = ε²/(4 log(1/δ)): below 1 at small budgets, not at large."""
    audit = privacy_loss.shortcut_delta_exact(epsilon_user=epsilon, delta=delta)
    x = np.linspace(-12, 16, 400_001)
    shift = epsilon / np.sqrt(2 * np.log(1 / delta))
    exact = np.trapezoid(
        np.maximum(stats.norm.pdf(x - shift) - np.exp(epsilon) * stats.norm.pdf(x), 0), x
    )
    assert audit(*chain(NoPrivacy())) == pytest.approx([exact / delta] * 3, rel=1e-5)


@pytest.mark.parametrize("n, epsilon", [(100, 1.0), (1000, 1.0), (1000, 7.5)])
def test_budgets_of_reports(n, epsilon):
    given = chain(NoPrivacy())
    own, published, exact = (
        metric(n=n, epsilon_user=epsilon)(*given)[0]
        for metric in (
            privacy_loss.local_budget,
            privacy_loss.local_budget_published,
            privacy_loss.shuffled_epsilon_exact,
        )
    )
    assert own == accounting.local_budget(epsilon, n, 1e-4)[0]
    assert published <= own and exact <= epsilon


@pytest.mark.parametrize(
    "mechanism, p",
    [
        (DiscreteGaussian(m=5, epsilon_user=2.0), 1.0),
        (DiscreteLaplace(m=5, epsilon_user=5.0), 1.0),
        (DiscreteGaussian(m=5, epsilon_user=20.0, p0=0.7), 0.6),
    ],
    ids=["Gaussian", "Laplace", "graphs, missing responses"],
)
def test_noise_is_drawn_with_the_variance_that_the_release_states(mechanism, p):
    truth, release, estimate = chain(mechanism, m=5, reps=4000, p=p)
    drawn = noise_drawn(p=p)(truth, release, estimate)
    assert mean_agrees(drawn, 1, "noise as drawn")
    halved = replace(release, variance=release.variance / 2)
    assert not mean_agrees(
        noise_drawn(p=p)(truth, halved, estimate), 1, "control: half of the variance stated"
    )


def test_no_noise_is_seen_and_other_releases_have_none():
    truth, release, estimate = chain(DiscreteGaussian(m=4, epsilon_user=1.0), reps=500)
    plain = replace(
        release, counts=Rasch(n=20, m=4).simulate(truth, np.random.default_rng(2)).differences()
    )
    found = noise_drawn()(truth, plain, estimate)
    print(f"no noise: n=500 statistic={np.abs(found).max():.3g} bound=0.2")
    assert np.abs(found).max() < 0.2
    assert np.isnan(noise_drawn()(*chain(NoPrivacy()))).all()
