"""Audits of what a release spends, against enumeration and other derivations."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy import accounting
from pipeline.privacy.integer_laws import gaussian_renyi
from pipeline.problems.response.theory import privacy_loss
from pipeline.problems.response.theory import sensitivity as privacy


@pytest.mark.parametrize("m", range(2, 8))
def test_changed_entries_by_enumeration(m):
    rows = np.array(list(itertools.product((0, 1), repeat=m)))
    added = (rows[:, :, None] * (1 - rows[:, None])).reshape(len(rows), -1)
    assert privacy_loss.changed_entries(m) == (added[:, None] != added[None]).sum(axis=2).max()


@pytest.mark.parametrize("m", [2, 3, 25, 100])
def test_a_row_spends_what_is_declared(m):
    rho = 0.03
    entries = privacy_loss.changed_entries(m)
    assert entries == privacy.squared_sensitivity(m, "replace_one")
    tight = float(privacy.noise_variance(rho, "tight", m, "replace_one"))
    assert privacy_loss.gaussian_spent(entries, tight, rho) == pytest.approx(1)
    assert privacy_loss.gaussian_spent(entries, 0.9 * tight, rho) > 1.1  # control
    assert privacy_loss.printed_spent(m, rho) == pytest.approx(entries / math.sqrt(m * (m - 1)))


@pytest.mark.parametrize("sensitivity", [1, 2, 7, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.5])
def test_one_count(sensitivity, epsilon):
    assert privacy_loss.gaussian_count_spent(sensitivity, epsilon) == pytest.approx(1, abs=1e-9)
    assert privacy_loss.laplace_count_spent(sensitivity, epsilon) == pytest.approx(1, abs=1e-9)
    variance = (sensitivity / epsilon) ** 2
    closed = max(gaussian_renyi(a, sensitivity, variance) / a for a in privacy_loss.ORDERS) / (
        epsilon**2 / 2
    )
    assert privacy_loss.gaussian_count_spent(sensitivity, epsilon) == pytest.approx(
        closed, abs=1e-9
    )


@pytest.mark.parametrize("epsilon, rho", [(1.0, 0.05), (7.5, 1.5), (0.1, 0.001)])
def test_gaussian_delta_by_integration(epsilon, rho):
    shift = math.sqrt(2 * rho)
    x = np.linspace(-12, 14, 400_001)
    inside = np.maximum(stats.norm.pdf(x - shift) - math.exp(epsilon) * stats.norm.pdf(x), 0)
    found = privacy_loss.gaussian_delta(epsilon, rho)
    assert found == pytest.approx(np.trapezoid(inside, x), rel=1e-5)
    assert found < accounting.zcdp_delta(rho, epsilon)  # which bounds it


def test_shortcut_spends_more_than_cited_and_less_than_feared():
    for epsilon in (0.1, 1, 5, 7.5):
        rho = float(accounting.paper_rho(epsilon, 1e-4))
        assert accounting.bun_steinke_epsilon(rho, 1e-4) > epsilon
        assert privacy_loss.gaussian_delta(epsilon, rho) < 1e-4
    assert privacy_loss.gaussian_delta(7.6, float(accounting.paper_rho(7.6, 1e-4))) > 1e-4


def brute_shuffled(epsilon, local, n):
    """δ over the counts of ones of n flipped answers: every set of reports, for all data sets."""
    flip, worst = 1 / (1 + math.exp(local)), 0.0
    reports = np.array(list(itertools.product((0, 1), repeat=n)))
    ones = reports.sum(axis=1)

    def law(data):
        chance = np.where(reports == np.array(data), 1 - flip, flip).prod(axis=1)
        return np.bincount(ones, chance, n + 1)

    for others in range(n):
        rest = [1] * others + [0] * (n - 1 - others)
        for first, second in ((0, 1), (1, 0)):
            worst = max(
                worst,
                np.maximum(law([first, *rest]) - math.exp(epsilon) * law([second, *rest]), 0).sum(),
            )
    return worst


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("epsilon, local", [(0.1, 0.5), (0.5, 1.0), (1.0, 3.0)])
def test_shuffled_binary_answers_by_enumeration(n, epsilon, local):
    assert privacy_loss.shuffled_binary_delta(epsilon, local, n) == pytest.approx(
        brute_shuffled(epsilon, local, n), abs=1e-12
    )


@pytest.mark.parametrize("n, local, epsilon", [(60, 2.0, 0.5), (333, 1.0, 0.15), (61, 2.0, 0.7)])
def test_the_worst_number_of_ones_counts(n, local, epsilon):
    """Against convolutions of binomial laws; all ones, none and half of them alone are too little."""
    flip, deltas = 1 / (1 + math.exp(local)), []
    for ones in range(n):
        others = np.convolve(
            stats.binom.pmf(range(ones + 1), ones, 1 - flip),
            stats.binom.pmf(range(n - ones), n - 1 - ones, flip),
        )
        zero, one = (np.convolve(others, [1 - p, p]) for p in (flip, 1 - flip))
        deltas.append(
            max(
                np.maximum(a - math.exp(epsilon) * b, 0).sum()
                for a, b in ((zero, one), (one, zero))
            )
        )
    found = privacy_loss.shuffled_binary_delta(epsilon, local, n)
    print(
        f"n={n} exact={max(deltas):.6g} found={found:.6g} ends and middle={max(deltas[0], deltas[n // 2]):.6g}"
    )
    assert found == pytest.approx(max(deltas), rel=1e-9)
    assert max(deltas[0], deltas[(n - 1) // 2], deltas[-1]) < 0.999 * found  # the negative control
    spent = privacy_loss.shuffled_exact_epsilon(local, n, found)
    assert spent == pytest.approx(epsilon, rel=1e-7)


def test_shuffled_answers_at_their_ends():
    # the worst of all data sets; of three that were once tried 0.016210
    assert privacy_loss.shuffled_binary_delta(0.5, 2.0, 60) == pytest.approx(0.016772, abs=5e-7)
    assert privacy_loss.shuffled_binary_delta(2.0, 2.0, 50) < 1e-12  # ε0 needs no shuffling
    assert privacy_loss.shuffled_binary_delta(0.01, 2.0, 1) == pytest.approx(
        (math.exp(2) - math.exp(0.01)) / (1 + math.exp(2))
    )  # nor has one person any
    exact = privacy_loss.shuffled_exact_epsilon(1.0, 1000, 1e-4)
    assert privacy_loss.shuffled_binary_delta(exact, 1.0, 1000) == pytest.approx(1e-4, rel=1e-3)
    assert exact < accounting.shuffled_epsilon(1.0, 1000, 1e-4)


@pytest.mark.parametrize("n", [100, 200, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.5])
def test_the_published_search(n, epsilon):
    """Against a literal transcription."""
    delta = 1e-4

    def estimate(eps0):
        eeps0 = np.exp(eps0)
        temp1 = (8 * np.sqrt(eeps0 * np.log(4 / delta))) / (np.sqrt(n))
        temp2 = 8 * eeps0 / n
        return np.log(1 + (eeps0 - 1) / (eeps0 + 1) * (temp1 + temp2))

    lower, upper = 0.000001, np.log(n / (16 * np.log(2 / delta)))
    if upper < 0:
        mid = epsilon
    else:
        while estimate(lower) > epsilon:
            lower /= 2
        while upper - lower > 1e-8:
            mid = (upper + lower) / 2
            if estimate(mid) < epsilon:
                lower = mid
            else:
                upper = mid
    assert privacy_loss.published_local_epsilon(epsilon, n, delta) == pytest.approx(mid, rel=1e-6)
    assert (
        privacy_loss.published_local_epsilon(epsilon, n, delta)
        <= accounting.local_budget(epsilon, n, delta)[0]
    )
