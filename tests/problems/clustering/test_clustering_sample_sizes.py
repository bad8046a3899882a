"""Sample sizes of the clustering paper by hand, and its mistakes, each by a small computation."""

import itertools
import math

import numpy as np
import pytest

from pipeline.problems.clustering.theory import information as info
from pipeline.problems.clustering.theory import sample_sizes as blocks


def test_epsilon_hat_is_that_of_theorem_15():
    for epsilon in (0.01, 1.0, 5.0):
        printed = 2 * (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
        assert blocks.epsilon_hat(epsilon) == pytest.approx(printed)
    assert blocks.epsilon_hat(np.inf) == 2


def test_separation_by_hand():
    b, alpha, beta = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.3]]), [0.25, 0.75], [0.5, 0.3, 0.2]
    weight = [0.25 * math.exp(-2 * (0.45 + 0.03 + 0.1)), 0.75 * math.exp(-2 * (0.1 + 0.24 + 0.06))]
    expected = [
        weight[0] * (b[0, i] - b[0, j]) + weight[1] * (b[1, i] - b[1, j])
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    found = blocks.separation(2.0, alpha, beta, b)
    assert found[[0, 0, 1], [1, 2, 2]] == pytest.approx(expected)
    assert blocks.separability(2.0, alpha, beta, b) == pytest.approx(min(map(abs, expected)))


def test_opposite_tastes_are_inseparable():
    """δ_min = 0 though every pair of ratings tells the clusters apart; a lean of the classes mends it."""
    b = [[0.9, 0.1], [0.1, 0.9]]
    assert blocks.separability(1.0, [0.5, 0.5], [0.5, 0.5], b) == pytest.approx(0, abs=1e-15)
    assert blocks.separability(1.0, [0.6, 0.4], [0.5, 0.5], b) == pytest.approx(
        0.2 * 0.8 * math.exp(-0.5)
    )
    assert np.isinf(blocks.users_of_load(10.0, 100, 10, 1.0, 0.0))


def test_loads_and_users_invert():
    U = blocks.users_of_load(10.0, 400, 20, 1.0, 0.5)
    assert blocks.load(U, 400, 20, 1.0, 0.5) == pytest.approx(10)
    assert pytest.approx(10 * 400**2 * math.log(400) / (20 * (2 * math.tanh(0.5)) ** 2 * 0.25)) == U
    assert blocks.coupon_users(3) == pytest.approx(3 * (1 + 1 / 2 + 1 / 3))
    assert blocks.pairwise_users(100, 100, 1.0, 0.5) == pytest.approx(
        100 * math.log(100) / (0.25 * math.tanh(0.5) ** 2)
    )


def test_constant_of_theorem_15():
    """Chernoff's exponent at the right U is what the proof needs, and a quarter of it at the printed one."""
    N, w, epsilon, delta, theta = 500, 25, 1.0, 0.4, 1.0

    def exponent(U):
        gap = (
            U * (theta / w) * (w - theta) / N * math.tanh(epsilon / 2) * delta
        )  # Δ = U p (w − θ)/N · (ε̂/2) δ
        return gap**2 / (75 * U * theta / w)

    needed = math.log(2) + 2 * math.log(N)
    assert exponent(blocks.maxsense_users(N, w, epsilon, delta)) == pytest.approx(needed)
    printed = blocks.maxsense_users(N, w, epsilon, delta, printed=True)
    assert exponent(printed) == pytest.approx(needed / 4 * (1 - theta / w) ** 2)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 1.01, 2.0, 3.7, 8.0, 40.0])
def test_best_split_against_search(epsilon):
    def worth(Q):
        return Q * math.tanh(epsilon / Q / 2) ** 2

    found = blocks.best_split(epsilon)
    assert worth(found) == pytest.approx(max(map(worth, range(1, 200))))
    assert blocks.best_split(epsilon, most=2) <= 2
    assert worth(found) / worth(math.ceil(epsilon)) < 2


def test_splitting_by_the_ceiling_is_not_best():
    def worth(epsilon, Q):
        return Q * math.tanh(epsilon / Q / 2) ** 2

    assert worth(40.0, blocks.best_split(40.0)) / worth(40.0, 40) == pytest.approx(1.36, abs=0.005)
    # The proof of Theorem 16 bounds ε̂ of ε/⌈ε⌉ from below by 2(e − 1)/(e + 2); just above ε = 1 it is ε̂(½).
    assert blocks.epsilon_hat(1.01 / 2) < 0.5 < 2 * (math.e - 1) / (math.e + 2)
    assert worth(1.001, 1) / worth(1.001, 2) == pytest.approx(1.78, abs=0.01)
    assert worth(4.7, 1) > worth(4.7, 5) and worth(4.8, 1) < worth(4.8, 5)


def test_lower_bounds_by_hand():
    assert blocks.users_theorem_7(100, 1.0) == pytest.approx(49 * math.log(2))
    assert blocks.users_theorem_7(100, 1.0, printed=True) == pytest.approx(100 * math.log(2))
    assert (
        blocks.fano_users(0.5, 100, 0.25) == pytest.approx((75 - 1) / 0.5)
        and blocks.fano_users(1.0, 1) == 0
    )
    # Fano's inequality at the printed number says nothing about an error of ½.
    assert 1 - (blocks.users_theorem_7(100, 1.0, printed=True) / math.log(2) + 1) / 100 < 0
    assert blocks.users_theorem_17(1000, 1.0) == pytest.approx(
        math.log(499 * math.log(2)) / math.log1p(40 * (math.e - 1) ** 2 / 1000)
    )


def test_small_budgets_need_their_square():
    """Theorem 7's N/ε is far from sharp at small ε: the capacity gives N/ε², so N log N/ε cannot be enough."""
    N = 10**4
    small = [blocks.users_capacity(N, epsilon) * epsilon**2 / N for epsilon in (1e-3, 1e-4)]
    assert small == pytest.approx([4 * math.log(2)] * 2, rel=1e-2)
    assert (
        blocks.users_capacity(N, 1e-4)
        > 100 * N * math.log(N) / 1e-4 / 100
        > blocks.users_theorem_7(N, 1e-4)
    )


def test_theorem_17_says_less_than_the_capacity_at_any_real_size():
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        assert blocks.users_theorem_17(1e9, epsilon) < blocks.users_capacity(1e9, epsilon)
    assert blocks.users_theorem_17(1e17, 1.0) < blocks.users_theorem_7(1e17, 1.0)
    assert blocks.users_theorem_17(1e19, 1.0) > blocks.users_theorem_7(1e19, 1.0)


@pytest.mark.parametrize("N, d, Lc", [(6, 0, 2), (6, 2, 2), (5, 1, 3), (4, 4, 3)])
def test_balls_against_counting(N, d, Lc):
    near = sum(
        sum(x != 0 for x in labels) <= d for labels in itertools.product(range(Lc), repeat=N)
    )
    assert blocks.ball_bits(N, d, Lc) == pytest.approx(math.log2(near), abs=1e-9)


def test_theorem_23():
    N, epsilon = 100, 0.5
    exact = [blocks.users_theorem_23(N, d, epsilon) for d in (0, 10, 20, 50)]
    assert exact[0] == pytest.approx(blocks.users_theorem_7(N, epsilon)) and np.all(
        np.diff(exact) <= 0
    )
    assert exact[3] == 0  # so many errors are no news
    for d in (0, 5, 10, 20):
        assert (
            blocks.users_theorem_23(N, d, epsilon, printed=True)
            < blocks.users_theorem_23(N, d, epsilon) + 2
        )
        assert blocks.theorem_23_applies(N, d)
    # For nine clusters the Chernoff step gives a ball of less than one labeling.
    printed = blocks.users_theorem_23(900, 0, epsilon, Lc=9, p_max=0.5, printed=True)
    assert not blocks.theorem_23_applies(900, 0, 9)
    assert printed * epsilon / 0.5 > 900 * math.log(9)


@pytest.mark.parametrize("N, w", [(10, 1), (10, 3), (50, 7), (400, 20), (400, 100), (20, 11)])
def test_lemma_12(N, w):
    """0 ≤ remainder ≤ C(w, 2)²/C(N, 2) for every w; Θ(w⁴/N²) fails at w = 1 and at w ≫ √N."""
    remainder = blocks.disjoint_share(N, w) - (1 - w**2 / N)
    assert blocks.disjoint_share(N, w) == pytest.approx(math.comb(N - w, w) / math.comb(N, w))
    assert -1e-12 <= remainder <= blocks.lemma_12_remainder(N, w) + 1e-12
    if w == 1:
        assert abs(remainder) < 1e-12
    if w == 100:
        assert remainder < w**4 / N**2 / 20
    if w == 7:  # the control: half of the bound is exceeded
        assert remainder > blocks.lemma_12_remainder(N, w) / 2


def test_conditions():
    assert blocks.theorem_14_applies(1000, 9, 0.5)
    assert not blocks.theorem_14_applies(1000, 10, 0.5) and not blocks.theorem_14_applies(
        1000, 2, 0.7
    )


def test_the_scarce_bound_needs_no_conditions():
    """N²/w where Theorem 14 does not apply and Theorem 13's N²/w² is far below."""
    N, w, epsilon = 1000, 100, 0.5
    ours = blocks.fano_users(info.contraction(N, w, epsilon), N)
    assert not blocks.theorem_14_applies(N, w, epsilon)
    assert ours > 5 * blocks.fano_users(info.theorem_13(N, w, epsilon), N)
    assert ours * w / N**2 == pytest.approx(
        blocks.fano_users(info.contraction(4 * N, w, epsilon), 4 * N) * w / (4 * N) ** 2, rel=0.01
    )
