"""Predicted boundaries of clustering against the laws that they solve, and against enumeration."""

import math
from decimal import Decimal, localcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.clustering import derivations
from pipeline.problems.clustering.design import Design
from pipeline.problems.clustering.estimators.score_clustering import ScoreClustering
from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.metrics import information as metrics
from pipeline.problems.clustering.metrics.recovery import recovered
from pipeline.problems.clustering.model import BlockModel
from pipeline.problems.clustering.theory import boundary, sketch_means, success
from pipeline.problems.clustering.theory import information as blocks_information
from pipeline.study.parameters import InvalidInput

LAW = dict(alpha="1", beta="0.5, 0.5", b="0.9, 0.1")
SHARES, SIZES, LIKED = [1.0], [50, 50], [[0.9, 0.1]]


def half(success):
    return pytest.approx(0.5, abs=0.01) == success


@pytest.mark.parametrize(
    "estimator, adjusted", [("score_clustering", False), ("score_clustering_adjusted", True)]
)
def test_half_of_the_replications_are_right_at_the_boundary(estimator, adjusted):
    U = boundary.users_predicted("max_sense", estimator, 100, 10, 1.0, 1.0, **LAW)
    design = Design(100, 10, 1.0, **LAW)
    assert half(success.maxsense_success(U, design, adjusted))
    assert not half(success.maxsense_success(2 * U, design, adjusted))


def test_boundaries_of_pairs_and_of_several_questions():
    U = boundary.users_predicted(
        "pairwise_preference", "spectral_clustering", 100, 50, 1.0, 1.0, **LAW
    )
    chances = sketch_means.pair_means(sketch_means.rated_chances(100, 50), SHARES, LIKED)
    assert half(success.pair_success(U, 1.0, SIZES, chances))
    assert U == boundary.users_predicted_pairs(
        "spectral_clustering", 100, 50, 1.0, **LAW, reading="agree"
    )
    U = boundary.users_predicted_public("spectral_clustering", 100, 1.0, **LAW)
    chances = sketch_means.pair_means(sketch_means.rated_chances(100, 5, "public"), SHARES, LIKED)
    assert half(success.pair_success(U, 1.0, SIZES, chances))
    U = boundary.users_predicted_multi("multi_max_sense", 100, 25, 4.0, 1.0, 4, **LAW)
    assert half(success.multi_success(U, Design(100, 25, 4.0, **LAW, Q=4)))
    one = boundary.users_predicted_multi("max_sense", 100, 25, 4.0, 1.0, 1, **LAW)
    assert one == boundary.users_predicted(
        "max_sense", "score_clustering", 100, 25, 4.0, 1.0, **LAW
    )
    assert (
        boundary.users_predicted("adaptive", "seen_clustering", 40, 1, 1.0, 1.0, **LAW) == 2 * 40**2
    )
    fixed = boundary.users_predicted("adaptive_one_bit", "seen_clustering", 40, 1, 1.0, 1.0, **LAW)
    assert half(stats.norm.cdf(math.tanh(0.5) * math.sqrt(fixed) / 40) ** 40)


@pytest.mark.parametrize("w", [1, 2, 4, 10])
def test_a_question_about_every_item_tells_nothing(w):
    """θ = w: all items have one mean, whatever rounding says."""
    for estimator in ("score_clustering", "score_clustering_adjusted"):
        assert math.isinf(
            boundary.users_predicted("max_sense", estimator, 100, w, 1.0, float(w), **LAW)
        )
        assert math.isfinite(
            boundary.users_predicted("max_sense", estimator, 100, w, 1.0, 0.9 * w, **LAW)
        )
    assert success.maxsense_success(1e12, Design(100, w, 1.0, **LAW, theta=float(w))) == 0


def test_opposite_tastes_have_no_boundary():
    alike = dict(alpha="0.5, 0.5", beta="0.5, 0.5", b="0.9, 0.1; 0.1, 0.9")
    U = boundary.users_predicted("max_sense", "score_clustering", 100, 50, 1.0, 1.0, **alike)
    assert U == math.inf
    with pytest.raises(InvalidInput, match="no number of users is enough here; must ask for 1 to"):
        boundary.users_from_margin(1.0, U)
    with pytest.raises(
        InvalidInput, match="Q=4: 4 disjoint sets of 50 items, N·θ/w, need more than the N=100"
    ):
        boundary.users_predicted_multi("multi_max_sense", 100, 2, 4.0, 1.0, 4, **LAW)
    assert (
        boundary.users_predicted(
            "pairwise_preference", "spectral_clustering", 100, 50, 1.0, 1.0, **alike
        )
        < 1e6
    )
    with pytest.raises(InvalidInput, match="must be max_sense"):
        boundary.users_predicted("multi_max_sense", "score_clustering", 100, 50, 1.0, 1.0, **LAW)


@pytest.mark.parametrize("likes", [(0.9, 0.1), (1.0, 0.0), (0.8, 0.4)])
def test_seen_ratings_against_a_double_sum(likes):
    U, N, w = 120, 20, 2
    right = 1.0
    for own, other in (likes, likes[::-1]):
        middle, wrong = sum(likes) / 2, 0.0
        for seen in range(U + 1):
            chance = stats.binom.pmf(seen, U, w / N)
            for positive in range(seen + 1):
                apart = (positive - middle * seen) * np.sign(own - other) if seen else 0.0
                miss = 0.5 if abs(apart) < 1e-9 else float(apart < 0)
                wrong += chance * stats.binom.pmf(positive, seen, own) * miss
        right *= (1 - wrong) ** (N // 2)
    found = success.seen_success(U, w, [1.0], [10, 10], [list(likes)])
    assert found == pytest.approx(right, rel=1e-6)
    assert success.seen_success(2 * U, w, [1.0], [10, 10], [list(likes)]) > found


def test_one_bit_scores_against_simulation():
    """Scores of all guesses and bits, user by user; the alternative is a prediction at 1.15 times the users."""
    rng, N, U, reps = np.random.default_rng(5), 16, 1200, 4000
    z = np.arange(N) % 2
    right = 0
    for _ in range(reps // 100):
        guess = rng.integers(0, 2, (100, U, N), dtype=np.int8)
        item = rng.integers(0, N, (100, U))
        bit = np.take_along_axis(guess, item[:, :, None], 2)[:, :, 0] == z[item]
        scores = (guess * bit[:, :, None]).sum(axis=1)
        right += (((scores > scores.mean(axis=1, keepdims=True)) == z).all(axis=1)).sum()
    chance = success.one_bit_success(U, [1.0], [8, 8], [[1.0, 0.0]])
    error = 5 * math.sqrt(0.25 / reps) + 0.03  # Gaussian, and the mean of 16 scores for the middle
    print(
        f"one bit: n={reps} statistic={right / reps:.3f} predicted={chance:.3f} bound={error:.3f}"
    )
    assert abs(right / reps - chance) < error
    assert abs(right / reps - success.one_bit_success(1.5 * U, [1.0], [8, 8], [[1.0, 0.0]])) > error


def test_designs():
    assert boundary.users_from_margin(1.5, 1000.4) == 1501
    assert boundary.over_predicted(500, 1000.0) == 0.5
    assert boundary.users_over_log(100, 20) == pytest.approx(100 / math.log(20))
    assert [
        derivations.questions_asked(how, 3.0, 100, 25, 1.0) for how in ("one", "rounded_up", "best")
    ] == [1, 3, 1]
    with pytest.raises(InvalidInput, match="one, rounded_up or best"):
        derivations.questions_asked("two", 3.2, 100, 25, 1.0)


TRUTH = SimpleNamespace(clusters=np.zeros((3, 4), int))


def read(cls, **given):
    values = cls(**given)(TRUTH, None, SimpleNamespace(converged=np.ones(3, bool)))
    assert values.shape == (3,) and (np.isnan(values).all() or np.ptp(values) == 0)
    return float(values[0])


def test_metrics_of_information():
    given = dict(N=3, w=2, epsilon=1.0)
    assert read(metrics.information_best, **given) == blocks_information.best_information(3, 2, 1.0)
    assert read(metrics.information_one_bit, N=3, w=2) == blocks_information.best_information(
        3, 2, math.inf
    )
    assert math.isnan(read(metrics.information_best, N=1000, w=5, epsilon=1.0))
    assert read(metrics.information_maxsense, **given) == blocks_information.maxsense_information(
        3, 2, 1.0, 0.5
    )
    assert math.isnan(read(metrics.information_maxsense, **given, theta=2.5))
    assert read(metrics.information_majority, **given) == blocks_information.count_information(
        3, 2, 1.0
    )
    assert read(metrics.information_pairwise, **given) == blocks_information.pairwise_information(
        3, 2, 1.0
    )
    assert read(metrics.bound_theorem_13, **given) == blocks_information.theorem_13(3, 2, 1.0)
    assert read(metrics.bound_theorem_14, N=100, w=2, epsilon=0.5) == blocks_information.theorem_14(
        100, 2, 0.5
    )
    assert math.isnan(read(metrics.bound_theorem_14, **given))
    assert read(metrics.bound_contraction, **given) == blocks_information.contraction(3, 2, 1.0)
    assert read(metrics.lemma_9_share, N=2, w=2) == pytest.approx(3 * math.log(4 / 3))
    assert math.isnan(read(metrics.lemma_9_share, N=100, w=2))
    assert read(metrics.lemma_12_share, N=50, w=1) == 0
    assert read(metrics.lemma_12_share, N=400, w=100) == pytest.approx(24 / 625)


@pytest.mark.parametrize("N, w", [(2, 1), (3, 1), (2, 2)])
def test_odds_against_all_questions(N, w):
    """λ(a, s) = P(s | a)/P(s) of every question, by enumeration."""
    epsilon, records = 0.7, math.comb(N, w) * 2**w
    keep, most = 1 / (1 + math.exp(-epsilon)), 0.0
    for question in range(1, 2**records - 1):
        yes = np.array([question >> a & 1 for a in range(records)])
        chance = np.where(yes, keep, 1 - keep)
        most = max(
            most, *(np.abs(np.log(said / said.mean())).max() for said in (chance, 1 - chance))
        )
    assert (
        read(metrics.odds_largest, N=N, w=w, epsilon=epsilon) == pytest.approx(most / epsilon)
        and most < epsilon
    )


@pytest.mark.parametrize("b, alike", [("0.9, 0.5; 0.2, 0.6", 4.03e5), ("1, 0.5; 0, 0.5", 6.72e4)])
def test_classes_that_like_equally_often_are_told_apart_by_many_ratings(b, alike):
    """Mean likes are equal, means of sketches are not: half of the data sets are right at the prediction."""
    law = dict(alpha="0.5, 0.5", beta="0.5, 0.5", b=b)
    users = boundary.users_predicted("max_sense", "score_clustering", 40, 20, 3.0, 2.0, **law)
    assert users == pytest.approx(alike, rel=0.01)
    assert math.isinf(
        boundary.users_predicted("max_sense", "score_clustering", 40, 1, 3.0, 0.5, **law)
    )
    rng, n = np.random.default_rng(1), 200
    shares = []
    for times in (1, 3):
        model = BlockModel(U=round(times * users), N=40, w=20, **law)
        truth = model.truth(rng, n, rng)
        release = MaxSense(N=40, w=20, theta=2.0, epsilon=3.0, U=model.U).release(
            model.simulate(truth, rng), rng
        )
        shares.append(
            float(recovered()(truth, release, ScoreClustering(N=40).fit(release, rng)).mean())
        )
    print(f"n={n} shares={shares} alpha=1e-06")
    assert 0.3 < shares[0] < 0.7 and shares[1] > 0.85


@pytest.mark.parametrize("epsilon", [1e-12, 1e-7, 1e-3, 0.5])
def test_little_information_is_relatively_accurate(epsilon):
    """t²·Var g/(2 f(1 − f)) to leading order; the majority bit and the best one at w = 1, below their bounds."""
    t = math.tanh(epsilon / 2)
    z = np.array([0.1, 0.3, 0.9])
    weights = np.array([0.2, 0.5, 0.3])
    variance = weights @ z**2 - (weights @ z) ** 2
    found = float(blocks_information.information(z, weights, epsilon))
    assert found == pytest.approx(2 * t**2 * variance / math.log(2), rel=max(epsilon, 1e-9))
    best = blocks_information.best_information(16, 1, epsilon)
    assert 0.3 < best / blocks_information.contraction_one_bit(16, 1, epsilon) < 1
    leading = t**2 / 2 / math.log(2)  # of 1 − h(½ + t/2)
    assert blocks_information.best_information(3, 3, epsilon) == pytest.approx(
        leading, rel=epsilon + 1e-9
    )


@pytest.mark.parametrize("epsilon", [1e-18, 1e-6, 1.0, 36.0, 40.0, 700.0])
def test_the_largest_odds_of_any_budget(epsilon):
    """Against many digits; 12 records."""
    with localcontext() as context:
        context.prec = 700
        r, D = 1 / (1 + (-Decimal(epsilon)).exp()), 12
        q = 1 - r + (2 * r - 1) / D
        exact = max(abs((p / x).ln()) for p in (r, 1 - r) for x in (q, 1 - q)) / Decimal(epsilon)
    assert read(metrics.odds_largest, N=3, w=2, epsilon=epsilon) == pytest.approx(
        float(exact), rel=1e-12
    )


def test_questions_that_are_too_many_have_no_best():
    assert read(metrics.odds_largest, N=1000, w=300, epsilon=900.0) == pytest.approx(
        1
    )  # records beyond all floats
    assert math.isnan(read(metrics.information_best, N=4, w=3, epsilon=1.0))
    assert math.isfinite(read(metrics.information_best, N=4, w=2, epsilon=1.0))
