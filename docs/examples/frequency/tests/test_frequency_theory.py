"""Formulas against lists of all reports, numerical roots, and other mechanisms' information."""

import doctest
import math

import enumerated
import numpy as np
import pytest
from private_frequencies import PROBLEM, estimators
from private_frequencies.theory import reports, risks
from scipy import optimize


@pytest.mark.parametrize("module", [reports, estimators])
def test_examples_run(module):
    failed, attempted = doctest.testmod(module)
    assert attempted and not failed


def listed_variances(name, counts, epsilon):
    """(k,): variances of the unbiased estimates, from the list of reports.

    Independent people add up.
    """
    k, n = len(counts), sum(counts)
    sets, laws = enumerated.supports(enumerated.REPORTS[name](k, epsilon), k)
    mean, square = laws.T @ sets, laws.T @ sets**2
    lean = mean[0, 0] - mean[0, 1]
    return np.array(counts) @ (square - mean**2) / (n * lean) ** 2


@pytest.mark.parametrize("name", enumerated.REPORTS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_variances_and_risk(name, epsilon):
    counts = (3, 0, 7)
    support = PROBLEM.part("mechanism", name)(k=3, epsilon=epsilon).support()
    expected = listed_variances(name, counts, epsilon)
    frequencies = np.array(counts) / 10
    np.testing.assert_allclose(risks.variance(support, 10, frequencies), expected, rtol=1e-10)
    assert risks.risk(support, 3, 10) == pytest.approx(expected.sum())
    p, q = support  # Theorem 2 of Wang et al., as printed
    printed = q * (1 - q) / (10 * (p - q) ** 2) + frequencies * (1 - p - q) / (10 * (p - q))
    np.testing.assert_allclose(printed, expected, rtol=1e-10)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0, 5.0])
def test_printed_variances_of_absent_values(epsilon):
    """The forms that Wang et al. print, n = 1."""
    a, h = math.exp(epsilon), math.exp(epsilon / 2)
    assert risks.variance(reports.randomized_response(9, epsilon), 1) == pytest.approx(
        (a + 7) / (a - 1) ** 2
    )
    assert risks.variance(reports.symmetric_unary(epsilon), 1) == pytest.approx(h / (h - 1) ** 2)
    assert risks.unary_variance(epsilon, 1) == pytest.approx(4 * a / (a - 1) ** 2)
    whole = math.log(round(a))
    if whole:
        assert risks.variance(reports.local_hashing(whole), 1) == pytest.approx(
            risks.unary_variance(whole, 1)
        )
    symmetric = risks.variance(reports.symmetric_unary(epsilon), 1) / risks.unary_variance(
        epsilon, 1
    )
    assert symmetric == pytest.approx(math.cosh(epsilon / 4) ** 2)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_crossovers_are_the_roots(epsilon):
    """Of the differences of variances, and of risks, of randomized response and optimised unary
    encoding.
    """
    a = math.exp(epsilon)

    def absent(k):
        return (a + k - 2) / (a - 1) ** 2 - risks.unary_variance(epsilon, 1)

    def total(k):  # from the supports, k a real number
        support = reports.Support(a / (a + k - 1), 1 / (a + k - 1))
        return risks.risk(support, k, 1) - risks.unary_risk(k, epsilon, 1)

    assert risks.absent_crossover(epsilon) == pytest.approx(optimize.brentq(absent, 2, 1000))
    assert risks.total_crossover(epsilon) == pytest.approx(optimize.brentq(total, 2, 1000))
    assert risks.total_crossover(epsilon) < risks.absent_crossover(epsilon)
    assert risks.response_risk(5, epsilon, 1) == pytest.approx(
        total(5) + risks.unary_risk(5, epsilon, 1)
    )


def test_the_total_crossover_at_large_budgets():
    assert risks.total_crossover(15.0) / math.exp(15.0) == pytest.approx(1 + math.sqrt(2), rel=1e-5)


@pytest.mark.parametrize("k", [2, 3, 8, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_minimax_constant_is_the_risk_of_subset_selection_at_the_uniform_law(k, epsilon):
    uniform = np.full(k, 1 / k)
    support = reports.subset_selection(k, epsilon)
    constant = risks.risk(support, k, 1) + risks.sampling_risk(uniform, 1)
    assert risks.minimax_constant(k, epsilon) == pytest.approx(constant)
    for law in (uniform, np.arange(k) / np.arange(k).sum()):  # the uniform law is the worst
        assert risks.risk(support, k, 1) + risks.sampling_risk(law, 1) <= constant * (1 + 1e-12)
    for other in (
        reports.randomized_response(k, epsilon),
        reports.symmetric_unary(epsilon),
        reports.optimised_unary(epsilon),
        reports.local_hashing(epsilon),
    ):
        assert risks.risk(other, k, 1) + risks.sampling_risk(uniform, 1) >= constant * (1 - 1e-12)


def information_bound(channel):
    """Trace of the inverse information about a law at the uniform one, on the simplex.

    channel: (k, reports).
    """
    k = len(channel)
    tangent = np.linalg.svd(np.ones((1, k)))[2][1:]
    scores = tangent @ channel
    return np.trace(np.linalg.inv(scores / channel.mean(axis=0) @ scores.T))


def test_no_channel_has_more_information_than_the_minimax_constant_allows():
    """Random channels of budget ε, and all mechanisms here; the control, a larger budget, has more."""
    rng, k, epsilon = np.random.default_rng(7), 4, 1.0
    constant = risks.minimax_constant(k, epsilon)
    for reports_of in enumerated.REPORTS.values():
        channel = np.array([law for _, law in reports_of(k, epsilon)]).T
        assert information_bound(channel) >= constant * (1 - 1e-9)
    subsets = np.array([law for _, law in enumerated.subset_selection(k, epsilon)]).T
    assert information_bound(subsets) == pytest.approx(constant)
    for _ in range(300):
        raw = rng.dirichlet(np.full(rng.integers(3, 9), 0.3), k)

        def largest(share, raw=raw):  # log ratio once mixed with a report that says nothing
            mixed = share * raw + (1 - share) * raw.mean(axis=0)
            return np.log(mixed.max(axis=0) / mixed.min(axis=0)).max() - epsilon

        share = optimize.brentq(largest, 1e-9, 1 - 1e-9) if largest(1 - 1e-9) > 0 else 1.0
        mixed = share * raw + (1 - share) * raw.mean(axis=0)
        if np.linalg.matrix_rank(mixed) == k:
            assert information_bound(mixed) >= constant * (1 - 1e-9)
    better = np.array([law for _, law in enumerated.subset_selection(k, epsilon + 0.1)]).T
    assert information_bound(better) < constant


def test_large_k_has_one_constant_for_three_mechanisms():
    """4e^ε/(e^ε − 1)² a value: the limit of subset selection, optimised unary encoding and hashing."""
    k, epsilon = 10**5, math.log(4)
    limit = risks.unary_variance(epsilon, 1)
    for found in (
        risks.minimax_constant(k, epsilon),
        risks.unary_risk(k, epsilon, 1),
        risks.risk(reports.local_hashing(epsilon), k, 1),
    ):
        assert found / k == pytest.approx(limit, rel=1e-4)
