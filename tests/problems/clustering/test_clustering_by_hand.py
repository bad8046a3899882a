"""Formulas of the block model at one point each, by hand: an error of 5 % in any of them is seen."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.clustering.theory import information as info
from pipeline.problems.clustering.theory import sample_sizes as blocks
from pipeline.problems.clustering.theory import success

PHI = stats.norm.cdf


def test_bounds_on_information():
    assert info.theorem_10(8) == 1 / 8
    assert info.contraction(1000, 30, 0.5) == pytest.approx(
        math.log2(1 + 0.03 * (math.cosh(0.5) - 1) / 2)
    )
    assert info.contraction(1000, 30, 0.5) == pytest.approx(
        0.0028, abs=5e-5
    )  # as docs/papers.md has it


@pytest.mark.parametrize("N, epsilon", [(20, 1.0), (320, 0.5)])
def test_users_of_fixed_questions_have_even_odds(N, epsilon):
    users = blocks.users_fixed_questions(N, epsilon)
    assert PHI(users * math.tanh(epsilon / 2) / N / math.sqrt(users)) ** N == pytest.approx(0.5)


@pytest.mark.parametrize("N", [5, 40])
def test_lemma_12_is_an_equality_of_two_ratings(N):
    """Two pairs share nothing with probability 1 − 4/N + P(they are one pair)."""
    pairs = list(itertools.combinations(range(N), 2))
    share = np.mean([not {0, 1} & {*pair} for pair in pairs])
    assert share - (1 - 4 / N) == pytest.approx(1 / len(pairs)) == blocks.lemma_12_remainder(N, 2)


def test_the_variance_of_a_score_is_that_of_its_users():
    """Ten users of two classes, each of whom adds 1 with a known chance: the whole law of their sum."""
    p, Q, chances = 0.25, 2, np.array([[0.6, 0.2], [0.3, 0.9]])
    found = success.score_variance(10, p, [0.4, 0.6], chances, Q)
    for cluster in (0, 1):
        law = np.ones(1)
        for kind, users in ((0, 4), (1, 6)):
            law = np.convolve(
                law, stats.binom.pmf(np.arange(users + 1), users, Q * p * chances[kind, cluster])
            )
        values = np.arange(11)
        assert found[cluster] == pytest.approx(law @ values**2 - (law @ values) ** 2)


def test_one_bit_success_of_two_clusters():
    """Scores differ by (b₁ − b₂) U/(2N), and half the variance of their difference is U/8."""
    half = 0.6 * 5000 / (2 * 30) / 2 / math.sqrt(5000 / 8)
    assert success.one_bit_success(5000, [1.0], [10, 20], [[0.8, 0.2]]) == pytest.approx(
        PHI(half) ** 30
    )


@pytest.mark.parametrize("adjusted", [False, True])
def test_pair_success_of_two_equal_clusters(adjusted):
    N, users, chances = 40, 2500, np.array([[0.7, 0.3], [0.3, 0.7]])
    keep = 1 / (1 + math.exp(-1.5))
    within, across = (1 - keep + (2 * keep - 1) * one for one in (0.7, 0.3))
    each = 2 * users / (N * (N - 1))

    def mean(alike, unlike):
        return ((N / 2 - 1) * alike + N / 2 * unlike) / (N - 1)

    second = each * (N / 2 * (within - across) + mean(within, across) - within)
    noise = each * (
        mean(within * (1 - within), across * (1 - across)) if adjusted else mean(within, across)
    )
    apart = second / math.sqrt(N * noise) * math.sqrt(1 - N * noise / second**2)
    predicted = success.pair_success(users, 1.5, (N // 2, N // 2), chances, adjusted)
    assert predicted == pytest.approx(PHI(apart) ** N) and 0.1 < predicted < 0.9
