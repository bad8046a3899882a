"""Splits of counts of users against SciPy's laws and enumerated ones: few users and very many, narrow laws and wide."""

import itertools
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.common import user_counts
from pipeline.problems.common.subset_sums import SubsetCounts, subset_sums
from pipeline.problems.common.user_counts import (
    UserCounts,
    binomial,
    hypergeometric,
    sampled,
    tabulated,
)
from tests.helpers.checks import counts_agree, mean_agrees
from tests.helpers.engine import environment


def rng(seed=1):
    return np.random.Generator(np.random.Philox(seed))


def full(rows, *values):
    return [np.full(rows, value) for value in values]


def kinds(rows, users):
    return UserCounts(dict(kind=np.arange(rows)), np.full(rows, users))


def by_kind(split, values):
    """(kinds, values): users of each kind by their value."""
    table = np.zeros((int(split["kind"].max()) + 1, values), np.int64)
    np.add.at(table, (split["kind"], split["x"]), split.count)
    return table


@pytest.mark.parametrize("users", [10**4, 10**9, 10**13])
@pytest.mark.parametrize(
    "good, bad, sample",
    [
        (5000, 5000, 3000),
        (3, 400, 100),
        (99_999, 1, 50_000),
        (400, 30, 420),
        (2000, 9000, 4000),
        (1, 1, 1),
    ],
)
def test_very_many_users_of_a_kind_are_hypergeometric(users, good, bad, sample):
    split = hypergeometric(rng(2), kinds(1, users), "x", *full(1, good, bad, sample))
    values = np.arange(min(good, sample) + 1)
    found, law = by_kind(split, values.size), stats.hypergeom(good + bad, good, sample)
    assert found.sum() == users and counts_agree(
        found, law.pmf(values), f"hypergeometric {good, bad, sample}"
    )
    wrong = stats.hypergeom(good + 2 * bad + 1, good, sample).pmf(values)
    assert not counts_agree(found, wrong, "control: others that are not good")


@pytest.mark.parametrize("users", [10**4, 10**9, 10**13])
@pytest.mark.parametrize(
    "n, p", [(1, 0.5), (40, 0.01), (2000, 0.001), (2000, 0.9), (100_000, 0.3), (300_000, 0.5)]
)
def test_very_many_users_of_a_kind_are_binomial(users, n, p):
    split = binomial(rng(3), kinds(1, users), "x", *full(1, n, p))
    found, values = by_kind(split, n + 1), np.arange(n + 1)
    assert found.sum() == users and counts_agree(
        found, stats.binom.pmf(values, n, p), f"binomial {n, p}"
    )
    assert not counts_agree(found, stats.binom.pmf(values, n, p + 0.3 * p * (1 - p)), "control: p")


@pytest.mark.parametrize(
    "users, p",
    [
        (5, 0.3),
        (30, 0.02),
        (60, 0.97),
        (21, 0.5),
        (400, 0.03),
        (2000, 0.4),
        (10**6, 3e-6),
        (10**6, 0.2),
        (10**9, 2e-9),
        (10**9, 0.5),
        (10**9, 1 - 1e-6),
    ],
)
def test_users_on_one_of_two_sides_are_a_binomial_number(users, p):
    """By inversion, and by rejection; values are pooled between quantiles."""
    rows, law = 200_000, stats.binom(users, p)
    ones = by_kind(binomial(rng(4), kinds(rows, users), "x", *full(rows, 1, p)), 2)[:, 1]
    ends = np.unique(law.ppf(np.linspace(0.02, 0.98, 49)))
    found = np.bincount(np.searchsorted(ends, ones), minlength=ends.size + 1)
    assert counts_agree(found, np.diff(law.cdf(ends), prepend=0, append=1), f"binomial {users, p}")
    wrong = stats.binom(users, p + 0.03 * np.sqrt(p * (1 - p) / users))
    assert not counts_agree(found, np.diff(wrong.cdf(ends), prepend=0, append=1), "control: p")


@pytest.mark.parametrize("users", [2, 5, 7])
def test_counts_of_a_kind_are_jointly_multinomial(users):
    """Few, who are drawn one by one, and more: all ways to have the values 0 to 3."""
    rows, law = 200_000, stats.hypergeom(7, 3, 3).pmf(range(4))
    ways = [one for one in itertools.product(range(users + 1), repeat=4) if sum(one) == users]
    chances = stats.multinomial(users, law).pmf(ways)
    for split in (
        hypergeometric(rng(5), kinds(rows, users), "x", *full(rows, 3, 4, 3)),
        tabulated(rng(6), kinds(rows, users), "x", *full(rows, 1), np.array([[0, 0, 1, 0], law])),
    ):
        found = Counter(map(tuple, by_kind(split, 4).tolist()))
        found = [found[one] for one in ways]
        assert counts_agree(found, chances, f"joint law of {users}")
        assert not counts_agree(
            found, stats.multinomial(users, np.roll(law, 1)).pmf(ways), "control: rolled"
        )
        assert not counts_agree(
            found, stats.multinomial(users, stats.binom.pmf(range(4), 3, 3 / 7)).pmf(ways), "with"
        )


def test_samples_of_several_kinds_are_multivariate_hypergeometric():
    rows, sizes = 400, (4, 2, 5)
    users = UserCounts(
        dict(zip("abc", full(rows, *sizes), strict=True), m=np.full(rows, 4)), np.full(rows, 1000)
    )
    split = sampled(rng(7), users, ["x", "y", "z"], ["a", "b", "c"], "m")
    ways = [one for one in itertools.product(range(5), repeat=3) if sum(one) == 4 and one[1] < 3]
    found = Counter()
    for *one, count in zip(split["x"], split["y"], split["z"], split.count, strict=True):
        found[tuple(map(int, one))] += count
    found = [found[one] for one in ways]
    assert sum(found) == 400_000
    assert counts_agree(found, stats.multivariate_hypergeom(sizes, 4).pmf(ways), "sampled")
    assert not counts_agree(
        found, stats.multinomial(4, np.array(sizes) / 11).pmf(ways), "control: with replacement"
    )


def test_certain_laws_and_empty_tables():
    one = kinds(3, 10**9)
    for split, value in (
        (binomial(rng(), one, "x", *full(3, 70, 0.0)), 0),
        (binomial(rng(), one, "x", *full(3, 70, 1.0)), 70),
        (binomial(rng(), one, "x", *full(3, 0, 0.4)), 0),
        (hypergeometric(rng(), one, "x", *full(3, 0, 9, 5)), 0),
        (hypergeometric(rng(), one, "x", *full(3, 9, 0, 5)), 5),
        (hypergeometric(rng(), one, "x", *full(3, 6, 9, 15)), 6),
        (hypergeometric(rng(), one, "x", *full(3, 0, 0, 0)), 0),
    ):
        assert split["x"].tolist() == [value] * 3 and split.count.tolist() == [10**9] * 3
    for empty in (kinds(0, 1), kinds(4, 0)):
        rows = empty.count.size
        assert binomial(rng(), empty, "x", *full(rows, 70, 0.5)).count.size == 0
        assert hypergeometric(rng(), empty, "x", *full(rows, 7, 7, 7)).count.size == 0
    assert kinds(0, 1).merged("kind").count.size == 0
    nobody = SubsetCounts(*full(2, 0), 0, tuple(full(2, 3)), np.zeros(2, np.int64))
    assert not subset_sums(rng(), np.zeros((1, 5), int), 1, [nobody]).any()
    whole = SubsetCounts(np.array([1]), 0, (np.array([5]),), np.array([10**12]))
    assert subset_sums(rng(), np.zeros((2, 5), int), 1, [whole]).tolist() == [
        [[0] * 5, [10**12] * 5]
    ]


def test_laws_that_are_none_are_refused():
    one = kinds(1, 5)
    for n, p in ((-1, 0.5), (3, 1.1), (3, -0.1), (3, np.nan)):
        with pytest.raises(ValueError, match="n, p"):
            binomial(rng(), one, "x", *full(1, n, p))
    for law in ((-1, 3, 1), (3, -1, 1), (3, 3, 7), (3, 3, -1)):
        with pytest.raises(ValueError, match="good, bad, sample"):
            hypergeometric(rng(), one, "x", *full(1, *law))


MANY_LAWS = """
import numpy as np
from pipeline.problems.common.user_counts import UserCounts, binomial
rows = np.arange(40_000)
n, p = rows % 100 + 1, (rows + 0.5) / rows.size
found = binomial(np.random.default_rng(1), UserCounts({}, np.full(rows.size, 3)), "x", n, p)
off, error = (found["x"] * found.count).sum() - (3 * n * p).sum(), (3 * n * p * (1 - p)).sum() ** 0.5
print(f"n={rows.size} statistic={abs(off) / error:.2f} bound=5 alpha=1e-6")
assert abs(off) <= 5 * error
"""


def test_laws_that_are_more_than_are_kept():
    """In a process of its own, which ends where a table is written beyond its end."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_LAWS],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rows, most", [(9000, 300), (300, 100_000)])
def test_numbers_do_not_depend_on_the_tables_that_are_kept(rows, most, monkeypatch):
    """More laws, and more values, than are kept in a call, against a call for every row; and with little room."""
    p, count = rng(8).random(rows), rng(9).integers(0, 3000, rows)
    n = most - np.arange(rows) % 300
    together, alone = rng(10), rng(10)
    users = binomial(together, UserCounts({}, count), "x", n, p)
    some = [
        binomial(alone, UserCounts({}, count[k : k + 1]), "x", n[k : k + 1], p[k : k + 1])
        for k in range(rows)
    ]
    assert np.array_equal(users["x"], np.concatenate([one["x"] for one in some]))
    assert np.array_equal(users.count, np.concatenate([one.count for one in some]))
    monkeypatch.setattr(user_counts, "PARTS", 1)
    again = binomial(rng(10), UserCounts({}, count), "x", n, p)
    assert np.array_equal(users["x"], again["x"]) and np.array_equal(users.count, again.count)


def law_of_sums(items, users, choices):
    """Joint law of both sums of users; choices: of each user, a list of pairs of subsets."""
    law = Counter({((0,) * items,) * 2: 1.0})
    for pairs in itertools.starmap(choices, users):
        after = Counter()
        for sums, chance in law.items():
            for pair in pairs:
                after[
                    tuple(
                        tuple(s + (i in one) for i, s in enumerate(row))
                        for row, one in zip(sums, pair, strict=True)
                    )
                ] += chance / len(pairs)
        law = after
    return law


def test_sums_of_two_disjoint_subsets_have_their_joint_law():
    """Three users with subsets of other sizes, all choices enumerated; two items are of another cluster."""
    groups, users, where = 200_000, [(2, 1), (2, 1), (1, 3)], np.array([0, 1, 0, 0, 1, 0])

    def disjoint(a, b):
        return [
            (one, two)
            for one in itertools.combinations(range(4), a)
            for two in itertools.combinations(set(range(4)) - set(one), b)
        ]

    def apart(a, b):
        return list(
            itertools.product(
                itertools.combinations(range(4), a), itertools.combinations(range(4), b)
            )
        )

    rows = [
        np.repeat(np.arange(groups), 3),
        *np.tile(np.array(users), (groups, 1)).T,
        np.ones(3 * groups, np.int64),
    ]
    sums = subset_sums(
        rng(11),
        np.tile(where, (groups, 1)),
        2,
        [SubsetCounts(rows[0], 0, (rows[1], rows[2]), rows[3])],
    )
    assert not sums[:, :, where == 1].any()
    found = Counter(
        tuple(map(tuple, one)) for one in sums[:, :, where == 0].swapaxes(0, 1).tolist()
    )
    law = law_of_sums(4, users, disjoint)
    assert set(found) <= set(law) and counts_agree(
        [found[one] for one in law], [*law.values()], "joint law"
    )
    wrong = law_of_sums(4, users, apart)
    assert not counts_agree(
        [found[one] for one in wrong], [*wrong.values()], "control: sets that may overlap"
    )


def test_sums_of_subsets_of_very_many_users():
    """A billion users with 7 of 23 items each, and 5 others: means, variances, covariances within and between."""
    reps, items, sizes, users = 3000, 23, (7, 5), 10**9
    both = tuple(full(reps, *sizes))
    sums = subset_sums(
        rng(12),
        np.zeros((reps, items), int),
        1,
        [SubsetCounts(np.arange(reps), 0, both, np.full(reps, users))],
    )
    p, q = (size / items for size in sizes)
    off = (sums - users * np.array([p, q])[:, None, None]) / np.sqrt(users)
    assert (sums.sum(axis=2) == users * np.array(sizes)[:, None]).all()
    for i in (0, 1, 10, 11, 22):
        assert mean_agrees(off[0, :, i], 0, "mean") and mean_agrees(
            off[0, :, i] ** 2, p * (1 - p), "variance"
        )
        assert mean_agrees(off[0, :, i] * off[1, :, i], -p * q, "one item in both")
        assert not mean_agrees(off[0, :, i] * off[1, :, i], 0, "control: independent")
    for k, chance in enumerate((p, q)):
        pairs = (
            off[k, :, :-1] * off[k, :, 1:]
        )  # neighbours, whose averages over items are nearly independent
        assert mean_agrees(pairs.mean(axis=1), -chance * (1 - chance) / (items - 1), "covariance")
        assert not mean_agrees(
            pairs.mean(axis=1), -chance * (1 - chance) / 11, "control: in runs of 12"
        )
