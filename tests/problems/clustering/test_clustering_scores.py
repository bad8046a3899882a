"""Exact means of sketches against enumeration, and Gaussian predictions of success against direct simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pipeline.identity.registry import lookup
from pipeline.problems.clustering import derivations
from pipeline.problems.clustering.design import Design
from pipeline.problems.clustering.mechanisms.multi_max_sense import MultiMaxSense
from pipeline.problems.clustering.model import BlockModel
from pipeline.problems.clustering.theory import sample_sizes as blocks
from pipeline.problems.clustering.theory import sketch_means, success
from pipeline.study.parameters import InvalidInput, outcome
from tests.helpers.checks import mean_agrees

TEXT = "0.9, 0.1; 0.3, 0.6"
B = np.array([[0.9, 0.1], [0.3, 0.6]])
LABELS = (0, 0, 0, 1, 1)  # clusters of five items


def mean_sketch(w, sets, chances, row, item):
    """P(max of sensed ratings = 1 | item sensed) by listing rated and sensed sets."""
    total = weight = 0.0
    for sensed, chance in zip(sets, chances, strict=True):
        if item not in sensed:
            continue
        rated = list(itertools.combinations(range(5), w))
        silent = np.mean(
            [math.prod(1 - row[LABELS[i]] for i in set(W) & set(sensed)) for W in rated]
        )
        total, weight = total + chance * (1 - silent), weight + chance
    return total / weight


@pytest.mark.parametrize("w", [1, 2, 4, 5])
def test_means_of_sensed_sets_against_enumeration(w):
    p = 0.35
    sets = [s for k in range(6) for s in itertools.combinations(range(5), k)]
    chances = [p ** len(s) * (1 - p) ** (5 - len(s)) for s in sets]
    expected = [[mean_sketch(w, sets, chances, row, item) for item in (0, 3)] for row in B]
    assert sketch_means.maxsense_means(w, p, (3, 2), B) == pytest.approx(
        np.array(expected), abs=1e-12
    )
    for size in (1, 2, 5):
        sets = list(itertools.combinations(range(5), size))
        expected = [
            [mean_sketch(w, sets, [1] * len(sets), row, item) for item in (0, 3)] for row in B
        ]
        assert sketch_means.multi_means(w, size, (3, 2), B) == pytest.approx(
            np.array(expected), abs=1e-12
        )


@pytest.mark.parametrize(
    "sizes, v", [((3, 2), 2), ((4, 1, 3), 5), ((2, 2), 4), ((6,), 3), ((3, 2), 0)]
)
def test_products_against_enumeration(sizes, v):
    factors = np.array([0.7, 0.0, 1.0])[: len(sizes)]
    each = np.repeat(factors, sizes)
    expected = np.mean(
        [math.prod(each[list(V)]) for V in itertools.combinations(range(sum(sizes)), v)]
    )
    assert sketch_means.products(sizes, factors, v) == pytest.approx(expected, rel=1e-12)


def test_products_at_full_size():
    """N = 2000, w = 100 and 2000: the limit e^{−θ Σ β b} within O(1/w), no overflow."""
    assert sketch_means.products((1000, 1000), [1 - 0.009, 1 - 0.001], 100) == pytest.approx(
        math.exp(-0.5), rel=0.01
    )
    assert sketch_means.products((1000, 1000), [0.5, 1.0], 2000) == pytest.approx(0.5**1000)


def test_gap_tends_to_the_separation():
    """At 1 ≪ w ≪ N the gap is (w/N) δ; at w = 2, as e^{−θb} ≠ (1 − θb/2), the paper's limit is off, and at w = θ all
    items are sensed and nothing is learned."""

    def ratio(N, w):
        gap = np.subtract(*sketch_means.maxsense_means(w, 1 / w, (N // 2, N // 2), [[0.9, 0.1]])[0])
        return gap / ((w - 1) / N * blocks.separability(1.0, [1], [0.5, 0.5], [[0.9, 0.1]]))

    assert ratio(10**5, 300) == pytest.approx(1, abs=0.005)
    assert ratio(10**5, 2) == pytest.approx((1 - 0.25) / math.exp(-0.5), abs=1e-3)
    assert np.ptp(sketch_means.maxsense_means(1, 1.0, (5, 5), [[0.9, 0.1]])) < 1e-12


def test_inseparable_classes_have_scores_of_one_mean():
    opposite = np.array([[0.9, 0.1], [0.1, 0.9]])
    means = sketch_means.maxsense_means(10, 0.1, (50, 50), opposite)
    assert np.ptp([0.5, 0.5] @ means) < 1e-12 < np.ptp([0.6, 0.4] @ means)
    assert (
        success.maxsense_success(
            10**15, Design(100, 10, 1.0, "0.5, 0.5", "0.5, 0.5", "0.9, 0.1; 0.1, 0.9")
        )
        < 1e-6
    )
    chances = sketch_means.pair_means(sketch_means.rated_chances(100, 50), [0.5, 0.5], opposite)
    assert success.pair_success(10**6, 1.0, (50, 50), chances) > 0.99


@pytest.mark.parametrize("w, rated_set", [(2, "private"), (4, "private"), (2, "public")])
def test_pair_means_against_enumeration(w, rated_set):
    alpha = np.array([0.3, 0.7])
    rules = {
        "agree": lambda a, b: a is not None and a == b,
        "positive": lambda a, b: a == b == 1,
        "equal": lambda a, b: (a or 0) == (b or 0),
    }
    for reading, holds in rules.items():
        found = sketch_means.pair_means(
            sketch_means.rated_chances(5, w, rated_set), alpha, B, reading
        )
        for i, j in ((0, 1), (0, 3), (3, 4)):
            rated = (
                [(0, 1, 2, 3, 4)]
                if rated_set == "public"
                else list(itertools.combinations(range(5), w))
            )
            expected = 0.0
            for weight, row in zip(alpha, B, strict=True):
                for W, a, b in itertools.product(rated, (0, 1), (0, 1)):
                    chance = math.prod(
                        row[LABELS[x]] if z else 1 - row[LABELS[x]] for x, z in ((i, a), (j, b))
                    )
                    expected += (
                        weight
                        * chance
                        / len(rated)
                        * holds(a if i in W else None, b if j in W else None)
                    )
            assert found[LABELS[i], LABELS[j]] == pytest.approx(expected, abs=1e-12)


def test_eigenvalues_of_pairs_against_the_whole_matrix():
    sizes, chances = (
        (5, 3, 4),
        sketch_means.pair_means((0.6, 0.1), [0.4, 0.6], [[0.9, 0.1, 0.5], [0.2, 0.7, 0.6]]),
    )
    labels = np.repeat(range(3), sizes)
    whole = 2 * 1000 / (12 * 11) * sketch_means.released(chances, 1.0)[np.ix_(labels, labels)]
    off = ~np.eye(12, dtype=bool)
    whole[~off] = whole[off].mean()
    values, vectors = np.linalg.eigh(whole)
    found, profiles, _ = success.pair_signal(1000, 1.0, sizes, chances)
    structured = np.array(
        [
            v
            for v, x in zip(values, vectors.T, strict=True)
            if np.ptp(x[:5]) + np.ptp(x[5:8]) + np.ptp(x[8:]) < 1e-8
        ]
    )
    assert sorted(found) == pytest.approx(sorted(structured))
    assert np.square(profiles[labels]).sum(axis=0) == pytest.approx(found**2)


def test_threshold_of_pairs_by_hand():
    """Two equal clusters: λ₂/(√N noise) = t ρ Δ √(U/(2Nπ̄)), to O(1/N)."""
    N, U, chances = 2000, 10**6, np.array([[0.82, 0.18], [0.18, 0.82]])
    expected = math.tanh(0.5) * 0.64 * math.sqrt(U / (2 * N * 0.5))
    assert success.pair_threshold(U, 1.0, (N // 2, N // 2), chances) == pytest.approx(
        expected, rel=2e-3
    )
    assert success.pair_threshold(U, 1.0, (N // 2, N // 2), np.full((2, 2), 0.5)) == 0


def test_success_is_that_of_independent_gaussians():
    """Three clusters: the share of draws without an item past the middle. The negative control has half the noise."""
    rng, U, p, sizes = np.random.default_rng(5), 26_000, 0.1, np.array([20, 30, 10])
    pi, alpha = np.array([[0.3, 0.36, 0.46]]), [1.0]
    mean = success.score_mean(U, p, alpha, pi)
    half = np.diff(mean) / 2
    edges = mean[:-1] + half
    for scale, agrees in ((1.0, True), (0.5, False)):
        noise = scale * np.sqrt(success.score_noise(U, p, alpha, pi))
        labels = np.repeat(range(3), sizes)
        drawn = rng.normal(mean[labels], noise[labels], (4000, 60))
        won = (np.searchsorted(edges, drawn) == labels).all(axis=1)
        predicted = success.score_success(U, p, alpha, pi, sizes)
        assert mean_agrees(won, predicted) == agrees and 0.1 < predicted < 0.9


def test_variances_of_scores_against_simulated_users():
    """Users one by one, N = 12, two disjoint sets of 4 items; unconditional means and variances are exact."""
    rng, U, N, w, Q, epsilon = np.random.default_rng(6), 300, 12, 3, 2, 1.5
    pi = sketch_means.released(sketch_means.multi_means(w, 4, (6, 6), B), epsilon / Q)
    labels, reps = np.repeat([0, 1], 6), 2000
    order = rng.random((reps, U, N)).argsort(axis=2)
    rated = order < w
    likes = rng.random((reps, U, N)) < B[np.arange(U) % 2][:, labels]
    sensed = rng.random((reps, U, N)).argsort(axis=2) // 4  # sets 0 and 1 are asked
    law = (U, 1 / 3, [0.5, 0.5], pi, Q)
    total = np.zeros((reps, N))
    for q in range(Q):
        sketch = (rated & likes & (sensed == q)).any(axis=2)
        kept = rng.random((reps, U)) < 1 / (1 + math.exp(-epsilon / Q))
        bit = np.where(kept, sketch, ~sketch)
        total += (bit[:, :, None] * (sensed == q)).sum(axis=1)
    for cluster, item in ((0, 0), (1, 6)):
        mean = success.score_mean(*law)[cluster]
        assert mean_agrees(total[:, item], mean) and not mean_agrees(total[:, item], mean * 1.05)
        variance = success.score_variance(*law)[cluster]
        assert mean_agrees((total[:, item] - mean) ** 2, variance)


@pytest.mark.parametrize("adjusted", [False, True])
def test_noise_of_scores_within_a_cluster(adjusted):
    """Of first order in w/N, which is 1/30 here: to 1 % and Monte Carlo error. The wrong twin has 5 % more."""
    N, w, Q, epsilon, U, reps = 240, 8, 2, 1.5, 3000, 400
    mechanism = MultiMaxSense(N=N, epsilon=epsilon, w=w, Q=Q)
    model, rng = (
        BlockModel(U=U, N=N, w=w, alpha="0.5, 0.5", beta="0.5, 0.5", b=TEXT),
        np.random.default_rng(1),
    )
    truth = model.truth(rng, reps, rng)
    release = mechanism.release(model.simulate(truth, rng), rng)
    pi = sketch_means.released(
        sketch_means.multi_means(w, mechanism.size, (N // 2, N // 2), B), epsilon / Q
    )
    scores = release.scores - np.mean(pi) * release.sensed * adjusted
    spread = np.array(
        [
            [row[clusters == c].var(ddof=1) for c in (0, 1)]
            for row, clusters in zip(scores, truth.clusters, strict=True)
        ]
    )
    noise = success.score_noise(U, mechanism.size / N, [0.5, 0.5], pi, Q, adjusted)
    for twin, agrees in ((1, True), (1.05, False)):
        ratio = (spread / (twin * noise)).mean(axis=1)
        bound = 0.01 + stats.t.isf(5e-7, reps - 1) * ratio.std(ddof=1) / math.sqrt(reps)
        print(
            f"noise: n={reps} statistic={abs(ratio.mean() - 1):.4f} bound={bound:.4f} alpha=1e-06"
        )
        assert (abs(ratio.mean() - 1) < bound) == agrees


def test_users_of_success():
    design = Design(400, 20, 1.0, "1", "0.5, 0.5", "0.9, 0.1")

    def plain(U):
        return success.maxsense_success(U, design)

    U = success.users_of_success(plain)
    assert plain(U) == pytest.approx(0.5, abs=1e-3)
    # The transition near 10 N² log N/(ε̂² δ² w); half of that with adjusted scores.
    delta = blocks.separability(1.0, [1], [0.5, 0.5], [[0.9, 0.1]])
    assert blocks.load(U, 400, 20, 1.0, delta) == pytest.approx(10.6, abs=0.1)
    better = success.users_of_success(lambda U: success.maxsense_success(U, design, adjusted=True))
    assert 0.5 < better / U < 0.6
    assert np.isinf(success.users_of_success(lambda U: 0.1))


# --------------------------------------------------------------------------------------------------------- designs

LAW = dict(theta=1.0, alpha="1", beta="0.5, 0.5", b="0.9, 0.1")


def test_designs_bring_what_was_asked_for():
    U = derivations.users_from_load(10.0, 400, 20, 1.0, **LAW)
    assert derivations.maxsense_load(U, 400, 20, 1.0, **LAW) == pytest.approx(10, rel=1e-5)
    assert derivations.delta_min(**LAW) == pytest.approx(0.8 * math.exp(-0.5))
    assert derivations.users_from_scarcity(2.0, 100, 10) == round(2 * 100**2 * math.log(100) / 10)
    assert derivations.users_from_coupons(2.0, 100, 10) == round(2 * 100 * math.log(100) / 10)
    U = derivations.users_from_pairs(3.0, 100, 50, 1.0)
    assert U * (math.tanh(0.5) * 50 * 49 / (100 * 99)) ** 2 / (
        100 * math.log(100)
    ) == pytest.approx(3, rel=1e-4)
    assert (derivations.rated_from_share(0.25, 100), derivations.rated_from_share(1e-9, 100)) == (
        25,
        1,
    )
    assert [derivations.questions_rounded_up(e) for e in (0.3, 1.0, 1.01, 8.0)] == [1, 1, 2, 8]
    assert [derivations.questions_best(e, 100, 10, 1.0) for e in (0.3, 2.0, 8.0, 100.0)] == [
        1,
        1,
        4,
        10,
    ]
    assert (
        derivations.b_from_contrast(0.5) == "0.75, 0.25"
        and derivations.alpha_from_lean(0.0) == "0.5, 0.5"
    )
    assert derivations.users_least_scarce(100, 1, 1.0) > derivations.users_least(100, 1.0)
    assert derivations.coupon_users(3, 1) == pytest.approx(5.5)


def test_information_as_a_config_asks_for_it():
    for N, w in ((5, 1), (4, 2), (3, 3)):
        told = [
            getattr(derivations, f"information_{what}")(N, w, 0.5)
            for what in ("pairwise", "majority")
        ]
        told.append(derivations.information_maxsense(N, w, 0.5, 0.5 * w))
        best = derivations.information_best(N, w, 0.5)
        bounds = [derivations.bound_lemma_6(0.5), derivations.bound_capacity(0.5)]
        bounds += [
            getattr(derivations, f"bound_{name}")(N, w, 0.5)
            for name in ("theorem_13", "theorem_14", "contraction")
        ]
        assert 0 <= min(told) and max(told) <= best + 1e-12 <= min(bounds)
    assert math.isnan(derivations.bound_theorem_14(5, 1, 0.7))


def test_predictions_rise_with_users():
    for predict in (
        derivations.maxsense_predicted,
        derivations.maxsense_adjusted_predicted,
        lambda U, N, w, epsilon, theta, **law: derivations.multi_predicted(
            U, N, w, epsilon, theta, 2, **law
        ),
    ):
        low, high = (predict(U, 100, 10, 3.0, **LAW) for U in (10**3, 10**6))
        assert low < 0.01 and high > 0.99
    law = {name: LAW[name] for name in ("alpha", "beta", "b")}
    low, high = (
        derivations.pairwise_predicted(U, 100, 50, 1.0, **law, reading="agree", rated_set="private")
        for U in (10**4, 10**6)
    )
    assert low < 0.01 and high > 0.99


def test_designs_that_cannot_be_are_refused():
    with pytest.raises(InvalidInput, match="maxsense_load=10.*δ_min = 0"):
        derivations.users_from_load(
            10.0, 100, 10, 1.0, 1.0, "0.5, 0.5", "0.5, 0.5", "0.9, 0.1; 0.1, 0.9"
        )
    with pytest.raises(InvalidInput, match="asks for .* users"):
        derivations.users_from_scarcity(1e9, 1000, 1)
    assert derivations.delta_min(1.0, "0.5, 0.5", "0.5, 0.5", "0.9, 0.1; 0.1, 0.9") == 0


@pytest.mark.parametrize(
    "name",
    [
        "delta_min",
        "maxsense_load",
        "maxsense_predicted",
        "pairwise_predicted",
        "users_least",
        "users_least_scarce",
        "coupon_users",
        "multi_predicted",
    ],
)
def test_coordinates_say_what_they_are(name):
    said = outcome(lookup("clustering", "derivation", name))
    assert said["long_name"] and said["units"]
