"""The Bradley–Terry–Luce model: laws of the truth, of the comparisons and of their split into groups."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from pipeline.problems.ranking.model import BTL, Comparisons, Preferences
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree, mean_agrees

REPS = 200_000


def rng(seed):
    return np.random.default_rng(seed)


def test_truth_is_centred_uniform():
    model, n = BTL(m=5, L=1, spread=2.0), 40_000
    theta = model.truth(rng(1), n, rng(2)).theta
    assert theta.shape == (n, 5) and np.abs(theta.sum(axis=1)).max() < 1e-12
    assert np.ptp(theta, axis=1).max() <= 4
    for i, j in itertools.combinations(
        range(5), 2
    ):  # a difference of two uniforms is triangular on (−4, 4)
        edges = np.linspace(-4, 4, 17)
        counts = np.histogram(theta[:, i] - theta[:, j], edges)[0]
        assert counts_agree(counts, np.diff(stats.triang.cdf(edges, 0.5, -4, 8)), f"θ{i} − θ{j}")
        assert not counts_agree(
            counts, np.diff(stats.triang.cdf(edges, 0.5, -4.1, 8.2)), "spread 2.05"
        )


def test_fixed_truth_comes_from_the_population_alone():
    model = BTL(m=4, L=1, theta="fixed")
    first, second = (model.truth(rng(seed), 3, rng(9)).theta for seed in (1, 2))
    assert (first == second).all() and (first == first[0]).all()
    assert not np.isin(first, model.truth(rng(1), 3, rng(8)).theta).any()


def test_no_spread_is_no_preference():
    model = BTL(m=3, L=7, spread=0.0)
    truth = model.truth(rng(1), 2, rng(2))
    assert (truth.theta == 0).all() and (model.simulate(truth, rng(3)).probability == 0.5).all()


def test_wins_are_binomial_in_every_coordinate():
    theta, users = np.array([1.2, 0.1, -1.3]), 4
    data = BTL(m=3, L=users).simulate(Preferences(np.broadcast_to(theta, (REPS, 3))), rng(5))
    assert data.wins.shape == (REPS, 3)
    for pair, (i, j) in enumerate(itertools.combinations(range(3), 2)):
        counts = np.bincount(data.wins[:, pair], minlength=users + 1)
        law = stats.binom.pmf(range(users + 1), users, expit(theta[i] - theta[j]))
        assert counts_agree(counts, law, f"wins of {i} over {j}")
        control = stats.binom.pmf(range(users + 1), users, expit(theta[j] - theta[i]))
        assert not counts_agree(counts, control, "the other order")


def test_pairs_are_independent():
    data = BTL(m=3, L=1).simulate(Preferences(np.zeros((REPS, 3))), rng(6))
    cells = data.wins @ [4, 2, 1]
    assert counts_agree(np.bincount(cells, minlength=8), np.full(8, 1 / 8), "three pairs at once")


def test_wins_are_drawn_once():
    data = BTL(m=3, L=9).simulate(Preferences(np.zeros((5, 3))), rng(6))
    first = data.wins.copy()
    assert data.split(np.array([9]), rng(0)).tobytes() == first[:, None].tobytes()
    data.split(np.array([4, 5]), rng(0))
    assert data.wins.tobytes() == first.tobytes()


def users_by_enumeration(probability, sizes):
    """Law of (wins in group 1, 2, …) when every user answers for himself, over all 2^L answers."""
    law, group = {}, np.repeat(np.arange(len(sizes)), sizes)
    for answers in itertools.product((0, 1), repeat=int(sum(sizes))):
        key = tuple(np.bincount(group, answers, len(sizes)).astype(int))
        weight = np.prod([probability if a else 1 - probability for a in answers])
        law[key] = law.get(key, 0.0) + weight
    return law


def groups_agree(wins, sizes, law, what):
    """Chi-square of the joint counts of all groups of one pair."""
    shape = [s + 1 for s in sizes]
    cells = np.ravel_multi_index(wins.T, shape)
    probabilities = np.zeros(int(np.prod(shape)))
    for key, weight in law.items():
        probabilities[np.ravel_multi_index(key, shape)] = weight
    return counts_agree(np.bincount(cells, minlength=probabilities.size), probabilities, what)


@pytest.mark.parametrize("sizes", [(1, 3), (2, 2), (1, 2, 2)])
def test_split_into_groups_is_exact_in_law(sizes):
    probability = np.array([0.2, 0.5, 0.9])
    data = Comparisons(np.broadcast_to(probability, (REPS, 3)), sum(sizes), 3, rng(3))
    parts = data.split(np.array(sizes), rng(4))
    assert parts.shape == (REPS, len(sizes), 3) and (parts.sum(axis=1) == data.wins).all()
    assert (parts >= 0).all() and (parts <= np.array(sizes)[:, None]).all()
    for pair in range(3):
        assert groups_agree(
            parts[:, :, pair],
            sizes,
            users_by_enumeration(probability[pair], sizes),
            f"{sizes} pair {pair}",
        )
        # The control splits without regard to the total: binomial shares of the wins, cut at the group's size.
        share = rng(5).binomial(data.wins[:, pair], sizes[0] / sum(sizes))
        control = parts[:, :, pair].copy()
        control[:, 0] = np.minimum(share, sizes[0])
        control[:, 1] = np.minimum(data.wins[:, pair] - share, sizes[1])
        law = users_by_enumeration(probability[pair], sizes)
        assert not groups_agree(control, sizes, law, "binomial shares")


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 2**32))
def test_split_loses_no_win(sizes, seed):
    data = Comparisons(rng(seed).random((6, 3)), sum(sizes), 3, rng(seed + 1))
    parts = data.split(np.array(sizes), rng(seed + 2))
    assert (parts.sum(axis=1) == data.wins).all() and (parts >= 0).all()
    assert (parts <= np.array(sizes)[:, None]).all()


def test_the_most_users_can_be_split():
    most = build(BTL, {"m": 2, "L": 10**9 - 1})
    data = most.simulate(Preferences(np.array([[20.0, -20.0], [0.0, 0.0]])), rng(1))
    assert (
        data.split(np.array([400_000_000, most.L - 400_000_000]), rng(2)).sum(axis=1) == data.wins
    ).all()
    with pytest.raises(InvalidInput, match="users"):
        build(BTL, {"m": 2, "L": 10**9})


def test_means_of_a_release_by_hand():
    release = FlippedWins(
        np.array([[[3], [1]]]), np.array([4, 2]), np.array([np.log(3), np.inf]), 2
    )
    assert release.raw_mean() == pytest.approx(4 / 6)
    # a(log 3) = (3 + 1)/(3 − 1) = 2: ½ + (2 · (3 − 2) + 1 · (1 − 1))/6
    assert release.debiased_mean() == pytest.approx(0.5 + 2 / 6)


def test_extreme_preferences_are_certain():
    model = BTL(m=2, L=10**6, spread=50.0)
    data = model.simulate(Preferences(np.array([[50.0, -50.0], [-50.0, 50.0]])), rng(1))
    assert data.wins.tolist() == [[10**6], [0]]


def test_mean_of_the_wins_at_scale():
    theta = np.array([0.7, -0.7])
    data = BTL(m=2, L=10**6).simulate(Preferences(np.broadcast_to(theta, (20_000, 2))), rng(8))
    assert mean_agrees(data.wins / 10**6, expit(1.4), "wins of a million users")
    assert not mean_agrees(data.wins / 10**6, expit(1.4) + 3e-5, "wins, mean off by 3e-5")
