"""Block model: sizes, bad input, users who answer alike when asked again; splits and sums of counts against SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.problems.clustering.model import BlockModel as Model
from pipeline.problems.clustering.model import BlockTruth, Users
from pipeline.problems.common.subset_sums import SubsetCounts, subset_sums
from pipeline.problems.common.user_counts import UserCounts, binomial, hypergeometric
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree, mean_agrees


def rng(seed=1):
    return np.random.Generator(np.random.Philox(seed))


def model(**changes):
    return build(Model, dict(U=1000, N=20, w=5, b="0.9, 0.1") | changes)


@pytest.mark.parametrize(
    "changes, key",
    [
        (dict(w=21), "w"),
        (dict(w=0), "w"),
        (dict(N=1, w=1), "N"),
        (dict(beta="0.5, 0.6"), "beta"),
        (dict(beta="0.999, 0.001"), "beta"),
        (dict(beta="1.5, -0.5"), "beta"),
        (dict(beta="half, half"), "beta"),
        (dict(beta=", ".join(["0.04"] * 25)), "beta"),
        (dict(beta=""), "beta"),
        (dict(beta="nan, 1"), "beta"),
        (dict(alpha="0.5, 0.5"), "b"),
        (dict(alpha="0.9999, 0.0001", b="1, 0; 0, 1"), "alpha"),
        (dict(alpha="0.3"), "alpha"),
        (dict(b="0.9, 1.1"), "b"),
        (dict(b="0.9, -0.1"), "b"),
        (dict(b="0.9"), "b"),
        (dict(b="0.9, 0.1; 0.1, 0.9"), "b"),
        (dict(b="0.9, 0.1;"), "b"),
        (dict(b="nan, 0.1"), "b"),
        (dict(clusters="even"), "clusters"),
    ],
)
def test_bad_input_is_told_by_name(changes, key):
    with pytest.raises(InvalidInput) as caught:
        model(**changes)
    assert caught.value.key == key and "\n" not in str(caught.value)


def test_sizes_are_those_of_the_shares():
    parts = model(U=10, alpha="0.25, 0.75", b="1, 0, 0.5; 0, 1, 0.5", beta="0.2, 0.3, 0.5", N=11)
    assert parts.users_by_class.tolist() == [2, 8] or parts.users_by_class.tolist() == [3, 7]
    assert (
        parts.items_by_cluster.sum() == 11
        and np.abs(parts.items_by_cluster - [2.2, 3.3, 5.5]).max() < 1
    )
    truth = parts.truth(rng(), 50, rng())
    assert (
        truth.clusters.shape == (50, 11)
        and (truth.sizes == parts.items_by_cluster).all()
        and truth.count == 3
    )
    assert len({tuple(row) for row in truth.clusters.tolist()}) > 40
    drawn = model(N=1000, w=3, clusters="random", beta="0.3, 0.7").truth(rng(), 50, rng())
    assert (
        counts_agree(drawn.sizes.sum(axis=0), [0.3, 0.7], "items") and np.ptp(drawn.sizes[:, 0]) > 0
    )
    assert not counts_agree(drawn.sizes.sum(axis=0), [0.32, 0.68], "control")


@pytest.mark.parametrize("beta", ["0.5, 0.5", "0.2, 0.2, 0.2, 0.2, 0.2"])
def test_users_answer_the_same_again(beta):
    data = model(beta=beta, b=", ".join(["0.5"] * len(beta.split(",")))).simulate(
        model(beta=beta, b=", ".join(["0.5"] * len(beta.split(",")))).truth(rng(), 3, rng()), rng(4)
    )
    first, again = list(data.batches()), list(data.batches())
    assert sum(rows.count.sum() for rows in first) == 3 * 1000
    for rows, same in zip(first, again, strict=True):
        assert (rows.count == same.count).all() and all(
            (rows[name] == same[name]).all() for name in rows.columns
        )
        assert (sum(rows[f"rated_{c}"] for c in range(data.truth.count)) == 5).all()
    opened, reopened = data.release_plainly(), data.release_plainly()
    assert (opened.positive == reopened.positive).all() and (
        opened.seen.sum(axis=1) == 5 * 1000
    ).all()
    assert (opened.positive <= opened.seen).all()


def test_rated_items_of_clusters_are_hypergeometric():
    """In batches where there are many clusters and many ratings, else at once."""
    few, many = np.repeat([0, 1], [12, 18]), np.repeat(range(5), [12, 3, 5, 6, 4])
    for clusters, w, number in ((few, 8, 1), (many, 8, 2), (many, 5, 1)):
        data = Users(
            BlockTruth(clusters[None], clusters.max() + 1),
            np.array([400_000]),
            w,
            np.full((1, clusters.max() + 1), 0.5),
            rng(2),
        )
        batches = list(data.batches())
        assert len(batches) == number
        found = sum(np.bincount(rows["rated_0"], rows.count, w + 1) for rows in batches)
        values = range(w + 1)
        assert counts_agree(
            found, stats.hypergeom.pmf(values, 30, 12, w), "rated of the first cluster"
        )
        assert not counts_agree(found, stats.binom.pmf(values, w, 0.4), "control: with replacement")


@pytest.mark.parametrize("users", [1, 3, 40, 10**6])
def test_splits_follow_their_laws_for_few_users_and_for_many(users):
    """Rows of so many users; few are drawn one by one, many by a table."""
    rows = max(4, 400_000 // users)
    kinds = UserCounts(dict(kind=np.arange(rows) % 2), np.full(rows, users))
    for good, bad, sample in ((30, 50, 20), (3, 400, 100), (40, 2, 41)):
        split = hypergeometric(rng(3), kinds, "x", *(np.full(rows, v) for v in (good, bad, sample)))
        law = stats.hypergeom.pmf(np.arange(42), good + bad, good, sample)
        assert (
            np.bincount(split["kind"], split.count) == np.bincount(kinds["kind"], kinds.count)
        ).all()
        assert counts_agree(
            np.bincount(split["x"], split.count, 42), law, f"hypergeometric {good, bad, sample}"
        )
        assert not counts_agree(
            np.bincount(split["x"], split.count, 42),
            stats.hypergeom.pmf(np.arange(42), good + bad + 1, good + 1, sample),
            "one more",
        )
    for n, p in ((60, 0.05), (200, 0.5), (5, 1.0), (5, 0.0)):
        split = binomial(rng(4), kinds, "x", np.full(rows, n), np.full(rows, p))
        assert counts_agree(
            np.bincount(split["x"], split.count, n + 1),
            stats.binom.pmf(np.arange(n + 1), n, p),
            f"binomial {n, p}",
        )
    assert not counts_agree(
        np.bincount(split["x"], split.count, 6), stats.binom.pmf(np.arange(6), 5, 0.01), "control"
    )


def test_equal_kinds_of_users_are_merged_whatever_their_range():
    """Six columns up to 10⁴ have 10²⁴ combinations, more than a whole number holds."""
    columns = rng(2).choice([0, 7, 10_000], (6, 5000))
    users = UserCounts({f"c{k}": column for k, column in enumerate(columns)}, np.arange(5000))
    merged = users.merged(*users.columns)
    rows, where = np.unique(columns, axis=1, return_inverse=True)
    order = np.lexsort([*merged.columns.values()][::-1])
    assert np.array_equal([*merged.take(order, merged.count).columns.values()], rows)
    assert np.array_equal(merged.count[order], np.bincount(where.ravel(), users.count))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 25), st.integers(1, 4), st.integers(0, 2**32), st.integers(1, 3))
def test_sums_of_subsets_keep_totals(items, clusters, seed, groups):
    draw = rng(seed)
    where = draw.integers(0, clusters, (groups, items))
    subsets, total = [], np.zeros((2, groups, clusters), int)
    for c in range(clusters):
        size = (where == c).sum(axis=1)
        group, held, count = draw.integers(0, groups, 5), draw.random(5), draw.integers(0, 1000, 5)
        held = np.floor(held * (size[group] + 1)).astype(int)
        rest = np.floor(draw.random(5) * (size[group] - held + 1)).astype(int)
        subsets.append(SubsetCounts(group, c, (held, rest), count))
        np.add.at(total[0, :, c], group, held * count)
        np.add.at(total[1, :, c], group, rest * count)
    sums = subset_sums(draw, where, clusters, subsets)
    for c in range(clusters):
        assert ((sums * (where == c)).sum(axis=2) == total[:, :, c]).all()
    users = sum(np.bincount(g, n, groups) for g, _, _, n in subsets)
    assert (sums >= 0).all() and (sums.sum(axis=0) <= users[:, None]).all()


def test_subsets_are_uniform_without_replacement():
    """Sets of 3 of 7 items, by 40 users: means, variances and covariances of the sums are those of random sets."""
    reps, users = 20_000, 40
    three_of_seven = SubsetCounts(np.arange(reps), 0, (np.full(reps, 3),), np.full(reps, users))
    (sums,) = subset_sums(rng(5), np.zeros((reps, 7), int), 1, [three_of_seven])
    mean, variance = users * 3 / 7, users * 3 / 7 * 4 / 7
    for i in range(7):
        assert mean_agrees(sums[:, i], mean, f"item {i}")
        assert mean_agrees((sums[:, i] - mean) ** 2, variance, f"variance of item {i}")
        products = (sums[:, i] - mean) * (sums[:, i - 1] - mean)
        assert mean_agrees(products, -variance / 6, "covariance") and not mean_agrees(
            products, 0, "independent"
        )
