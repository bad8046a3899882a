"""Errors of a clustering against every relabelling, and by hand."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.problems.clustering.estimators.clustering import ClusteringEstimate
from pipeline.problems.clustering.metrics.disclosed import ones_released, ratings_seen
from pipeline.problems.clustering.metrics.recommendations import (
    recommended_alone,
    recommended_by_truth,
    recommended_rightly,
)
from pipeline.problems.clustering.metrics.recovery import (
    misclassified,
    misplaced,
    recovered,
    recovered_within,
)
from pipeline.problems.clustering.model import BlockTruth
from pipeline.problems.clustering.releases import PairSketches, ScoreSketches, SeenRatings
from pipeline.problems.clustering.theory.recommendations import foretold_rightly


def of(clusters):
    return SimpleNamespace(clusters=np.atleast_2d(np.asarray(clusters, int)))


def by_force(truth, found):
    """Least number of differing labels over all maps of found labels to distinct true ones."""
    count = 1 + max(*truth, *found)
    return min(
        sum(order[f] != t for t, f in zip(truth, found, strict=True))
        for order in itertools.permutations(range(count))
    )


@st.composite
def labelings(draw):
    """(truth, found), (4, N) each, up to four clusters, some of them empty."""
    items = draw(st.integers(1, 8))
    labels = st.lists(st.integers(0, 3), min_size=items, max_size=items)
    return tuple(np.array([draw(labels) for _ in range(4)]) for _ in range(2))


@settings(deadline=None)
@given(labelings())
def test_matching_against_all_permutations(pair):
    truth, found = pair
    assert misplaced(truth, found).tolist() == [
        by_force(t, f) for t, f in zip(truth, found, strict=True)
    ]


@given(labelings(), st.permutations(range(4)))
def test_names_of_clusters_do_not_matter(pair, names):
    truth, found = pair
    renamed = np.array(names)[found]
    assert (misplaced(truth, renamed) == misplaced(truth, found)).all()
    assert (
        not misplaced(found, renamed).any()
        and (misplaced(truth, found) == misplaced(found, truth)).all()
    )


def test_by_hand():
    truth = of([[0, 0, 1, 1, 2], [0, 0, 1, 1, 2]])
    found = of([[2, 2, 0, 0, 1], [0, 1, 1, 1, 2]])
    assert recovered()(truth, None, found).tolist() == [1, 0]
    assert misclassified()(truth, None, found) == pytest.approx([0, 0.2])
    assert recovered_within(distortion=0.2)(truth, None, found).tolist() == [1, 1]
    assert recovered_within(distortion=0.19)(truth, None, found).tolist() == [1, 0]
    # Clusters run together are errors, though each item of them shares its cluster with its own.
    assert misclassified()(of([0, 0, 0, 1, 1]), None, of([0, 0, 0, 0, 0])) == pytest.approx([0.4])


def test_tolerance_counts_whole_items():
    truth, found = of([0] * 50 + [1] * 50), of([0] * 57 + [1] * 43)
    assert recovered_within(distortion=0.07)(truth, None, found) == 1
    assert recovered_within(distortion=0.069)(truth, None, found) == 0
    found = of([0] * 79 + [1] * 21)
    assert (
        0.29 * 100 < 29 and recovered_within(distortion=0.29)(truth, None, found) == 1
    )  # in floating point
    assert recovered_within(distortion=0.289)(truth, None, found) == 0


def test_ratings_seen_are_per_user_and_bits_are_none():
    seen = np.array([[3, 0, 1], [2, 2, 2]])
    release = SeenRatings(np.zeros_like(seen), seen, 8, np.array([8, 8]))
    assert ratings_seen()(of(seen), release, None).tolist() == [4 / 8, 6 / 8]
    assert ratings_seen()(of(seen), ScoreSketches(seen, seen, 0.7, 8), None).tolist() == [0, 0]


def test_ones_among_released_bits_count_with_their_items():
    truth = of([[0, 1, 1], [0, 1, 1]])
    scores, sensed = np.array([[3, 0, 1], [0, 0, 0]]), np.array([[4, 2, 2], [0, 0, 0]])
    share = ones_released()(truth, ScoreSketches(scores, sensed, 0.7, 8), None)
    assert share[0] == 4 / 8 and np.isnan(share[1])  # of no bits there is no share
    agreements = np.array([[[0, 1, 0], [1, 0, 2], [0, 2, 0]]] * 2)
    probes = np.array([[[0, 2, 1], [2, 0, 3], [1, 3, 0]]] * 2)
    assert ones_released()(truth, PairSketches(agreements, probes, 0.7, 6), None).tolist() == [
        3 / 6,
        3 / 6,
    ]
    seen = np.array([[3, 0, 1], [2, 2, 2]])
    release = SeenRatings(np.zeros_like(seen), seen, 8, np.array([8, 8]))
    assert np.isnan(ones_released()(truth, release, None)).all()


def test_users_foretell_what_they_are_computed_to():
    """Against 10,000 users who rate, count at home and guess; unequal public clusters, two classes."""
    rng = np.random.default_rng(3)
    cluster = np.repeat([0, 1], [7, 5])
    public = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0])
    alpha = np.array([0.7, 0.3])
    b = np.array([[0.95, 0.1], [0.2, 0.9]])
    table = np.array([[5, 2], [1, 4]])
    exact = foretold_rightly(table, 5, alpha, b)
    users = 10_000
    user_class = rng.choice(2, users, p=alpha)
    likes = rng.random((users, 12)) < b[user_class][:, cluster]
    order = rng.permuted(np.tile(np.arange(12), (users, 1)), axis=1)
    item = order[:, 0]
    rated = np.zeros((users, 12), bool)
    np.put_along_axis(rated, order[:, 1:6], True, axis=1)
    alike = public == public[item][:, None]
    lean = (np.where(likes, 1, -1) * rated * alike).sum(axis=1)
    coin = rng.random(users) < 0.5
    guess = np.where(lean == 0, coin, lean > 0)
    rights = guess == likes[np.arange(users), item]
    half = 4.9 * rights.std() / np.sqrt(users)
    print(f"n = {users}, {rights.mean():.4f} ± {half:.4f}, exact {exact:.4f}")
    assert abs(rights.mean() - exact) < half
    assert abs(foretold_rightly(table, 1, alpha, b) - exact) > half  # fewer rated items


def test_metrics_of_recommendations_read_the_clusters_they_should():
    truth = BlockTruth(np.array([[0, 0, 1, 1], [1, 0, 0, 1]]), 2)
    estimate = ClusteringEstimate(np.array([[1, 1, 0, 0], [0, 0, 0, 1]]), np.ones(2, bool))
    law = dict(w=2, b="1, 0")
    by_truth = recommended_by_truth(**law)(truth, None, estimate)
    rightly = recommended_rightly(**law)(truth, None, estimate)
    alone = recommended_alone(**law)(truth, None, estimate)
    # Of three others two are rated: the one in its cluster with chance 2/3, else a coin.
    assert by_truth == pytest.approx([5 / 6, 5 / 6])
    assert rightly[0] == by_truth[0] and rightly[1] < by_truth[1]
    assert (alone < by_truth).all()
    all_rated = recommended_rightly(w=4, b="1, 0")(truth, None, estimate)
    assert np.isnan(all_rated).all()
