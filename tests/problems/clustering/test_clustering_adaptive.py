"""Clusterings from ratings that were seen: coupon collector and adaptive scheme, against their exact chances."""

from math import comb

import numpy as np
from checks import counts_agree
from scipy import stats

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.clustering.estimators.seen_clustering import SeenClustering
from pipeline.problems.clustering.mechanisms.adaptive import Adaptive
from pipeline.problems.clustering.mechanisms.average_one_bit import AverageOneBit
from pipeline.problems.clustering.model import BlockModel
from pipeline.problems.clustering.releases import SeenRatings

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
    known = stats.binom.pmf(np.arange(items), users, w / (2 * items))  # then m items are known, the last by chance
    known = np.append(known, 1 - known.sum())
    differ = np.array([0, *(1 - 2 * comb(3, m) / comb(items, m) for m in range(1, items + 1))])  # two values among m
    apart = (known * differ * 0.5 ** (items - np.arange(items + 1))).sum()
    sure = good & converged
    assert counts_agree([sure.sum(), REPS - sure.sum()], [apart, 1 - apart], "right, two values seen")
    assert not counts_agree([sure.sum(), REPS - sure.sum()], [apart + 0.06, 0.94 - apart], "control")
    two = known @ differ
    assert counts_agree([converged.sum(), REPS - converged.sum()], [two, 1 - two], "two values seen")


def test_the_coupon_collector_succeeds_once_all_items_are_rated():
    """One rating a user: all N seen with the chance of the coupon collector, Σ (−1)^j C(N, j) (1 − j/N)^U."""
    items, users = 8, 24
    model = BlockModel(U=users, N=items, w=1, b="1, 0")
    good, _ = right(model, NoPrivacy())
    seen = [sum((-1) ** j * comb(m, j) * (m - j) ** users for j in range(m + 1)) * comb(items, m) / items**users
            for m in range(items + 1)]
    expected = sum(p * 0.5 ** (items - m) for m, p in enumerate(seen))
    assert counts_agree([good.sum(), REPS - good.sum()], [expected, 1 - expected], "right")
    assert not counts_agree([good.sum(), REPS - good.sum()], [seen[-1], 1 - seen[-1]], "control: without luck")


def test_one_user_in_log_n_tells_her_rating():
    """Seen and positive ratings of an item are Poisson to first order; their number in all is binomial, exactly."""
    items, users = 16, 40
    model = BlockModel(U=users, N=items, w=1, b="0.9, 0.2")
    told = AverageOneBit(N=items, w=1).release(model.simulate(model.truth(rng(), REPS, rng()), rng(2)), rng(3))
    total = np.bincount(told.seen.sum(axis=1), minlength=users + 1)
    assert counts_agree(total, stats.binom.pmf(np.arange(users + 1), users, 1 / 4), "ratings told")
    assert not counts_agree(total, stats.binom.pmf(np.arange(users + 1), users, 1 / 3.7), "control: other shares")
    liked = [told.positive.sum(), told.seen.sum() - told.positive.sum()]
    assert counts_agree(liked, [0.55, 0.45], "positive ones") and (told.positive <= told.seen).all()


def test_nothing_seen_is_no_error():
    nothing = SeenRatings(np.zeros((3, 5), int), np.zeros((3, 5), int), 0, np.zeros(3, int))
    found = SeenClustering().fit(nothing, rng())
    assert not found.converged.any() and found.clusters.shape == (3, 5)
    one = SeenRatings(np.ones((1, 5), int), np.ones((1, 5), int), 5, np.array([5]))
    assert not SeenClustering().fit(one, rng()).converged.any()
