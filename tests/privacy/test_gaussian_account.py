"""The exact account of Gaussian noise, against sums over whole laws, integration and zCDP."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy import accounting
from pipeline.privacy.gaussian_account import (
    MARGIN,
    SMOOTH,
    discrete_gaussians_delta,
    exact_rho,
    exact_variance,
    gaussian_delta,
)
from pipeline.privacy.integer_laws import gaussian_pmf

SETTINGS = list(itertools.product((0.01, 0.1, 1.0, 5.0, 7.5, 20.0), (1e-2, 1e-4, 1e-9)))


@pytest.mark.parametrize("epsilon, delta", SETTINGS)
def test_exact_rho_is_the_inverse_and_more_than_zcdp_allows(epsilon, delta):
    rho = exact_rho(epsilon, delta)
    shift = math.sqrt(2 * rho)
    exact = stats.norm.sf(epsilon / shift - shift / 2) - math.exp(epsilon) * stats.norm.sf(
        epsilon / shift + shift / 2
    )
    assert exact == pytest.approx(delta, rel=1e-6) and gaussian_delta(
        epsilon, rho
    ) == pytest.approx(delta, rel=1e-4)
    assert rho > accounting.zcdp_rho(epsilon, delta)
    assert gaussian_delta(epsilon, 1.01 * rho) > delta  # negative control


@pytest.mark.parametrize("tight, spent", [(1.0, 0.897), (5.0, 4.56), (7.5, 6.88)])
def test_what_the_tight_conversion_gives_away(tight, spent):
    assert exact_rho(spent, 1e-4) == pytest.approx(
        float(accounting.zcdp_rho(tight, 1e-4)), rel=5e-3
    )


@pytest.mark.parametrize(
    "entries, variance, epsilon",
    [(1, 0.6, 2.0), (2, 0.4, 3.0), (2, 30.0, 0.3), (3, 1.5, 1.0), (3, 0.5, 12.0)],
)
def test_delta_of_several_entries_by_enumeration(entries, variance, epsilon):
    """All vectors of noise, with the privacy loss of each from the two laws themselves."""
    reach = math.ceil(9 * math.sqrt(variance)) + 12
    noise = np.arange(-reach, reach + 1)
    one, other = (
        gaussian_pmf(noise, variance),
        gaussian_pmf(noise + 1, variance),
    )  # output less each of the two
    first, second = np.ones(1), np.ones(1)
    for _ in range(entries):
        first, second = (
            np.multiply.outer(first, one).ravel(),
            np.multiply.outer(second, other).ravel(),
        )
    brute = np.maximum(first - math.exp(epsilon) * second, 0).sum()
    assert discrete_gaussians_delta(epsilon, entries, variance) == pytest.approx(brute, rel=1e-7)
    if entries == 1:
        assert accounting.discrete_gaussian_delta(epsilon, variance) == pytest.approx(
            brute, rel=1e-9
        )


@pytest.mark.parametrize("entries", [2, 12, 312, 5000])
@pytest.mark.parametrize("epsilon, delta", [(0.1, 1e-4), (1.0, 1e-4), (7.5, 1e-4), (2.0, 1e-8)])
def test_calibrated_noise_is_private_by_its_own_law(entries, epsilon, delta):
    variance = exact_variance(entries, epsilon, delta)
    if variance * entries < 40_000**2:
        assert discrete_gaussians_delta(epsilon, entries, variance) <= delta
        assert (
            discrete_gaussians_delta(epsilon, entries, 0.97 * variance) > delta
        )  # negative control
    assert (
        variance < entries / (2 * float(accounting.zcdp_rho(epsilon, delta)))
        or variance * entries < 100
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.5])
def test_steps_of_the_noise_are_within_the_margin_where_it_is_smooth(epsilon):
    rho = exact_rho(epsilon, 1e-4)
    entries = math.ceil(SMOOTH * math.sqrt(2 * rho))
    variance = entries / (2 * rho)
    assert discrete_gaussians_delta(epsilon, entries, variance) == pytest.approx(1e-4, rel=1e-5)
    assert discrete_gaussians_delta(epsilon, entries, variance * (1 + MARGIN)) < 1e-4 * (1 - 1e-5)
