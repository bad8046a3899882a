"""The best attack on every mechanism: against independent forms, against simulation, and within the budget."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy.attacks import Bound, FlippedBits, GaussianShifts, LaplaceShift
from pipeline.privacy.integer_laws import gaussian_pmf
from pipeline.privacy.integer_noise import discrete_laplace

RATES = (0.001, 0.01, 0.05, 0.3)


def best(false, true, level):
    """The most powerful randomised test, by sorting all outcomes by their likelihood ratio: knows no formula."""
    power = 0.0
    for p, q in sorted(zip(false, true, strict=True), key=lambda one: -one[1] / one[0]):
        share = min(1.0, level / p)
        power, level = power + share * q, level - share * p
    return power


@pytest.mark.parametrize("bits, each", [(1, 1.0), (5, 0.3), (9, 2.0)])
def test_flipped_bits_against_all_their_outcomes(bits, each):
    keep = 1 / (1 + math.exp(-each))
    outcomes = [sum(one) for one in itertools.product((0, 1), repeat=bits)]
    law = [[p**k * (1 - p) ** (bits - k) for k in outcomes] for p in (1 - keep, keep)]
    for rate in RATES:
        assert FlippedBits(each, bits).power(rate) == pytest.approx(best(*law, rate), rel=1e-9)


def test_one_flipped_bit_is_the_bound_and_several_are_less():
    for rate in RATES:
        assert FlippedBits(0.7, 1).power(rate) == pytest.approx(Bound(0.7).power(rate), rel=1e-12)
        assert FlippedBits(0.7, 4).power(rate) <= Bound(2.8).power(rate) * (1 + 1e-9)
    assert FlippedBits(0.7, 4).power(0.05) < 0.8 * Bound(2.8).power(0.05)


@pytest.mark.parametrize("variance, entries", [(0.4, 1), (2.0, 3)])
def test_gaussian_shifts_against_all_their_outcomes(variance, entries):
    noise = np.arange(-20, 21)
    one = gaussian_pmf(noise, variance)
    shifted = gaussian_pmf(noise - 1, variance)
    false, true = (np.prod(np.array(list(itertools.product(law[10:31], repeat=entries))), axis=1)
                   for law in (one, shifted))
    for rate in RATES:
        assert GaussianShifts(variance, entries, 1e-6).power(rate) == pytest.approx(best(false, true, rate), rel=1e-6)


def test_wide_gaussian_shifts_are_those_of_a_normal_law():
    attack = GaussianShifts(1000.0, 50, 1e-6)
    shift = math.sqrt(50 / 1000)
    for rate in RATES:
        normal = stats.norm.sf(stats.norm.isf(rate) - shift)
        assert attack.power(rate) == pytest.approx(normal, rel=1e-5) != FlippedBits(shift, 1).power(rate)


def test_a_laplace_shift_against_numbers_on_a_fine_grid():
    x = np.linspace(-40, 41, 80_001)
    false, true = (np.exp(-0.8 * np.abs(x - shift)) for shift in (0, 1))
    for rate in RATES:
        assert LaplaceShift(0.8).power(rate) == pytest.approx(best(false / false.sum(), true / true.sum(), rate),
                                                              rel=1e-3)


def test_discrete_laplace_counts_are_flipped_bits():
    """Simulated: the best test, which counts the counts that are nearer to one neighbour, at its own false alarms."""
    rng, entries, scale, n = np.random.default_rng(1), 6, 2.5, 40_000
    false, true = (((discrete_laplace(rng, scale, (n, entries)) + shift) >= 1).sum(axis=1) for shift in (0, 1))
    exact = FlippedBits(1 / scale, entries)
    for border in (3, 5):
        rate = stats.binom.sf(border - 1, entries, 1 / (1 + math.exp(1 / scale)))
        low, high = stats.binom.ppf(5e-7, n, exact.power(rate)), stats.binom.isf(5e-7, n, exact.power(rate))
        caught, alarms = (true >= border).sum(), (false >= border).sum()
        print(f"n={n} statistic={caught} bounds={low:g} to {high:g} alpha=1e-6; false alarms {alarms}")
        assert low <= caught <= high and not low <= n * Bound(entries / scale).power(rate) <= high
        assert stats.binom.ppf(5e-7, n, rate) <= alarms <= stats.binom.isf(5e-7, n, rate)
