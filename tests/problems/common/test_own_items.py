"""Metrics of the items of a person's own data, against plain enumeration."""

from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.problems.common.own_items import (
    ALL,
    first_kept,
    pairs_reversed,
    position,
    rank_kept,
    ranks_moved,
    score_moved,
    with_all,
)
from pipeline.problems.common.recovery import kendall
from pipeline.study.parameters import InvalidInput

NAMES = ("tea", "milk", "ale", "gin", "rum")


def pair(seed, ties):
    """Truth and estimate of 20 replications; with ties scores are whole numbers."""
    theta, estimate = np.random.default_rng(seed).normal(0, 1.5, (2, 20, 5))
    if ties:
        theta, estimate = np.round(theta), np.round(estimate)
    return SimpleNamespace(theta=theta, names=NAMES), SimpleNamespace(theta=estimate)


def rank(row, i):
    return 1 + sum(x > row[i] for x in row) + sum(x == row[i] for x in row) / 2 - 0.5


def side(row, i, j):
    return (row[i] > row[j]) - (row[i] < row[j])


BY_HAND = {
    rank_kept: lambda t, e, i: rank(t, i) == rank(e, i),
    ranks_moved: lambda t, e, i: abs(rank(t, i) - rank(e, i)),
    pairs_reversed: lambda t, e, i: (
        sum(abs(side(t, i, j) - side(e, i, j)) / 2 for j in range(5) if j != i) / 4
    ),
    score_moved: lambda t, e, i: abs(t[i] - e[i]),
}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("metric", BY_HAND)
def test_every_item_and_their_mean_are_as_by_hand(metric, ties):
    truth, estimate = pair(1, ties)
    each = np.array(
        [
            [BY_HAND[metric](t, e, i) for i in range(5)]
            for t, e in zip(truth.theta.tolist(), estimate.theta.tolist(), strict=True)
        ],
        float,
    )
    for i, name in enumerate(NAMES):
        assert metric(item=name)(truth, None, estimate) == pytest.approx(each[:, i])
    assert metric()(truth, None, estimate) == pytest.approx(each.mean(axis=1))
    assert metric(item="tea")(truth, None, estimate) != pytest.approx(each[:, 1])  # another item's


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("first", [1, 2, 9])
def test_the_first_items_are_kept_as_by_hand(first, ties):
    truth, estimate = pair(4, ties)
    close = SimpleNamespace(theta=truth.theta + 0.2 * estimate.theta)
    kept = []
    for t, e in zip(truth.theta.tolist(), close.theta.tolist(), strict=True):
        top = [i for i in range(5) if rank(t, i) <= first]
        kept.append(all(rank(t, i) == rank(e, i) for i in top))
    assert first_kept(first=first)(truth, None, close).tolist() == kept and 0 < sum(kept)
    assert first_kept(first=first)(truth, None, truth).all()


def test_pairs_of_all_items_are_the_kendall_distance():
    truth, estimate = pair(2, ties=False)
    assert pairs_reversed()(truth, None, estimate) == pytest.approx(
        kendall()(truth, None, estimate)
    )


def test_estimates_that_are_not_finite_have_no_value():
    truth, estimate = pair(3, ties=False)
    estimate.theta[4, 2] = np.nan
    for metric in BY_HAND:
        assert np.flatnonzero(np.isnan(metric(item="tea")(truth, None, estimate))).tolist() == [4]


def test_items_have_names():
    assert with_all(NAMES) == (ALL, *NAMES) and position("ale", NAMES) == 2
    with pytest.raises(InvalidInput, match="item=Ale: there is no such item in the data"):
        position("Ale", NAMES)
    with pytest.raises(InvalidInput, match="is the name of an item, and of the mean of all here"):
        with_all(("a", ALL))
