"""Clusterings from ratings that were seen: coupon collector and adaptive scheme, against their exact chances."""

import itertools
import math
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.clustering.estimators.seen_clustering import SeenClustering
from pipeline.problems.clustering.mechanisms.adaptive import Adaptive
from pipeline.problems.clustering.mechanisms.adaptive_one_bit import AdaptiveOneBit
from pipeline.problems.clustering.mechanisms.average_one_bit import AverageOneBit
from pipeline.problems.clustering.model import BlockModel, BlockTruth, Users
from pipeline.problems.clustering.releases import SeenRatings
from pipeline.problems.clustering.theory.sample_sizes import users_fixed_questions
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import counts_agree

REPS = 4000


def rng(seed=1):
    return np.random.Generator(np.random.Philox(seed))


def right(model, mechanism):
    """(reps,): is every item in its cluster, up to names? Two clusters."""
    truth = model.truth(rng(), REPS, rng())
    found = SeenClustering().fit(mechanism.release(model.simulate(truth, rng(2)), rng(3)), rng(4))
    same = found.clusters == truth.clusters
    return same.all(axis=1) | ~same.any(axis=1), found.converged


def test_the_adaptive_scheme_succeeds_once_all_items_are_known():
    """Ratings equal to labels: right if N yes's came in time; else by the luck of a coin for every item not reached."""
    items, w, users = 6, 3, 26
    good, converged = right(BlockModel(U=users, N=items, w=w, b="1, 0"), Adaptive(N=items))
    known = stats.binom.pmf(
        np.arange(items), users, w / (2 * items)
    )  # then m items are known, the last by chance
    known = np.append(known, 1 - known.sum())
    differ = np.array(
        [0, *(1 - 2 * comb(3, m) / comb(items, m) for m in range(1, items + 1))]
    )  # two values among m
    apart = (known * differ * 0.5 ** (items - np.arange(items + 1))).sum()
    sure = good & converged
    assert counts_agree(
        [sure.sum(), REPS - sure.sum()], [apart, 1 - apart], "right, two values seen"
    )
    assert not counts_agree(
        [sure.sum(), REPS - sure.sum()], [apart + 0.06, 0.94 - apart], "control"
    )
    two = known @ differ
    assert counts_agree(
        [converged.sum(), REPS - converged.sum()], [two, 1 - two], "two values seen"
    )


def test_the_coupon_collector_succeeds_once_all_items_are_rated():
    """One rating a user: all N seen with the chance of the coupon collector, Σ (−1)^j C(N, j) (1 − j/N)^U."""
    items, users = 8, 24
    model = BlockModel(U=users, N=items, w=1, b="1, 0")
    good, _ = right(model, NoPrivacy())
    seen = [
        sum((-1) ** j * comb(m, j) * (m - j) ** users for j in range(m + 1))
        * comb(items, m)
        / items**users
        for m in range(items + 1)
    ]
    expected = sum(p * 0.5 ** (items - m) for m, p in enumerate(seen))
    assert counts_agree([good.sum(), REPS - good.sum()], [expected, 1 - expected], "right")
    assert not counts_agree(
        [good.sum(), REPS - good.sum()], [seen[-1], 1 - seen[-1]], "control: without luck"
    )


def test_one_user_in_log_n_tells_her_rating():
    """Seen and positive ratings of an item are Poisson to first order; their number in all is binomial, exactly."""
    items, users = 16, 40
    model = BlockModel(U=users, N=items, w=1, b="0.9, 0.2")
    told = AverageOneBit(N=items, w=1).release(
        model.simulate(model.truth(rng(), REPS, rng()), rng(2)), rng(3)
    )
    total = np.bincount(told.seen.sum(axis=1), minlength=users + 1)
    assert counts_agree(total, stats.binom.pmf(np.arange(users + 1), users, 1 / 4), "ratings told")
    assert not counts_agree(
        total, stats.binom.pmf(np.arange(users + 1), users, 1 / 3.7), "control: other shares"
    )
    liked = [told.positive.sum(), told.seen.sum() - told.positive.sum()]
    assert counts_agree(liked, [0.55, 0.45], "positive ones") and (told.positive <= told.seen).all()


def user_by_user(scheme, clusters, classes, b, reps, rng):
    """(reps, N): what the private adaptive scheme takes to be liked, one user after the other."""
    items, users, t = len(clusters), sum(classes), 2 * scheme.keep - 1
    of_class = rng.permuted(np.tile(np.repeat(np.arange(len(classes)), classes), (reps, 1)), axis=1)
    evidence, still = np.zeros((reps, items)), np.ones((reps, items), bool)
    each = np.arange(reps)
    for start, end in itertools.pairwise(np.arange(scheme.rounds + 1) * users // scheme.rounds):
        guesses, bits = np.zeros((end - start, reps, items)), np.zeros((end - start, reps, 1))
        for u in range(end - start):
            guesses[u] = rng.integers(0, 2, (reps, items))
            item = rng.integers(0, items, reps)
            liked = rng.random(reps) < b[of_class[:, start + u], clusters[item]]
            true = still[each, item] & (guesses[u, each, item] == liked)
            bits[u, :, 0] = true ^ (rng.random(reps) > scheme.keep)
        mean = bits.mean(axis=0)
        variance = np.maximum(mean * (1 - mean), 1 / (end - start) ** 2)
        evidence += still * t * ((2 * guesses - 1) * (bits - mean)).sum(axis=0) / items / variance
        still &= abs(evidence) < np.log(scheme.odds * items)
    return evidence > 0


def test_the_private_adaptive_scheme_user_by_user():
    """Patterns of three items, 30 users of two classes, three rounds: two samples, by their χ²."""
    clusters, classes, b, reps = (
        np.array([0, 1, 1]),
        (20, 10),
        np.array([[0.9, 0.2], [0.6, 0.1]]),
        10_000,
    )

    def found(scheme):
        users = Users(BlockTruth(np.tile(clusters, (reps, 1)), 2), np.array(classes), 1, b, rng())
        return scheme.release(users, rng(3)).positive @ [1, 2, 4]

    scheme = AdaptiveOneBit(N=3, epsilon=1.0, w=1, rounds=3, odds=0.4)
    literal = np.bincount(
        user_by_user(scheme, clusters, classes, b, reps, rng(4)) @ [1, 2, 4], minlength=8
    )
    for other, agrees in (
        (scheme, True),
        (replace(scheme, odds=99.0), False),
        (replace(scheme, epsilon=0.6), False),
    ):
        test = stats.chi2_contingency([literal, np.bincount(found(other), minlength=8)])
        print(
            f"adaptive, private: n={reps} statistic={test.statistic:.1f} p={test.pvalue:.2g} alpha=1e-06"
        )
        assert (test.pvalue > 1e-6) == agrees


def test_fixed_questions_succeed_half_of_the_time_and_open_ones_more_often():
    """At the number of users that the Gaussian formula has; bits of closed items are 0, so that open ones are heard."""

    def rate(rounds):
        items, epsilon = 60, 3.0
        model = BlockModel(U=round(users_fixed_questions(items, epsilon)), N=items, w=1, b="1, 0")
        truth = model.truth(rng(), 400, rng())
        scheme = AdaptiveOneBit(N=items, epsilon=epsilon, w=1, rounds=rounds)
        liked = scheme.release(model.simulate(truth, rng(2)), rng(3)).positive == 1
        return ((truth.clusters == 0) == liked).all(axis=1).mean()

    error, fixed, still_open = 5 * 0.5 / 20, rate(1), rate(10)
    print(
        f"fixed questions: n=400 statistic={fixed:.3f} bound=0.5±{error:.3f} alpha=1e-06; open ones {still_open:.3f}"
    )
    assert abs(fixed - 0.5) < error and still_open > 0.5 + error


def test_the_private_adaptive_scheme_loses_exactly_epsilon():
    """Every record, every set of open items and every guess: that is all that a user's bit depends on."""
    scheme = AdaptiveOneBit(N=4, epsilon=0.7, w=1)

    def lost(keep):
        worst = 0.0
        for still, guess in itertools.product(itertools.product((0, 1), repeat=4), repeat=2):
            bits = [still[item] and guess[item] == liked for item in range(4) for liked in (0, 1)]
            ones = [keep if bit else 1 - keep for bit in bits]
            worst = max(
                worst, *(math.log(max(law) / min(law)) for law in (ones, [1 - one for one in ones]))
            )
        return worst

    assert lost(scheme.keep) == pytest.approx(0.7, rel=1e-12) and scheme.spent() == {
        "a user's record": 0.7
    }
    assert lost(replace(scheme, epsilon=0.8).keep) > 0.75  # the wrong variant


def test_private_adaptive_questions_about_one_rating_only():
    with pytest.raises(InvalidInput, match="w"):
        AdaptiveOneBit(N=5, epsilon=1.0, w=2)
    few = BlockModel(U=3, N=5, w=1, b="1, 0")
    release = AdaptiveOneBit(N=5, epsilon=1.0, w=1).release(
        few.simulate(few.truth(rng(), 9, rng()), rng(2)), rng(3)
    )
    assert release.positive.shape == (9, 5) and (release.positive <= release.seen).all()


def test_nothing_seen_is_no_error():
    nothing = SeenRatings(np.zeros((3, 5), int), np.zeros((3, 5), int), 0, np.zeros(3, int))
    found = SeenClustering().fit(nothing, rng())
    assert not found.converged.any() and found.clusters.shape == (3, 5)
    one = SeenRatings(np.ones((1, 5), int), np.ones((1, 5), int), 5, np.array([5]))
    assert not SeenClustering().fit(one, rng()).converged.any()
