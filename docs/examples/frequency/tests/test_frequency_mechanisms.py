"""Mechanisms: privacy by listing all reports, supports against the exact joint law of a few people."""

import math

import enumerated
import numpy as np
import pytest
from enumerated import REPORTS, joint_law, loss
from private_frequencies import PROBLEM
from private_frequencies.model import Values
from private_frequencies.subsets import in_sets
from private_frequencies.theory import reports
from statistical import follows, mean_is

from pipeline.study.parameters import InvalidInput

EPSILONS = (0.1, 1.0, math.log(3), 2.0)
FEW = dict.fromkeys(REPORTS, (2, 3, 4)) | {
    "local_hashing": (2, 3)
}  # values; k = 4 has 8⁵ reports at ε = 2


def mechanism(name, k, epsilon):
    return PROBLEM.part("mechanism", name)(k=k, epsilon=epsilon)


def released(name, counts, epsilon, reps, seed=1):
    data = Values(np.tile(np.array(counts, np.int64), (reps, 1)))
    return mechanism(name, len(counts), epsilon).release(data, np.random.default_rng(seed))


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_the_budget_is_spent_and_no_more(name, epsilon):
    """Over all reports and pairs of values: the largest log ratio is ε."""
    for k in FEW[name]:
        assert loss(REPORTS[name](k, epsilon)) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(
    "wrong, spent",
    [
        (
            lambda k, e: enumerated.unary(
                k, math.exp(e) / (math.exp(e) + 1), 1 / (math.exp(e) + 1)
            ),
            2.0,
        ),  # ε for each bit
        (
            lambda k, e: enumerated.unary(k, 1.0, 1 / (math.exp(e) + 1)),
            math.inf,
        ),  # the own bit never lost
        (
            lambda k, e: enumerated.randomized_response(k, e, math.exp(e) / (math.exp(e) + 1)),
            1 + math.log(3),
        ),  # k = 2
        (lambda k, e: enumerated.local_hashing(k, e, 0.9), None),
        (lambda k, e: enumerated.subset_selection(k, e, odds=2 * math.exp(e)), 1 + math.log(2)),
    ],
)
def test_the_audit_rejects_mechanisms_that_spend_more(wrong, spent):
    """The negative controls."""
    found = loss(wrong(4, 1.0))
    assert found > 1.05 and (spent is None or found == pytest.approx(spent))


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_support_is_as_listed(name, epsilon):
    """Probability that a report supports each value, from each value."""
    for k in FEW[name]:
        sets, laws = enumerated.supports(REPORTS[name](k, epsilon), k)
        matrix = laws.T @ sets
        held, other = mechanism(name, k, epsilon).support()
        np.testing.assert_allclose(matrix, np.where(np.eye(k) == 1, held, other), rtol=1e-10)


@pytest.mark.parametrize("name", REPORTS)
def test_supports_follow_the_exact_joint_law(name):
    """Of four people with four values.

    Drawn here from counts, there by listing all reports of all people.
    """
    counts, epsilon = (2, 0, 1, 1), 1.0
    law = joint_law(REPORTS[name](4, epsilon), counts)
    draws = released(name, counts, epsilon, 8_000).supports
    assert follows(draws, law, name)
    other = joint_law(REPORTS[name](4, epsilon), (1, 1, 1, 1))
    assert not follows(draws, other, f"negative control {name}")


@pytest.mark.parametrize("name", ["randomized_response", "subset_selection"])
def test_supports_of_one_report_depend_on_each_other(name):
    """The negative control: independent draws of every value, right on the margins, are rejected."""
    counts, epsilon, rng = np.array((2, 0, 1, 1)), 1.0, np.random.default_rng(2)
    held, other = mechanism(name, 4, epsilon).support()
    draws = rng.binomial(np.tile(counts, (8_000, 1)), held) + rng.binomial(
        np.tile(4 - counts, (8_000, 1)), other
    )
    assert not follows(draws, joint_law(REPORTS[name](4, epsilon), counts), name)


@pytest.mark.parametrize("k, size", [(4, 1), (6, 3)])
def test_random_sets_follow_the_law_of_sets_one_by_one(k, size):
    """Against NumPy's choice, set by set: means, and the product of two values.

    And every set has its size.
    """
    rng, reps = np.random.default_rng(3), 4000
    holders, uniform = np.arange(k) % 3, 4
    fast = in_sets(np.tile(holders, (reps, 1)), np.full(reps, uniform), size, rng)
    assert (fast.sum(axis=1) == (holders.sum() + uniform) * size).all()
    slow = np.zeros((400, k), int)
    for row in slow:
        for value in np.repeat(np.arange(k), holders):
            row[value] += 1
            row[rng.choice(np.delete(np.arange(k), value), size - 1, replace=False)] += 1
        for _ in range(uniform):
            row[rng.choice(k, size, replace=False)] += 1
    for v in (0, k - 1):
        expected = (
            holders[v] + (holders.sum() - holders[v]) * (size - 1) / (k - 1) + uniform * size / k
        )
        assert mean_is(fast[:, v], expected, f"value {v}")
    products = [one[:, 0] * one[:, 1] for one in (fast, slow)]
    error = math.hypot(*(p.std() / math.sqrt(len(p)) for p in products))
    assert abs(products[0].mean() - products[1].mean()) <= 4.9 * error


@pytest.mark.parametrize("name", REPORTS)
def test_margins_of_many_people(name):
    """Mean supports of 10,000 people with 40 values, which no list can hold."""
    counts = np.arange(40) * 10_000 // 780
    release = released(name, counts, 0.7, 200)
    held, other = release.support
    for v in (0, 39):
        expected = counts[v] * held + (counts.sum() - counts[v]) * other
        assert mean_is(release.supports[:, v], expected, f"{name} {v}")
        assert not mean_is(release.supports[:, v], expected + 60, f"negative control {name} {v}")


def test_sizes_of_sets_and_hash_ranges_are_the_best_whole_numbers():
    for k in (2, 3, 10, 101):
        for epsilon in (0.01, 0.5, 1.0, 2.5, 6.0):
            odds = math.exp(epsilon)

            def risk(d, k=k, odds=odds):
                return (d * odds + k - d) ** 2 / (d * (k - d))

            assert risk(reports.subset_size(k, epsilon)) == min(map(risk, range(1, k)))
    for epsilon in (0.01, 1.0, 3.0):
        odds, g = math.exp(epsilon), reports.hash_range(epsilon)

        def spread(g, odds=odds):
            return (odds - 1 + g) ** 2 / (g - 1)

        assert spread(g) <= 1.03 * min(map(spread, range(2, 100)))


def test_a_mechanism_changes_nothing_of_the_data_and_repeats_itself():
    data = Values(np.tile(np.array([5, 0, 2], np.int64), (3, 1)))
    for name in REPORTS:
        one, two = (
            mechanism(name, 3, 1.0).release(data, np.random.default_rng(5)).supports
            for _ in range(2)
        )
        assert (one == two).all() and (data.counts == [5, 0, 2]).all()


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(
    "bad",
    [
        dict(epsilon=-1.0),
        dict(epsilon=0.0),
        dict(epsilon=math.inf),
        dict(epsilon="1"),
        dict(k=1),
        dict(k=2.5),
    ],
)
def test_bad_parameters_are_refused(name, bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        PROBLEM.part("mechanism", name)(**dict(k=4, epsilon=1.0) | bad)


@pytest.mark.parametrize("name", REPORTS)
def test_extreme_budgets(name):
    """At ε = 10⁻⁶ nothing breaks.

    At 50 three mechanisms tell everything, the others half of each value.
    """
    for epsilon in (1e-6, 50.0):
        release = released(name, (3, 0, 4), epsilon, 5)
        assert np.isfinite(release.supports).all() and 0 < release.support.lean <= 1
    if name in ("randomized_response", "subset_selection", "symmetric_unary"):
        assert (release.supports == [3, 0, 4]).all()
