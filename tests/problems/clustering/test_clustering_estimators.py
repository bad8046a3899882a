"""Clusterings: the line against every contiguous split, pairs against a planted partition, boundaries as predicted."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.problems.clustering.design import Design
from pipeline.problems.clustering.estimators import spectral_clustering
from pipeline.problems.clustering.estimators.clustering import adjust
from pipeline.problems.clustering.estimators.k_means import split_line, split_points
from pipeline.problems.clustering.estimators.score_clustering import (
    ScoreClustering,
    ScoreClusteringAdjusted,
)
from pipeline.problems.clustering.estimators.spectral_clustering import (
    SpectralClustering,
    SpectralClusteringAdjusted,
    SpectralSigns,
)
from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.mechanisms.pairwise_preference import PairwisePreference
from pipeline.problems.clustering.metrics.recovery import misplaced, recovered
from pipeline.problems.clustering.model import BlockModel
from pipeline.problems.clustering.releases import PairSketches, ScoreSketches
from pipeline.problems.clustering.theory import sketch_means, success
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import mean_agrees


def spread(values, labels):
    return sum(
        ((values[labels == c] - values[labels == c].mean()) ** 2).sum() for c in np.unique(labels)
    )


def best_spread(values, count):
    """Over all contiguous splits of the sorted values into `count` parts."""
    ordered, best = np.sort(values), np.inf
    for cuts in itertools.combinations(range(1, len(values)), count - 1):
        best = min(best, sum(((part - part.mean()) ** 2).sum() for part in np.split(ordered, cuts)))
    return best


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(0, 2**32), st.booleans())
def test_line_against_all_contiguous_splits(count, seed, whole):
    rng = np.random.default_rng(seed)
    items = int(rng.integers(count, 11))
    values = (
        rng.integers(0, 12, (3, items)).astype(float)
        if whole
        else rng.normal(size=(3, items)) * 1e3 + 1e6
    )
    found = split_line(values, count)
    for row, labels in zip(values, found, strict=True):
        assert sorted(np.unique(labels)) == list(range(count))
        assert spread(row, labels) == pytest.approx(best_spread(row, count), abs=1e-6)
        assert (
            np.diff(labels[np.argsort(row, kind="stable")]) >= 0
        ).all()  # contiguous, lowest first


def test_no_labelling_at_all_beats_the_line():
    """Not only contiguous ones: all 3⁷ labelings. The negative control splits at the largest gaps."""
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.4, 5.9, 6.0])
    least = min(
        spread(values, np.array(labels)) for labels in itertools.product(range(3), repeat=7)
    )
    assert spread(values, split_line(values[None], 3)[0]) == pytest.approx(least)
    gaps = np.repeat(range(3), [4, 1, 2])
    assert spread(values, gaps) > least + 0.1


def scored(scores, sensed=None):
    scores = np.atleast_2d(scores)
    return ScoreSketches(
        scores, np.full(scores.shape, 100) if sensed is None else np.atleast_2d(sensed), 0.7, 1000
    )


def test_too_few_different_scores_are_not_converged():
    estimate = ScoreClustering(N=4, beta="0.5, 0.25, 0.25").fit(
        scored([[1, 1, 2, 2], [1, 1, 2, 3]]), None
    )
    assert estimate.converged.tolist() == [False, True] and estimate.clusters.shape == (2, 4)
    assert misplaced(np.array([[0, 0, 1, 2]]), estimate.clusters[1:]) == 0


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_an_adjustment_leaves_what_the_mean_number_of_questions_would_have_given(share):
    """Where each question is answered by a 1 alike often, that share of the mean; else sums stay as they are."""
    rng = np.random.default_rng(8)
    asked = rng.integers(0, 9, (3, 7)).astype(float)
    means = np.broadcast_to(share * asked.mean(axis=1, keepdims=True), asked.shape)
    assert adjust(share * asked, asked, 7, 1) == pytest.approx(means)
    ones = rng.binomial(asked.astype(int), 0.4).astype(float)
    assert adjust(ones, asked, 7, 1).sum(axis=1) == pytest.approx(ones.sum(axis=1))
    pairs = np.triu(rng.integers(0, 9, (6, 6)), 1)
    pairs = (pairs + pairs.T).astype(float)
    off = ~np.eye(6, dtype=bool)
    assert adjust(share * pairs, pairs, 30, None)[off] == pytest.approx(share * pairs[off].mean())


def test_adjusted_scores_take_out_how_often_an_item_was_sensed():
    sensed = np.array([90, 110, 95, 105])
    release = scored(np.round(sensed * [0.4, 0.4, 0.5, 0.5]), sensed)
    assert (
        misplaced(
            np.array([[0, 0, 1, 1]]), ScoreClusteringAdjusted(N=4).fit(release, None).clusters
        )
        == 0
    )
    assert misplaced(np.array([[0, 0, 1, 1]]), ScoreClustering(N=4).fit(release, None).clusters) > 0


def planted(rng, sizes, chances, mean, reps=1):
    """Counts of a planted partition, probes Poisson(mean) a pair."""
    labels = np.repeat(range(len(sizes)), sizes)
    probes = np.triu(rng.poisson(mean, (reps, labels.size, labels.size)), 1)
    ones = rng.binomial(probes, np.asarray(chances)[np.ix_(labels, labels)])
    both = (x + x.swapaxes(1, 2) for x in (ones, probes))
    return labels, PairSketches(*both, 0.9, int(probes[0].sum()))


@pytest.mark.parametrize("estimator", [SpectralClustering, SpectralClusteringAdjusted])
@pytest.mark.parametrize("sizes", [(50, 50), (25, 20, 35), (130, 110)])
def test_easy_partitions_are_found(estimator, sizes):
    rng = np.random.default_rng(2)
    chances = np.full((len(sizes), len(sizes)), 0.2) + 0.5 * np.eye(len(sizes))
    labels, release = planted(rng, sizes, chances, 4.0, reps=3)
    beta = ", ".join(map(str, np.array(sizes) / sum(sizes)))
    estimate = estimator(N=sum(sizes), beta=beta).fit(release, rng)
    assert (
        estimate.converged.all() and not misplaced(np.tile(labels, (3, 1)), estimate.clusters).any()
    )


def test_lanczos_finds_what_reduction_finds(monkeypatch):
    rng = np.random.default_rng(3)
    _, release = planted(rng, (60, 60), [[0.6, 0.4], [0.4, 0.6]], 3.0)
    matrix = release.agreements[0].astype(float)
    dense = spectral_clustering.top_eigenvectors(matrix, 2, rng)
    monkeypatch.setattr(spectral_clustering, "DENSE", 1)
    lanczos = spectral_clustering.top_eigenvectors(matrix, 2, rng)
    assert np.abs(dense.T @ lanczos).sum() == pytest.approx(2, abs=1e-9)


def test_lanczos_takes_the_largest_eigenvalues_not_the_largest_in_magnitude():
    """N = 201, a weak signal: noise has an eigenvalue that is larger in magnitude, and negative."""
    N, rng = 201, np.random.default_rng(11)
    noise = rng.normal(size=(N, N))
    repelled, signal = (
        v / np.linalg.norm(v) for v in (rng.normal(size=N), np.where(np.arange(N) < 100, 1.0, -1.0))
    )
    matrix = (
        (noise + noise.T) / 2 + 60 * np.outer(signal, signal) - 90 * np.outer(repelled, repelled)
    )
    values, vectors = np.linalg.eigh(matrix)
    assert -values[0] > values[-1]
    top = spectral_clustering.top_eigenvectors(matrix, 1, rng)[:, 0]
    assert abs(top @ vectors[:, -1]) == pytest.approx(1, abs=1e-9) and abs(top @ signal) > 0.9
    assert abs(top @ vectors[:, 0]) < 1e-6  # what the largest in magnitude would give


def test_spectral_clustering_against_a_literal_transcription():
    """NumPy's eigenvectors, rows projected, and the best of all splits of ten points; the diagonal filled in."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        _, release = planted(rng, (5, 5), [[0.6, 0.4], [0.4, 0.6]], 6.0)
        matrix = release.agreements[0].astype(float)
        np.fill_diagonal(matrix, matrix[~np.eye(10, dtype=bool)].mean())
        values, vectors = np.linalg.eigh(matrix)
        points = matrix @ vectors[:, np.argsort(values)[-2:]]
        least = min(
            sum(spread(axis, np.array(labels)) for axis in points.T)
            for labels in itertools.product((0, 1), repeat=10)
            if 0 < sum(labels) < 10
        )
        found = SpectralClustering(N=10).fit(release, rng).clusters[0]
        assert sum(spread(axis, found) for axis in points.T) == pytest.approx(least)


def test_same_stream_same_clusters_and_no_clusters_is_a_status():
    _, release = planted(np.random.default_rng(5), (120, 120), [[0.5, 0.5], [0.5, 0.5]], 1.0)
    first, again = (
        SpectralClustering(N=240).fit(release, np.random.default_rng(9)) for _ in range(2)
    )
    assert (first.clusters == again.clusters).all()
    nothing = PairSketches(np.zeros((1, 6, 6), int), np.zeros((1, 6, 6), int), 0.7, 0)
    for estimator in (SpectralClustering, SpectralClusteringAdjusted):
        assert not estimator(N=6).fit(nothing, np.random.default_rng(0)).converged.any()
    assert split_points(np.zeros((5, 2)), 2, np.random.default_rng(0))[1] is False


@pytest.mark.parametrize("estimator", [SpectralClustering, SpectralClusteringAdjusted])
def test_eigenvectors_that_are_not_determined_are_no_clusters(estimator):
    """All pairs alike, and one released bit: rounding, or the library, made clusters that counted as converged.

    Negative control: two pairs, whose eigenvectors are determined.
    """
    rng = np.random.default_rng(8)

    def sketches(items, *pairs):
        entries = np.zeros((1, items, items), int)
        for i, j in pairs:
            entries[:, [i, j], [j, i]] = 1
        return PairSketches(entries, entries, 0.7, len(pairs))

    for items in (4, 6, 10, 40):
        for times in (1, 3, 7):
            every = sketches(items, *itertools.combinations(range(items), 2))
            alike = PairSketches(times * every.agreements, times * every.probes, 0.7, times)
            assert not estimator(N=items).fit(alike, rng).converged.any(), (items, times)
    assert not estimator(N=10).fit(sketches(10, (0, 1)), rng).converged.any()
    two_pairs = sketches(10, (0, 1), (2, 3))
    sketch = PairSketches(two_pairs.agreements, np.ones((1, 10, 10), int), 0.7, 45)
    assert estimator(N=10).fit(sketch, rng).converged.all()


def test_tiny_case_in_closed_form():
    """N = 3, clusters {0, 1} and {2}, independent binomial scores: success is a sum over all scores, ties apart."""
    rng, n, low, high = np.random.default_rng(6), 12, 0.3, 0.7
    law = [stats.binom.pmf(np.arange(n + 1), n, q) for q in (low, low, high)]
    success = 0.0
    for x in itertools.product(range(n + 1), repeat=3):
        if abs(x[0] - x[1]) < min(
            abs(x[2] - x[0]), abs(x[2] - x[1])
        ):  # else another pair is closer, or as close
            success += math.prod(law[i][x[i]] for i in range(3))
    scores = rng.binomial(n, [low, low, high], (20_000, 3)) + rng.uniform(0, 1e-9, (20_000, 3))
    found = ScoreClustering(N=3).fit(ScoreSketches(scores, scores, 0.7, n), None)
    won = misplaced(np.tile([0, 0, 1], (20_000, 1)), found.clusters) == 0
    clear = np.sort(np.abs(scores[:, [0, 0, 1]] - scores[:, [1, 2, 2]]), axis=1)
    untied = clear[:, 1] - clear[:, 0] > 0.5
    assert mean_agrees(won & untied, success) and not mean_agrees(won & untied, success * 1.05)


# ------------------------------------------------------------------------- the boundary, from users to clusters

CASES = [  # (N, w, factor of the predicted boundary)
    (100, 10, 0.7),
    (100, 10, 1.3),
    (200, 20, 1.0),
]


@pytest.mark.parametrize("N, w, factor", CASES)
def test_maxsense_succeeds_where_predicted(N, w, factor):
    """The whole chain against the Gaussian prediction, ±0.1 in probability; half or twice the users are rejected."""
    design = Design(N, w, 1.0, "1", "0.5, 0.5", "0.9, 0.1")
    boundary = success.users_of_success(lambda U: success.maxsense_success(U, design))
    U, reps = round(boundary * factor), 300
    model = BlockModel(U=U, N=N, w=w, b="0.9, 0.1")
    rng = [
        np.random.Generator(np.random.Philox(s)) for s in np.random.SeedSequence((7, N)).spawn(3)
    ]
    truth = model.truth(rng[0], reps, rng[0])
    release = MaxSense(N=N, epsilon=1.0, w=w).release(model.simulate(truth, rng[1]), rng[2])
    for estimator, adjusted in ((ScoreClustering, False), (ScoreClusteringAdjusted, True)):
        won = recovered()(truth, release, estimator(N=N).fit(release, rng[2])).mean()
        predicted = success.maxsense_success(U, design, adjusted)
        controls = [success.maxsense_success(U * x, design, adjusted) for x in (0.5, 2)]
        print(
            f"N={N} w={w} U={U} adjusted={adjusted}: {won:.3f} predicted {predicted:.3f}, controls {controls}"
        )
        assert abs(won - predicted) < 0.1 and any(abs(won - control) > 0.1 for control in controls)


def test_pairs_succeed_where_predicted():
    """All of N = 100 items rated; both estimators, ±0.12."""
    N, w, reps = 100, 100, 80
    chances = sketch_means.pair_means(sketch_means.rated_chances(N, w), [1.0], [[0.9, 0.1]])
    boundary = success.users_of_success(lambda U: success.pair_success(U, 1.0, (50, 50), chances))
    for factor, estimator, adjusted in (
        (1.0, SpectralClustering, False),
        (0.7, SpectralClusteringAdjusted, True),
    ):
        U = round(boundary * factor)
        model = BlockModel(U=U, N=N, w=w, b="0.9, 0.1")
        rng = [
            np.random.Generator(np.random.Philox(s))
            for s in np.random.SeedSequence((8, adjusted)).spawn(3)
        ]
        truth = model.truth(rng[0], reps, rng[0])
        release = PairwisePreference(N=N, epsilon=1.0).release(
            model.simulate(truth, rng[1]), rng[2]
        )
        won = recovered()(truth, release, estimator(N=N).fit(release, rng[2])).mean()
        predicted = success.pair_success(U, 1.0, (50, 50), chances, adjusted)
        print(f"U={U} adjusted={adjusted}: {won:.3f} predicted {predicted:.3f}")
        assert abs(won - predicted) < 0.12
        assert abs(won - success.pair_success(U / 2, 1.0, (50, 50), chances, adjusted)) > 0.12


def test_estimators_state_their_cost():
    assert (
        ScoreClustering(N=100).cost() > 0
        and SpectralClustering(N=1000).cost() > SpectralClustering(N=300).cost()
    )


@pytest.mark.parametrize("users", [1, 2, 5, 10**10])
def test_scores_that_are_equal_stay_equal_when_they_are_adjusted(users):
    """Converged is what rationals say, of few users and of so many that 64 bits are too few.

    Doubles say otherwise of one and of two.
    """
    rng, items, reps = np.random.default_rng(users), 12, 400
    bits = rng.random((reps, min(users, 5), 1)) < 0.5
    sets = rng.random((reps, min(users, 5), items)) < 0.2
    ones, asked = (max(1, users // 5) * counts.sum(axis=1) for counts in (bits & sets, sets))
    beta = "0.5, 0.5" if users < 3 else "0.2, 0.2, 0.2, 0.2, 0.1, 0.1"
    estimator = ScoreClusteringAdjusted(N=items, beta=beta)
    found = estimator.fit(ScoreSketches(ones, asked, 0.9, users), rng)
    kinds, doubles = [], []
    for row, times in zip(ones.tolist(), asked.tolist(), strict=True):
        share, mean = Fraction(sum(row), max(sum(times), 1)), Fraction(sum(times), items)
        pairs = list(zip(row, times, strict=True))
        kinds.append(len({one - share * (time - mean) for one, time in pairs}))
        doubles.append(len({one - float(share) * (time - float(mean)) for one, time in pairs}))
    expected, control = (np.array(counts) >= estimator.count for counts in (kinds, doubles))
    assert (
        (found.converged == expected).all()
        and not expected.all()
        and (users == 1 or expected.any())
    )
    print(f"users={users}: {(control != expected).sum()} of {reps} would be wrong in doubles")
    assert (control != expected).any() or users > 2


def test_signs_need_eigenvectors_in_place_and_the_span_does_not():
    """Four clusters without noise: equal eigenvalues turned by π/8 are told apart, by π/4 not."""
    halves = np.array([[1, 1, -1, -1], [1, -1, 1, -1]]).repeat(3, axis=1) / np.sqrt(12)
    even = np.full((1, 12), 1 / np.sqrt(12))
    truth = np.arange(4).repeat(3)[None]
    beta = "0.25, 0.25, 0.25, 0.25"
    for angle, is_right in ((0, True), (np.pi / 8, True), (np.pi / 4, False)):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        top = np.concatenate([turn @ halves, even]).T
        top += 1e-3 * np.random.default_rng(2).normal(size=top.shape)
        signs, _ = SpectralSigns(12, beta).split(top @ top.T, top, np.random.default_rng(0))
        noise = 1e-9 * np.random.default_rng(1).normal(size=(12, 12))
        means, _ = SpectralClustering(12, beta).split(
            top @ top.T + noise, top, np.random.default_rng(0)
        )
        assert (misplaced(truth, signs[None])[0] == 0) == is_right
        assert misplaced(truth, means[None])[0] == 0
    with pytest.raises(InvalidInput, match="beta"):
        SpectralSigns(12, "0.4, 0.3, 0.3")


def test_success_of_signs_is_that_of_a_uniform_turn():
    """One less 0.8/√c at c times the users: of 45° those nearer to an end than arcsin(1/√(2c))."""
    law = Design(100, 50, 1.0, "0.5, 0.5", "0.25, 0.25, 0.25, 0.25", FOUR)
    rated = sketch_means.rated_chances(100, 50)
    chances = sketch_means.pair_means(rated, law.law.alpha, law.law.b)
    users = success.users_of_success(lambda U: success.pair_success(U, 1.0, law.sizes, chances))
    for times in (16, 64):
        lost = math.asin(1 / math.sqrt(2 * times)) / (math.pi / 4)
        signs = success.sign_success(times * users, 1.0, law.sizes, chances)
        assert signs == pytest.approx(1 - lost, abs=0.03)
    apart = sketch_means.pair_means(rated, np.array([0.6, 0.4]), law.law.b)
    assert success.sign_success(16 * users, 1.0, law.sizes, apart) > 0.999


FOUR = "0.9, 0.9, 0.1, 0.1; 0.9, 0.1, 0.9, 0.1"
