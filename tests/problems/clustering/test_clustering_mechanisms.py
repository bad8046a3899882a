"""Mechanisms of the block model: bad input, what is said of privacy, shapes, memory. Their laws: tests/reference."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.clustering.mechanisms.adaptive import Adaptive
from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.mechanisms.multi_max_sense import MultiMaxSense
from pipeline.problems.clustering.mechanisms.one_bit_sketch import OneBitSketch
from pipeline.problems.clustering.mechanisms.pairwise_preference import PairwisePreference
from pipeline.problems.clustering.model import BlockModel
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree


def rng(seed=1):
    return np.random.Generator(np.random.Philox(seed))


def data(reps=1, **values):
    model = build(BlockModel, dict(b="0.9, 0.1") | values)
    return model.simulate(model.truth(rng(), reps, rng()), rng(2))


@pytest.mark.parametrize(
    "kind, changes, key",
    [
        (MaxSense, dict(theta=6.0), "theta"),
        (MaxSense, dict(theta=0.0), "theta"),
        (MaxSense, dict(epsilon=0.0), "epsilon"),
        (MultiMaxSense, dict(theta=6.0), "theta"),
        (MultiMaxSense, dict(epsilon=6.0), "Q"),
        (MultiMaxSense, dict(Q=6), "Q"),
        (MultiMaxSense, dict(epsilon=math.inf), "Q"),
        (PairwisePreference, dict(reading="same"), "reading"),
        (PairwisePreference, dict(rated_set="open"), "rated_set"),
        (Adaptive, dict(answers=0), "answers"),
    ],
)
def test_bad_input_is_told_by_name(kind, changes, key):
    with pytest.raises(InvalidInput) as caught:
        build(kind, dict(U=100, N=20, w=5, epsilon=1.0) | changes)
    assert caught.value.key == key and "\n" not in str(caught.value)


def test_what_is_spent():
    def spent(kind, **values):
        return build(kind, dict(N=20, w=5, epsilon=2.5) | values).spent()

    assert spent(MaxSense) == spent(PairwisePreference) == {"a user's record": 2.5}
    assert spent(MultiMaxSense) == pytest.approx(
        {"a user's record": 2.5, "a user's record, by composition": 2.5, "one bit": 2.5 / 3}
    )
    assert spent(MultiMaxSense, w=1, theta=0.2, Q=5)["a user's record"] == 1.0
    assert MaxSense(N=20, w=5, epsilon=math.inf).keep == 1.0
    assert MultiMaxSense(N=20, w=5, epsilon=1.0).keep == MaxSense(N=20, w=5, epsilon=1.0).keep


def test_scores_without_separation_are_remarked():
    equal, unequal = (
        BlockModel(U=10, N=20, w=5, alpha="0.5, 0.5", b=b)
        for b in ("0.9, 0.1; 0.1, 0.9", "0.9, 0.1; 0.2, 0.9")
    )
    for mechanism in (MaxSense(N=20, w=5, epsilon=1.0), MultiMaxSense(N=20, w=5, epsilon=1.0)):
        assert "the same mean" in mechanism.remark(equal)
        assert mechanism.remark(unequal) is None


@pytest.mark.parametrize("w, theta, same", [(1, 0.5, True), (4, 0.5, False), (4, 4.0, True)])
def test_the_remark_is_about_the_means_of_few_ratings(w, theta, same):
    """δ_min, a limit, is above 0 in all cases; by the exact law scores have one mean if w = 1 or all is sensed."""
    model = BlockModel(U=10, N=20, w=w, alpha="0.5, 0.5", b="0.9, 0.5; 0.2, 0.6")
    assert (MaxSense(N=20, w=w, theta=theta, epsilon=1.0).remark(model) is not None) == same


@pytest.mark.parametrize("theta, same", [(4.0, True), (3.95, True), (3.5, False)])
def test_sets_of_whole_items_that_are_all_items_are_remarked(theta, same):
    """A share of .9875 of 20 items is all of them."""
    mechanism = MultiMaxSense(N=20, w=4, theta=theta, epsilon=1.0)
    assert (
        (mechanism.size == 20)
        == same
        == (mechanism.remark(BlockModel(U=10, N=20, w=4, b="0.9, 0.5")) is not None)
    )
    assert (
        MaxSense(N=20, w=4, theta=3.95, epsilon=1.0).remark(
            BlockModel(U=10, N=20, w=4, b="0.9, 0.5")
        )
        is None
    )


def test_public_pairs_need_two_ratings():
    with pytest.raises(InvalidInput, match="w=1: must be 2 or more with rated_set=public"):
        PairwisePreference(N=20, w=1, epsilon=1.0, rated_set="public")
    assert PairwisePreference(N=20, w=1, epsilon=1.0).w == 1
    one, two = (data(U=10, N=20, w=w) for w in (1, 2))
    public = PairwisePreference(N=20, epsilon=1.0, rated_set="public")
    with pytest.raises(InvalidInput, match="w=1: must be 2 or more with rated_set=public"):
        public.release(one, rng())
    assert public.release(two, rng()).users == 10


@pytest.mark.parametrize(
    "mechanism",
    [
        MaxSense(N=30, w=6, epsilon=1.0),
        MultiMaxSense(N=30, w=6, epsilon=3.0),
        OneBitSketch(N=30),
        PairwisePreference(N=30, epsilon=1.0),
        Adaptive(N=30),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("clusters", ["exact", "random"])
def test_a_release_is_whole_and_the_same_again(mechanism, clusters):
    users = data(
        reps=3,
        U=500,
        N=30,
        w=6,
        clusters=clusters,
        alpha="0.4, 0.6",
        beta="0.2, 0.1, 0.3, 0.4",
        b="0.9, 0.1, 0.3, 0.5; 0, 1, 0.2, 0.4",
    )
    release, again = (mechanism.release(users, rng(7)) for _ in range(2))
    assert isinstance(release, mechanism.releases) and release.users == 500
    for name, value in vars(release).items():
        assert np.array_equal(value, getattr(again, name))
    if mechanism.releases.__name__ == "ScoreSketches":
        assert (0 <= release.scores).all() and (release.scores <= release.sensed).all()
        assert (
            release.scores.shape == (3, 30)
            and (release.sensed <= 500 * getattr(mechanism, "answers", 1)).all()
        )
    elif mechanism.releases.__name__ == "PairSketches":
        assert (release.probes.sum(axis=(1, 2)) == 1000).all() and (
            release.agreements <= release.probes
        ).all()
    else:
        assert (release.positive <= release.seen).all() and (release.seen <= 1).all()
    if isinstance(mechanism, MultiMaxSense):
        assert (release.sensed.sum(axis=1) == 500 * 3 * 5).all()


def peak(work):
    tracemalloc.start()
    work()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 2**20


def test_memory_does_not_grow_with_the_users():
    """10⁷ users on 2,000 items, streamed; two counts of every pair, 61 MB each, are the most."""
    sizes = {}
    for users in (10**5, 10**7):
        some = data(U=users, N=2000, w=100)
        mechanisms = (
            MaxSense(N=2000, w=100, epsilon=1.0),
            MultiMaxSense(N=2000, w=100, epsilon=2.0),
            OneBitSketch(N=2000),
            Adaptive(N=2000),
        )
        sizes[users] = {
            type(m).__name__: peak(lambda m=m, some=some: m.release(some, rng()))
            for m in mechanisms
        }
        sizes[users]["all ratings"] = peak(some.release_plainly)
    print(sizes)
    assert max(sizes[10**7].values()) < 60
    many = peak(
        lambda: PairwisePreference(N=2000, epsilon=1.0).release(data(U=10**6, N=2000, w=100), rng())
    )
    print(f"pairs {many:.0f} MB")
    assert many < 400


def test_memory_of_many_clusters_is_that_of_a_batch():
    """Where hardly two users are alike they stream by in batches."""
    shares = ", ".join(["0.125"] * 8)
    found = [
        peak(
            lambda n=n: MaxSense(N=80, w=20, epsilon=1.0).release(
                data(U=n, N=80, w=20, beta=shares, b=shares), rng()
            )
        )
        for n in (300_000, 600_000)
    ]
    print(found)
    assert found[1] < 1.3 * found[0] < 400


def test_users_flip_their_bits_independently():
    """Nobody likes anything: released ones are flips, of all users' questions Binomial(U Q, 1/(1 + e^(ε/Q)))."""
    users, questions, shares = 40, 2, "0.25, 0.25, 0.25, 0.25"
    mechanism = MultiMaxSense(N=12, w=3, epsilon=2.0, theta=0.5, Q=questions, U=users, beta=shares)
    some = data(2000, U=users, N=12, w=3, beta=shares, b="0, 0, 0, 0")
    ones = mechanism.release(some, rng(3)).scores.sum(axis=1) // mechanism.size
    law = stats.binom.pmf(
        np.arange(users * questions + 1), users * questions, 1 / (1 + math.exp(1.0))
    )
    assert counts_agree(np.bincount(ones, minlength=law.size), law, "released ones")
