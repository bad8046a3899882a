"""Comparisons that are partly random, and missing not at random: against enumeration, and the BTL model they are."""

import itertools
import math

import numpy as np

from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.misspecified import MisspecifiedBTL, SilencedPreferences
from pipeline.problems.ranking.theory.rates import win_probability
from pipeline.study.study import build
from tests.helpers.checks import counts_agree

REPS = 60_000


def rng(seed):
    return np.random.default_rng(seed)


def data(theta, silent, reps=REPS, **values):
    truth = SilencedPreferences(
        *(np.tile(np.array(one, float), (reps, 1)) for one in (theta, silent))
    )
    return build(MisspecifiedBTL, dict(m=len(theta), left_out=0.9) | values).simulate(truth, rng(1))


def test_groups_of_users_have_the_law_of_single_users():
    """Three users in two groups, one pair: comparisons that are there, and wins, of both groups."""
    theta, silent, g, sizes = (0.6, -0.6), (0.7, 0.2), 0.3, np.array([2, 1])
    found = data(theta, silent, L=3, at_random=g)
    compared, wins = found.compared(sizes)[:, :, 0], found.split(sizes, rng(2))[:, :, 0]
    assert (found.compared(sizes)[:, :, 0] == compared).all() and (
        wins.sum(axis=1) == found.wins[:, 0]
    ).all()

    def law(silent, g):
        won = (1 - g) / (1 + math.exp(-1.2)) + g / 2
        user = {(1, 1): won * (1 - silent[1]), (1, 0): (1 - won) * (1 - silent[0])}
        user[0, 0] = 1 - sum(user.values())
        table = np.zeros((3, 3, 2, 2))
        for a, b, c in itertools.product(user, repeat=3):
            table[a[0] + b[0], a[1] + b[1], c[0], c[1]] += user[a] * user[b] * user[c]
        return table

    counts = np.zeros((3, 3, 2, 2))
    np.add.at(counts, (compared[:, 0], wins[:, 0], compared[:, 1], wins[:, 1]), 1)
    assert counts[law(silent, g) == 0].sum() == 0
    assert counts_agree(counts, law(silent, g), "comparisons and wins of two groups")
    assert not counts_agree(counts, law(silent[::-1], g), "control: the other item's losses")
    assert not counts_agree(counts, law(silent, 0), "control: nothing by a fair coin")


def test_what_is_told_is_a_ranking_of_other_scores():
    theta, silent = np.array([[0.9, 0.1, -0.3, -0.7]]), np.array([[0.0, 0.8, 0.4, 0.5]])
    found = data(theta[0], silent[0], reps=1, L=5)
    np.testing.assert_allclose(
        found.probability, win_probability(theta - np.log1p(-silent)), rtol=1e-12
    )


def test_the_release_knows_how_many_are_there():
    """Also of one group, and at once; without missing ones it is a plain model's."""
    found = data((0.5, 0.0, -0.5), (0.9, 0.9, 0.9), reps=50, L=40)
    for draw in ("conditional", "marginal"):
        release = build(RandomizedResponse, dict(m=3, L=40, epsilon=1.0, draw=draw)).release(
            found, rng(3)
        )
        assert (release.wins <= release.compared).all() and (release.compared < 40).all()
    assert data((0.5, -0.5), (0, 0), reps=5, L=9, left_out=0.0).compared(np.array([9])) is None
